//! Starting a run.
//!
//! Owns what a run begins with, and on which files it works beside others. Refuses to leave anything behind of a run
//! that did not start.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value};

use synthdev_domain::ids::RunId;
use synthdev_domain::snapshot::{RunWorktree, SkippedPath};
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::workflow::{StateBody, SubAgents, WorkflowProgram};
use synthdev_engine::run_spec::{MACHINE_VERSION, RunSpec};
use synthdev_engine::steering::BreakpointSet;
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::SnapshotError;
use synthdev_ports::worktree::WorktreePort;
use synthdev_runtime::handle::{RuntimeHandle, WAIT_OR_SHARE, WAIT_OR_SHARE_RESUMED};
use synthdev_runtime::lock_timing::LockTiming;
use synthdev_settings::catalog::ConfigCatalog;

/// On which files a run works where another one holds those of the project.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FileSharingMode {
    /// It is not started.
    #[default]
    Refused,
    /// It waits before it changes files.
    Waits,
    /// Both change the same files.
    Shares,
    /// It has files of its own: a git worktree.
    Isolated,
}

/// When the runs of a front-end take the project's files: a fact of its process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileLockTime {
    /// When they start: the process drives one run at a time.
    AtStart,
    /// Before they change files: the process serves several clients.
    BeforeChanges,
}

impl FileSharingMode {
    /// A handle whose runs take the project's files as this mode says. One that is isolated works on others, and keeps
    /// the lock of those.
    #[must_use]
    pub fn apply_to(self, handle: &RuntimeHandle, time: FileLockTime) -> RuntimeHandle {
        let timing = match (self, time) {
            (Self::Waits, _) => LockTiming::BeforeChanges { waits: true },
            (_, FileLockTime::AtStart) => LockTiming::AtStart,
            (mode, FileLockTime::BeforeChanges) => LockTiming::BeforeChanges { waits: mode != Self::Refused },
        };
        let handle = handle.with_lock_timing(timing);
        if self == Self::Shares { handle.with_shared_lock() } else { handle }
    }

    /// A workflow that is declared as isolated has files of its own, whatever is asked for.
    #[must_use]
    pub fn for_program(self, program: &WorkflowProgram) -> Self {
        let is_isolated = program.workflows.first().is_some_and(|root| root.isolated);
        if is_isolated { Self::Isolated } else { self }
    }
}

/// What of a run sub-agents do, and how.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DelegationOptions {
    pub sub_agents: SubAgents,
    /// Sub-agents get a report of each step that the run does itself, and acknowledge it.
    pub ack_steps: bool,
    /// One task at a time.
    pub is_serial: bool,
}

/// What a run is started with. The input is checked.
pub struct RunStartRequest {
    pub program: WorkflowProgram,
    pub inputs: Map<String, Value>,
    /// Every call is approved.
    pub approves_all: bool,
    /// A user can be asked.
    pub interactive: bool,
    pub stops: BreakpointSet,
}

impl RunStartRequest {
    /// `brief` is the system context of its agents.
    pub fn into_spec(self, catalog: &ConfigCatalog, brief: SystemContext) -> RunSpec {
        let approvals = catalog.settings().approval_policy();
        RunSpec {
            machine_version: MACHINE_VERSION,
            program: self.program,
            inputs: self.inputs,
            approvals: if self.approves_all { approvals.approving_all() } else { approvals },
            brief,
            stops: self.stops,
            interactive: self.interactive,
        }
    }
}

/// The workflow as it runs for a client: that answers `delegate` states, so a default or `on_timeout` applies only when
/// their time is up, and its sub-agents do what it says.
#[must_use]
pub fn delegated_program(mut program: WorkflowProgram, options: DelegationOptions) -> WorkflowProgram {
    for workflow in program.workflows.iter_mut().map(Arc::make_mut) {
        for state in &mut workflow.states {
            if let StateBody::Pause(pause) = &mut state.work
                && let Some(request) = &mut pause.request
            {
                request.waits = pause.default.is_some() || pause.on_timeout.is_some();
            }
        }
    }
    if let Some(root) = program.workflows.first_mut().map(Arc::make_mut) {
        (root.sub_agents, root.ack_steps) = (options.sub_agents, options.ack_steps);
        if options.is_serial {
            root.limits.max_concurrency = 1;
        }
    }
    program
}

/// Why a run was not started; nothing is left of it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RunStartError {
    #[error("{}", .0.message)]
    Store(#[from] StoreError),
    #[error("{}", .0.message)]
    Snapshot(#[from] SnapshotError),
}

impl RunStartError {
    /// What to do instead.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Store(error) => error.hint.as_deref(),
            Self::Snapshot(error) => error.hint.as_deref(),
        }
    }
}

