//! Where the files of a run are stored: in the snapshots of this project, or of the run's worktree.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::run_command::load_quietly;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime};
use synthdev_domain::journal::RunSummary;
use synthdev_ports::snapshot::{SnapshotError, SnapshotPort};
use synthdev_service::time_travel::{RunSnapshots, TimeTravelError};

pub(super) struct ProjectRunSnapshots<'w> {
    context: &'w StartContext,
    project: Arc<dyn SnapshotPort>,
    /// Does the same in the run's own project.
    command: String,
}

impl<'w> ProjectRunSnapshots<'w> {
    pub(crate) fn new(context: &'w StartContext, wired: &WiredRuntime, command: String) -> Self {
        Self { context, project: Arc::clone(&wired.ports.snapshots), command }
    }
}

impl RunSnapshots for ProjectRunSnapshots<'_> {
    fn of_run(&self, run: &RunSummary) -> Result<Arc<dyn SnapshotPort>, TimeTravelError> {
        if let Some(project) = other_project(self.context, run) {
            let is_present = Path::new(project).is_dir();
            return Err(TimeTravelError::other_project(run, is_present, self.command.clone()));
        }
        let Some(tree) = &run.worktree else { return Ok(self.of_project()) };
        let place = PathBuf::from(&tree.path);
        if !place.is_dir() {
            return Err(TimeTravelError::WorktreeGone { run: run.id.clone(), tree: tree.clone() });
        }
        let (catalog, _) = load_quietly(self.context, self.context.overrides.clone())
            .map_err(|error| SnapshotError { message: error.to_string(), hint: None })?;
        Ok(wiring::wire_runtime(&place, &self.context.dirs.data, &catalog, RunModels::default())
            .ports
            .snapshots)
    }

    fn of_project(&self) -> Arc<dyn SnapshotPort> {
        Arc::clone(&self.project)
    }
}

/// The project of the run, if it is another one.
pub(crate) fn other_project<'a>(context: &StartContext, run: &'a RunSummary) -> Option<&'a str> {
    (context.project.as_path() != Path::new(&run.project)).then_some(run.project.as_str())
}
