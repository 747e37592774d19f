//! A model call: what is asked, what comes back, what can go wrong.

mod decision_memory;
mod model_charges;
mod model_substitution;
mod parameters;
mod token_estimate;
mod tool_choice;

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cost::{AttemptUsage, TokenPrice, TokenUsage};
use super::decision_source::DecisionSource;
use super::message::{ChatMessage, OpaqueBlock, ToolCall};
use super::protocol::{ANSWER_TOKENS, ModelProtocol};
use super::tool::{ParsingTool, ToolSpec};

pub use decision_memory::{DecisionMemory, RememberedDecision};
pub use model_charges::add_charge;
pub use model_substitution::is_same_model;
pub use parameters::ModelParameters;
pub use token_estimate::LEAST_ANSWER;
pub use tool_choice::ToolChoice;

/// Of a model of which neither the window nor the longest answer is known: servers refuse limits that are too large
/// for their models, and this is taken by most.
const UNKNOWN_ANSWER: u64 = 8_192;

/// The model of an agent, resolved once while loading, with the setting that chose it.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ModelChoice {
    /// base, smart or fast.
    pub level: String,
    /// A provider's name in the catalogue, or `scripted`.
    pub provider: String,
    pub base_url: String,
    /// The API of that server. Older runs have no such field: they used chat completions only.
    #[serde(default, skip_serializing_if = "ModelProtocol::is_chat")]
    pub protocol: ModelProtocol,
    pub model: String,
    /// The *name* of the key in the key ring of the providers; never the key.
    /// `None`: the server wants no key.
    pub key: Option<String>,
    #[serde(default)]
    pub parameters: ModelParameters,
    /// Tokens; `None` where the catalogue does not know the model.
    pub context_size: Option<u64>,
    /// The longest answer that the model can give, in tokens, as far as the catalogue knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// The server takes no limit of an answer's length.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub uncapped: bool,
    /// How its decisions are asked for first: as the catalogue says, or as an earlier run of this process found out.
    #[serde(default, skip_serializing_if = "DecisionSource::is_plain_call")]
    pub decision_start: DecisionSource,
    /// It takes images, as the catalogue says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub images: bool,
    pub price: Option<TokenPrice>,
    /// For display: `level smart: SYNTHDEV_SMART_MODEL (environment)`.
    pub provenance: String,
    /// Asked instead while its server stays down, in this order; they have none of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fallback: Vec<ModelChoice>,
}

/// The base URL of a model that a recording answers for begins so.
pub const RECORDING: &str = "recording:";

impl ModelChoice {
    /// Whether both ask the same model of the same server.
    pub fn is_same_endpoint(&self, other: &Self) -> bool {
        (&self.provider, &self.base_url, &self.model) == (&other.provider, &other.base_url, &other.model)
    }

    /// Whether another model answered than was asked for. Scripted words come from no server.
    pub fn is_substituted_by(&self, served: Option<&str>) -> bool {
        served.is_some_and(|served| !self.base_url.is_empty() && !is_same_model(&self.model, served))
    }

    /// What an attempt is charged at: a model that answered in another's place has a price of its own, known or not.
    pub fn price_for(&self, used: &AttemptUsage) -> Option<TokenPrice> {
        if self.is_substituted_by(used.model.as_deref()) { used.price } else { self.price.or(used.price) }
    }

    /// Replaces this choice by the next fallback and moves it to the end of the list. `false`: there is no fallback.
    pub fn switch_to_fallback(&mut self) -> bool {
        if self.fallback.is_empty() {
            return false;
        }
        let mut row = std::mem::take(&mut self.fallback);
        let next = row.remove(0);
        row.push(std::mem::replace(self, next));
        self.fallback = row;
        true
    }

    /// The longest answer that a run waits and pays for: as set, else what the model can give up to 32,000 tokens.
    pub fn answer_tokens(&self) -> u64 {
        let usual = || self.max_output.unwrap_or(ANSWER_TOKENS).min(ANSWER_TOKENS);
        self.parameters.max_output_tokens.unwrap_or_else(usual)
    }

    /// Whether the model can answer at greater length than [`Self::answer_tokens`] unless the request limits it.
    pub fn may_exceed_default_answer(&self) -> bool {
        self.parameters.max_output_tokens.is_none()
            && self.max_output.is_some_and(|most| most > ANSWER_TOKENS)
    }

