//! Open pauses of a run: an action with the token that answers it, or a note that the user must decide.

use serde_json::{Map, Value, json};

use super::super::client_hints::IN_A_TERMINAL;
use super::super::timestamp::to_rfc3339;
use synthdev_domain::journal::{OpenPause, PauseReason, RunStatus, RunSummary};
use synthdev_service::run_resume::{ResumeToken, needed_increase};

/// Under which name a client gives an answer that has no name of its own.
pub(crate) const ANSWER: &str = "answer";

pub(super) const AWAITING: &str = "awaiting_llm_action";

/// Something that the run waits for; with a token if the client may answer it.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct PendingAction {
    pub(crate) pause: OpenPause,
    pub(crate) token: Option<ResumeToken>,
    pub(crate) ttl_seconds: u64,
}

/// Whether a client may answer it: decisions of the user only if the server was started with remote approvals.
pub(crate) fn may_answer(pause: &OpenPause, remote_approvals: bool) -> bool {
    match pause.reason {
        PauseReason::Input => match pause.kind.as_deref() {
            Some("approval") => remote_approvals,
            kind => kind.is_some(),
        },
        PauseReason::Approval | PauseReason::UncertainEffect => remote_approvals,
        PauseReason::Error
        | PauseReason::Limit
        | PauseReason::Budget
        | PauseReason::User
        | PauseReason::Delegate => false,
    }
}

/// Who is asked by what a paused run has open: the client as soon as it may answer something of it, or go on without an
/// answer (`approves_all`). `None`: no one answers it.
pub(crate) fn asked_party(
    run: &RunSummary,
    remote_approvals: bool,
    approves_all: bool,
) -> Option<&'static str> {
    let open = &run.progress.pauses;
    if run.progress.status != RunStatus::Paused || open.iter().all(OpenPause::needs_no_answer) {
        return None;
    }
    let is_given = approves_all && open.iter().any(|pause| pause.reason == PauseReason::Approval);
    let is_client = is_given || open.iter().any(|pause| may_answer(pause, remote_approvals));
    Some(if is_client { "client" } else { "user" })
}

/// The open actions of a run without their tokens: a list or a resource is only read.
pub(crate) fn add_client_actions(run: &RunSummary, remote_approvals: bool, told: &mut Value) {
    if asked_party(run, remote_approvals, false) != Some("client") {
        return;
    }
    let (asked, left): (Vec<&OpenPause>, Vec<&OpenPause>) =
        run.progress.pauses.iter().partition(|pause| may_answer(pause, remote_approvals));
    let action = |pause: &&OpenPause| json!({"state": pause.state, "action": action_json(pause)});
    told["status"] = json!(AWAITING);
    told["pending"] = asked.iter().map(action).collect();
    told["message"] = json!(
        "The client is asked. get_workflow_status gives the resumeToken with which resume_workflow answers."
    );
    if !left.is_empty() {
        told["waitsForPerson"] = left.into_iter().map(open_pause_json).collect();
    } else if let Some(fields) = told.as_object_mut() {
        fields.shift_remove("waitsForPerson");
    }
}

pub(super) fn add_action_fields(run: &RunSummary, offers: &[PendingAction], fields: &mut Map<String, Value>) {
    if matches!(offers, [only] if only.pause.needs_no_answer()) {
        let message = "The workflow is paused. continue_workflow resumes it.";
        fields.insert("message".to_owned(), json!(message));
        return;
    }
    let answerable: Vec<Value> = offers.iter().filter_map(answerable_action).collect();
    let left: Vec<Value> = offers
        .iter()
        .filter(|offer| offer.token.is_none())
        .map(|offer| open_pause_json(&offer.pause))
        .collect();
    if let Some(first) = answerable.first().and_then(Value::as_object) {
        fields.extend(first.clone());
    } else {
        let pauses: Vec<OpenPause> = offers.iter().map(|offer| offer.pause.clone()).collect();
        let message = match needed_increase(&run.id, &pauses) {
            Some(needed) => {
                format!("The {needed}: {IN_A_TERMINAL}{}", needed.hint().unwrap_or_default())
            }
            None => format!(
                "The user must decide before the workflow continues, {IN_A_TERMINAL}synthdev resume {}",
                run.id
            ),
        };
        fields.insert("message".to_owned(), json!(message));
    }
    if answerable.len() > 1 {
        fields.insert("pending".to_owned(), Value::Array(answerable));
    }
    if !left.is_empty() {
        fields.insert("waitsForPerson".to_owned(), Value::Array(left));
    }
}

