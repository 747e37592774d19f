//! A request without what differs from day to day and place to place, and without keys.
//!
//! Owns what is replaced: the project's directory everywhere, the dates of now in system prompts, measured times in
//! results of tools. Refuses to touch anything else: what a model was shown otherwise must be the same again.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use regex::Regex;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use synthdev_domain::message::{ChatMessage, ChatRole};
use synthdev_domain::model::{ModelParameters, ModelRequest, ToolChoice};

/// Takes keys out of a value.
pub type RedactValueFn = dyn Fn(Value) -> Value + Send + Sync;

/// The roles of an agent's name; several where workflows give one name to different roles.
pub type RolesByAgent = BTreeMap<String, String>;

const PROJECT: &str = "⟨project⟩";
const DATE: &str = "⟨date⟩";

/// `"time_ms": 12` of a tool's result: how long it took on that machine; and when an interrupted call began.
static TIMES: LazyLock<Option<Regex>> = LazyLock::new(|| {
    let measured = r#""(?:time_ms|duration_ms)"\s*:\s*"#;
    let moment = r"\d+(?:-\d\d-\d\d \d\d:\d\d:\d\d)?";
    Regex::new(&format!("({measured}|while this call ran: it began at ){moment}")).ok()
});

/// What a request says, free of place, time and keys: what must be the same for a recorded reply to be right.
#[derive(Clone, PartialEq, Debug)]
pub struct NormalizedRequest {
    pub agent: String,
    pub role: String,
    pub level: String,
    pub parameters: ModelParameters,
    /// Shared between requests: each of a conversation begins as the one before it.
    pub messages: Vec<Arc<ChatMessage>>,
    pub tools: Vec<NormalizedTool>,
    pub tool_choice: ToolChoice,
}

/// A tool as it is described to the model.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct NormalizedTool {
    pub name: String,
    pub description: String,
    pub parameters: Value,
    /// A decision: its arguments are the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub decides: bool,
}

/// Where and when this program works, and what it must not write down.
#[derive(Clone)]
pub struct RequestNormalizer {
    /// Where the run works.
    home: String,
    /// This and other ways in which the project's directory is written, the longest first.
    project_paths: Vec<String>,
    dates: Vec<String>,
    redact_value: Arc<RedactValueFn>,
}

impl RequestNormalizer {
    /// `places`: the run's directory, then other directories of the project; `dates`: today's date as agents get it.
    pub fn new(mut places: Vec<String>, dates: Vec<String>, clean: Arc<RedactValueFn>) -> Self {
        let home = places.first().cloned().unwrap_or_default();
        places.retain(|place| place.len() > 1);
        places.sort_by_key(|place| std::cmp::Reverse(place.len()));
        Self { home, project_paths: places, dates, redact_value: clean }
    }

    /// A request as it is stored and compared.
    pub fn normalize_request(&self, request: &ModelRequest, roles: &RolesByAgent) -> NormalizedRequest {
        let message = |message: &ChatMessage| Arc::new(self.normalize_message(message));
        let tools = request.tools.iter().map(|tool| NormalizedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
            decides: false,
        });
        let decisions = request.parsing_tools.iter().map(|tool| NormalizedTool {
            name: tool.name.clone(),
            description: tool.description.clone(),
            parameters: tool.parameters.clone(),
            decides: true,
        });
        NormalizedRequest {
            agent: request.agent.clone(),
            role: roles.get(&request.agent).cloned().unwrap_or_default(),
            level: request.choice.level.clone(),
            parameters: request.choice.parameters.clone(),
            messages: request.messages.iter().map(message).collect(),
            tools: tools.chain(decisions).map(|tool| self.to_recorded_form(tool)).collect(),
            tool_choice: request.tool_choice.clone(),
        }
    }

    /// A reply as it is stored.
    pub fn to_recorded_form<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        self.normalize_with(value, &|text| self.normalize_text(text))
    }

    /// A stored reply as it is given here.
    pub fn from_recorded_form<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        map_as_json(value, |stored| each_text(stored, &|text| text.replace(PROJECT, &self.home)))
    }

    fn normalize_text(&self, text: &str) -> String {
        let clean = (self.redact_value)(Value::from(text));
        self.without_locations(clean.as_str().unwrap_or_default())
    }

    fn normalize_message(&self, message: &ChatMessage) -> ChatMessage {
        let mut neutral = self.normalize_with(message.clone(), &|text| self.without_locations(text));
        if neutral.role == ChatRole::System {
            neutral.content =
                self.dates.iter().fold(neutral.content, |text, date| text.replace(date.as_str(), DATE));
        }
        if let Some(times) = TIMES.as_ref().filter(|times| times.is_match(&neutral.content)) {
            neutral.content = times.replace_all(&neutral.content, "${1}0").into_owned();
        }
        neutral
    }

    /// Keys are taken out of the whole value first, then `each` text is changed.
    fn normalize_with<T: Serialize + DeserializeOwned>(&self, value: T, each: &dyn Fn(&str) -> String) -> T {
        map_as_json(value, |stored| each_text((self.redact_value)(stored), each))
    }

    fn without_locations(&self, text: &str) -> String {
        self.project_paths.iter().fold(text.to_owned(), |text, place| without_place(&text, place))
    }
}

