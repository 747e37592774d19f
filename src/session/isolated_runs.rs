//! Isolated workflows of the screen: each works in a git worktree, among the other runs of the session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::system_context::{self, StartPlace};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, WiredRuntime, WorktreeLocation};
use synthdev_cli::output::safe_name;
use synthdev_domain::file_progress::FileWorkCounter;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::snapshot::{RunWorktree, SkippedPath};
use synthdev_engine::run_spec::RunSpec;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::run_place::{RunPlace, RunPlaceError};
use synthdev_service::run_start::{IsolatedStart, PreparedWorktree, RunStartError};
use synthdev_settings::catalog::ConfigCatalog;

/// What a run in another directory is wired with; kept, because making a worktree takes a while.
#[derive(Clone)]
pub struct IsolatedRuns {
    project: PathBuf,
    data: PathBuf,
    catalog: Arc<ConfigCatalog>,
    runtime: Arc<WiredRuntime>,
    file_counter: Arc<FileWorkCounter>,
}

impl IsolatedRuns {
    pub fn new(context: &StartContext, catalog: Arc<ConfigCatalog>, wired: Arc<WiredRuntime>) -> Self {
        let (project, data) = (context.project.clone(), context.dirs.data.clone());
        Self { project, data, catalog, runtime: wired, file_counter: Arc::default() }
    }

    /// Counts the files that are copied there.
    #[must_use]
    pub fn with_file_counter(self, file_counter: Arc<FileWorkCounter>) -> Self {
        Self { file_counter, ..self }
    }

    pub fn project(&self) -> &Path {
        &self.project
    }

    pub fn current_catalog(&self) -> &ConfigCatalog {
        &self.catalog
    }

    pub fn current_runtime(&self) -> &WiredRuntime {
        &self.runtime
    }

    pub(crate) fn shared_runtime(&self) -> Arc<WiredRuntime> {
        Arc::clone(&self.runtime)
    }

    /// Starts a run in a worktree of its own, on what `around` makes of the runtime. Without a worktree nothing is
    /// started. Blocking.
    pub fn start_run(
        &self,
        spec: RunSpec,
        around: impl FnOnce(&RunId, &RuntimeHandle) -> RuntimeHandle,
    ) -> Result<IsolatedStart, RunStartError> {
        let trees = wiring::git_worktrees(&self.project, &self.data, &self.catalog);
        let trees = trees.with_file_counter(Arc::clone(&self.file_counter));
        let prepared = PreparedWorktree::create(&self.runtime.handle, &trees, &spec.program)?;
        let inside = around(&prepared.run, &self.runtime_in_worktree(&prepared.tree.path).handle);
        let brief = |directory: &Path| {
            let place = StartPlace { directory, project: &self.project, data: &self.data };
            system_context::build_system_context(&self.catalog, place)
        };
        prepared.start(&inside, spec, brief)
    }

    /// The runtime with the files of a run that is resumed.
    pub fn runtime_for_run(&self, summary: &RunSummary) -> Result<Arc<WiredRuntime>, RunPlaceError> {
        let place = RunPlace::of_run(summary, &self.project.display().to_string());
        Ok(match place.present_worktree(&summary.id, |path| Path::new(path).is_dir())? {
            None => Arc::clone(&self.runtime),
            Some(tree) => Arc::new(self.runtime_in_worktree(&tree.path)),
        })
    }

    fn runtime_in_worktree(&self, tree: &str) -> WiredRuntime {
        let place = WorktreeLocation { project: &self.project, worktree: Path::new(tree) };
        wiring::wire_beside(&self.runtime, place, &self.data, &self.catalog)
    }
}

/// What the user is told of an isolated run: what its files lack, where it works, and what becomes of it.
pub fn isolated_start_text(started: &IsolatedStart) -> String {
    let mut lines = missing_file_lines(&started.missing);
    lines.push(worktree_text(&started.run, &started.tree));
    lines.join("\n")
}

/// Where an isolated run works, and what becomes of it.
pub fn worktree_text(run: &RunId, tree: &RunWorktree) -> String {
    format!(
        "its files: {}\n→ synthdev runs merge {run} brings its changes here, runs discard drops them",
        tree.path
    )
}

/// What could not be copied, a line each.
pub fn missing_file_lines(skipped: &[SkippedPath]) -> Vec<String> {
    let line =
        |file: &SkippedPath| format!("not in the worktree: {} ({})", safe_name(&file.path), file.reason);
    skipped.iter().map(line).collect()
}