/// A front-end without the flags of the command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FlaglessFrontEnd {
    Screen,
    McpClient,
}

impl FlaglessFrontEnd {
    /// A hint of the command line with what can be done here where another run works on the same files.
    pub fn translate_start_hint(self, hint: &str) -> String {
        let (start, resume) = match self {
            Self::Screen => (
                "wait for it, end it with /stop, or start this one beside it: /workflow NAME --isolate (a git worktree of its own) \
                 or --share (the same files); /runs running shows what runs",
                "wait for it, or end it with /stop; /runs running shows what runs",
            ),
            Self::McpClient => (
                "wait until that run has ended, or call start_workflow with \"files\": \"wait\" (it waits before its first change), \
                 \"share\" (both change the same files) or \"isolate\" (a git worktree of its own)",
                "wait until that run has ended",
            ),
        };
        hint.replace(WAIT_OR_SHARE, start).replace(WAIT_OR_SHARE_RESUMED, resume)
    }
}

/// Starts a run on the project's files.
///
/// # Errors
/// Another run holds them, or the history cannot be written.
pub fn start_run(handle: &RuntimeHandle, spec: RunSpec) -> Result<RunId, RunStartError> {
    Ok(handle.start(spec)?)
}

/// The same under an id that was drawn for it.
///
/// # Errors
/// As `start_run`.
pub fn start_run_as(handle: &RuntimeHandle, run: RunId, spec: RunSpec) -> Result<RunId, RunStartError> {
    Ok(handle.start_as(run, spec, None)?)
}

/// A run that works in a worktree of its own.
pub struct IsolatedStart {
    pub run: RunId,
    pub tree: RunWorktree,
    /// What could not be copied.
    pub missing: Vec<SkippedPath>,
}

/// A worktree for a run that is about to start. It is removed again unless the run starts.
pub struct PreparedWorktree<'w> {
    pub run: RunId,
    pub tree: RunWorktree,
    /// What could not be copied.
    pub missing: Vec<SkippedPath>,
    worktrees: &'w dyn WorktreePort,
    is_used: bool,
}

impl<'w> PreparedWorktree<'w> {
    /// `handle` is that of the project.
    ///
    /// # Errors
    /// The project's files are of two moments, or no worktree can be made of them.
    pub fn create(
        handle: &RuntimeHandle,
        worktrees: &'w dyn WorktreePort,
        program: &WorkflowProgram,
    ) -> Result<Self, RunStartError> {
        // its files would begin as they are
        handle.ensure_files_consistent()?;
        let run = handle.draw_run_id();
        let workflow = program.workflows.first().map(|root| root.name.as_str()).unwrap_or_default();
        let tree = worktrees.create(&run, workflow)?;
        let mut prepared = Self { run, tree, missing: Vec::new(), worktrees, is_used: false };
        prepared.missing = worktrees.skipped(&prepared.tree)?;
        Ok(prepared)
    }

    /// `handle` is that of the worktree; `brief` describes it. A run without a description, as one that is recorded
    /// for other machines, gets none.
    ///
    /// # Errors
    /// The history cannot be written.
    pub fn start(
        mut self,
        handle: &RuntimeHandle,
        spec: RunSpec,
        brief: impl FnOnce(&Path) -> SystemContext,
    ) -> Result<IsolatedStart, RunStartError> {
        let has_brief = !spec.brief.is_empty();
        let brief = if has_brief { brief(Path::new(&self.tree.path)) } else { SystemContext::default() };
        let tree = self.tree.clone();
        let run = handle.start_as(self.run.clone(), RunSpec { brief, ..spec }, Some(tree.clone()))?;
        self.is_used = true;
        Ok(IsolatedStart { run, tree, missing: std::mem::take(&mut self.missing) })
    }
}

impl Drop for PreparedWorktree<'_> {
    fn drop(&mut self) {
        if !self.is_used {
            // best effort: why the run was not started is the error to report
            drop(self.worktrees.discard(&self.tree, false));
        }
    }
}

#[cfg(test)]
mod tests {
    use synthdev_domain::workflow::Workflow;

    use super::*;

    #[test]
    fn an_isolated_workflow_has_files_of_its_own_whatever_is_asked_for() {
        let program = |isolated: bool| WorkflowProgram {
            workflows: vec![Arc::new(Workflow { isolated, ..Workflow::default() })],
            hash: String::new(),
            start_warnings: Vec::new(),
        };
        let modes = [
            FileSharingMode::Refused,
            FileSharingMode::Waits,
            FileSharingMode::Shares,
            FileSharingMode::Isolated,
        ];
        for mode in modes {
            assert_eq!(mode.for_program(&program(false)), mode);
            assert_eq!(mode.for_program(&program(true)), FileSharingMode::Isolated, "{mode:?}");
        }
    }
}
