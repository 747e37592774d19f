//! Runs for a session: lists, commands, steps, going back, stored files.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;

use super::{TuiBackend, answer_blocking, past_runs, run_blocking, snapshot_command, time_travel};
use synthdev_bootstrap::local_files::file_watch;
use synthdev_bootstrap::wiring::{self, WiredRuntime};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_runtime::command::ControlAction;
use synthdev_service::run_control::command_driven_run;
use synthdev_service::run_place::RunOperation;
use synthdev_service::session::{
    FileWorkKind, FileWorkWatch, RunFilter, RunListPurpose, RunRequest, RunResponse, ServiceAnswer,
    SnapshotOperation,
};

/// What `/snapshot` completes ids from.
fn answer_snapshot_names(wired: Arc<WiredRuntime>) -> ServiceAnswer<RunResponse> {
    let clock = wired.handle.clone();
    answer_blocking(
        move || snapshot_command::list_snapshots(&wired),
        move |list| RunResponse::SnapshotNames { list: list.unwrap_or_default(), at: clock.now() },
    )
}

fn stop_command(wired: &WiredRuntime, run: &RunId, id: &str) -> ServiceAnswer<RunResponse> {
    let stopped = wired.handle.stop_running_command(run, id);
    let none = || format!("no command {id} runs in the background any more");
    let told = stopped.then(|| format!("{id} is stopped")).ok_or_else(none);
    ServiceAnswer::now(RunResponse::CommandStopped(told))
}

impl TuiBackend {
    pub(crate) fn answer_run_request(&self, request: RunRequest) -> ServiceAnswer<RunResponse> {
        let (wired, here) = (self.current_runtime(), self.project());
        match request {
            RunRequest::Send(run, command) => {
                command_driven_run(&wired.handle, &run, command);
                ServiceAnswer::nothing()
            }
            RunRequest::List(filter, purpose) => self.answer_list(filter, purpose),
            RunRequest::Resumable(filter) => self.answer_resumable(filter),
            RunRequest::Search(words) => self.answer_search(words),
            RunRequest::Resume(run) => self.answer_resume(run, RunOperation::Resume),
            RunRequest::Retry(run) => self.answer_resume(run, RunOperation::Retry),
            RunRequest::Control(run, control) => self.answer_control(run, control),
            RunRequest::Review { run, agent } => answer_blocking(
                move || past_runs::review_last_call(&wired.handle, &run, agent),
                RunResponse::Reviewed,
            ),
            RunRequest::Steps(run) => answer_blocking(
                move || time_travel::list_steps(&wired.handle, &here, run),
                RunResponse::Steps,
            ),
            RunRequest::Why { run, step } => answer_blocking(
                move || time_travel::explain_step(&wired.handle, &here, run.as_deref(), &step),
                RunResponse::Explained,
            ),
            RunRequest::Plan(travel) => {
                let (action, elsewhere) = (RunRequest::Plan(travel.clone()), self.isolated_runs());
                answer_blocking(
                    move || time_travel::plan_travel(&elsewhere, &here, travel),
                    |preview| RunResponse::Planned { action, preview },
                )
            }
            RunRequest::Travel(travel) => {
                let elsewhere = self.isolated_runs();
                answer_blocking(
                    move || time_travel::travel_to_step(&elsewhere, &here, travel),
                    RunResponse::Travelled,
                )
            }
            RunRequest::SnapshotNames => answer_snapshot_names(wired),
            RunRequest::Snapshot(command) => self.answer_snapshot(command),
            RunRequest::PlanRestore(id) => {
                let action = RunRequest::PlanRestore(id.clone());
                answer_blocking(
                    move || snapshot_command::plan_restore(&wired, &id),
                    |preview| RunResponse::Planned { action, preview },
                )
            }
            RunRequest::RunningCommands { run, after_end } => self.answer_running_commands(run, after_end),
            RunRequest::StopCommand { run, id } => stop_command(&wired, &run, &id),
            RunRequest::FileProgress(watch) => self.answer_file_progress(watch),
            RunRequest::Watch => {
                let writes = file_watch::watch_file(&wiring::history_path(&self.context.dirs.data));
                ServiceAnswer::each(writes.map(|()| RunResponse::Written).boxed())
            }
        }
    }