/// Fields of a run in progress; the process that drives it may have a question to its user.
pub(super) fn add_running_fields(run: &RunSummary, fields: &mut Map<String, Value>) {
    let open: Vec<Value> = run.progress.pauses.iter().map(open_pause_json).collect();
    let message = if open.is_empty() {
        "The workflow is running. Call get_workflow_status for its result."
    } else {
        "The process that drives the workflow asks the user. After pause_workflow, the question can be \
            answered elsewhere."
    };
    fields.insert("message".to_owned(), json!(message));
    if !open.is_empty() {
        fields.insert("waitsForPerson".to_owned(), Value::Array(open));
    }
}

fn answerable_action(offer: &PendingAction) -> Option<Value> {
    let PendingAction { pause, token, ttl_seconds } = offer;
    let token = token.as_ref()?;
    let action = action_json(pause);
    let outputs: Vec<&str> =
        action["requiredOutputs"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let what = if pause.action.is_some() { "Do what the prompt says" } else { "Ask your user" };
    let usual = || {
        let results =
            if outputs.is_empty() { "an object that fits the schema".to_owned() } else { outputs.join(", ") };
        format!("{what}, then call resume_workflow with this resumeToken and results: {results}")
    };
    let own = pause.action.as_ref().map(|asked| asked.told.clone()).filter(|told| !told.is_empty());
    let mut message = own.unwrap_or_else(usual);
    if pause.action.as_ref().is_some_and(|asked| asked.moves_on) {
        message.push_str(". When the token has expired, the workflow goes on without them");
    }
    Some(json!({
        "state": pause.state,
        "resumeToken": token.text,
        "expiresAt": to_rfc3339(token.expires_at),
        "expiresInSeconds": ttl_seconds,
        "action": action,
        "message": message,
    }))
}

fn open_pause_json(pause: &OpenPause) -> Value {
    json!({"state": pause.state, "reason": pause.reason, "message": pause.message})
}

/// The action of a pause, with the field names that clients expect.
pub(crate) fn action_json(pause: &OpenPause) -> Value {
    let outputs = &pause.required_outputs;
    let mut action = match &pause.action {
        Some(asked) => json!({
            "type": asked.task,
            "description": asked.description,
            "prompt": asked.prompt,
            "requiredOutputs": outputs,
        }),
        None => json!({
            "type": action_kind(pause),
            "description": pause.message,
            "prompt": action_prompt(pause),
            "requiredOutputs": if outputs.is_empty() { answer_names(pause) } else { outputs.clone() },
        }),
    };
    let mut add = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            action[name] = value;
        }
    };
    let list = |list: &[String]| (!list.is_empty()).then(|| json!(list));
    add("availableTools", pause.action.as_ref().and_then(|asked| list(&asked.available_tools)));
    add("context", pause.action.as_ref().and_then(|asked| asked.context.clone()));
    add("choices", list(&pause.choices));
    add("schema", pause.schema.clone());
    add("default", pause.default.clone());
    action
}

/// Under which name a single answer comes; an object of which no key is asked for has none.
fn answer_names(pause: &OpenPause) -> Vec<String> {
    match (pause.reason, pause.kind.as_deref()) {
        (PauseReason::Input, Some("outputs")) => Vec::new(),
        (PauseReason::Input, _) => vec![ANSWER.to_owned()],
        _ => vec!["decision".to_owned()],
    }
}

fn action_kind(pause: &OpenPause) -> &'static str {
    match (pause.reason, pause.kind.as_deref()) {
        (PauseReason::Approval | PauseReason::UncertainEffect, _) | (_, Some("approval")) => "approval",
        (_, Some("choice")) => "decision",
        _ => "input",
    }
}

fn action_prompt(pause: &OpenPause) -> String {
    let how = match (pause.reason, pause.kind.as_deref()) {
        (PauseReason::Approval, _) => {
            "Answer {\"decision\": \"allow\"} or {\"decision\": \"deny\", \"reason\": …}."
        }
        (PauseReason::UncertainEffect, _) => {
            "Answer {\"decision\": \"repeat\"}, {\"decision\": \"done\", \"result\": …} or {\"decision\": \"skip\"}."
        }
        (_, Some("approval" | "boolean")) => "Answer {\"answer\": true} or {\"answer\": false}.",
        (_, Some("number")) => "Answer {\"answer\": NUMBER}.",
        (_, Some("choice")) => "Answer {\"answer\": ONE OF THE CHOICES}.",
        (_, Some("outputs")) => "Answer with the required outputs.",
        _ => "Answer {\"answer\": \"…\"}.",
    };
    format!("{}\n\n{how}", pause.message)
}
