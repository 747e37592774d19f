//! Errors between a sub-agent and the server, as the sub-agent's tools report them.

use serde_json::{Value, json};

use synthdev_service::delegated_work::task_queue::{SubmitError, TaskOutcome};

/// Why a sub-agent does not get what it asks for: a code for programs and a text.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct SubAgentError {
    pub(crate) code: String,
    pub(crate) text: String,
    /// More fields of the answer.
    extra_fields: Value,
}

impl SubAgentError {
    pub(crate) fn new(code: &str, text: impl Into<String>) -> Self {
        Self { code: code.to_owned(), text: text.into(), extra_fields: json!({}) }
    }

    pub(crate) fn with_field(mut self, name: &str, value: Value) -> Self {
        self.extra_fields[name] = value;
        self
    }

    pub(crate) fn unknown_workflow() -> Self {
        Self::from_submit_error(SubmitError::UnknownWorkflow)
    }

    pub(crate) fn from_end(code: &str, text: &str) -> Self {
        Self::new(code, text)
    }

    pub(crate) fn from_submit_error(error: SubmitError) -> Self {
        let text = error.to_string();
        match error {
            SubmitError::UnknownWorkflow => Self::new("unknown_workflow", text),
            SubmitError::UnknownStep => Self::new("unknown_step", text),
            SubmitError::Completed => Self::new("step_already_completed", text),
            SubmitError::Over(TaskOutcome::Complete(_)) => {
                Self::new("workflow_complete", "the workflow is complete")
            }
            SubmitError::Over(TaskOutcome::Failed { code, text }) => Self::new(&code, text),
            SubmitError::LeaseLost => Self::new("lease_lost", text),
            SubmitError::Version(version) => {
                Self::new("version_conflict", text).with_field("state_version", json!(version))
            }
            SubmitError::NotRunning => Self::new("not_running", text),
            SubmitError::NotRecorded => Self::new("not_recorded", text),
        }
    }

    /// `field` is where the tool has its text: `error` or `message`.
    pub(crate) fn into_json(self, field: &str) -> Value {
        let mut told = json!({"status": "error", "code": self.code});
        told[field] = json!(self.text);
        if let (Some(told), Value::Object(more)) = (told.as_object_mut(), self.extra_fields) {
            told.extend(more);
        }
        told
    }
}
