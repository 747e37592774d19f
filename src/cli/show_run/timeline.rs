//! A past run line by line, its steps numbered as `runs steps` numbers them.

use std::collections::BTreeMap;

use crate::event_lines;
use crate::output::{first_line, join_names, safe_name};
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, RunId, SnapshotId};
use synthdev_engine::effect::UserQuestion;
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::UserAnswer;
use synthdev_engine::steering::Breakpoint;

pub(super) struct TimelineFormatter<'a> {
    answers: &'a BTreeMap<CallId, UserAnswer>,
    steps: u32,
}

impl<'a> TimelineFormatter<'a> {
    pub(super) fn new(answers: &'a BTreeMap<CallId, UserAnswer>) -> Self {
        Self { answers, steps: 0 }
    }

    /// None for what only a machine wants.
    pub(super) fn lines(&mut self, event: &RunEvent) -> Vec<String> {
        match event {
            RunEvent::StateEntered { state, visit, agent, .. } => {
                self.steps += 1;
                let agent =
                    agent.as_ref().map(|agent| format!(" ({})", safe_name(agent))).unwrap_or_default();
                vec![format!("● {} {} #{visit}{agent}", self.steps, safe_name(state))]
            }
            RunEvent::Resumed { again, definition, notes, .. } => {
                resumed_lines(again.len(), definition, notes)
            }
            RunEvent::Returned { step, state, fork_of, files } => {
                vec![rewound_line(*step, state, fork_of.as_ref(), files.as_ref())]
            }
            RunEvent::PersonAsked { question, .. } => question_line(question).into_iter().collect(),
            RunEvent::PersonAnswered { call } => {
                let answer = self.answers.get(call).and_then(answer_text);
                vec![format!("  answered{}", answer.map(|text| format!(": {text}")).unwrap_or_default())]
            }
            RunEvent::ApprovalAnswered { tool, decision, .. } => {
                vec![format!("  {} {}", decision_text(decision), safe_name(tool))]
            }
            other => event_line(other).into_iter().collect(),
        }
    }
}

fn resumed_lines(again: usize, definition: &Option<String>, notes: &[String]) -> Vec<String> {
    let calls = if again == 0 { String::new() } else { format!(", {again} calls are repeated") };
    let definition = definition
        .as_ref()
        .map(|hash| format!(", under another definition ({})", hash.get(..12).unwrap_or(hash)));
    let first = format!("▶ resumed{calls}{}", definition.unwrap_or_default());
    std::iter::once(first).chain(notes.iter().map(|note| format!("  {}", first_line(note, 160)))).collect()
}

fn rewound_line(step: u32, state: &str, fork_of: Option<&RunId>, files: Option<&SnapshotId>) -> String {
    let files = files.map(|id| format!(", files as in snapshot {id}")).unwrap_or_default();
    let state = safe_name(state);
    match fork_of {
        Some(run) => format!("⑂ fork of run {run} before step {step} ({state}){files}"),
        None => format!("↩ back before step {step} ({state}){files}"),
    }
}

fn question_line(question: &UserQuestion) -> Option<String> {
    let text = match question {
        UserQuestion::Message => return None,
        UserQuestion::Limit { text, .. } => text.clone(),
        UserQuestion::NoSnapshot { reason } => format!("no snapshot: {reason}: continue without one?"),
        UserQuestion::Pause { message, .. } => message.clone(),
        UserQuestion::Failed { failure } => format!("{}: {}: try again?", failure.title, failure.detail),
        UserQuestion::Break { state, point } => stopped_text(state, point.as_ref()),
        UserQuestion::Uncertain { tool, reason, .. } => format!("did `{tool}` take effect? {reason}"),
    };
    Some(format!("  ? {}", first_line(&text, 160)))
}

/// `stands still at review: breakpoint state review`
fn stopped_text(state: &str, point: Option<&Breakpoint>) -> String {
    let why = point.map_or_else(|| "step mode, or paused".to_owned(), |point| format!("breakpoint {point}"));
    format!("paused at {state}: {why}")
}

fn answer_text(answer: &UserAnswer) -> Option<String> {
    Some(match answer {
        UserAnswer::Text { text } => first_line(text, 120),
        UserAnswer::Value { value } => first_line(&value.to_string(), 120),
        UserAnswer::Continue => "go on".to_owned(),
        UserAnswer::Stop => "stop".to_owned(),
        UserAnswer::Unfit { detail } => first_line(detail, 120),
    })
}

fn decision_text(decision: &ApprovalDecision) -> String {
    match decision {
        ApprovalDecision::Deny { reason: Some(reason) } => format!("denied ({})", first_line(reason, 80)),
        ApprovalDecision::Refuse { reason } => format!("refused ({})", first_line(reason, 80)),
        ApprovalDecision::Deny { reason: None } => "denied".to_owned(),
        _ => "allowed".to_owned(),
    }
}

/// One line of the timeline; `None` for what only a machine wants.
fn event_line(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::Transitioned { from, to, .. } => format!("  {} → {}", safe_name(from), safe_name(to)),
        RunEvent::MessageAdded { author, text, private, .. } => {
            let kind = if *private { " (private)" } else { "" };
            format!("  {author:?}{kind}: {}", first_line(text, 120))
        }
        RunEvent::ToolStarted { tool, arguments, .. } => {
            format!("  tool {} {}", safe_name(tool), first_line(&arguments.to_string(), 100))
        }
        RunEvent::ToolFinished { tool, ok, summary, .. } => {
            format!("  {} {}: {}", if *ok { "✓" } else { "✗" }, safe_name(tool), first_line(summary, 100))
        }
        RunEvent::ToolRefused { tool, reason, .. } => {
            format!("  ✗ {} refused: {}", safe_name(tool), first_line(reason, 100))
        }
        RunEvent::Decided { agent, tool, arguments } => {
            format!(
                "  {} decided {} {}",
                safe_name(agent),
                safe_name(tool),
                first_line(&arguments.to_string(), 120)
            )
        }
        RunEvent::DataChanged { set, removed, .. } => {
            let mut changed: Vec<String> = set.keys().cloned().collect();
            changed.extend(removed.iter().map(|gone| format!("-{gone}")));
            format!("  common_data: {}", join_names(&changed, ", "))
        }
        RunEvent::Replied { agent, model, usage, duration_ms, .. } => {
            format!(
                "  {} answered ({}, {} tokens, {duration_ms} ms)",
                safe_name(agent),
                safe_name(model),
                usage.total()
            )
        }
        RunEvent::ModelFailed { code, reason, spent, .. } => {
            format!(
                "  model failed [{code}]: {}{}",
                first_line(reason, 120),
                event_lines::stopped_call_usage(spent)
            )
        }
        RunEvent::Warning { text, .. } => format!("  warning: {}", first_line(text, 140)),
        RunEvent::SnapshotTaken { id, label, .. } => format!("  snapshot {id}: {}", first_line(label, 80)),
        RunEvent::SnapshotFailed { reason } => format!("  no snapshot: {}", first_line(reason, 120)),
        RunEvent::ChildStarted { workflow, .. } => format!("  child {} started", safe_name(workflow)),
        RunEvent::ChildFinished { workflow, .. } => format!("  child {} finished", safe_name(workflow)),
        RunEvent::Finished { status, .. } => format!("■ {}", status.as_str()),
        other => return event_lines::event_line(other).map(|line| format!("  {line}")),
    })
}
