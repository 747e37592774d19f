//! Refusals, in two forms: as an error of the protocol, where the request itself is invalid (an unknown tool, a missing
//! argument, a forged id), and as a result, where the caller can read it and correct the call.

use rmcp::ErrorData;
use serde_json::{Value, json};

use super::backend::McpBackendError;
use synthdev_domain::ids::RunId;
use synthdev_service::run_place::RunPlaceError;
use synthdev_service::run_resume::{ResumeError, RunResumeError, TokenError};

/// The text for an invalid token; existing clients match it.
const NO_TOKEN: &str = "Resume token expired or invalid. Please start the workflow again.";

pub(super) enum McpCallError {
    /// JSON-RPC's invalid params.
    Request(ErrorData),
    /// A result of the tool that describes the error.
    Answer(Box<ToolResultError>),
}

/// The error of an answer.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct ToolResultError {
    pub(super) code: &'static str,
    pub(super) title: String,
    pub(super) detail: String,
    pub(super) hint: Option<String>,
    /// More fields of the error.
    pub(super) extra_fields: Value,
}

impl ToolResultError {
    pub(super) fn new(code: &'static str, title: &str, detail: impl Into<String>) -> Self {
        Self { code, title: title.to_owned(), detail: detail.into(), hint: None, extra_fields: json!({}) }
    }

    pub(super) fn hint(self, hint: Option<String>) -> Self {
        Self { hint, ..self }
    }

    pub(super) fn with_field(mut self, name: &str, value: Value) -> Self {
        self.extra_fields[name] = value;
        self
    }
}

impl From<ErrorData> for McpCallError {
    fn from(error: ErrorData) -> Self {
        Self::Request(error)
    }
}

impl From<ToolResultError> for McpCallError {
    fn from(problem: ToolResultError) -> Self {
        Self::Answer(Box::new(problem))
    }
}

impl From<McpBackendError> for McpCallError {
    fn from(McpBackendError { message, hint }: McpBackendError) -> Self {
        ToolResultError::new("refused", "This cannot be done now", message).hint(hint).into()
    }
}

/// The request is wrong; `data` names what, for programs.
pub(super) fn invalid_request_error(message: impl Into<String>, data: Value) -> McpCallError {
    McpCallError::Request(ErrorData::invalid_params(message.into(), Some(data)))
}

pub(super) fn unknown_workflow_id(id: &str) -> McpCallError {
    invalid_request_error(
        format!("Unknown workflowId: {}", shorten_text(id)),
        json!({"type": "unknown_workflow"}),
    )
}

/// The type is that of an unknown run: a client can do as little with it.
pub(super) fn run_of_other_project(error: &RunPlaceError) -> McpCallError {
    let message = format!("{error}; a server of that project gives it");
    invalid_request_error(message, json!({"type": "unknown_workflow"}))
}

/// The type is that of an unknown token: here it counts no more than one.
pub(super) fn token_of_other_project(error: &RunPlaceError, run: &RunId) -> McpCallError {
    let message = format!("{error}; a server of that project takes its resume token");
    invalid_request_error(message, json!({"type": "token_unknown", "workflowId": run}))
}

/// The type is that of an unknown interaction.
pub(super) fn interaction_of_other_project(error: &RunPlaceError) -> McpCallError {
    let message = format!("{error}; a server of that project takes its answer");
    invalid_request_error(message, json!({"type": "interaction_unknown"}))
}

/// What becomes of an answer that was not taken. `missing` are the required outputs that it lacks.
pub(super) fn from_token_error(error: TokenError, missing: &[String]) -> McpCallError {
    let hint = error.hint();
    let text = error.to_string();
    match error {
        TokenError::Unknown => invalid_request_error(NO_TOKEN, json!({"type": "token_unknown"})),
        TokenError::Expired(_, run) => {
            ToolResultError::new("token_expired", "The resume token expired", NO_TOKEN)
                .hint(Some(format!(
                    "the run still waits: get_workflow_status with workflowId {run} gives a new token"
                )))
                .with_field("workflowId", json!(run))
                .into()
        }
        TokenError::Late { run, status, .. } => {
            let detail = "The resume token expired, and the workflow went on without these results.";
            let hint = format!(
                "the run is {}: get_workflow_status with workflowId {run} shows its result",
                status.as_str()
            );
            ToolResultError::new("token_expired", "The resume token expired", detail)
                .hint(Some(hint))
                .with_field("workflowId", json!(run))
                .into()
        }
        TokenError::Unfit { problem, remaining_tries: left } => {
            let detail = if missing.is_empty() {
                problem.clone()
            } else {
                format!("Missing required output: {}", missing.join(", "))
            };
            let hint =
                format!("the token stays valid for {left} more: call resume_workflow again with all results");
            ToolResultError::new("validation", "The results do not fit", detail)
                .hint(Some(hint))
                .with_field("missing", json!(missing))
                .with_field("problem", json!(problem))
                .with_field("triesLeft", json!(left))
                .into()
        }
        TokenError::Forbidden(_) => {
            ToolResultError::new("not_permitted", "The user must decide this", text).hint(hint).into()
        }
        TokenError::Spent => ToolResultError::new("token_spent", "The resume token is no longer valid", text)
            .hint(Some("get_workflow_status with the workflowId gives a new token".to_owned()))
            .into(),
        TokenError::Stale => ToolResultError::new("token_stale", "The resume token no longer fits", text)
            .hint(Some("get_workflow_status with the workflowId shows the status of the run".to_owned()))
            .into(),
        TokenError::Resume(ResumeError::Conflict) => {
            ToolResultError::new("token_conflict", "The resume token was used already", text)
                .hint(hint)
                .into()
        }
        TokenError::Resume(error) => from_resume_error(&error.into()),
    }
}

pub(super) fn from_resume_error(error: &RunResumeError) -> McpCallError {
    ToolResultError::new("not_resumed", "The run does not go on", error.to_string()).hint(error.hint()).into()
}

/// The beginning of a client's text.
pub(super) fn shorten_text(text: &str) -> String {
    const MOST: usize = 80;
    let plain = |c: char| if c.is_control() { ' ' } else { c };
    let cut: String = text.chars().map(plain).take(MOST).collect();
    if text.chars().nth(MOST).is_some() { format!("{cut}…") } else { cut }
}
