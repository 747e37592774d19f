//! A conversation that agents share: one ground-truth log. What one agent is shown is a computed prompt.

pub mod compressed_entries;
pub mod statistics;

use serde::{Deserialize, Serialize};

use super::message::{ChatRole, OpaqueBlock, ToolCall};
use super::model::ModelChoice;

/// Where an agent sits in its context: `assistant` answers, `user` takes the user's part (the seed's `role`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConversationSide {
    User,
    #[default]
    Assistant,
}

impl ConversationSide {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }

    /// The message role under which this seat's words are stored.
    pub fn stored_role(self) -> ChatRole {
        match self {
            Self::User => ChatRole::User,
            Self::Assistant => ChatRole::Assistant,
        }
    }
}

/// The author of an entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageAuthor {
    /// `starting_messages` of the file.
    Start,
    /// The workflow itself: an input sent by a state.
    Workflow,
    /// The user at the terminal.
    Human,
    /// An agent, by id.
    Agent(String),
    /// A script's `addMessage`.
    Script,
}

/// A tool call with its answer. `answer` is always filled before the next request is built:
/// results cannot be orphaned because they live inside their call.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct AnsweredCall {
    pub call: ToolCall,
    pub answer: String,
    pub ok: bool,
}

/// One entry of a context: a text, or a model's turn with its answered calls.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ContextEntry {
    pub author: MessageAuthor,
    pub role: ChatRole,
    #[serde(default)]
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<AnsweredCall>,
    /// Opaque reasoning blocks that the provider wants back with these calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<OpaqueBlock>,
    /// Never trimmed (starting messages).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub pinned: bool,
    /// Cut off by a cancel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupted: bool,
    /// The agent that this was sent to: never that agent's own message, whatever its seat.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
}

impl ContextEntry {
    pub fn text(author: MessageAuthor, role: ChatRole, text: impl Into<String>) -> Self {
        Self {
            author,
            role,
            text: text.into(),
            calls: Vec::new(),
            sealed: Vec::new(),
            pinned: false,
            interrupted: false,
            to: None,
        }
    }

    /// Length in Unicode scalars of text, call arguments and answers.
    pub fn length(&self) -> usize {
        let calls: usize = self
            .calls
            .iter()
            .map(|call| call.call.arguments.chars().count() + call.answer.chars().count())
            .sum();
        self.text.chars().count() + calls
    }
}

/// The definition of a context in a workflow file.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ContextSpec {
    pub name: String,
    pub starting_messages: Vec<ContextEntry>,
    /// Limit of a prompt in Unicode scalars; 50,000 where the file gives no limit at all.
    pub max_length: usize,
    /// Limit of a prompt in estimated tokens; the smaller of both limits counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_tokens: Option<usize>,
    #[serde(default)]
    pub trim: TrimPolicy,
    /// The model that sums up (`summary_level`); `None`: the agent's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Box<ModelChoice>>,
    /// So many messages after the starting ones are never left out.
    #[serde(default)]
    pub pin_first: usize,
    #[serde(default)]
    pub tool_visibility: ToolVisibility,
}

/// What happens to a prompt that is longer than its limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TrimPolicy {
    /// The oldest prompt units are left out.
    #[default]
    DropOldest,
    /// A model first sums up what would be left out.
    Summarize,
    /// The visit fails with `context_overflow`.
    Error,
}

/// What an agent sees of the tool calls of others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ToolVisibility {
    None,
    /// One short line a call.
    #[default]
    Summary,
    /// Whole arguments and answers, as text.
    Full,
}

pub const DEFAULT_MAX_LENGTH: usize = 50_000;

/// An estimate that holds for English and code; no tokenizer is asked, so that a prompt is the same everywhere.
pub const CHARACTERS_A_TOKEN: usize = 4;

impl ContextSpec {
    /// The limit of a prompt in Unicode scalars, and the name of the field that sets it.
    pub fn limit(&self) -> (usize, &'static str) {
        let by_tokens = self.max_tokens.map(|tokens| tokens.saturating_mul(CHARACTERS_A_TOKEN));
        match by_tokens {
            Some(length) if length <= self.max_length => (length, "max_tokens"),
            Some(_) | None => (self.max_length, "max_length"),
        }
    }
}

/// The live log of one context.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Context {
    pub entries: Vec<ContextEntry>,
}
