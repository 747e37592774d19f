//! Tools that run in the project.

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, ready};

use synthdev_domain::ids::RunId;
use synthdev_domain::tool::{
    InterruptedCallStatus, PlannedFileEdit, RerunPolicy, RunningCommand, ToolInvocation, ToolOutcome,
    ToolPreview, ToolSpec,
};

/// Receives the progress of a running tool.
pub trait ToolProgressSink: Send + Sync {
    /// A short text for the user; each replaces the one before.
    fn report_progress(&self, text: &str);
}

/// Ignores progress.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoToolProgress;

impl ToolProgressSink for NoToolProgress {
    fn report_progress(&self, _: &str) {}
}

pub trait ToolPort: Send + Sync {
    /// Every tool there is, in a stable order.
    fn specs(&self) -> &[ToolSpec];

    /// What would happen, for the approval dialog. `None`: nothing worth showing.
    fn preview_call<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, Option<ToolPreview>>;

    /// Why no policy and no user's answer lets this call run: it is refused before a question is asked. Running it
    /// answers the same.
    fn refusal_reason(&self, _: &ToolInvocation) -> Option<String> {
        None
    }

    /// What the call would answer without doing anything: its arguments do not fit, or the change that it plans cannot be
    /// made as the files are now. `None`: it can run.
    fn check_call<'a>(&'a self, _: &'a ToolInvocation) -> BoxFuture<'a, Option<ToolOutcome>> {
        ready(None).boxed()
    }

    /// The expected effect of the call on the one file that it changes, stored before it runs for recovery after a
    /// crash. `None`: it changes no file, its effect cannot be predicted, or it would fail.
    fn plan_file_edit<'a>(&'a self, invocation: &'a ToolInvocation)
    -> BoxFuture<'a, Option<PlannedFileEdit>>;

    /// The status of a call without a result. Also removes what the killed call left half written, so the check is
    /// worthwhile even if the call will not be repeated.
    fn check_interrupted_call<'a>(
        &'a self,
        invocation: &'a ToolInvocation,
        planned: &'a PlannedFileEdit,
    ) -> BoxFuture<'a, InterruptedCallStatus>;

    /// What to do about a call that has begun and whose result is missing. For an unknown tool the user decides.
    fn rerun_policy(&self, invocation: &ToolInvocation) -> RerunPolicy;

    /// Runs the tool. Never fails as a future: what went wrong is in the outcome, for the model to read.
    /// Dropping the future stops the tool and every process it started.
    fn run<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome>;

    /// The same with the network, which the user has allowed for this call. For tools whose outcome can say
    /// `network_denied`.
    fn run_with_network<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        self.run(invocation)
    }

    /// As `run` or `run_with_network`; the tool reports its progress to `progress`.
    fn run_reporting<'a>(
        &'a self,
        invocation: &'a ToolInvocation,
        with_network: bool,
        _progress: &'a dyn ToolProgressSink,
    ) -> BoxFuture<'a, ToolOutcome> {
        if with_network { self.run_with_network(invocation) } else { self.run(invocation) }
    }

    /// A message of the user, with the images that it names (`@shot.png`).
    fn attach_images(&self, text: String) -> BoxFuture<'_, String> {
        ready(text).boxed()
    }

    /// A run ends or is left: the commands that its calls left running have ended when this does. `is_final`: the run will
    /// not be resumed, so what is kept for it goes, too.
    fn end_run<'a>(&'a self, _run: &'a RunId, _is_final: bool) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    /// The commands of a run that run in the background now.
    fn running_commands(&self, _: &RunId) -> Vec<RunningCommand> {
        Vec::new()
    }

    /// Until one of those has ended; at once where none runs.
    fn wait_command_end<'a>(&'a self, _: &'a RunId) -> BoxFuture<'a, ()> {
        ready(()).boxed()
    }

    /// Stops one of those, with all of its processes. `false`: there is none with this id.
    fn stop_running_command(&self, _: &RunId, _: &str) -> bool {
        false
    }

    /// Why no sandbox can hold this call. Such a call runs only after the user allows it.
    fn lacks_sandbox(&self, _: &ToolInvocation) -> Option<String> {
        None
    }

    /// Runs it without a sandbox, as the user has allowed for this call.
    fn run_without_sandbox<'a>(&'a self, invocation: &'a ToolInvocation) -> BoxFuture<'a, ToolOutcome> {
        self.run(invocation)
    }
}
