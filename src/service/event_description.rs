//! What happened in a run, in words: the one place that says it, for the screen, the command line and the workflow
//! server.
//!
//! Owns the words, and how grave an event is. Front-ends choose the kinds that they show, the colours and the width.
//! Names and texts are those of the event: a front-end makes them safe for its terminal, and cuts them.

mod phrases;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use serde_json::{Map, Value};

use phrases::{
    answer_phrase, author_name, branch_name, budget_amount, caller_name, data_changes, decision_phrase,
    error_text, member_count, question_phrase, short_id, short_question, skipped_paths, used_tokens,
    value_pairs, value_text, wasted_tokens,
};
pub use phrases::{breakpoint_list, stop_location};
use synthdev_domain::agent_team::SpawnedAgentStatus;
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::file_progress::FileProgress;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::number_format::{format_count, format_duration, short_number};
use synthdev_engine::effect::UserQuestion;
use synthdev_engine::event::RunEvent;

/// What an event is about: front-ends choose by it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventKind {
    Run,
    Rewind,
    RunEnd,
    Snapshot,
    State,
    Transition,
    /// A called workflow, or a set of branches.
    Nested,
    BranchStart,
    BranchEnd,
    Data,
    Log,
    Warning,
    /// Something failed, and is tried again or handled.
    Recovery,
    Wait,
    /// Breakpoints and budgets that the user has changed.
    Control,
    /// A text that the user sent before it was asked for.
    QueuedText,
    Message,
    ModelCall,
    /// A piece of a reply.
    Stream,
    Reply,
    Summary,
    /// A model call without a reply.
    CallEnd,
    ToolCall,
    ToolResult,
    ToolRefusal,
    Decision,
    Approval,
    Question,
    /// A conversation waits for its next message.
    NextMessage,
    Answer,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EventSeverity {
    Plain,
    Good,
    Warning,
    Bad,
}

/// The whole of a text or value that `detail` has in short.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum EventContent<'e> {
    None,
    Text(&'e str),
    Json(&'e Value),
    /// Values by name, and names without a value from now on.
    Values(&'e Map<String, Value>, &'e [String]),
}

#[derive(Clone, PartialEq, Debug)]
pub struct EventDescription<'e> {
    pub kind: EventKind,
    pub severity: EventSeverity,
    /// Who did what; one line. Empty: `detail` says all.
    pub title: String,
    /// More about it, in short; may have several lines.
    pub detail: Cow<'e, str>,
    /// Further lines.
    pub notes: &'e [String],
    pub content: EventContent<'e>,
}

/// A plain event without a detail.
fn words<'e>(kind: EventKind, title: impl Into<String>) -> EventDescription<'e> {
    EventDescription {
        kind,
        severity: EventSeverity::Plain,
        title: title.into(),
        detail: Cow::Borrowed(""),
        notes: &[],
        content: EventContent::None,
    }
}

impl<'e> EventDescription<'e> {
    fn detail(self, detail: impl Into<Cow<'e, str>>) -> Self {
        Self { detail: detail.into(), ..self }
    }

    fn severity(self, severity: EventSeverity) -> Self {
        Self { severity, ..self }
    }

    fn content(self, content: EventContent<'e>) -> Self {
        Self { content, ..self }
    }

    /// `title: detail`
    pub fn line(&self) -> String {
        [&self.title, self.separator(), &self.detail].concat()
    }

    /// What stands between title and detail.
    pub fn separator(&self) -> &'static str {
        match (self.title.as_str(), self.detail.as_ref()) {
            ("", _) | (_, "") => "",
            (title, _) if title.ends_with('?') => " ",
            _ => ": ",
        }
    }

    /// The sign before the title; empty: none.
    pub fn mark(&self) -> &'static str {
        match (self.severity, self.kind) {
            (EventSeverity::Good, EventKind::BranchEnd | EventKind::ToolResult) => "✓",
            (EventSeverity::Bad, EventKind::RunEnd) => "■",
            (EventSeverity::Bad, _) => "✗",
            (EventSeverity::Warning, _) => "!",
            (_, EventKind::Run) => "▶",
            (_, EventKind::Rewind) => "↩",
            (_, EventKind::RunEnd) => "■",
            (_, EventKind::State) => "●",
            (_, EventKind::Decision) => "◆",
            (_, EventKind::Approval | EventKind::Question) => "?",
            _ => "",
        }
    }
}

