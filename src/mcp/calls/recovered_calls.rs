//! Answers to interactions of a server that died: resumes their run, which repeats the call.

use std::time::Duration;

use serde_json::{Map, Value};

use super::super::backend::McpBackend;
use super::find_task::search_runs;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::model::ModelReply;
use synthdev_service::delegated_work::delegated_calls::may_belong_to_run;
use synthdev_service::run_place::{RunOperation, RunPlace, RunPlaceError};
use synthdev_service::run_resume::resume_run;

/// How long each time, and how often, it is waited for until the run asks.
const LOOK_AGAIN: Duration = Duration::from_millis(10);
const LOOKS: usize = 500;

pub(super) enum RecoveredCall {
    /// The successor of the call is open under this id.
    Open(String),
    /// The run has this very answer.
    Answered(RunId),
    /// The call is one of a run of another project.
    OtherProject(RunPlaceError),
    Unknown,
}

pub(super) async fn recover_call(
    backend: &dyn McpBackend,
    id: &str,
    response: &Map<String, Value>,
) -> RecoveredCall {
    let handle = backend.handle();
    let fits = |run: &RunId| may_belong_to_run(id, run);
    let found =
        search_runs(backend, Some(backend.project()), fits).or_else(|| search_runs(backend, None, fits));
    let Some(run) = found.filter(|run| handle.is_interaction_id_valid(&run.id, id)) else {
        return RecoveredCall::Unknown;
    };
    let place = RunPlace::of_run(&run, backend.project());
    if let Err(elsewhere) = place.check_project(&run.id, RunOperation::Resume) {
        return RecoveredCall::OtherProject(elsewhere);
    }
    if run.progress.status == RunStatus::Interrupted {
        let Ok((handle, going)) = backend.prepare_resume(&run) else { return RecoveredCall::Unknown };
        // another process may resume it at the same moment
        let _ = resume_run(&handle, &run.id, going).await;
    }
    let answered = || handle.recorded_replies(&run.id).iter().any(|reply| is_same_reply(reply, response));
    for _ in 0..LOOKS {
        // read before the heir is looked for: what the run asks in between is found in the next look
        let (asks, runs) =
            (backend.interactions().has_unclaimed_call(&run.id), handle.running_runs().contains(&run.id));
        if let Some(heir) = backend.interactions().adopt_id(id, &run.id) {
            return RecoveredCall::Open(heir);
        }
        // an equal answer to another question is no repetition while this one may still be asked
        if asks || !runs {
            break;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    if answered() { RecoveredCall::Answered(run.id) } else { RecoveredCall::Unknown }
}

/// Whether a reply in the journal equals the answer.
fn is_same_reply(reply: &ModelReply, response: &Map<String, Value>) -> bool {
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
