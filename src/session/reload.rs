//! Configuration files that change while the screen is open: they are read again before something starts.
//!
//! There is no file watch: stamps are compared when it matters. Running runs keep what they started with. A project's
//! own files count only as the user has approved them: after a change by another program the user is asked again.

use std::sync::{Arc, PoisonError};

use super::{TuiBackend, config_problems};
use crate::definition_files::definition_stamps;
use crate::trust_report;
use synthdev_bootstrap::config_sources::{self, GatheredSources};
use synthdev_bootstrap::{mcp_servers, wiring};
use synthdev_service::session::{ConfigReload, UntrustedDefinitions};
use synthdev_settings::trust::TrustVerdict;

impl TuiBackend {
    pub(crate) fn reload_config(&self, asks: bool) -> Option<ConfigReload> {
        let now = definition_stamps(&self.context);
        if *self.read_stamps.lock().unwrap_or_else(PoisonError::into_inner) == now {
            return None;
        }
        let seen = || *self.read_stamps.lock().unwrap_or_else(PoisonError::into_inner) = now;
        let gathered = match config_sources::gather_sources(&self.context, self.overrides.clone(), false) {
            Ok(gathered) => gathered,
            Err(error) => {
                seen();
                return Some(ConfigReload { problems: vec![format!("{error:#}")], question: None });
            }
        };
        let mut asked = self.shown_files.lock().unwrap_or_else(PoisonError::into_inner);
        if gathered.trust == TrustVerdict::Trusted || gathered.project.same_as(&asked) {
            drop(asked);
            seen();
            return Some(ConfigReload { problems: self.use_files(gathered), question: None });
        }
        if !asks {
            return None;
        }
        seen();
        let files = match &gathered.trust {
            TrustVerdict::Trusted => Vec::new(),
            TrustVerdict::New { files } => files.clone(),
            TrustVerdict::Changed { added, changed, .. } => added.iter().chain(changed).cloned().collect(),
        };
        let changes = trust_report::shown(&self.context, &gathered.project);
        *asked = gathered.project;
        Some(ConfigReload { problems: Vec::new(), question: Some(UntrustedDefinitions { files, changes }) })
    }

    /// The project's own definitions do not count, also those that did before they were changed.
    pub(crate) fn exclude_project_definitions(&self) {
        if let Ok(gathered) = config_sources::gather_sources(&self.context, self.overrides.clone(), false) {
            self.use_files(gathered);
        }
    }

    /// New diagnostics of the files, one line each.
    fn use_files(&self, gathered: GatheredSources) -> Vec<String> {
        let unread = gathered.not_read();
        let catalog = wiring::load_catalog(&self.context, gathered.sources);
        let known = config_problems(&self.current_catalog());
        let unread = unread.into_iter().map(|line| format!("not read: {line}"));
        let new = config_problems(&catalog).into_iter().filter(|line| !known.contains(line));
        let told = new.chain(unread).collect();
        self.apply_catalog(catalog);
        told
    }
}

impl TuiBackend {
    /// Asks the servers that were never asked for their tools, beside everything else; agents of runs that start later
    /// have them.
    pub(crate) fn list_mcp_servers(self: &Arc<Self>) -> impl Future<Output = ()> + Send + 'static {
        let backend = Arc::clone(self);
        async move {
            let catalog = backend.current_catalog();
            let unlisted = mcp_servers::unlisted_servers(&catalog, &backend.context.dirs.data);
            if unlisted.is_empty() {
                backend.first_servers.is_done.send_replace(true);
                return;
            }
            let listings = wiring::list_mcp_servers(&backend.context, &catalog, &unlisted).await;
            for line in listings.iter().filter_map(mcp_servers::failure_line) {
                tracing::warn!("{line}");
            }
            let waiting = Arc::clone(&backend);
            if listings.iter().any(|listing| listing.tools.is_ok()) {
                let reload = move || {
                    let overrides = backend.overrides.clone();
                    if let Ok(gathered) = config_sources::gather_sources(&backend.context, overrides, false) {
                        backend.use_files(gathered);
                    }
                };
                // reading files takes the time of a disk
                let _ = tokio::task::spawn_blocking(reload).await;
            }
            waiting.first_servers.is_done.send_replace(true);
        }
    }
}
