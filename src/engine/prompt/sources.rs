//! What a prompt is made of, and how long it may be: what the model cannot take is not sent.

use crate::agent_turn::AgentTurn;
use crate::context_index::ContextIndex;
use crate::conversation::LiveConversation;
use crate::run_spec::{MEASURES_SINCE, RESTS_SINCE, WINDOWED_SINCE};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::context::{CHARACTERS_A_TOKEN, ContextSpec, ConversationSide};
use synthdev_domain::model::ModelChoice;
use synthdev_domain::system_context::SystemContext;

/// The name of the limit in messages.
pub const WINDOW: &str = "the model's window";
/// Where nothing says how long an answer may be, this part of the window is for it.
const ANSWER: u64 = 5;

/// Everything that a prompt is made of.
pub struct PromptSources<'a> {
    pub agent: &'a AgentSpec,
    pub context: &'a ContextSpec,
    pub conversation: &'a LiveConversation,
    pub agent_turn: &'a AgentTurn,
    /// What the agent gets beside its role.
    pub system_context: &'a SystemContext,
    /// How many other agents have a seat in the context.
    pub other_agent_count: usize,
    /// The seat of another agent, by id.
    pub side_of: &'a dyn Fn(&str) -> Option<ConversationSide>,
    /// Of the machine: old runs are shown what they were shown.
    pub version: u32,
}

impl<'a> PromptSources<'a> {
    /// The limit of the prompt in characters, and the name of what sets it: the context, or a model with a small window
    /// (an answer, the prompt and the tools need room there, too).
    pub fn limit(&self) -> (usize, &'static str) {
        let (limit, field) = self.context.limit();
        match self.conversation_room() {
            Some(room) if room < limit => (room, WINDOW),
            Some(_) | None => (limit, field),
        }
    }

    /// What the model's window leaves to the conversation. Characters; `None` where the window is not known.
    pub(super) fn conversation_room(&self) -> Option<usize> {
        if self.version < WINDOWED_SINCE {
            return None;
        }
        let known = self
            .conversation
            .context_indexes
            .get(&self.agent_turn.agent)
            .and_then(ContextIndex::overhead_chars);
        let whole = max_prompt_chars(&self.agent.choice)?;
        Some(whole.saturating_sub(known.unwrap_or_else(|| overhead_chars(self))))
    }

    /// Whether all that is sent is measured, and small prompts are cut in larger steps.
    pub(super) fn measures_everything(&self) -> bool {
        self.version >= MEASURES_SINCE
    }

    /// Whether opaque reasoning blocks are counted for the server that is called now, not for the one that made it.
    pub(super) fn recounts_reasoning(&self) -> bool {
        self.version >= RESTS_SINCE
    }

    /// The role's reminder after each tool round.
    pub(super) fn reminder_text(&self) -> Option<&'a str> {
        self.agent.reminder.as_deref().filter(|text| !text.trim().is_empty())
    }
}

/// The longest prompt that a model can take beside its answer. Characters; `None` where the window is not known.
pub(super) fn max_prompt_chars(choice: &ModelChoice) -> Option<usize> {
    let window = choice.context_size?;
    let answer = choice.parameters.max_output_tokens.unwrap_or(window / ANSWER).min(window / 2);
    let tokens = usize::try_from(window - answer).unwrap_or(usize::MAX);
    Some(tokens.saturating_mul(CHARACTERS_A_TOKEN))
}

/// Characters of a request that are not the conversation.
pub(super) fn overhead_chars(sources: &PromptSources<'_>) -> usize {
    let agent = sources.agent;
    let prompt: usize = agent.system_prompt.len()
        + sources.system_context.included_parts(agent.without).map(str::len).sum::<usize>();
    let examples: usize = agent.examples.iter().map(|message| message.content.len()).sum();
    let tools = agent.tools.iter().map(|tool| (&tool.description, &tool.parameters));
    let decisions = agent.parsing_tools.iter().map(|tool| (&tool.description, &tool.parameters));
    let tools: usize = tools.chain(decisions).map(|(text, form)| text.len() + form.to_string().len()).sum();
    prompt + examples + tools
}
