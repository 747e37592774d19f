//! Parts of the words for events: errors, amounts, values, questions and answers.

use std::borrow::Cow;

use serde_json::{Map, Value};

use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::context::MessageAuthor;
use synthdev_domain::cost::CostEntry;
use synthdev_domain::cost_breakdown::total_cost;
use synthdev_domain::journal::NEXT_MESSAGE;
use synthdev_domain::number_format::{format_count, format_dollars, format_duration, format_thousands};
use synthdev_domain::run_error::RunError;
use synthdev_domain::snapshot::SkippedPath;
use synthdev_domain::tool::ASKED_BY;
use synthdev_domain::workflow::PauseKind;
use synthdev_engine::effect::UserQuestion;
use synthdev_engine::input::UserAnswer;
use synthdev_engine::steering::Breakpoint;

/// The first characters of an id or a hash.
pub(super) fn short_id(id: &str, characters: usize) -> String {
    id.chars().take(characters).collect()
}

/// `A step failed [tool.failed] — exit 1`
pub(super) fn error_text(error: &RunError) -> String {
    if error.detail == NEXT_MESSAGE {
        return NEXT_MESSAGE.to_owned();
    }
    let detail = if error.detail.is_empty() { String::new() } else { format!(" — {}", error.detail) };
    format!("{} [{}]{detail}", error.title, error.code)
}

/// `1 not covered, vendor/sub (a repository of its own)`
pub(super) fn skipped_paths(skipped: &[SkippedPath]) -> String {
    skipped.first().map_or_else(String::new, |first| {
        format!("{} not covered, {} ({})", skipped.len(), first.path, first.reason)
    })
}

/// `branch alpha of analyse`, `item [3] of each`
pub(super) fn branch_name(state: &str, branch: &str) -> String {
    let kind = if branch.starts_with('[') { "item" } else { "branch" };
    format!("{kind} {branch} of {state}")
}

/// `2 branches`, `8 items`
pub(super) fn member_count(branches: &[String], total: usize) -> String {
    match (branches.len(), total) {
        (0, _) => format_count(total as u64, "item"),
        (_, 1) => "1 branch".to_owned(),
        (_, total) => format!("{total} branches"),
    }
}

/// The author of a message.
pub(super) fn author_name(author: &MessageAuthor) -> &str {
    match author {
        MessageAuthor::Start => "starting message",
        MessageAuthor::Workflow => "workflow",
        MessageAuthor::Human => "user",
        MessageAuthor::Agent(agent) => agent,
        MessageAuthor::Script => "script",
    }
}

/// The agent that calls a tool, or the workflow, for a step of its own.
pub(super) fn caller_name(agent: &str) -> &str {
    if agent.is_empty() { ASKED_BY } else { agent }
}

/// Texts as they are, anything else as JSON.
pub(super) fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// `path = src/lib.rs, start_line = 3`; a value without names as JSON.
pub(super) fn value_pairs(value: &Value) -> String {
    match value {
        Value::Object(map) => data_changes(map, &[]),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// `tries = 2, draft removed`
pub(super) fn data_changes(set: &Map<String, Value>, removed: &[String]) -> String {
    let set = set.iter().map(|(key, value)| format!("{key} = {}", value_text(value)));
    let removed = removed.iter().map(|key| format!("{key} removed"));
    set.chain(removed).collect::<Vec<_>>().join(", ")
}

/// An amount of a budget: tokens, dollars or milliseconds.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "amounts are whole, positive and small"
)]
pub(super) fn budget_amount(what: &str, amount: f64) -> String {
    match what {
        "cost_usd" => format_dollars(Some(amount)),
        "duration" => format_duration(amount.max(0.0) as u64),
        other => format!("{} {other}", format_thousands(amount.max(0.0) as u64)),
    }
}

/// `1,200 tokens`, `about 1,200 tokens`
pub(super) fn used_tokens(tokens: u64, estimated: bool) -> String {
    let about = if estimated { "about " } else { "" };
    format!("{about}{}", format_count(tokens, "token"))
}

/// What was paid for a call without an answer, after `lead`; empty: nothing.
pub(super) fn wasted_tokens(spent: &[CostEntry], lead: &str) -> String {
    let sum = total_cost(spent);
    match sum.usage.total() {
        0 => String::new(),
        tokens => format!("{lead}{}", used_tokens(tokens, sum.estimated > 0)),
    }
}

