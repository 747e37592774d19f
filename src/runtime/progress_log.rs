//! What is written down of a run beside its journal: its row in lists, and the log.

use std::sync::{Mutex, PoisonError};

use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunProgress;
use synthdev_engine::effect::Effect;
use synthdev_engine::event::{RunEvent, StepEvent};
use synthdev_engine::machine::{Machine, MachineOutput};

/// What lists show, if it is something else than before. Ten thousand items of a loop, each with states of its own,
/// must not write the same long path ten thousand times. `late`: it is written whatever has changed.
pub(super) fn changed_progress(
    machine: &Machine,
    last: &Mutex<Option<RunProgress>>,
    late: bool,
) -> Option<RunProgress> {
    let progress = machine.progress();
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    let news = last.as_ref().is_none_or(|last| {
        late || last.path.len() != progress.path.len()
            || last.status != progress.status
            || last.snapshot != progress.snapshot
            || last.pauses != progress.pauses
            || last.title != progress.title
            // from now on its price is unknown
            || last.cost_usd.is_some() != progress.cost_usd.is_some()
            || progress.updated.0.saturating_sub(last.updated.0) >= STALE_MS
    });
    news.then(|| last.insert(progress).clone())
}

/// Milliseconds after which the summary row is written although only sums have changed.
const STALE_MS: i64 = 1_000;

/// Whether a question to the user opens or closes.
pub(super) fn changes_questions(output: &MachineOutput) -> bool {
    let asks = |effect: &Effect| matches!(effect, Effect::AskApproval { .. } | Effect::AskPerson { .. });
    let answered = |event: &StepEvent| {
        // a refusal closes a question that the user was not asked
        matches!(
            event.event,
            RunEvent::PersonAnswered { .. }
                | RunEvent::ApprovalAnswered { .. }
                | RunEvent::ToolRefused { .. }
        )
    };
    output.effects.iter().any(asks) || output.events.iter().any(answered)
}

/// Where the summary row changes in a way that lists show.
pub(super) fn is_boundary(event: &StepEvent) -> bool {
    matches!(
        event.event,
        RunEvent::StateEntered { .. }
            | RunEvent::Finished { .. }
            | RunEvent::SnapshotTaken { .. }
            | RunEvent::Resumed { .. }
            | RunEvent::ConversationRenamed { .. }
    )
}

/// Sub-agents are prompted, or a branch that has some has ended.
pub(super) fn affects_sub_agents(machine: &Machine, events: &[StepEvent]) -> bool {
    let ended = || events.iter().any(|event| matches!(event.event, RunEvent::BranchFinished { .. }));
    machine.prompts_sub_agents() || machine.has_sub_agents() && ended()
}

/// The log file says what happened and when, never the content of messages.
pub(super) fn log_event(run: &RunId, event: &RunEvent) {
    match event {
        RunEvent::RunStarted { workflow, .. } => tracing::info!(%run, workflow, "started"),
        RunEvent::StateEntered { state, visit, .. } => tracing::debug!(%run, state, visit, "state"),
        RunEvent::ModelCalled { agent, model, messages, .. } => {
            tracing::debug!(%run, agent, model, messages, "model called");
        }
        RunEvent::ModelFailed { agent, code, attempts, .. } => {
            tracing::warn!(%run, agent, code, attempts, "model failed");
        }
        RunEvent::ToolStarted { agent, tool, .. } => tracing::debug!(%run, agent, tool, "tool"),
        RunEvent::SnapshotFailed { reason } => tracing::warn!(%run, reason, "no snapshot"),
        RunEvent::Finished { status, error, .. } => {
            let code = error.as_ref().map_or("", |error| error.code.as_str());
            tracing::info!(%run, status = status.as_str(), code, "finished");
        }
        _ => {}
    }
}
