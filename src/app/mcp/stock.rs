//! The workflows that are offered, and the settings, read again when their files were changed (CFG-18). A run keeps what
//! it began with.

use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use crate::adapters::disk::Stamp;
use crate::app::backend::isolated::Elsewhere;
use crate::app::backend::shelf::stamps;
use crate::app::findings;
use crate::app::sources::{self, Gathered};
use crate::app::trust;
use crate::app::wiring::{self, Wired};
use crate::app::world::World;
use crate::config::catalog::Catalog;
use crate::config::render::compact;
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::mcp::backend::{Broken, Offered};

/// How often it is looked whether a file was changed.
const LOOK: Duration = Duration::from_millis(500);

/// What was read at one time.
pub(super) struct Stock {
    pub(super) catalog: Arc<Catalog>,
    /// What runs are started with from now on.
    pub(super) wired: Arc<Wired>,
    pub(super) elsewhere: Elsewhere,
    pub(super) offered: Arc<[Offered]>,
    pub(super) broken: Arc<[Broken]>,
    pub(super) notes: Arc<[String]>,
}

impl Stock {
    fn new(world: &World, catalog: Arc<Catalog>, wired: Arc<Wired>, notes: Vec<String>) -> Self {
        let (mut offered, mut broken) = (Vec::new(), Vec::new());
        for entry in catalog.workflows() {
            let (name, file) = (entry.name.clone(), entry.place.file.clone());
            match catalog.program(&name) {
                Ok(program) => {
                    let (description, inputs) = (entry.description.clone(), entry.inputs.clone());
                    let start_warnings = program.start_warnings;
                    offered.push(Offered { name, description, inputs, file, start_warnings });
                }
                Err(found) => broken.push(Broken { name, why: first_error(&found) }),
            }
        }
        Self {
            elsewhere: Elsewhere::new(world, Arc::clone(&catalog), Arc::clone(&wired)),
            catalog,
            wired,
            offered: offered.into(),
            broken: broken.into(),
            notes: notes.into(),
        }
    }
}

/// What was read last, and from which states of the files.
pub(super) struct Shelves {
    world: World,
    now: RwLock<Arc<Stock>>,
    read: Mutex<Vec<Stamp>>,
    changes: watch::Sender<u64>,
}

impl Shelves {
    pub(super) fn new(world: &World, catalog: Catalog, wired: &Arc<Wired>, notes: Vec<String>) -> Self {
        let stock = Stock::new(world, Arc::new(catalog), Arc::clone(wired), notes);
        Self {
            world: world.clone(),
            now: RwLock::new(Arc::new(stock)),
            read: Mutex::new(stamps(world)),
            changes: watch::Sender::new(0),
        }
    }

    pub(super) fn stock(&self) -> Arc<Stock> {
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
        let gathered = match sources::gather(world, world.overrides.clone(), false) {
            Ok(gathered) => gathered,
            Err(error) => return tracing::warn!("changed files were not read: {error:#}"),
        };
        let mut notes = notes(&gathered);
        let catalog = Catalog::load(gathered.sources, wiring::specs(&world.project));
        let before = self.stock();
        let (catalog, wired) = match findings::unsound(&catalog) {
            None => {
                let wired = wiring::rewire(&before.wired, &world.project, &world.dirs.data, &catalog);
                (Arc::new(catalog), Arc::new(wired.with_record_of(&before.wired)))
            }
            Some(why) => {
                tracing::warn!("changed settings do not count: {why}");
                notes.push(format!("settings and workflows are as they were before this mistake: {why}"));
                (Arc::clone(&before.catalog), Arc::clone(&before.wired))
            }
        };
        let stock = Stock::new(world, catalog, wired, notes);
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(stock);
        self.changes.send_modify(|count| *count += 1);
    }
}

/// What was left out, a line each.
pub(super) fn notes(gathered: &Gathered) -> Vec<String> {
    let unread = gathered.not_read().into_iter().map(|line| format!("not read: {line}"));
    unread.chain(trust::notice(&gathered.verdict)).collect()
}

/// Looks after the files as long as the server is there.
pub(super) async fn keep_fresh(shelves: Arc<Shelves>) {
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
    let first = found.iter().find(|finding| finding.severity == Severity::Error);
    first.map(compact).unwrap_or_default()
}