/// What was answered about a tool, and the reason.
pub(super) fn decision_phrase(decision: &ApprovalDecision) -> (&str, &str) {
    match decision {
        ApprovalDecision::Allow => ("allowed", ""),
        ApprovalDecision::AllowTool => ("allowed for the rest of this run", ""),
        ApprovalDecision::AllowEdited { .. } => ("allowed, changed by the user", ""),
        ApprovalDecision::Deny { reason } => ("denied", reason.as_deref().unwrap_or_default()),
        ApprovalDecision::Refuse { reason } => ("refused", reason),
        ApprovalDecision::Stop => ("not allowed", "no user is present to allow it"),
    }
}

/// A question, and more about it.
pub(super) fn question_phrase(question: &UserQuestion) -> (String, Cow<'_, str>) {
    match question {
        UserQuestion::Message => ("waits for the next message".to_owned(), "".into()),
        UserQuestion::Limit { limit, text, .. } => (format!("continue past {limit}?"), text.into()),
        UserQuestion::NoSnapshot { reason } => ("continue without a snapshot?".to_owned(), reason.into()),
        UserQuestion::Pause { state, message, .. } => (format!("{state} asks"), message.into()),
        UserQuestion::Break { state, point } => {
            let place = stop_location(state, point.as_ref());
            match point {
                None => (format!("stopped {place}"), "step mode, or paused".into()),
                Some(Breakpoint::Now) => (place, "".into()),
                Some(Breakpoint::State { .. }) => (format!("stopped {place}"), "breakpoint".into()),
                Some(Breakpoint::Tool { .. } | Breakpoint::Spend { .. }) => {
                    (format!("stopped {place}"), "".into())
                }
            }
        }
        UserQuestion::Failed { failure } => {
            let place = failure.state.as_ref().map(|state| format!(" {state}")).unwrap_or_default();
            (format!("try{place} again?"), error_text(failure).into())
        }
        UserQuestion::Uncertain { tool, reason, .. } => (format!("did {tool} take effect?"), reason.into()),
    }
}

/// What was asked, in one short line: `review asks: Is the plan good?`
pub(super) fn short_question(question: &UserQuestion) -> String {
    const CHARACTERS: usize = 80;
    let (title, detail) = question_phrase(question);
    let asked = match question {
        UserQuestion::Pause { .. } if !detail.trim().is_empty() => format!("{title}: {}", detail.trim()),
        _ => title,
    };
    let mut lines = asked.lines();
    let first = lines.next().unwrap_or_default();
    let short: String = first.chars().take(CHARACTERS).collect();
    let is_cut = lines.next().is_some() || short.len() < first.len();
    if is_cut { format!("{short} …") } else { short }
}

/// What was answered.
pub(super) fn answer_phrase<'a>(question: Option<&UserQuestion>, answer: &'a UserAnswer) -> Cow<'a, str> {
    match (answer, question) {
        (UserAnswer::Text { text }, _) => text.into(),
        (UserAnswer::Value { value }, Some(UserQuestion::Pause { kind: PauseKind::Approval, .. })) => {
            match value {
                Value::Bool(true) => "approved".into(),
                Value::Bool(false) => "denied".into(),
                other => value_text(other).into(),
            }
        }
        (UserAnswer::Value { value }, _) => value_text(value).into(),
        (UserAnswer::Continue, Some(UserQuestion::Failed { .. })) => "try again".into(),
        (UserAnswer::Continue, Some(UserQuestion::Uncertain { .. })) => "repeat it".into(),
        (UserAnswer::Continue, _) => "continue".into(),
        (UserAnswer::Stop, Some(UserQuestion::Message | UserQuestion::NoSnapshot { .. }) | None) => {
            "stop".into()
        }
        (UserAnswer::Stop, _) => "left for later".into(),
        (UserAnswer::Unfit { detail }, _) => format!("no answer fits: {detail}").into(),
    }
}

/// `before review`, `at code: tool execute_terminal`, `interrupted in code`
pub fn stop_location(state: &str, point: Option<&Breakpoint>) -> String {
    match point {
        None | Some(Breakpoint::State { .. }) => format!("before {state}"),
        Some(Breakpoint::Now) => format!("interrupted in {state}"),
        Some(point) => format!("at {state}: {point}"),
    }
}

/// `before every state, state review, spend $0.50`; empty: nowhere.
pub fn breakpoint_list(step: bool, points: &[Breakpoint]) -> String {
    let every = step.then(|| "before every state".to_owned());
    every.into_iter().chain(points.iter().map(Breakpoint::to_string)).collect::<Vec<_>>().join(", ")
}
