//! `agent_llm`: the answer of the model call that a run asked for.

use serde_json::{Map, Value, json};

use super::super::arguments::{ToolArguments, check_size};
use super::super::error::{
    McpCallError, ToolResultError, interaction_of_other_project, invalid_request_error, shorten_text,
};
use super::super::llm_reply::{parse_error, parse_reply};
use super::recovered_calls::{self, RecoveredCall};
use super::tool_call::McpToolCall;
use synthdev_domain::model::ModelError;
use synthdev_service::delegated_work::delegated_calls::DelegatedAnswerOutcome;

const PROCESSED: &str = "agent_response_processed_by_taskmaster";
const PROCESSED_WITH_ERROR: &str = "agent_response_processed_by_taskmaster_with_error";

pub(super) async fn respond_to_call(mut call: McpToolCall<'_>) -> Result<Value, McpCallError> {
    let (told_as, response) = parse_arguments(&mut call)?;
    let said = Value::Object(response.clone());
    let failed = error_details(&response)?;
    let interactions = call.backend.interactions();
    let id = match interactions.resolve(&told_as) {
        Some(id) => id,
        None => match recovered_calls::recover_call(call.backend, &told_as, &response).await {
            RecoveredCall::Open(id) => id,
            RecoveredCall::Answered(run) => {
                let stands = call.watch_if_running(&run).await?;
                let status = reply_status(failed);
                return Ok(
                    json!({"status": status, "interactionId": told_as, "run": stands, "duplicate": true}),
                );
            }
            RecoveredCall::OtherProject(elsewhere) => return Err(interaction_of_other_project(&elsewhere)),
            RecoveredCall::Unknown => told_as.clone(),
        },
    };
    let answer = match (interactions.find(&id), failed) {
        // only whether it is a repetition is of interest
        (None, _) => Err(ModelError::Drift { detail: String::new() }),
        (Some(_), Some(details)) => Err(parse_error(details)),
        (Some(interaction), None) => {
            let data = response.get("data").unwrap_or(&Value::Null);
            Ok(parse_reply(&id, &interaction.request, data)
                .map_err(|why| unfit_answer_error(&call, &id, &why))?)
        }
    };
    let run = interactions.find(&id).map(|open| open.run).or_else(|| interactions.run_for_answered(&id));
    let unknown = || {
        invalid_request_error(
            format!("Unknown or expired interactionId: {}", shorten_text(&id)),
            json!({"type": "interaction_unknown"}),
        )
    };
    let run = run.ok_or_else(unknown)?;
    let events = call.backend.handle().subscribe(false);
    let again = match interactions.answer(&id, &said, answer) {
        DelegatedAnswerOutcome::Taken => false,
        DelegatedAnswerOutcome::Duplicate => true,
        DelegatedAnswerOutcome::Conflict => {
            let detail = "this interaction already has another answer: the first answer counts";
            return Err(ToolResultError::new(
                "interaction_conflict",
                "The interaction was answered already",
                detail,
            )
            .into());
        }
        DelegatedAnswerOutcome::Unknown => return Err(unknown()),
    };
    let stands = if again { call.current_status(&run)? } else { call.follow_run(&run, events).await? };
    let mut told = json!({"status": reply_status(failed), "interactionId": told_as, "run": stands});
    if again {
        told["duplicate"] = json!(true);
    }
    Ok(told)
}

/// The id of the interaction, and the model's response.
fn parse_arguments(call: &mut McpToolCall<'_>) -> Result<(String, Map<String, Value>), McpCallError> {
    let given = call.arguments.take();
    if given.as_ref().is_some_and(|given| given.contains_key("delegatedCallDetails")) {
        let message =
            "`delegatedCallDetails` is what a workflow sends; an agent sends `agentLLMResponse`, not both";
        return Err(wrong_argument_error(message, "delegatedCallDetails"));
    }
    let required = ["interactionId", "agentLLMResponse"];
    let mut arguments = ToolArguments::from_request(given, &required, &["projectRoot", "tag"])?;
    let id = arguments.text("interactionId")?.unwrap_or_default();
    let root = arguments.text("projectRoot")?;
    if root.is_some_and(|root| root.trim_end_matches('/') != call.backend.project()) {
        let message = format!("`projectRoot` is not the project of this server: {}", call.backend.project());
        return Err(wrong_argument_error(&message, "projectRoot"));
    }
    let response = arguments.object("agentLLMResponse")?;
    check_size("agentLLMResponse", &Value::Object(response.clone()))?;
    Ok((id, response))
}

fn reply_status(failed: Option<&Map<String, Value>>) -> &'static str {
    if failed.is_some() { PROCESSED_WITH_ERROR } else { PROCESSED }
}

/// The details of an error that is handed in; `None` for a success.
fn error_details(response: &Map<String, Value>) -> Result<Option<&Map<String, Value>>, McpCallError> {
    match response.get("status").and_then(Value::as_str) {
        Some("success") if response.get("data").is_none_or(Value::is_null) => {
            Err(wrong_argument_error("a success needs `agentLLMResponse.data`", "data"))
        }
        Some("success") => Ok(None),
        Some("error") => match response.get("errorDetails") {
            Some(Value::Object(details)) => Ok(Some(details)),
            _ => Err(wrong_argument_error(
                "an error needs `agentLLMResponse.errorDetails`, an object",
                "errorDetails",
            )),
        },
        _ => Err(wrong_argument_error("`agentLLMResponse.status` must be success or error", "status")),
    }
}

fn wrong_argument_error(message: &str, argument: &str) -> McpCallError {
    invalid_request_error(message, json!({"type": "wrong_argument", "argument": argument}))
}

/// The answer does not fit: it can be given again, some times.
fn unfit_answer_error(call: &McpToolCall<'_>, id: &str, why: &str) -> McpCallError {
    let left = call.backend.interactions().count_misfit(id, why);
    let hint = if left == 0 {
        "the call failed with this"
    } else {
        "the interaction stays open: call agent_llm again"
    };
    ToolResultError::new("validation", "The answer does not fit", why)
        .hint(Some(hint.to_owned()))
        .with_field("triesLeft", json!(left))
        .into()
}
