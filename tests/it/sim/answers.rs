//! What the world might answer to an effect.

use serde_json::{Map, Value, json};
use synthdev::domain::approval::ApprovalDecision;
use synthdev::domain::cost::TokenUsage;
use synthdev::domain::ids::{CallId, ScriptIx, SnapshotId, Timestamp};
use synthdev::domain::message::ToolCall;
use synthdev::domain::model::{FinishReason, ModelError, ModelReply, ModelRequest};
use synthdev::domain::script::{
    ScopePatch, ScopeView, ScriptError, ScriptErrorKind, ScriptJob, ScriptMessage, ScriptOutcome, ScriptTask,
    TriedGuard,
};
use synthdev::domain::snapshot::SnapshotInfo;
use synthdev::domain::tool::ToolOutcome;
use synthdev::engine::effect::Effect;
use synthdev::engine::input::{Input, UserAnswer};
use synthdev::engine::steering::{Breakpoint, SteeringAction};

use super::luck::Luck;
use super::program::DECISION;

pub fn to(luck: &mut Luck, effect: &Effect) -> Input {
    match effect {
        Effect::Evaluate { call, job } => evaluated(luck, *call, job),
        Effect::CallModel { call, request } => replied(luck, *call, request),
        Effect::AskApproval { call, .. } => Input::Approved { call: *call, decision: decision(luck) },
        Effect::RunTool { call, .. } => Input::ToolDone { call: *call, outcome: outcome(luck) },
        Effect::AskPerson { call, .. } => Input::Answered { call: *call, answer: answer(luck) },
        Effect::TakeSnapshot { call, .. } => snapshot(luck, *call),
        Effect::SetTimer { call, .. } => Input::Elapsed { call: *call },
        Effect::Abort { .. } | Effect::Finish => unreachable!("they wait for nothing"),
    }
}

pub fn call_of(effect: &Effect) -> Option<CallId> {
    match effect {
        Effect::Evaluate { call, .. }
        | Effect::CallModel { call, .. }
        | Effect::AskApproval { call, .. }
        | Effect::RunTool { call, .. }
        | Effect::AskPerson { call, .. }
        | Effect::TakeSnapshot { call, .. }
        | Effect::SetTimer { call, .. } => Some(*call),
        Effect::Abort { .. } | Effect::Finish => None,
    }
}

const WRONG: &str = "an answer of the wrong kind";

/// An answer that carries the right call and is of another kind than what was asked.
pub fn wrong_kind(effect: &Effect) -> Input {
    let call = call_of(effect).unwrap();
    if matches!(effect, Effect::CallModel { .. }) {
        return Input::ToolDone {
            call,
            outcome: ToolOutcome { summary: WRONG.to_owned(), ..ToolOutcome::default() },
        };
    }
    Input::ModelFailed {
        call,
        error: ModelError::Drift { detail: WRONG.to_owned() },
        attempts: 1,
        used: Vec::new(),
        again: false,
    }
}

pub fn is_wrong_kind(input: &Input) -> bool {
    match input {
        Input::ToolDone { outcome, .. } => outcome.summary == WRONG,
        Input::ModelFailed { error: ModelError::Drift { detail }, .. } => detail == WRONG,
        _ => false,
    }
}

/// Anything at all for a call of the past.
pub fn stale(luck: &mut Luck, call: CallId) -> Input {
    match luck.below(6) {
        0 => Input::Evaluated { call, outcome: ScriptOutcome::default() },
        1 => Input::Replied { call, reply: reply("late", Vec::new()) },
        2 => Input::ToolDone { call, outcome: outcome(luck) },
        3 => Input::Approved { call, decision: decision(luck) },
        4 => Input::Answered { call, answer: answer(luck) },
        _ => snapshot(luck, call),
    }
}

pub fn partial(luck: &mut Luck, pending: &[Effect]) -> Vec<(CallId, String)> {
    let text = luck.pick(&[None, Some("half a sen"), Some("  ")]);
    pending.iter().filter_map(call_of).zip(text).map(|(call, text)| (call, text.to_owned())).collect()
}

