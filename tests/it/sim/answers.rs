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
use synthdev::domain::tool::{MULTICALL, ToolOutcome};
use synthdev::engine::effect::Effect;
use synthdev::engine::input::{Input, UserAnswer};
use synthdev::engine::steering::{Breakpoint, SteeringAction};

use super::luck::Luck;
use super::program::DECISION;
use super::program::team::{team_arguments, team_tool};

pub fn answer_effect(luck: &mut Luck, effect: &Effect) -> Input {
    match effect {
        Effect::Evaluate { call, job } => evaluated_input(luck, *call, job),
        Effect::CallModel { call, request } => random_reply(luck, *call, request),
        Effect::CheckTool { call, .. } => {
            let refusal = luck.random_chance(20).then(|| Box::new(outcome(luck)));
            Input::ToolChecked { call: *call, refusal }
        }
        Effect::AskApproval { call, is_checked: true, .. } if luck.random_chance(15) => {
            Input::ToolChecked { call: *call, refusal: Some(Box::new(outcome(luck))) }
        }
        Effect::AskApproval { call, .. } => Input::Approved { call: *call, decision: random_decision(luck) },
        Effect::RunTool { call, .. } => Input::ToolDone { call: *call, outcome: outcome(luck) },
        Effect::AskPerson { call, .. } => Input::Answered { call: *call, answer: random_answer(luck) },
        Effect::TakeSnapshot { call, .. } => snapshot(luck, *call),
        Effect::SetTimer { call, .. } => Input::Elapsed { call: *call },
        Effect::Abort { .. } | Effect::Finish => unreachable!("they wait for nothing"),
    }
}

