//! Files of the configuration that were changed while the screen is open: read again before something starts.
//!
//! Nobody is woken for that: what was written is looked at when it matters. Running runs keep what they started with.
//! A project's own files count only as they were agreed to: changed by somebody else, they are asked about again.

use std::sync::PoisonError;

use super::definition_files::stamps;
use super::{TuiBackend, problems};
use crate::bootstrap;
use crate::config_sources::{self, GatheredSources};
use crate::trust_report;
use synthdev_config::catalog::ConfigCatalog;
use synthdev_config::trust::TrustVerdict;
use synthdev_tui::backend::{ConfigReload, UntrustedDefinitions};

impl TuiBackend {
    pub(super) fn reload(&self, asks: bool) -> Option<ConfigReload> {
        let now = stamps(&self.world);
        if *self.read.lock().unwrap_or_else(PoisonError::into_inner) == now {
            return None;
        }
        let seen = || *self.read.lock().unwrap_or_else(PoisonError::into_inner) = now;
        let gathered = match config_sources::gather(&self.world, self.overrides.clone(), false) {
            Ok(gathered) => gathered,
            Err(error) => {
                seen();
                return Some(ConfigReload { problems: vec![format!("{error:#}")], question: None });
            }
        };
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        if gathered.verdict == TrustVerdict::Trusted || gathered.project.same_as(&asked) {
            drop(asked);
            seen();
            return Some(ConfigReload { problems: self.use_files(gathered), question: None });
        }
        if !asks {
            return None;
        }
        seen();
        let files = match &gathered.verdict {
            TrustVerdict::Trusted => Vec::new(),
            TrustVerdict::New { files } => files.clone(),
            TrustVerdict::Changed { added, changed, .. } => added.iter().chain(changed).cloned().collect(),
        };
        let changes = trust_report::shown(&self.world, &gathered.project);
        *asked = gathered.project;
        Some(ConfigReload { problems: Vec::new(), question: Some(UntrustedDefinitions { files, changes }) })
    }

    /// The project's own definitions do not count, also those that did before they were changed.
    pub(super) fn leave_out(&self) {
        if let Ok(gathered) = config_sources::gather(&self.world, self.overrides.clone(), false) {
            self.use_files(gathered);
        }
    }

    /// What is wrong with the files that was not wrong before, a line each.
    fn use_files(&self, gathered: GatheredSources) -> Vec<String> {
        let unread = gathered.not_read();
        let catalog = ConfigCatalog::load(gathered.sources, bootstrap::specs(&self.world.project));
        let known = problems(&self.catalog());
        let unread = unread.into_iter().map(|line| format!("not read: {line}"));
        let new = problems(&catalog).into_iter().filter(|line| !known.contains(line));
        let told = new.chain(unread).collect();
        self.take_up(catalog);
        told
    }
}