pub fn snapshot(luck: &mut Luck, call: CallId) -> Input {
    if luck.chance(15) {
        return Input::SnapshotFailed { call, reason: "disk full".to_owned() };
    }
    let info = SnapshotInfo {
        id: SnapshotId(format!("s{}", call.0)),
        label: String::new(),
        note: String::new(),
        run: None,
        created: Timestamp(0),
        files: 1,
        skipped: Vec::new(),
    };
    Input::SnapshotTaken { call, info }
}

fn decision(luck: &mut Luck) -> ApprovalDecision {
    let deny = |reason: Option<&str>| ApprovalDecision::Deny { reason: reason.map(str::to_owned) };
    let usual = [
        ApprovalDecision::Allow,
        ApprovalDecision::Allow,
        ApprovalDecision::AllowTool,
        deny(None),
        deny(Some("no")),
    ];
    if luck.chance(3) { ApprovalDecision::Stop } else { luck.pick(&usual) }
}

fn outcome(luck: &mut Luck) -> ToolOutcome {
    let content =
        luck.pick(&["", "short", "long words of a tool, again and again and again and again and again"]);
    let data = [
        None,
        Some(json!({"exit_code": 1})),
        Some(json!({"exit_code": 7})),
        Some(json!({"timed_out": true})),
    ];
    ToolOutcome {
        ok: luck.chance(80),
        content: content.repeat(luck.between(1, 4)),
        data: luck.pick(&data),
        ..ToolOutcome::default()
    }
}

pub fn answer(luck: &mut Luck) -> UserAnswer {
    let text = |text: &str| UserAnswer::Text { text: text.to_owned() };
    if luck.chance(8) {
        UserAnswer::Stop
    } else {
        let value = |value: Value| UserAnswer::Value { value };
        let values = [json!(true), json!("hello"), json!(4), json!({"a": 1}), Value::Null].map(value);
        let words = [text("hello"), text(" "), text("more words"), UserAnswer::Continue];
        luck.pick(&[&words[..], &words, &values].concat())
    }
}

fn evaluated(luck: &mut Luck, call: CallId, job: &ScriptJob) -> Input {
    if luck.chance(3) {
        let kind = luck.pick(&[ScriptErrorKind::Thrown, ScriptErrorKind::Time, ScriptErrorKind::NotData]);
        let script = ScriptIx(luck.below(6));
        let error = ScriptError {
            kind,
            message: "it broke".to_owned(),
            script,
            library: None,
            line: luck.below(3),
            column: 4,
        };
        return Input::ScriptFailed { call, error };
    }
    let mut outcome = ScriptOutcome { patch: patch(luck, &job.scope), ..ScriptOutcome::default() };
    match &job.task {
        ScriptTask::Run { .. } => outcome.logs = vec!["ran".to_owned(); luck.below(2)],
        ScriptTask::Values { scripts } => outcome.values = scripts.iter().map(|_| value(luck)).collect(),
        ScriptTask::Choose { guards, .. } => {
            let none = luck.chance(10);
            let chosen = luck.below(guards.len());
            outcome.chosen = (!none).then_some(chosen);
            let tried = if none { guards.len() } else { chosen + 1 };
            outcome.tried = (1..=tried)
                .map(|at| TriedGuard { held: !none && at == tried, value: "false".to_owned() })
                .collect();
        }
    }
    Input::Evaluated { call, outcome }
}

fn value(luck: &mut Luck) -> Option<Value> {
    if luck.chance(6) {
        return luck.pick(&[None, Some(Value::Null), Some(json!("  "))]);
    }
    luck.pick(&[json!("do this"), json!("do that"), json!(3), json!({"a": [1]}), json!(true)]).into()
}

