//! The request of a `delegate` state, field by field.
//!
//! The message of such a state is made for people and holds all of this in words. Programs that are asked get the
//! fields; the prompt is found again in the message, because only there it has been filled in.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// As the workflow declares it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct DelegationSpec {
    /// `llm_task`, `browser_automation` … (B12: an open word); empty if none was given.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// Advice to whoever is asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub available_tools: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<Value>,
    /// The `message` of seed 003, which a program is told beside the fields.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub told: String,
    /// What stands in the message behind the prompt.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub footer: String,
    /// Somebody outside is asked although nobody is at this end: what counts without an answer counts when the time is
    /// up, not at once. Set by who can reach them.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub waits: bool,
}

/// As it is asked: with its prompt filled in.
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
    /// How long an answer is waited for, if the state says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// When the time is up, the run goes on without an answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub moves_on: bool,
}

/// The task of a state that names none.
const TASK: &str = "llm_task";

impl DelegationSpec {
    /// What is asked by a message that was made from this. A state without a prompt has its description for one.
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
