//! Staying with a run until it stops, for the request that set it going.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::service::RequestContext;

use super::backend::McpBackend;
use super::error::{McpCallError, ToolResultError};
use super::pause_timeouts;
use super::progress::ProgressNotifier;
use super::reminders::{PauseKey, PauseReminder};
use super::response::{PendingAction, may_answer};
use super::sampling::ClientSampling;
use super::transport::ClientPresence;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{OpenPause, RunStatus, RunSummary};
use synthdev_domain::run_error::RunError;
use synthdev_service::conversations::is_conversation;
use synthdev_service::run_control::command_driven_run;
use synthdev_service::run_events::{EventReceiver, RunEvent, RuntimeHandle};
use synthdev_service::run_resume::ResumeToken;
use synthdev_service::run_steering::RunCommand;

/// How long is waited for further requests of the same moment.
const TOGETHER: Duration = Duration::from_millis(20);
/// How often is looked whether the run is there at all.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Whose request it is.
#[derive(Clone, Copy)]
pub(super) struct RequestClient<'c> {
    pub(super) context: &'c RequestContext<RoleServer>,
    pub(super) presence: &'c ClientPresence,
}

/// Waits until the run has stopped, or asks its client for a model's answer that the client does not give right away. `events` were subscribed to before it was
/// set going. A request that is cancelled cancels its run; one whose client went away leaves it.
pub(super) async fn await_run(
    backend: &dyn McpBackend,
    run: &RunId,
    events: EventReceiver,
    client: RequestClient<'_>,
) -> Result<RunSummary, McpCallError> {
    follow_run(backend, run, events, client, true).await
}

/// The same for a client that only watches: cancelling its request leaves the run alone.
pub(super) async fn watch_run(
    backend: &dyn McpBackend,
    run: &RunId,
    events: EventReceiver,
    client: RequestClient<'_>,
) -> Result<RunSummary, McpCallError> {
    follow_run(backend, run, events, client, false).await
}

async fn follow_run(
    backend: &dyn McpBackend,
    run: &RunId,
    mut events: EventReceiver,
    client: RequestClient<'_>,
    cancels: bool,
) -> Result<RunSummary, McpCallError> {
    let (handle, interactions, context) = (backend.handle(), backend.interactions(), client.context);
    let (mut asked, mut tasks) = (interactions.watch(), handle.task_broker().watch());
    let mut progress = ProgressNotifier::from_context(context);
    let mut sampling = ClientSampling::new(interactions, &context.peer);
    let mut looks = tokio::time::interval(LOOK_AGAIN);
    let (mut cancelled, mut over) = (false, false);
    let mut last = None;
    loop {
        if !cancelled && interactions.has_unclaimed_call(run) {
            sampling.send_open_requests(run);
        }
        let asks = interactions.has_unclaimed_call(run) || handle.task_broker().has_unclaimed_task(run);
        // the client of this request may be the one that the other run waits for
        let queues = cancels && handle.awaited_lock_holder(run).is_some();
        if !cancelled && (asks || queues) && sampling.is_idle() {
            // branches ask at the same time
            tokio::time::sleep(TOGETHER).await;
            break;
        }
        tokio::select! {
            biased;
            () = client.presence.wait_gone() => break,
            () = context.ct.cancelled(), if !cancelled => {
                if !cancels {
                    break;
                }
                cancelled = true;
                command_driven_run(handle, run, RunCommand::Cancel);
            }
            () = progress.send_progress(), if progress.is_busy() => {}
            event = events.recv() => {
                let Some(published) = event else { break };
                if published.run != *run {
                    continue;
                }
                if let RunEvent::Finished { status, error, .. } = published.event {
                    last = Some((status, error));
                    break;
                }
                progress.queue_event(&published);
            }
            _ = asked.changed() => {}
            _ = tasks.changed() => {}
            () = sampling.next_result(), if !sampling.is_idle() => {}
            _ = looks.tick() => {
                // it may have ended before the subscription; events since then are read before the next check
                let gone = !handle.running_runs().contains(run);
                if over && gone {
                    break;
                }
                over = gone;
            }
        }
    }
    progress.finish_progress().await;
    final_summary(handle, run, last).await
}