/// A value by way of its JSON form; as it is where that form cannot be read again.
fn map_as_json<T: Serialize + DeserializeOwned>(value: T, change: impl FnOnce(Value) -> Value) -> T {
    let changed = serde_json::to_value(&value).ok().map(change);
    changed.and_then(|changed| serde_json::from_value(changed).ok()).unwrap_or(value)
}

fn each_text(value: Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => Value::String(change(&text)),
        Value::Array(items) => items.into_iter().map(|item| each_text(item, change)).collect(),
        Value::Object(members) => {
            members.into_iter().map(|(key, value)| (key, each_text(value, change))).collect()
        }
        plain @ (Value::Null | Value::Bool(_) | Value::Number(_)) => plain,
    }
}

/// `/a/b` is not meant in `/a/b-other`.
fn without_place(text: &str, place: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(place) {
        let (before, after) = (&rest[..at], &rest[at + place.len()..]);
        let goes_on = after.starts_with(|next: char| next.is_alphanumeric() || "-_".contains(next));
        out.push_str(before);
        out.push_str(if goes_on { place } else { PROJECT });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn normalizer(place: &str) -> RequestNormalizer {
        RequestNormalizer::new(vec![place.to_owned()], vec!["2026-01-31".to_owned()], Arc::new(|value| value))
    }

    #[test]
    fn only_place_day_and_measured_times_are_taken_out() {
        let here = normalizer("/home/me/app");
        for (role, text, neutral) in [
            (ChatRole::User, "see /home/me/app/a.rs", "see ⟨project⟩/a.rs"),
            (ChatRole::User, "in /home/me/app.", "in ⟨project⟩."),
            (ChatRole::User, "/home/me/app-two /home/me/apple", "/home/me/app-two /home/me/apple"),
            (ChatRole::System, "date: 2026-01-31", "date: ⟨date⟩"),
            (ChatRole::System, "date: 2026-01-30", "date: 2026-01-30"),
            (ChatRole::User, "due 2026-01-31", "due 2026-01-31"),
            (ChatRole::Tool, "{\"success\":true,\"time_ms\":17}\nx", "{\"success\":true,\"time_ms\":0}\nx"),
        ] {
            assert_eq!(here.normalize_message(&ChatMessage::text(role, text)).content, neutral, "{text}");
        }
    }

    #[test]
    fn a_worktree_of_the_project_is_the_project() {
        let places = ["/p/tree", "/p"].map(str::to_owned).to_vec();
        let here = RequestNormalizer::new(places, Vec::new(), Arc::new(|value| value));
        let stored = here.to_recorded_form("in /p/tree/a, not /p/a".to_owned());
        assert_eq!(stored, "in ⟨project⟩/a, not ⟨project⟩/a");
        assert_eq!(here.from_recorded_form(stored), "in /p/tree/a, not /p/tree/a");
    }

    #[test]
    fn an_answer_finds_its_way_to_another_place() {
        let call = synthdev_domain::message::ToolCall {
            id: "1".to_owned(),
            name: "read".to_owned(),
            arguments: "{\"path\":\"/home/me/app/a.rs\"}".to_owned(),
            original: None,
        };
        let stored = normalizer("/home/me/app").to_recorded_form(call);
        assert_eq!(stored.arguments, "{\"path\":\"⟨project⟩/a.rs\"}");
        assert_eq!(normalizer("/srv/b").from_recorded_form(stored).arguments, "{\"path\":\"/srv/b/a.rs\"}");
    }
}