fn describe_agent_end<'e>(
    agent: &str,
    status: SpawnedAgentStatus,
    result: Option<&'e Value>,
    error: Option<&'e str>,
) -> EventDescription<'e> {
    let severity = match status {
        SpawnedAgentStatus::Completed => EventSeverity::Good,
        SpawnedAgentStatus::Running | SpawnedAgentStatus::Cancelled | SpawnedAgentStatus::Despawned => {
            EventSeverity::Plain
        }
        SpawnedAgentStatus::Failed | SpawnedAgentStatus::Denied | SpawnedAgentStatus::Limit => {
            EventSeverity::Bad
        }
    };
    let ended = words(EventKind::BranchEnd, format!("agent {agent} {}", status.as_str())).severity(severity);
    let ended = match result {
        Some(Value::String(text)) => ended.content(EventContent::Text(text)),
        Some(value) => ended.content(EventContent::Json(value)),
        None => ended,
    };
    match (error, result) {
        (Some(why), _) => ended.detail(why),
        (None, Some(result)) => ended.detail(value_text(result)),
        (None, None) => ended,
    }
}

/// The words for an event that happened `at` this time.
#[expect(clippy::too_many_lines, reason = "one match: the words of each event, and nothing else")]
pub fn describe_event(at: Timestamp, event: &RunEvent) -> EventDescription<'_> {
    use EventContent::{Json, Text, Values};
    use EventSeverity::{Bad, Good, Warning};
    match event {
        RunEvent::RunStarted { workflow, inputs, .. } => {
            words(EventKind::Run, format!("workflow {workflow} started")).content(Values(inputs, &[]))
        }
        RunEvent::Resumed { again, definition, notes, .. } => {
            let calls = (!again.is_empty()).then(|| {
                format!("{} never finished and will be repeated", format_count(again.len() as u64, "call"))
            });
            let changed =
                definition.as_ref().map(|hash| format!("under another definition ({})", short_id(hash, 12)));
            let detail = calls.into_iter().chain(changed).collect::<Vec<_>>().join(", ");
            EventDescription { notes, ..words(EventKind::Run, "resumed").detail(detail) }
        }
        RunEvent::Rewound { step, state, fork_of, files } => {
            let place = format!("before step {step} ({state})");
            let title = match fork_of {
                Some(run) => format!("forked from run {run} {place}"),
                None => format!("rewound to {place}"),
            };
            let files = files.as_ref().map(|id| format!("files as in snapshot {}", short_id(id.as_str(), 8)));
            words(EventKind::Rewind, title).detail(files.unwrap_or_default())
        }
        RunEvent::Finished { status, error, .. } => {
            let severity = match status {
                RunStatus::Completed => Good,
                RunStatus::Running | RunStatus::Paused => EventSeverity::Plain,
                RunStatus::Failed | RunStatus::Cancelled | RunStatus::Interrupted => Bad,
            };
            let why = error.as_deref().map(error_text).unwrap_or_default();
            words(EventKind::RunEnd, status.as_str()).severity(severity).detail(why)
        }
        RunEvent::Warning { code, text } => {
            // in a conversation a failed call is no end: it comes as a warning
            let severity = if code.starts_with("model.") { Bad } else { Warning };
            words(EventKind::Warning, "").severity(severity).detail(text)
        }
        RunEvent::SnapshotTaken { id, files, skipped, .. } => {
            let files = format_count(*files as u64, "file");
            let title = format!("snapshot {}, {files}", short_id(id.as_str(), 8));
            words(EventKind::Snapshot, title).detail(skipped_paths(skipped))
        }
        RunEvent::SnapshotFailed { reason } => {
            words(EventKind::Warning, "no snapshot").severity(Warning).detail(reason)
        }
        RunEvent::SnapshotProgress { done_files, total_files, elapsed_ms } => {
            let (done_count, total_count) = (*done_files, *total_files);
            let progress = FileProgress { done_count, total_count, ..FileProgress::default() };
            words(EventKind::Stream, format!("snapshot: {}", progress.text(*elapsed_ms)))
        }
        RunEvent::StateEntered { state, visit, agent, .. } => {
            let visit = if *visit > 1 { format!(" #{visit}") } else { String::new() };
            let agent = agent.as_ref().map(|agent| format!(" ({agent})")).unwrap_or_default();
            words(EventKind::State, format!("{state}{visit}{agent}"))
        }
        RunEvent::Transitioned { from, to, .. } => words(EventKind::Transition, format!("{from} → {to}")),
        RunEvent::DataChanged { set, removed, .. } => words(EventKind::Data, "common_data")
            .detail(data_changes(set, removed))
            .content(Values(set, removed)),
        RunEvent::Stored { key, value, .. } => words(EventKind::Data, format!("common_data.{key}"))
            .detail(value_text(value))
            .content(Json(value)),
        RunEvent::ScriptLog { state, text } => words(EventKind::Log, format!("log of {state}")).detail(text),
        RunEvent::ChildStarted { workflow, .. } => {
            words(EventKind::Nested, format!("workflow {workflow} started"))
        }
        RunEvent::ChildFinished { workflow, .. } => {
            words(EventKind::Nested, format!("workflow {workflow} finished"))
        }
        RunEvent::Forked { state, branches, total } => {
            let title = format!("{state} starts {}", member_count(branches, *total));
            words(EventKind::Nested, title).detail(branches.join(", "))
        }
        RunEvent::BranchStarted { state, branch, .. } => {
            words(EventKind::BranchStart, format!("{} started", branch_name(state, branch)))
        }
        RunEvent::BranchFinished { state, branch, error: None, .. } => {
            words(EventKind::BranchEnd, format!("{} finished", branch_name(state, branch))).severity(Good)
        }
        RunEvent::BranchFinished { state, branch, error: Some(error), .. } => {
            let title = format!("{} failed", branch_name(state, branch));
            words(EventKind::BranchEnd, title).severity(Bad).detail(error_text(error))
        }
        RunEvent::Joined { state, succeeded, failed, stopped } => {
            let counts = [(*succeeded, "succeeded"), (*failed, "failed"), (*stopped, "stopped")];
            let shown = counts.iter().filter(|(count, how)| *count > 0 || *how == "succeeded");
            let parts: Vec<String> = shown.map(|(count, how)| format!("{count} {how}")).collect();
            words(EventKind::Nested, format!("{state} joined")).detail(parts.join(", "))
        }
        RunEvent::AgentSpawned { by, agent, task, background, .. } => {
            let place = if *background { " in the background" } else { "" };
            let title = format!("{by} started agent {agent}{place}");
            words(EventKind::BranchStart, title).detail(task).content(Text(task))
        }
        RunEvent::AgentEnded { agent, status, result, error, .. } => {
            describe_agent_end(agent, *status, result.as_deref(), error.as_deref())
        }
        RunEvent::AgentMessaged { from, to, text } => {
            words(EventKind::Log, format!("{from} to {to}")).detail(text).content(Text(text))
        }
        RunEvent::TeamNote { by, key, text } => {
            words(EventKind::Log, format!("note {key} of {by}")).detail(text).content(Text(text))
        }
        RunEvent::TeamTask { by, id, title, status, .. } => {
            words(EventKind::Log, format!("task {id} {} by {by}", status.as_str())).detail(title)
        }
        RunEvent::Retrying { state, attempt, max_attempts, delay_ms, error } => {
            let delay = format_duration(*delay_ms);
            let title = format!("{state} is tried again in {delay}, attempt {attempt} of {max_attempts}");
            words(EventKind::Recovery, title).severity(Warning).detail(error_text(error))
        }
        RunEvent::Caught { state, error, by, target } => {
            let target = target.as_ref().map(|target| format!(" → {target}")).unwrap_or_default();
            let title = format!("error of {state}, handled by {by}{target}");
            words(EventKind::Recovery, title).severity(Warning).detail(error_text(error))
        }
        RunEvent::BudgetWarning { scope, what, spent, soft, hard } => {
            let amount = |value: f64| budget_amount(what, value);
            let end = hard.map(|hard| format!(" and ends at {}", amount(hard))).unwrap_or_default();
            let detail = format!("{} used; it warns at {}{end}", amount(*spent), amount(*soft));
            words(EventKind::Warning, format!("budget of {scope}")).severity(Warning).detail(detail)
        }
        RunEvent::BudgetRaised { scope, what, hard } => {
            let amount = budget_amount(what, *hard);
            words(EventKind::Control, format!("budget of {scope} raised to {amount}"))
        }
        RunEvent::Waiting { state, until } => {
            let left = u64::try_from(until.0.saturating_sub(at.0)).unwrap_or(0);
            words(EventKind::Wait, format!("{state} waits {}", format_duration(left)))
        }
        RunEvent::Breakpoints { step: false, points } if points.is_empty() => {
            words(EventKind::Control, "no breakpoints")
        }
        RunEvent::Breakpoints { step, points } => {
            words(EventKind::Control, "breakpoints").detail(breakpoint_list(*step, points))
        }
        RunEvent::ConversationCompacted { before_tokens, after_tokens } => {
            let (before, after) = (short_number(*before_tokens), short_number(*after_tokens));
            words(EventKind::Control, format!("the conversation was summed up: {before} → {after} tokens"))
        }
        RunEvent::ConversationRenamed { name } => {
            words(EventKind::Control, format!("this conversation is called {name}"))
        }
        RunEvent::Queued { text } => words(EventKind::QueuedText, "text queued").detail(text),
        RunEvent::Heard { text } => words(EventKind::QueuedText, "text read by a script").detail(text),
        RunEvent::TakenBack { text } => words(EventKind::QueuedText, "text taken back").detail(text),
        RunEvent::MessageAdded { context, author, text, private, .. } => {
            let private = if *private { " (private)" } else { "" };
            let title = format!("{} in {context}{private}", author_name(author));
            words(EventKind::Message, title).detail(text).content(Text(text))
        }
        RunEvent::ModelCalled { agent, model, .. } => {
            words(EventKind::ModelCall, format!("{agent} asks {model}"))
        }
        RunEvent::SummaryCalled { agent, context, entries, .. } => {
            let messages = format_count(*entries as u64, "message");
            words(EventKind::ModelCall, format!("{agent} summarizes {messages} of {context}"))
        }
        RunEvent::Delta { text, .. } => words(EventKind::Stream, "part of a reply").detail(text),
        RunEvent::ModelRetry { agent, attempt, delay_ms, reason, .. } => {
            let title = format!("{agent} asks again in {}, attempt {attempt}", format_duration(*delay_ms));
            words(EventKind::Recovery, title).severity(Warning).detail(reason)
        }
        RunEvent::Replied { agent, text, tool_calls, model, usage, duration_ms, estimated, .. } => {
            let (used, took) = (used_tokens(usage.total(), *estimated), format_duration(*duration_ms));
            let reply =
                words(EventKind::Reply, format!("{agent} answered ({model}, {used}, {took})")).detail(text);
            // a text beside calls is no message of its own
            let lone = tool_calls.is_empty() || text.trim().is_empty();
            if lone { reply } else { reply.content(Text(text)) }
        }
        RunEvent::ContextSummarized {
            agent,
            context,
            entries,
            saved_tokens,
            text,
            model,
            usage,
            estimated,
            ..
        } => {
            let used = used_tokens(usage.total(), *estimated);
            if *entries == 0 {
                let title = format!("{agent} could not summarize {context} ({model}, {used})");
                return words(EventKind::CallEnd, title).severity(Warning);
            }
            let messages = format_count(*entries as u64, "message");
            let saved = match saved_tokens {
                0 => String::new(),
                saved => format!(", about {} tokens less", short_number(*saved)),
            };
            let title = format!("{agent} summarized {messages} of {context}{saved} ({model}, {used})");
            words(EventKind::Summary, title).detail(text).content(Text(text))
        }
        RunEvent::ModelFailed { agent, code, reason, spent, .. } => {
            let title = format!("model call of {agent} failed [{code}]");
            let detail = format!("{reason}{}", wasted_tokens(spent, "; it used "));
            words(EventKind::CallEnd, title).severity(Bad).detail(detail).content(Text(reason))
        }
        RunEvent::ModelStopped { agent, spent, .. } => {
            let title = format!("model call of {agent} stopped");
            words(EventKind::CallEnd, title).detail(wasted_tokens(spent, "it used "))
        }
        RunEvent::ToolStarted { agent, tool, arguments, .. } => {
            let title = format!("{} calls {tool}", caller_name(agent));
            words(EventKind::ToolCall, title).detail(value_pairs(arguments)).content(Json(arguments))
        }
        RunEvent::ToolProgress { text, .. } => words(EventKind::Stream, "progress of a tool").detail(text),
        RunEvent::ToolFinished { tool, ok, summary, content, .. } => {
            let (severity, how) = if *ok { (Good, "finished") } else { (Bad, "failed") };
            let result = words(EventKind::ToolResult, format!("{tool} {how}")).severity(severity);
            result.detail(summary).content(Text(content))
        }
        RunEvent::ToolRefused { agent, tool, reason } => {
            let title = format!("{tool} refused for {}", caller_name(agent));
            words(EventKind::ToolRefusal, title).severity(Bad).detail(reason)
        }
        RunEvent::Decided { agent, tool, arguments, source } => {
            let how = match source {
                DecisionSource::Call => "",
                DecisionSource::Reminder => " after a reminder",
                DecisionSource::StructuredOutput => " as structured output",
            };
            words(EventKind::Decision, format!("{agent} decided {tool}{how}"))
                .detail(value_pairs(arguments))
                .content(Json(arguments))
        }
        RunEvent::ApprovalAsked { agent, tool, arguments, .. } => {
            let title = format!("{} wants to use {tool}", caller_name(agent));
            words(EventKind::Approval, title).detail(value_pairs(arguments)).content(Json(arguments))
        }
        RunEvent::NetworkAsked { agent, tool, arguments, .. } => {
            let title = format!("{} wants to use {tool} with the network", caller_name(agent));
            words(EventKind::Approval, title).detail(value_pairs(arguments)).content(Json(arguments))
        }
        RunEvent::UnsandboxedAsked { agent, tool, arguments, reason, .. } => {
            let title = format!("{} wants to use {tool} without a sandbox", caller_name(agent));
            words(EventKind::Approval, title).detail(reason).content(Json(arguments))
        }
        RunEvent::ApprovalAnswered { tool, decision, arguments, .. } => {
            let (answer, reason) = decision_phrase(decision);
            words(EventKind::Answer, format!("{tool} {answer}")).detail(if reason.is_empty() {
                value_pairs(arguments).into()
            } else {
                Cow::Borrowed(reason)
            })
        }
        RunEvent::PersonAsked { question: UserQuestion::Message, .. } => {
            words(EventKind::NextMessage, "waits for the next message")
        }
        RunEvent::PersonAsked { question, .. } => {
            let (title, detail) = question_phrase(question);
            words(EventKind::Question, title).detail(detail)
        }
        RunEvent::PersonAnswered { question, answer: Some(answer), .. } => {
            let title = match question.as_deref() {
                None | Some(UserQuestion::Message) => "answered".to_owned(),
                Some(question) => format!("answered ({})", short_question(question)),
            };
            words(EventKind::Answer, title).detail(answer_phrase(question.as_deref(), answer))
        }
        RunEvent::PersonAnswered { .. } => words(EventKind::Answer, "question withdrawn"),
    }
}