    /// The longest answer where a budget has to know one: no more than the server of a model of which nothing is
    /// known will mostly take, and no less than its protocol can ask for.
    pub fn longest_answer(&self) -> u64 {
        let unsaid = self.parameters.max_output_tokens.is_none() && self.max_output.is_none();
        let most = match self.context_size {
            Some(window) => ANSWER_TOKENS.min(window / 2),
            None => UNKNOWN_ANSWER,
        };
        let longest = if unsaid { most } else { self.answer_tokens() };
        longest.max(self.protocol.least_answer())
    }

    /// Whether nothing but a limit in the request keeps an answer within [`Self::longest_answer`].
    pub fn needs_output_limit(&self) -> bool {
        self.parameters.max_output_tokens.is_none()
            && (self.max_output.is_none() || self.may_exceed_default_answer())
    }
}

/// The provider of models that a client calls, and the name of the model of a client or a sub-agent: it does not say
/// which one it is.
pub const DELEGATED_MODEL: &str = "agentllm";

/// One request to a model. The messages are the prompt that the engine computed; the provider adapter brings them into
/// the form that its protocol demands, for example merges neighbours of one role.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ModelRequest {
    /// The asking agent's id: the scripted model answers by it.
    pub agent: String,
    /// Path name of the state that asks.
    pub state: String,
    pub choice: ModelChoice,
    pub messages: Vec<ChatMessage>,
    pub tools: Arc<[ToolSpec]>,
    pub parsing_tools: Vec<ParsingTool>,
    pub tool_choice: ToolChoice,
    /// The schema of the answer (`output.schema` of the state), where a client makes the call. The runtime adds it to
    /// what the engine asks; it is not stored.
    #[serde(skip)]
    pub answer_schema: Option<Value>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    #[default]
    Stop,
    ToolCalls,
    /// The reply was cut at the output limit.
    Length,
    ContentFilter,
    Other,
}

/// A model's whole reply.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct ModelReply {
    pub text: String,
    /// Shown separately, never sent back as a text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reasoning: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tool_calls: Vec<ToolCall>,
    /// Opaque reasoning blocks that are sent back with these calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealed: Vec<OpaqueBlock>,
    pub usage: TokenUsage,
    /// The server did not report usage: `usage` is an estimate from bytes.
    #[serde(default)]
    pub usage_estimated: bool,
    /// The model that the server says answered.
    #[serde(default)]
    pub model: Option<String>,
    pub finish: FinishReason,
    /// Milliseconds from sending to the end of the answer.
    #[serde(default)]
    pub duration_ms: u64,
    /// The price of `model`, where that is not the one that was asked for and the catalogue knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
    /// What attempts before this one used that brought no reply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub failed: Vec<AttemptUsage>,
}

/// Which part of an answer a streamed piece belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeltaKind {
    Text,
    Reasoning,
}

/// Why a call gave no answer. Never turned into an empty one.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum ModelError {
    #[error("rate limited: {detail}")]
    RateLimited { retry_after_ms: Option<u64>, detail: String },
    /// 5xx, or an overload message.
    #[error("the server is overloaded or failing: {detail}")]
    Overloaded { retry_after_ms: Option<u64>, detail: String },
    /// Failure below HTTP: connecting failed or timed out, reading failed, or the stream was cut.
    #[error("{detail}")]
    Transport { detail: String },
    /// Nothing arrived for longer than the limit.
    #[error("{detail}")]
    #[serde(rename = "timeout")]
    IdleTimeout { detail: String },
    /// The whole call took longer than it may, although something came all the time.
    #[error("{detail}")]
    #[serde(rename = "overtime")]
    CallTimeout { detail: String },
    #[error("the key was refused: {detail}")]
    Auth { detail: String },
    /// The key is known, but not allowed to do this: no credit left, no access to the model.
    #[error("{detail}")]
    Denied { detail: String },
    /// The request does not fit the model's window.
    #[error("the conversation is too long for the model: {detail}")]
    TooLong { detail: String },
    #[error("the model refused: {detail}")]
    Refused { detail: String },
    /// An answer that is not the protocol: HTML, broken JSON, an error object in a stream, any other 4xx.
    #[error("{detail}")]
    Protocol { detail: String },
    /// A whole answer that holds neither text nor a call.
    #[error("{detail}")]
    Empty { detail: String },
    /// The model says the same again and again.
    #[error("{detail}")]
    Repetition { detail: String },
    /// The client that makes the call for us reported an error. `transient`: a later attempt may succeed.
    #[error("{detail}")]
    Delegated { transient: bool, detail: String },
    /// The client, or a sub-agent, answered several times, and no answer had the requested form.
    #[error("{detail}")]
    Unfit { detail: String },
    /// The replies file or the recording holds no answer to this request, or there is no such file or client.
    #[error("{detail}")]
    Drift { detail: String },
}