    /// Runs of workflows, as they are offered at the start.
    pub(crate) fn list_workflow_runs(
        &self,
        filter: RunFilter,
    ) -> BoxFuture<'static, Result<Vec<RunSummary>, String>> {
        let (handle, here) = (self.current_runtime().handle.clone(), self.project());
        run_blocking(move || past_runs::list_workflow_runs(&handle, &here, filter))
    }

    fn answer_list(&self, filter: RunFilter, list_purpose: RunListPurpose) -> ServiceAnswer<RunResponse> {
        let (handle, here) = (self.current_runtime().handle.clone(), self.project());
        let clock = handle.clone();
        answer_blocking(
            move || match list_purpose {
                // a conversation that waits for its next message is no news
                RunListPurpose::Offer | RunListPurpose::Pending => {
                    past_runs::list_workflow_runs(&handle, &here, filter)
                }
                RunListPurpose::Show | RunListPurpose::Resume | RunListPurpose::Names => {
                    past_runs::list_runs(&handle, &here, filter)
                }
            },
            move |list| RunResponse::List { list_purpose, list, at: clock.now() },
        )
    }

    fn answer_resumable(&self, filter: RunFilter) -> ServiceAnswer<RunResponse> {
        let (handle, here) = (self.current_runtime().handle.clone(), self.project());
        let clock = handle.clone();
        answer_blocking(
            move || past_runs::list_resumable(&handle, &here, filter),
            move |list| RunResponse::Resumable { list, at: clock.now() },
        )
    }

    fn answer_search(&self, search_words: String) -> ServiceAnswer<RunResponse> {
        let (handle, words) = (self.current_runtime().handle.clone(), search_words.clone());
        let clock = handle.clone();
        answer_blocking(
            move || past_runs::search_history(&handle, &words),
            move |hits| RunResponse::Found { search_words, hits, at: clock.now() },
        )
    }

    fn answer_resume(&self, run: RunId, operation: RunOperation) -> ServiceAnswer<RunResponse> {
        let (elsewhere, resumed, pending) = (self.isolated_runs(), run.clone(), self.breakpoints.clone());
        answer_blocking(
            move || past_runs::resume_run(&elsewhere, &resumed, operation, &pending),
            move |result| RunResponse::Resumed { run, result },
        )
    }

    fn answer_control(&self, run: String, control: ControlAction) -> ServiceAnswer<RunResponse> {
        let handle = self.current_runtime().handle.clone();
        ServiceAnswer::later(async move {
            RunResponse::Controlled(control, past_runs::control_run(&handle, &run, control).await)
        })
    }

    fn answer_running_commands(&self, run: RunId, after_end: bool) -> ServiceAnswer<RunResponse> {
        let handle = self.current_runtime().handle.clone();
        ServiceAnswer::later(async move {
            if after_end {
                handle.wait_command_end(&run).await;
            }
            let commands = handle.running_commands(&run);
            RunResponse::RunningCommands { run, after_end, commands, at: handle.now() }
        })
    }

    fn answer_snapshot(&self, command: SnapshotOperation) -> ServiceAnswer<RunResponse> {
        let (wired, operation) = (self.current_runtime(), command.clone());
        let work = move || snapshot_command::run_snapshot_command(&wired, operation);
        answer_blocking(work, move |text| RunResponse::Snapshot { command, text })
    }

    fn answer_file_progress(&self, watch: FileWorkWatch) -> ServiceAnswer<RunResponse> {
        /// Work that is over sooner shows nothing.
        const MOMENT: Duration = Duration::from_millis(400);
        let (wired, counter) = (self.current_runtime(), Arc::clone(&self.file_counter));
        ServiceAnswer::later(async move {
            tokio::time::sleep(MOMENT).await;
            let progress = match watch.kind {
                FileWorkKind::Worktree => counter.progress(),
                FileWorkKind::Snapshot => wired.ports.snapshots.progress(),
            };
            RunResponse::FileProgress { watch, progress, at: wired.handle.now() }
        })
    }
}
