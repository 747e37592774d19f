//! Builds the adapters and the runtime for one project. Everything is cheap until it is used.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::adapters::git::GitSnapshots;
use crate::adapters::javascript::Host;
use crate::adapters::providers::scripted::ScriptedModel;
use crate::adapters::providers::{Patience, Providers};
use crate::adapters::sqlite::SqliteStore;
use crate::adapters::system::{SystemClock, SystemIds};
use crate::adapters::tools::{ProjectTools, ToolSettings};
use crate::config::catalog::Catalog;
use crate::domain::tool::ToolSpec;
use crate::ports::tool::ToolPort;
use crate::runtime::handle::{Handle, Options, Ports, RetryPolicy};

/// A runtime with what the front-ends need of its adapters.
pub struct Wired {
    pub handle: Handle,
    pub providers: Arc<Providers>,
}

fn tools(project: &Path, data: &Path, settings: &crate::config::settings::Settings) -> ProjectTools {
    ProjectTools::new(ToolSettings {
        terminal_timeout: Duration::from_secs(settings.terminal_timeout_seconds()),
        output_cap_bytes: settings.output_limit_bytes(),
        hidden_paths: vec![data.to_owned()],
        ..ToolSettings::new(project)
    })
}

/// Every tool of the product, for the catalogue; the same in every project.
pub fn specs(project: &Path) -> Vec<ToolSpec> {
    ProjectTools::new(ToolSettings::new(project)).specs().to_vec()
}

/// For runs started from now on: the configuration changed, the watchers stay.
pub fn rewire(old: &Wired, project: &Path, data: &Path, catalog: &Catalog) -> Wired {
    let (ports, options, providers) = parts(project, data, catalog, None);
    Wired { handle: old.handle.rewired(ports, options), providers }
}

pub fn wire(project: &Path, data: &Path, catalog: &Catalog, script: Option<ScriptedModel>) -> Wired {
    let (ports, options, providers) = parts(project, data, catalog, script);
    Wired { handle: Handle::new(ports, options), providers }
}

fn parts(
    project: &Path,
    data: &Path,
    catalog: &Catalog,
    script: Option<ScriptedModel>,
) -> (Ports, Options, Arc<Providers>) {
    let settings = catalog.settings();
    let patience = Patience {
        connect: Duration::from_secs(settings.connect_seconds()),
        idle: Duration::from_secs(settings.idle_seconds()),
    };
    let mut providers = Providers::new(catalog.key_ring().clone(), patience);
    if let Some(script) = script {
        providers = providers.with_scripted(script);
    }
    let providers = Arc::new(providers);
    let clock = Arc::new(SystemClock);
    let snapshots =
        GitSnapshots::open(project.to_owned(), data.to_owned(), settings.snapshot_exclude(), clock.clone());
    let ports = Ports {
        models: providers.clone(),
        tools: Arc::new(tools(project, data, settings)),
        scripts: Arc::new(Host::default()),
        snapshots: Arc::new(snapshots),
        store: Arc::new(SqliteStore::at(data.join("runs.sqlite"))),
        clock,
        ids: Arc::new(SystemIds),
    };
    let secrets = catalog.key_ring().values().map(|secret| secret.expose().to_owned()).collect();
    let options = Options {
        project: project.display().to_string(),
        pid: std::process::id(),
        retry: RetryPolicy {
            attempts: settings.retry_attempts(),
            first_delay_ms: settings.retry_first_delay_ms(),
            longest_delay_ms: settings.retry_longest_delay_ms(),
        },
        secrets,
    };
    (ports, options, providers)
}