impl ModelError {
    /// The error name of the workflow rules.
    pub fn code(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "model.rate_limit",
            Self::Overloaded { .. } => "model.overloaded",
            Self::Transport { .. } => "model.transport",
            Self::IdleTimeout { .. } | Self::CallTimeout { .. } => "model.timeout",
            Self::Auth { .. } | Self::Denied { .. } => "model.auth",
            Self::TooLong { .. } => "context_overflow",
            Self::Refused { .. } => "model.refusal",
            Self::Protocol { .. } => "model.protocol",
            Self::Empty { .. } => "model.empty",
            Self::Repetition { .. } => "model.repetition",
            Self::Delegated { .. } | Self::Unfit { .. } => "delegate_error",
            Self::Drift { .. } => "model.drift",
        }
    }

    /// Whether asking again can help: rate limits, server faults and transport, never another 4xx.
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            Self::RateLimited { .. }
                | Self::Overloaded { .. }
                | Self::Transport { .. }
                | Self::IdleTimeout { .. }
                | Self::Delegated { transient: true, .. }
        )
    }

    pub fn retry_after_ms(&self) -> Option<u64> {
        match self {
            Self::RateLimited { retry_after_ms, .. } | Self::Overloaded { retry_after_ms, .. } => {
                *retry_after_ms
            }
            Self::Transport { .. }
            | Self::IdleTimeout { .. }
            | Self::CallTimeout { .. }
            | Self::Auth { .. }
            | Self::Denied { .. }
            | Self::TooLong { .. }
            | Self::Refused { .. }
            | Self::Protocol { .. }
            | Self::Empty { .. }
            | Self::Repetition { .. }
            | Self::Delegated { .. }
            | Self::Unfit { .. }
            | Self::Drift { .. } => None,
        }
    }

    /// What the user should do next.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::RateLimited { .. } => "wait a little and run again, or choose another model for this level",
            Self::Overloaded { .. } => {
                "the provider has trouble; run again later or point the level at another provider"
            }
            Self::Transport { .. } => {
                "check the base URL and that the server is running: `synthdev config show --origin`"
            }
            Self::IdleTimeout { .. } => {
                "the server accepted the request and went silent; try again, use another model, or give a slow server \
                 more time: `timeouts.idle_seconds` in settings.json"
            }
            Self::CallTimeout { .. } => {
                "limit the answer (`parameters.max_output_tokens`), use a faster model, or allow more time: \
                 `timeouts.call_seconds` in settings.json"
            }
            Self::Auth { .. } => {
                "set a key that this provider takes (`synthdev configure`, or SYNTHDEV_API_KEY); an account without credit needs some"
            }
            Self::Denied { .. } => {
                "ask the provider what this key may use: an account without credit needs some, and a model may have \
                 to be enabled for it; or set another provider or model for the level"
            }
            Self::TooLong { .. } => {
                "let the conversation be cut earlier (\"max_length\" or \"max_tokens\" of the context) or choose a \
                 model with a larger window"
            }
            Self::Refused { .. } => "rephrase the task or use another model",
            Self::Protocol { .. } => {
                "check the provider, its base URL and the model: `synthdev config show --origin`; the URL of an \
                 OpenAI-compatible server usually ends in /v1"
            }
            Self::Empty { .. } => {
                "try again or use another model; one that thinks needs room for its answer, too: raise \
                 `parameters.max_output_tokens`"
            }
            Self::Repetition { .. } => {
                "raise `parameters.repetition_penalty` or `parameters.temperature`, set \
                 `parameters.max_output_tokens`, or use another model"
            }
            Self::Delegated { .. } => {
                "the client that makes the call gave no answer: see there, then take the run up again"
            }
            Self::Unfit { .. } => {
                "its answers did not fit: see there what the model was asked for and what it answered, then take the \
                 run up again, or use another model"
            }
            Self::Drift { .. } => {
                "the replies file or recording does not match the run: correct it or the workflow"
            }
        }
    }
}
