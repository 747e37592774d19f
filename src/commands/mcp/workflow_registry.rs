//! The workflows that are offered, and the settings, read again when their files were changed. A run keeps what
//! it began with.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use crate::diagnostics;
use crate::trust_command::untrusted_notice;
use synthdev_bootstrap::config_sources::{self, GatheredSources};
use synthdev_bootstrap::local_files::file_io::FileStamp;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_language::render::compact_line;
use synthdev_mcp::backend::{BrokenWorkflow, OfferedWorkflow};
use synthdev_session::definition_files::definition_stamps;
use synthdev_session::isolated_runs::IsolatedRuns;
use synthdev_settings::catalog::ConfigCatalog;

/// How often it is looked whether a file was changed.
const LOOK: Duration = Duration::from_millis(500);

/// The configuration as read at one time, with everything that is built from it.
pub(super) struct RegistrySnapshot {
    pub(super) catalog: Arc<ConfigCatalog>,
    /// What runs are started with from now on.
    pub(super) runtime: Arc<WiredRuntime>,
    pub(super) isolated_runs: IsolatedRuns,
    pub(super) offered_workflows: Arc<[OfferedWorkflow]>,
    pub(super) broken_workflows: Arc<[BrokenWorkflow]>,
    pub(super) notes: Arc<[String]>,
}

impl RegistrySnapshot {
    fn new(
        context: &StartContext,
        catalog: Arc<ConfigCatalog>,
        wired: Arc<WiredRuntime>,
        notes: Vec<String>,
    ) -> Self {
        let (mut offered, mut broken) = (Vec::new(), Vec::new());
        for entry in catalog.workflows() {
            let (name, file) = (entry.name.clone(), entry.place.file.clone());
            match catalog.program(&name) {
                Ok(program) => {
                    let (description, inputs) = (entry.description.clone(), entry.inputs.clone());
                    let start_warnings = program.start_warnings;
                    offered.push(OfferedWorkflow { name, description, inputs, file, start_warnings });
                }
                Err(found) => broken.push(BrokenWorkflow { name, reason: first_error(&found) }),
            }
        }
        Self {
            isolated_runs: IsolatedRuns::new(context, Arc::clone(&catalog), Arc::clone(&wired)),
            catalog,
            runtime: wired,
            offered_workflows: offered.into(),
            broken_workflows: broken.into(),
            notes: notes.into(),
        }
    }
}

/// The last snapshot, and the stamps of its files.
pub(super) struct WorkflowRegistry {
    context: StartContext,
    current: RwLock<Arc<RegistrySnapshot>>,
    read_stamps: Mutex<Vec<FileStamp>>,
    changes: watch::Sender<u64>,
}

impl WorkflowRegistry {
    pub(super) fn new(
        context: &StartContext,
        catalog: ConfigCatalog,
        wired: &Arc<WiredRuntime>,
        notes: Vec<String>,
    ) -> Self {
        let stock = RegistrySnapshot::new(context, Arc::new(catalog), Arc::clone(wired), notes);
        Self {
            context: context.clone(),
            current: RwLock::new(Arc::new(stock)),
            read_stamps: Mutex::new(definition_stamps(context)),
            changes: watch::Sender::new(0),
        }
    }

    pub(super) fn registry_snapshot(&self) -> Arc<RegistrySnapshot> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Files that cannot be read leave everything as it was.
    pub(super) fn reload_if_changed(&self) {
        let context = &self.context;
        // held to the end: of two reloads at once, the one with the older files must not be the last to write
        let mut read = self.read_stamps.lock().unwrap_or_else(PoisonError::into_inner);
        let now = definition_stamps(context);
        if *read == now {
            return;
        }
        *read = now;
        // changes of a project's own files since the user approved them do not count
        let gathered = match config_sources::gather_sources(context, context.overrides.clone(), false) {
            Ok(gathered) => gathered,
            Err(error) => return tracing::warn!("changed files were not read: {error:#}"),
        };
        let mut notes = omission_notes(&gathered);
        let catalog = wiring::load_catalog(context, gathered.sources);
        let before = self.registry_snapshot();
        let (catalog, wired) = match diagnostics::first_setting_error(&catalog) {
            None => {
                let wired = wiring::rewire_runtime(
                    &before.runtime,
                    &context.project,
                    &context.dirs.data,
                    &catalog,
                    RunModels::default(),
                );
                (Arc::new(catalog), Arc::new(wired.with_store_from(&before.runtime)))
            }
            Some(why) => {
                tracing::warn!("changed settings are not used: {why}");
                notes.push(format!("the previous settings and workflows stay in use: {why}"));
                (Arc::clone(&before.catalog), Arc::clone(&before.runtime))
            }
        };
        let stock = RegistrySnapshot::new(context, catalog, wired, notes);
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(stock);
        self.changes.send_modify(|count| *count += 1);
    }
}

/// The files that were left out, one line each.
pub(super) fn omission_notes(gathered: &GatheredSources) -> Vec<String> {
    let unread = gathered.not_read().into_iter().map(|line| format!("not read: {line}"));
    unread.chain(untrusted_notice(&gathered.trust)).collect()
}

/// Looks after the files as long as the server is there.
pub(super) async fn watch_files(shelves: Arc<WorkflowRegistry>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let shelves = Arc::clone(&shelves);
        if tokio::task::spawn_blocking(move || shelves.reload_if_changed()).await.is_err() {
            return;
        }
    }
}

/// Why something cannot be used.
pub(super) fn first_error(found: &[Diagnostic]) -> String {
    let first = found.iter().find(|finding| finding.severity == DiagnosticSeverity::Error);
    first.map(compact_line).unwrap_or_default()
}
