//! `agent_llm`: the answer of the model call that a run asked for (C2 to C6, DELEG-20 to DELEG-25).

use serde_json::{Map, Value, json};

use super::super::arguments::{Arguments, of_a_size};
use super::super::refusal::{Problem, Refusal, invalid, short};
use super::super::replies::{error, reply};
use super::call::Call;
use super::revived::{self, Revived};
use crate::domain::model::ModelError;
use crate::runtime::interactions::Given;

const PROCESSED: &str = "agent_response_processed_by_taskmaster";
const PROCESSED_WITH_ERROR: &str = "agent_response_processed_by_taskmaster_with_error";

pub(super) async fn respond(mut call: Call<'_>) -> Result<Value, Refusal> {
    let (told_as, response) = read(&mut call)?;
    let said = Value::Object(response.clone());
    let failed = failed(&response)?;
    let interactions = call.backend.interactions();
    let id = match interactions.resolve(&told_as) {
        Some(id) => id,
        None => match revived::known(call.backend, &told_as, &response).await {
            Revived::Open(id) => id,
            Revived::Answered(run) => {
                let stands = call.again(&run).await?;
                let status = status(failed);
                return Ok(
                    json!({"status": status, "interactionId": told_as, "run": stands, "duplicate": true}),
                );
            }
            Revived::Unknown => told_as.clone(),
        },
    };
    let answer = match (interactions.find(&id), failed) {
        // only whether it is a repetition is of interest
        (None, _) => Err(ModelError::Drift { detail: String::new() }),
        (Some(_), Some(details)) => Err(error(details)),
        (Some(interaction), None) => {
            let data = response.get("data").unwrap_or(&Value::Null);
            Ok(reply(&id, &interaction.request, data).map_err(|why| misfit(&call, &id, &why))?)
        }
    };
    let run = interactions.find(&id).map(|open| open.run).or_else(|| interactions.answered(&id));
    let unknown = || {
        invalid(
            format!("Unknown or expired interactionId: {}", short(&id)),
            json!({"type": "interaction_unknown"}),
        )
    };
    let run = run.ok_or_else(unknown)?;
    let events = call.backend.handle().subscribe(false);
    let again = match interactions.answer(&id, &said, answer) {
        Given::Taken => false,
        Given::Duplicate => true,
        Given::Conflict => {
            let detail = "this interaction was answered otherwise before: the first answer counts";
            return Err(
                Problem::new("interaction_conflict", "The interaction was answered already", detail).into()
            );
        }
        Given::Unknown => return Err(unknown()),
    };
    let stands = if again { call.now(&run)? } else { call.follow(&run, events).await? };
    let mut told = json!({"status": status(failed), "interactionId": told_as, "run": stands});
    if again {
        told["duplicate"] = json!(true);
    }
    Ok(told)
}

/// The id and what is said under it.
fn read(call: &mut Call<'_>) -> Result<(String, Map<String, Value>), Refusal> {
    let given = call.arguments.take();
    if given.as_ref().is_some_and(|given| given.contains_key("delegatedCallDetails")) {
        let message =
            "`delegatedCallDetails` is what a workflow sends; an agent sends `agentLLMResponse`, not both";
        return Err(wrong(message, "delegatedCallDetails"));
    }
    let required = ["interactionId", "agentLLMResponse"];
    let mut arguments = Arguments::read(given, &required, &["projectRoot", "tag"])?;
    let id = arguments.text("interactionId")?.unwrap_or_default();
    let root = arguments.text("projectRoot")?;
    if root.is_some_and(|root| root.trim_end_matches('/') != call.backend.project()) {
        let message = format!("`projectRoot` is not the project of this server: {}", call.backend.project());
        return Err(wrong(&message, "projectRoot"));
    }
    let response = arguments.object("agentLLMResponse")?;
    of_a_size("agentLLMResponse", &Value::Object(response.clone()))?;
    Ok((id, response))
}

fn status(failed: Option<&Map<String, Value>>) -> &'static str {
    if failed.is_some() { PROCESSED_WITH_ERROR } else { PROCESSED }
}

/// The details of an error that is handed in; `None` for a success (C4).
fn failed(response: &Map<String, Value>) -> Result<Option<&Map<String, Value>>, Refusal> {
    match response.get("status").and_then(Value::as_str) {
        Some("success") if response.get("data").is_none_or(Value::is_null) => {
            Err(wrong("a success needs `agentLLMResponse.data`", "data"))
        }
        Some("success") => Ok(None),
        Some("error") => match response.get("errorDetails") {
            Some(Value::Object(details)) => Ok(Some(details)),
            _ => Err(wrong("an error needs `agentLLMResponse.errorDetails`, an object", "errorDetails")),
        },
        _ => Err(wrong("`agentLLMResponse.status` must be success or error", "status")),
    }
}

fn wrong(message: &str, argument: &str) -> Refusal {
    invalid(message, json!({"type": "wrong_argument", "argument": argument}))
}

/// The answer does not fit: it can be given again, some times.
fn misfit(call: &Call<'_>, id: &str, why: &str) -> Refusal {
    let left = call.backend.interactions().misfit(id, why);
    let hint = if left == 0 {
        "the call failed with this"
    } else {
        "the interaction stays open: call agent_llm again"
    };
    Problem::new("validation", "The answer does not fit", why)
        .hint(Some(hint.to_owned()))
        .with("triesLeft", json!(left))
        .into()
}
