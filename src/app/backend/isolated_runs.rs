//! Isolated workflows of the screen: each works in a git worktree, among the other runs of the session.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error_text::{store_error_text, with_hint};
use crate::bootstrap::{self, WiredRuntime, WorktreeLocation};
use crate::{cli_context::CliContext, isolation, system_context};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::snapshot::RunWorktree;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::snapshot::SnapshotError;
use synthdev_ports::worktree::WorktreePort;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_settings::catalog::ConfigCatalog;

/// What a run in another directory is wired with; kept, because making a worktree takes a while.
#[derive(Clone)]
pub(crate) struct IsolatedRuns {
    project: PathBuf,
    data: PathBuf,
    catalog: Arc<ConfigCatalog>,
    runtime: Arc<WiredRuntime>,
}

impl IsolatedRuns {
    pub(crate) fn new(world: &CliContext, catalog: Arc<ConfigCatalog>, wired: Arc<WiredRuntime>) -> Self {
        Self { project: world.project.clone(), data: world.dirs.data.clone(), catalog, runtime: wired }
    }

    pub(super) fn current_catalog(&self) -> &ConfigCatalog {
        &self.catalog
    }

    pub(super) fn current_runtime(&self) -> &WiredRuntime {
        &self.runtime
    }

    /// The run, and where it works. Without a worktree nothing is started. Blocking.
    pub(crate) fn start_run(&self, spec: RunSpec) -> Result<(RunId, String), String> {
        self.start_with(spec, |_, handle| handle.clone())
    }

    /// The same on what `around` makes of the runtime.
    pub(crate) fn start_with(
        &self,
        spec: RunSpec,
        around: impl FnOnce(&RunId, &RuntimeHandle) -> RuntimeHandle,
    ) -> Result<(RunId, String), String> {
        // its files would begin as they are
        self.runtime.handle.ensure_files_consistent().map_err(|error| store_error_text(&error))?;
        let trees = bootstrap::git_worktrees(&self.project, &self.data, &self.catalog);
        let id = self.runtime.handle.draw_run_id();
        let workflow = spec.program.workflows.first().map(|root| root.name.clone()).unwrap_or_default();
        let tree = trees.create(&id, &workflow).map_err(|error| snapshot_error_text(&error))?;
        let spec = RunSpec {
            brief: system_context::build_system_context(&self.catalog, Path::new(&tree.path)),
            ..spec
        };
        let begun = isolation::missing_file_lines(&trees, &tree)
            .map_err(|error| snapshot_error_text(&error))
            .and_then(|missing| {
                let run = around(&id, &self.runtime_in_worktree(&tree.path).handle);
                let run = run.start_as(id.clone(), spec, Some(tree.clone()));
                run.map(|_| missing).map_err(|error| store_error_text(&error))
            });
        if begun.is_err() {
            // nothing was started
            drop(trees.discard(&tree, false));
        }
        let place = worktree_text(&id, &tree);
        Ok((id, begun?.into_iter().chain([place]).collect::<Vec<_>>().join("\n")))
    }

    /// The runtime with the files of a run that is resumed.
    pub(crate) fn runtime_for_run(&self, summary: &RunSummary) -> Result<Arc<WiredRuntime>, String> {
        match &summary.worktree {
            None => Ok(Arc::clone(&self.runtime)),
            Some(tree) if Path::new(&tree.path).is_dir() => {
                Ok(Arc::new(self.runtime_in_worktree(&tree.path)))
            }
            Some(tree) => {
                let (message, hint) = isolation::worktree_gone_reason(summary, tree);
                Err(with_hint(&message, Some(&hint)))
            }
        }
    }

    fn runtime_in_worktree(&self, tree: &str) -> WiredRuntime {
        let place = WorktreeLocation { project: &self.project, worktree: Path::new(tree) };
        bootstrap::wire_beside(&self.runtime, place, &self.data, &self.catalog)
    }
}

/// Where an isolated run works, and what becomes of it.
pub(super) fn worktree_text(run: &RunId, tree: &RunWorktree) -> String {
    format!(
        "its files: {}\n→ synthdev runs merge {run} brings its changes here, runs discard drops them",
        tree.path
    )
}

fn snapshot_error_text(error: &SnapshotError) -> String {
    with_hint(&error.message, error.hint.as_deref())
}