/// What a script may leave behind: data set and removed, conversations cut, turned round or added to.
fn patch(luck: &mut Luck, scope: &ScopeView) -> ScopePatch {
    let mut patch = ScopePatch::default();
    if luck.chance(40) {
        patch.set = Map::from_iter([(luck.pick(&["result", "other"]).to_owned(), json!("42"))]);
    }
    if luck.chance(10) {
        patch.removed = vec!["result".to_owned()];
    }
    if luck.chance(10)
        && let Some(context) = luck.choose(&scope.contexts)
    {
        let mut messages = context.messages.to_vec();
        messages.truncate(luck.below(messages.len() + 1));
        if luck.chance(30) {
            messages.reverse();
        }
        if luck.chance(50) {
            let role = if luck.chance(5) { "nobody" } else { luck.pick(&["user", "assistant", "system"]) };
            let content = luck.pick(&["from a script", ""]).to_owned();
            messages.push(ScriptMessage { role: role.to_owned(), content, origin: None });
        }
        patch.contexts = vec![(context.name.clone(), messages)];
    }
    patch
}

fn replied(luck: &mut Luck, call: CallId, request: &ModelRequest) -> Input {
    if luck.chance(3) {
        let detail = "no".to_owned();
        let errors = [ModelError::Auth { detail: detail.clone() }, ModelError::Transport { detail }];
        return Input::ModelFailed {
            call,
            error: luck.pick(&errors),
            attempts: 2,
            used: Vec::new(),
            again: false,
        };
    }
    let text = luck.pick(&["", "a few words", "many words, said again and again until they fill the line"]);
    let calls: usize = if luck.chance(55) { 0 } else { luck.between(1, 3) };
    let calls = (0..calls).map(|_| tool_call(luck, request)).collect();
    // an answer without anything is an error of its own; it should not drown the others
    let text = if text.is_empty() && luck.chance(95) { "words" } else { text };
    Input::Replied { call, reply: reply(text, calls) }
}

fn reply(text: &str, tool_calls: Vec<ToolCall>) -> ModelReply {
    ModelReply {
        text: text.to_owned(),
        reasoning: String::new(),
        tool_calls,
        sealed: Vec::new(),
        usage: TokenUsage { prompt: 3, completion: 1, ..TokenUsage::default() },
        usage_estimated: false,
        model: None,
        finish: FinishReason::Stop,
        duration_ms: 1,
        ..ModelReply::default()
    }
}

/// Known and unknown tools, decisions good and bad, broken arguments, missing and doubled ids.
fn tool_call(luck: &mut Luck, request: &ModelRequest) -> ToolCall {
    let offered = luck.choose(&request.tools).map_or("look", |tool| tool.name.as_str());
    let decides = !request.parsing_tools.is_empty() && luck.chance(60);
    let name = if decides { DECISION } else { luck.pick(&[offered, offered, offered, "unknown", DECISION]) };
    let good = [r#"{"good": true}"#, r#"{"good": false}"#];
    let bad = [r#"{"good": "yes"}"#, "{}", "", "{broken", "[1]", "null"];
    let arguments = if luck.chance(75) { luck.pick(&good) } else { luck.pick(&bad) };
    let id = luck.pick(&["", "same", "other"]).to_owned();
    ToolCall { id, name: name.to_owned(), arguments: arguments.to_owned(), original: None }
}

/// What a person does who looks over its shoulder.
pub fn steering(luck: &mut Luck) -> Input {
    let state = format!("s{}", luck.between(0, 4));
    let point = match luck.between(0, 3) {
        0 => Breakpoint::tool("read"),
        1 => Breakpoint::spend(0.01).unwrap(),
        _ => Breakpoint::state(&state),
    };
    let steering = match luck.between(0, 10) {
        0 => SteeringAction::Pause,
        8 | 9 => SteeringAction::Interrupt { partial: Vec::new() },
        1 | 2 => SteeringAction::Step,
        3 | 4 => SteeringAction::Break { point },
        5 => SteeringAction::Unbreak { point },
        6 => SteeringAction::Set { call: None, set: vec![(vec!["task".to_owned(), state], json!(1))] },
        _ => SteeringAction::Continue,
    };
    Input::Steered(Box::new(steering))
}
