//! Where the files of a run are stored: in the snapshots of this project, or of the run's worktree.

use std::path::Path;
use std::sync::Arc;

use crate::run_command::load_quietly;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime};
use synthdev_domain::snapshot::RunWorktree;
use synthdev_ports::snapshot::{SnapshotError, SnapshotPort};
use synthdev_service::time_travel::{RunSnapshots, TimeTravelError};

pub(super) struct ProjectRunSnapshots<'w> {
    context: &'w StartContext,
    project: String,
    snapshots: Arc<dyn SnapshotPort>,
}

impl<'w> ProjectRunSnapshots<'w> {
    pub(crate) fn new(context: &'w StartContext, wired: &WiredRuntime) -> Self {
        let project = context.project.display().to_string();
        Self { context, project, snapshots: Arc::clone(&wired.ports.snapshots) }
    }
}

impl RunSnapshots for ProjectRunSnapshots<'_> {
    fn project(&self) -> &str {
        &self.project
    }

    fn of_project(&self) -> Arc<dyn SnapshotPort> {
        Arc::clone(&self.snapshots)
    }

    fn of_worktree(&self, tree: &RunWorktree) -> Result<Arc<dyn SnapshotPort>, TimeTravelError> {
        let (catalog, _) = load_quietly(self.context, self.context.overrides.clone())
            .map_err(|error| SnapshotError { message: error.to_string(), hint: None })?;
        let data = &self.context.dirs.data;
        let wired = wiring::wire_runtime(Path::new(&tree.path), data, &catalog, RunModels::default());
        Ok(wired.ports.snapshots)
    }

    fn is_directory(&self, path: &str) -> bool {
        Path::new(path).is_dir()
    }
}
