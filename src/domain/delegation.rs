//! The request of a `delegate` state, field by field.
//!
//! The message of such a state is the same request as text for a user. Client programs get the fields; the prompt is
//! extracted from the message, because only the message has its templates filled in.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// As the workflow declares it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DelegationSpec {
    /// `llm_task`, `browser_automation` …: any word; empty if none was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Advice for the client that answers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available_tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The `message` of the state, which a client gets beside the fields.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
    /// The part of the message after the prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub footer: String,
    /// A client outside of this process can answer although no user is present: the default or `on_timeout` applies
    /// only when the time is up, not at once. Set by the caller that can reach the client.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

/// The request as a client gets it, with its prompt filled in.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DelegationRequest {
    pub task: String,
    pub description: String,
    pub prompt: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available_tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
    /// How long the run waits for an answer, if the state sets a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// When the time is up, the run continues without an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moves_on: bool,
}

/// The task of a state that names none.
const TASK: &str = "llm_task";

impl DelegationSpec {
    /// The request behind a message that was made from this. The description replaces a missing prompt.
    pub fn build_request(&self, message: &str, ttl_ms: Option<u64>) -> DelegationRequest {
        let whole = message.trim();
        let inner = whole.strip_prefix(self.description.trim()).unwrap_or(whole);
        let inner = inner.strip_suffix(self.footer.trim()).unwrap_or(inner).trim();
        let prompt = if inner.is_empty() { self.description.trim() } else { inner };
        let task = if self.task.is_empty() { TASK } else { &self.task };
        DelegationRequest {
            task: task.to_owned(),
            description: self.description.clone(),
            prompt: prompt.to_owned(),
            available_tools: self.available_tools.clone(),
            context: self.context.clone(),
            told: self.told.clone(),
            ttl_ms,
            moves_on: self.waits,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_prompt_is_found_in_the_message() {
        let request = |description: &str, footer: &str| DelegationSpec {
            description: description.to_owned(),
            footer: footer.to_owned(),
            ..DelegationSpec::default()
        };
        for (description, footer, message, prompt) in [
            ("Sum up.", "\n\nAnswer with: a", "Sum up.\n\nRead x.\n\nAnswer with: a", "Read x."),
            ("", "\n\nAnswer with: a", "Read x.\n\nAnswer with: a", "Read x."),
            ("Sum up.", "\n\nAnswer with: a", "Sum up.\n\n\n\nAnswer with: a", "Sum up."),
            ("Sum up.", "", "Sum up.\n\nSum up.", "Sum up."),
            ("", "", " plain ", "plain"),
        ] {
            assert_eq!(
                request(description, footer).build_request(message, None).prompt,
                prompt,
                "{message:?}"
            );
        }
    }
}