/// The summary of a run that was followed, with `last` from its end event.
async fn final_summary(
    handle: &RuntimeHandle,
    run: &RunId,
    last: Option<(RunStatus, Option<Box<RunError>>)>,
) -> Result<RunSummary, McpCallError> {
    if last.is_some() {
        await_release(handle, run).await;
    }
    let mut summary = run_summary(handle, run)?;
    if let (RunStatus::Running, Some((status, error))) = (summary.progress.status, last) {
        // its end could not be recorded
        summary.progress.status = status;
        summary.progress.error = error.map(|error| *error);
    }
    Ok(summary)
}

/// The end event comes before the run releases the project's files: a client that gets the answer may start the next
/// run.
pub(super) async fn await_release(handle: &RuntimeHandle, run: &RunId) {
    let _ = tokio::time::timeout(LOOK_AGAIN, handle.wait_until_released(run)).await;
}

/// The summary of a run from the store.
pub(super) fn run_summary(handle: &RuntimeHandle, run: &RunId) -> Result<RunSummary, McpCallError> {
    let found = handle.summary(run.as_str());
    found.map_err(|error| {
        ToolResultError::new("store", "The history cannot be read", error.message).hint(error.hint).into()
    })
}

/// The open pauses of a run, with a token for each that the client may answer: the same one as long as it is valid.
pub(super) fn pending_actions(backend: &dyn McpBackend, run: &RunSummary) -> Vec<PendingAction> {
    if run.progress.status != RunStatus::Paused {
        return Vec::new();
    }
    run.progress.pauses.iter().map(|pause| pending_action(backend, run, pause)).collect()
}

fn pending_action(backend: &dyn McpBackend, summary: &RunSummary, pause: &OpenPause) -> PendingAction {
    let (handle, reminders, run) = (backend.handle(), backend.reminders(), &summary.id);
    let now = handle.now();
    let ttl_seconds = pause_timeouts::token_lifetime_seconds(pause, now);
    // resuming refuses a conversation, so a token would be of no use
    let allowed = may_answer(pause, backend.remote_approvals()) && !is_conversation(handle, summary);
    let good = |token: &ResumeToken| handle.is_token_valid(token);
    let key = || PauseKey { run: run.clone(), call: pause.call };
    let new = || {
        let token = handle.issue_token(run, pause.call, ttl_seconds).ok()?;
        if let Some(reminder) = Arc::clone(reminders).claim_reminder(key()) {
            let (handle, run) = (handle.clone(), run.clone());
            tokio::spawn(warn_before_expiry(handle, run, pause.clone(), ttl_seconds, reminder));
        }
        Some(token)
    };
    let given = || reminders.token(key(), now, good, new);
    let token = allowed.then(given).flatten();
    let left = token.as_ref().map(|token| pause_timeouts::whole_seconds(now, token.expires_at));
    PendingAction { token, pause: pause.clone(), ttl_seconds: left.unwrap_or(ttl_seconds) }
}

/// A line in the log when five sixths of a token's time are over and it is still needed.
async fn warn_before_expiry(
    handle: RuntimeHandle,
    run: RunId,
    pause: OpenPause,
    ttl_seconds: u64,
    _reminder: PauseReminder,
) {
    let left = Duration::from_secs(ttl_seconds) / 6;
    tokio::time::sleep(left * 5).await;
    let still = |run: RunSummary| {
        let open = run.progress.pauses.iter().any(|open| open.call == pause.call);
        open && run.progress.status == RunStatus::Paused
    };
    if handle.summary(run.as_str()).is_ok_and(still) {
        let seconds = left.as_secs();
        tracing::warn!(%run, state = pause.state, "no client has resumed it yet: a token expires in {seconds} s");
    }
}
