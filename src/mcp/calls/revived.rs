//! Answers to interactions of a server that died: their run is taken up, and asks the same again.

use std::time::Duration;

use serde_json::{Map, Value};

use super::super::backend::Backend;
use super::reach::searched;
use crate::domain::ids::RunId;
use crate::domain::journal::RunStatus;
use crate::domain::model::ModelReply;
use crate::runtime::interactions::{counts, may_be_of, replies};

/// How long each time, and how often, it is waited for until the run asks.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const LOOKS: usize = 500;

pub(super) enum Revived {
    /// What was asked in its place is open under this id.
    Open(String),
    /// The run has this very answer.
    Answered(RunId),
    Unknown,
}

pub(super) async fn known(backend: &dyn Backend, id: &str, response: &Map<String, Value>) -> Revived {
    let Some(run) = searched(backend, |run| may_be_of(id, run)) else { return Revived::Unknown };
    let handle = backend.handle();
    let ports = handle.ports();
    if !counts(&*ports.store, &run.id, id, ports.clock.now()) {
        return Revived::Unknown;
    }
    if run.progress.status == RunStatus::Interrupted {
        let Ok((handle, going)) = backend.taking_up(&run) else { return Revived::Unknown };
        // somebody else may take it up at the same moment
        let _ = handle.resume(&run.id, going).await;
    }
    let answered = || replies(&*ports.store, &run.id).iter().any(|reply| is_said(reply, response));
    for _ in 0..LOOKS {
        // read before the heir is looked for: what the run asks in between is found in the next look
        let (asks, runs) = (backend.interactions().asks(&run.id), handle.running().contains(&run.id));
        if let Some(heir) = backend.interactions().inherit(id, &run.id) {
            return Revived::Open(heir);
        }
        // an equal answer to another question is no repetition while this one may still be asked
        if asks || !runs {
            break;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    if answered() { Revived::Answered(run.id) } else { Revived::Unknown }
}

/// Whether a reply of the journal is what a success says.
fn is_said(reply: &ModelReply, response: &Map<String, Value>) -> bool {
    let Some(data) = response.get("data") else { return false };
    let calls = &reply.tool_calls;
    let arguments = |at: usize| -> Value {
        calls.get(at).and_then(|call| serde_json::from_str(&call.arguments).ok()).unwrap_or_default()
    };
    if calls.len() == 1 && [data.get("object"), Some(data)].contains(&Some(&arguments(0))) {
        return true;
    }
    let text = data.as_str().or_else(|| data["text"].as_str()).unwrap_or_default();
    let said = data["toolCalls"].as_array().map(Vec::as_slice).unwrap_or_default();
    let same = |(at, call): (usize, &Value)| {
        let given = match &call["arguments"] {
            Value::String(text) => serde_json::from_str(text).unwrap_or_default(),
            value => value.clone(),
        };
        call["name"] == calls[at].name.as_str() && given == arguments(at)
    };
    text == reply.text && said.len() == calls.len() && said.iter().enumerate().all(same)
}