pub fn effect_call(effect: &Effect) -> Option<CallId> {
    match effect {
        Effect::Evaluate { call, .. }
        | Effect::CallModel { call, .. }
        | Effect::CheckTool { call, .. }
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
    let call = effect_call(effect).unwrap();
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
pub fn stale_input(luck: &mut Luck, call: CallId) -> Input {
    match luck.random_below(6) {
        0 => Input::Evaluated { call, outcome: ScriptOutcome::default() },
        1 => Input::Replied { call, reply: reply("late", Vec::new()) },
        2 => Input::ToolDone { call, outcome: outcome(luck) },
        3 => Input::Approved { call, decision: random_decision(luck) },
        4 => Input::Answered { call, answer: random_answer(luck) },
        _ => snapshot(luck, call),
    }
}

pub fn partial_replies(luck: &mut Luck, pending: &[Effect]) -> Vec<(CallId, String)> {
    let text = luck.pick_item(&[None, Some("half a sen"), Some("  ")]);
    pending.iter().filter_map(effect_call).zip(text).map(|(call, text)| (call, text.to_owned())).collect()
}

pub fn snapshot(luck: &mut Luck, call: CallId) -> Input {
    if luck.random_chance(15) {
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

fn random_decision(luck: &mut Luck) -> ApprovalDecision {
    let deny = |reason: Option<&str>| ApprovalDecision::Deny { reason: reason.map(str::to_owned) };
    let usual = [
        ApprovalDecision::Allow,
        ApprovalDecision::Allow,
        ApprovalDecision::AllowTool,
        ApprovalDecision::AllowEdited { arguments: json!({"edited": true}) },
        deny(None),
        deny(Some("no")),
    ];
    if luck.random_chance(3) { ApprovalDecision::Stop } else { luck.pick_item(&usual) }
}

fn outcome(luck: &mut Luck) -> ToolOutcome {
    let content =
        luck.pick_item(&["", "short", "long words of a tool, again and again and again and again and again"]);
    let data = [
        None,
        Some(json!({"exit_code": 1})),
        Some(json!({"exit_code": 7})),
        Some(json!({"timed_out": true})),
    ];
    ToolOutcome {
        ok: luck.random_chance(80),
        content: content.repeat(luck.random_between(1, 4)),
        data: luck.pick_item(&data),
        ..ToolOutcome::default()
    }
}

pub fn random_answer(luck: &mut Luck) -> UserAnswer {
    let text = |text: &str| UserAnswer::Text { text: text.to_owned() };
    if luck.random_chance(8) {
        UserAnswer::Stop
    } else {
        let value = |value: Value| UserAnswer::Value { value };
        let values = [json!(true), json!("hello"), json!(4), json!({"a": 1}), Value::Null].map(value);
        let words = [text("hello"), text(" "), text("more words"), UserAnswer::Continue];
        luck.pick_item(&[&words[..], &words, &values].concat())
    }
}

fn evaluated_input(luck: &mut Luck, call: CallId, job: &ScriptJob) -> Input {
    if luck.random_chance(3) {
        let kind =
            luck.pick_item(&[ScriptErrorKind::Thrown, ScriptErrorKind::Time, ScriptErrorKind::NotData]);
        let script = ScriptIx(luck.random_below(6));
        let error = ScriptError {
            kind,
            message: "it broke".to_owned(),
            script,
            library: None,
            line: luck.random_below(3),
            column: 4,
        };
        return Input::ScriptFailed { call, error };
    }
    let mut outcome = ScriptOutcome { patch: random_patch(luck, &job.scope), ..ScriptOutcome::default() };
    match &job.task {
        ScriptTask::Run { .. } => outcome.logs = vec!["ran".to_owned(); luck.random_below(2)],
        ScriptTask::Values { scripts } => outcome.values = scripts.iter().map(|_| value(luck)).collect(),
        ScriptTask::Choose { guards, .. } => {
            let none = luck.random_chance(10);
            let chosen = luck.random_below(guards.len());
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
    if luck.random_chance(6) {
        return luck.pick_item(&[None, Some(Value::Null), Some(json!("  "))]);
    }
    luck.pick_item(&[json!("do this"), json!("do that"), json!(3), json!({"a": [1]}), json!(true)]).into()
}

/// What a script may leave behind: data set and removed, conversations cut, turned round or added to.
fn random_patch(luck: &mut Luck, scope: &ScopeView) -> ScopePatch {
    let mut patch = ScopePatch::default();
    if luck.random_chance(40) {
        patch.set = Map::from_iter([(luck.pick_item(&["result", "other"]).to_owned(), json!("42"))]);
    }
    if luck.random_chance(10) {
        patch.removed = vec!["result".to_owned()];
    }
    if luck.random_chance(10)
        && let Some(context) = luck.random_item(&scope.contexts)
    {
        let mut messages = context.messages.to_vec();
        messages.truncate(luck.random_below(messages.len() + 1));
        if luck.random_chance(30) {
            messages.reverse();
        }
        if luck.random_chance(50) {
            let role = if luck.random_chance(5) {
                "nobody"
            } else {
                luck.pick_item(&["user", "assistant", "system"])
            };
            let content = luck.pick_item(&["from a script", ""]).to_owned();
            messages.push(ScriptMessage { role: role.to_owned(), content, origin: None });
        }
        patch.contexts = vec![(context.name.clone(), messages)];
    }
    patch
}

fn random_reply(luck: &mut Luck, call: CallId, request: &ModelRequest) -> Input {
    if luck.random_chance(3) {
        let detail = "no".to_owned();
        let errors = [ModelError::Auth { detail: detail.clone() }, ModelError::Transport { detail }];
        return Input::ModelFailed {
            call,
            error: luck.pick_item(&errors),
            attempts: 2,
            used: Vec::new(),
            again: false,
        };
    }
    let text =
        luck.pick_item(&["", "a few words", "many words, said again and again until they fill the line"]);
    let calls: usize = if luck.random_chance(55) { 0 } else { luck.random_between(1, 3) };
    let calls = (0..calls).map(|_| tool_call(luck, request)).collect();
    // an answer without anything is an error of its own; it should not drown the others
    let text = if text.is_empty() && luck.random_chance(95) { "words" } else { text };
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
    let offered = luck.random_item(&request.tools).map_or("look", |tool| tool.name.as_str());
    let decides = !request.parsing_tools.is_empty() && luck.random_chance(60);
    let name =
        if decides { DECISION } else { luck.pick_item(&[offered, offered, offered, "unknown", DECISION]) };
    let good = [r#"{"good": true}"#, r#"{"good": false}"#];
    let bad = [r#"{"good": "yes"}"#, "{}", "", "{broken", "[1]", "null"];
    let name = team_tool(luck, request).unwrap_or(name);
    let team = if luck.random_chance(90) { team_arguments(luck, name) } else { None };
    let arguments = if luck.random_chance(75) { luck.pick_item(&good) } else { luck.pick_item(&bad) };
    let inner = (name == MULTICALL && luck.random_chance(90)).then(|| inner_calls(luck, request));
    let id = luck.pick_item(&["", "same", "other"]).to_owned();
    ToolCall {
        id,
        name: name.to_owned(),
        arguments: team.or(inner).map_or(arguments.to_owned(), |arguments| arguments.to_string()),
        original: None,
    }
}

/// The arguments of a `multicall`: calls of the other tools, mostly sound.
fn inner_calls(luck: &mut Luck, request: &ModelRequest) -> Value {
    let offered: Vec<&str> =
        request.tools.iter().map(|tool| tool.name.as_str()).filter(|name| *name != MULTICALL).collect();
    let count = luck.random_between(1, 5);
    let calls: Vec<Value> = (0..count)
        .map(|_| {
            let names = [luck.random_item(&offered).map_or("look", |name| *name), "look", "look", "unknown"];
            let tool = luck.pick_item(&names);
            let arguments = team_arguments(luck, tool).unwrap_or_else(|| json!({}));
            json!({"tool": tool, "arguments": arguments})
        })
        .collect();
    json!({"calls": calls})
}

/// A random action of a user who watches the run.
pub fn random_steering(luck: &mut Luck) -> Input {
    let state = format!("s{}", luck.random_between(0, 4));
    let point = match luck.random_between(0, 3) {
        0 => Breakpoint::before_tool("read"),
        1 => Breakpoint::after_spending(0.01).unwrap(),
        _ => Breakpoint::before_state(&state),
    };
    let steering = match luck.random_between(0, 10) {
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
