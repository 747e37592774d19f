//! The workflows that are offered, and the settings, read again when their files were changed. A run keeps what
//! it began with.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use crate::backend::definition_files::stamps;
use crate::backend::isolated_runs::IsolatedRuns;
use crate::bootstrap::{self, WiredRuntime};
use crate::cli_context::CliContext;
use crate::config_sources::{self, GatheredSources};
use crate::diagnostics;
use crate::trust;
use synthdev_adapters::file_io::FileStamp;
use synthdev_config::catalog::ConfigCatalog;
use synthdev_config::render::compact;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_mcp::backend::{BrokenWorkflow, OfferedWorkflow};

/// How often it is looked whether a file was changed.
const LOOK: Duration = Duration::from_millis(500);

/// What was read at one time.
pub(super) struct RegistrySnapshot {
    pub(super) catalog: Arc<ConfigCatalog>,
    /// What runs are started with from now on.
    pub(super) wired: Arc<WiredRuntime>,
    pub(super) elsewhere: IsolatedRuns,
    pub(super) offered: Arc<[OfferedWorkflow]>,
    pub(super) broken: Arc<[BrokenWorkflow]>,
    pub(super) notes: Arc<[String]>,
}

impl RegistrySnapshot {
    fn new(
        world: &CliContext,
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
                Err(found) => broken.push(BrokenWorkflow { name, why: first_error(&found) }),
            }
        }
        Self {
            elsewhere: IsolatedRuns::new(world, Arc::clone(&catalog), Arc::clone(&wired)),
            catalog,
            wired,
            offered: offered.into(),
            broken: broken.into(),
            notes: notes.into(),
        }
    }
}

/// What was read last, and from which states of the files.
pub(super) struct WorkflowRegistry {
    world: CliContext,
    now: RwLock<Arc<RegistrySnapshot>>,
    read: Mutex<Vec<FileStamp>>,
    changes: watch::Sender<u64>,
}

impl WorkflowRegistry {
    pub(super) fn new(
        world: &CliContext,
        catalog: ConfigCatalog,
        wired: &Arc<WiredRuntime>,
        notes: Vec<String>,
    ) -> Self {
        let stock = RegistrySnapshot::new(world, Arc::new(catalog), Arc::clone(wired), notes);
        Self {
            world: world.clone(),
            now: RwLock::new(Arc::new(stock)),
            read: Mutex::new(stamps(world)),
            changes: watch::Sender::new(0),
        }
    }

    pub(super) fn stock(&self) -> Arc<RegistrySnapshot> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Files that cannot be read leave everything as it was.
    fn look(&self) {
        let world = &self.world;
        let now = stamps(world);
        {
            let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
            if *read == now {
                return;
            }
            *read = now;
        }
        // what a project changed of its own files since somebody agreed to them does not count
        let gathered = match config_sources::gather(world, world.overrides.clone(), false) {
            Ok(gathered) => gathered,
            Err(error) => return tracing::warn!("changed files were not read: {error:#}"),
        };
        let mut notes = notes(&gathered);
        let catalog = ConfigCatalog::load(gathered.sources, bootstrap::specs(&world.project));
        let before = self.stock();
        let (catalog, wired) = match diagnostics::unsound(&catalog) {
            None => {
                let wired = bootstrap::rewire(&before.wired, &world.project, &world.dirs.data, &catalog);
                (Arc::new(catalog), Arc::new(wired.with_record_of(&before.wired)))
            }
            Some(why) => {
                tracing::warn!("changed settings do not count: {why}");
                notes.push(format!("settings and workflows are as they were before this mistake: {why}"));
                (Arc::clone(&before.catalog), Arc::clone(&before.wired))
            }
        };
        let stock = RegistrySnapshot::new(world, catalog, wired, notes);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(stock);
        self.changes.send_modify(|count| *count += 1);
    }
}

/// What was left out, a line each.
pub(super) fn notes(gathered: &GatheredSources) -> Vec<String> {
    let unread = gathered.not_read().into_iter().map(|line| format!("not read: {line}"));
    unread.chain(trust::notice(&gathered.verdict)).collect()
}

/// Looks after the files as long as the server is there.
pub(super) async fn keep_fresh(shelves: Arc<WorkflowRegistry>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let shelves = Arc::clone(&shelves);
        if tokio::task::spawn_blocking(move || shelves.look()).await.is_err() {
            return;
        }
    }
}

/// Why something cannot be used.
pub(super) fn first_error(found: &[Diagnostic]) -> String {
    let first = found.iter().find(|finding| finding.severity == DiagnosticSeverity::Error);
    first.map(compact).unwrap_or_default()
}
