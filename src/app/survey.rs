//! Asking servers what they have: all at once, each with its deadline. Never done unless somebody asks for it.

use std::time::Duration;

use futures_util::future::join_all;

use crate::adapters::providers::{Patience, Providers};
use crate::cli::models::Seen;
use crate::config::catalog::Catalog;
use crate::config::models::servers::Server;

/// A server of this machine answers at once or is not there.
const NEAR: Duration = Duration::from_millis(300);
/// For a whole list.
const DEADLINE: Duration = Duration::from_secs(2);

/// Which servers are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Ask {
    /// Nobody.
    Nobody,
    /// Those that levels use.
    Used,
    /// Everyone who can be asked.
    Usable,
}

/// Asks them with the keys of this catalogue, which go to their homes only.
pub(super) struct Survey {
    near: Providers,
    far: Providers,
}

impl Survey {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let homes = catalog.key_homes();
        let to = |connect| {
            let patience = Patience { connect, idle: DEADLINE, ..Patience::default() };
            Providers::new(catalog.key_ring().clone(), patience).with_homes(homes.clone())
        };
        Self { near: to(NEAR), far: to(DEADLINE) }
    }

    /// In the order of `servers`.
    pub(super) async fn of(&self, servers: Vec<Server>, ask: Ask) -> Vec<Seen> {
        join_all(servers.into_iter().map(|server| self.one(server, ask))).await
    }

    pub(super) async fn one(&self, server: Server, ask: Ask) -> Seen {
        let wanted = match ask {
            Ask::Nobody => false,
            Ask::Used => !server.levels.is_empty(),
            Ask::Usable => server.usable(),
        };
        if !wanted {
            return Seen { server, answer: None };
        }
        let providers = if server.local { &self.near } else { &self.far };
        let answer = providers.list(&server.choice(), DEADLINE).await;
        Seen { server, answer: Some(answer) }
    }
}
