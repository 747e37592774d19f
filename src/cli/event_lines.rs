//! What happens beside the ordinary turns of a run, a line each: branches, and what went wrong and was dealt with. For
//! the progress of a run and for the timeline of a past one.

use super::output::{first_line, safe_name};
use synthdev_domain::cost::CostEntry;
use synthdev_domain::cost_breakdown::total_cost;
use synthdev_engine::event::RunEvent;
use synthdev_engine::steering::Breakpoint;

/// `None`: it is no such moment.
pub fn event_line(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::ContextSummarized { agent, context, entries, model, usage, .. } => {
            let (agent, context, model, total) =
                (safe_name(agent), safe_name(context), safe_name(model), usage.total());
            format!("{agent} summarized {entries} messages of {context} ({model}, {total} tokens)")
        }
        RunEvent::Forked { total, .. } => format!("{total} at once"),
        RunEvent::BranchStarted { branch, .. } => format!("branch {} started", safe_name(branch)),
        RunEvent::BranchFinished { branch, error: None, .. } => {
            format!("branch {} finished", safe_name(branch))
        }
        RunEvent::BranchFinished { branch, error: Some(error), .. } => {
            format!("branch {} failed: {}", safe_name(branch), first_line(&error.detail, 120))
        }
        RunEvent::Joined { succeeded, failed, stopped, .. } => {
            format!("joined: {succeeded} succeeded, {failed} failed, {stopped} stopped")
        }
        RunEvent::Retrying { attempt, max_attempts, delay_ms, error, .. } => format!(
            "attempt {attempt} of {max_attempts} in {delay_ms} ms after [{}]: {}",
            safe_name(&error.code),
            first_line(&error.detail, 100)
        ),
        RunEvent::Caught { error, by, target, .. } => {
            let target =
                target.as_ref().map_or_else(String::new, |target| format!(" → {}", safe_name(target)));
            format!("[{}] taken by {}{target}", safe_name(&error.code), safe_name(by))
        }
        RunEvent::Stored { key, .. } => format!("stored in common_data.{}", safe_name(key)),
        RunEvent::BudgetWarning { scope, what, spent, soft, .. } => {
            format!(
                "warning: budget of {}: {spent} {} spent, it warns at {soft}",
                safe_name(scope),
                safe_name(what)
            )
        }
        RunEvent::BudgetRaised { scope, what, hard } => {
            format!("budget of {} raised to {hard} {}", safe_name(scope), safe_name(what))
        }
        RunEvent::ModelStopped { agent, spent, .. } => {
            format!("call of {} stopped{}", safe_name(agent), stopped_call_usage(spent))
        }
        RunEvent::Waiting { .. } => "waiting".to_owned(),
        RunEvent::Breakpoints { step, points } => breakpoints_text(*step, points),
        RunEvent::Heard { text } => format!("read by a script: {}", first_line(text, 120)),
        RunEvent::TakenBack { text } => format!("taken back: {}", first_line(text, 120)),
        RunEvent::Queued { text } => format!("queued: {}", first_line(text, 120)),
        _ => return None,
    })
}

/// `breakpoints: before every state, state review`
fn breakpoints_text(step: bool, points: &[Breakpoint]) -> String {
    let every = step.then(|| "before every state".to_owned());
    let at: Vec<String> = every.into_iter().chain(points.iter().map(Breakpoint::to_string)).collect();
    if at.is_empty() {
        "no breakpoints".to_owned()
    } else {
        first_line(&format!("breakpoints: {}", at.join(", ")), 160)
    }
}

/// What was paid for a call without an answer: `; it used 120 tokens, estimated`.
pub fn stopped_call_usage(spent: &[CostEntry]) -> String {
    let sum = total_cost(spent);
    match (sum.usage.total(), sum.estimated > 0) {
        (0, _) => String::new(),
        (tokens, true) => format!("; it used about {tokens} tokens (estimated)"),
        (tokens, false) => format!("; it used {tokens} tokens"),
    }
}
