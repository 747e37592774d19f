//! Asks servers for their models: all at once, each with its deadline. Only where the user asks for it.

use std::time::Duration;

use futures_util::future::join_all;

use synthdev_bootstrap::model_servers::{ModelProviders, ModelTimeouts, model_providers};
use synthdev_cli::models::ProbedModelServer;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::models::server_list::ConfiguredServer;

/// A server of this machine answers at once or is not there.
const NEAR: Duration = Duration::from_millis(300);
/// For a whole list.
const DEADLINE: Duration = Duration::from_secs(2);

/// Which servers are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbeScope {
    /// No server.
    Nobody,
    /// Those that levels use.
    Used,
    /// Every server that can be asked.
    Usable,
}

/// Asks them with the keys of this catalogue, which go to their homes only.
pub struct ServerProbe {
    local_providers: ModelProviders,
    remote_providers: ModelProviders,
}

impl ServerProbe {
    pub fn new(catalog: &ConfigCatalog) -> Self {
        let to = |connect| {
            let timeouts = ModelTimeouts {
                connect_timeout: connect,
                idle_timeout: DEADLINE,
                ..ModelTimeouts::default()
            };
            model_providers(catalog, timeouts)
        };
        Self { local_providers: to(NEAR), remote_providers: to(DEADLINE) }
    }

    /// In the order of `servers`.
    pub async fn probe_all(&self, servers: Vec<ConfiguredServer>, ask: ProbeScope) -> Vec<ProbedModelServer> {
        join_all(servers.into_iter().map(|server| self.probe_one(server, ask))).await
    }

    pub async fn probe_one(&self, server: ConfiguredServer, ask: ProbeScope) -> ProbedModelServer {
        let wanted = match ask {
            ProbeScope::Nobody => false,
            ProbeScope::Used => !server.levels.is_empty(),
            ProbeScope::Usable => server.is_usable(),
        };
        if !wanted {
            return ProbedModelServer { server, answer: None };
        }
        let providers = if server.local { &self.local_providers } else { &self.remote_providers };
        let answer = providers.list_models(&server.model_choice(), DEADLINE).await;
        ProbedModelServer { server, answer: Some(answer) }
    }
}
