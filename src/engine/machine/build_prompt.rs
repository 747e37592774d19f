//! What the agent of a visit is shown for its next request: where its prompt begins, what that costs it, the messages.

use super::context_summary::SummaryRequest;
use crate::agent_turn::{AgentTurn, SummarizationState};
use crate::conversation::LiveConversation;
use crate::prompt::{
    self, ContextOverflow, DroppedEntries, PromptMessages, PromptOutline, PromptSources, summary,
};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::context::{CHARACTERS_A_TOKEN, ContextSpec, ConversationSide};
use synthdev_domain::message::ChatMessage;
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::workflow::Workflow;

/// An agent where it sits.
pub(super) struct PromptBuilder<'a> {
    pub(super) workflow: &'a Workflow,
    pub(super) agent: &'a AgentSpec,
    pub(super) context: &'a ContextSpec,
    pub(super) system_context: &'a SystemContext,
    /// Of the machine.
    pub(super) version: u32,
}

/// Whether the prompt can be as it was.
pub(super) enum WindowUpdate {
    /// It grows from where it began.
    Stands,
    /// It begins later: what is no longer in it, in words.
    Moved(String),
    /// What it would lose is to be summed up first.
    Summarize(SummaryRequest),
}

impl PromptBuilder<'_> {
    /// Updates the agent's context index, and computes where its prompt starts from now on. `spared`: the request for a
    /// summary need not be built.
    pub(super) fn update_window(
        &self,
        conversation: &mut LiveConversation,
        turn: &mut AgentTurn,
        spared: bool,
    ) -> WindowUpdate {
        let known = conversation.context_indexes.remove(&turn.agent).unwrap_or_default();
        let context_index =
            self.with_prompt_sources(conversation, turn, |sources| prompt::update_index(known, sources));
        conversation.context_indexes.insert(turn.agent, context_index);
        let free = turn.summarization == SummarizationState::Free;
        let (begin, settled) = self.with_prompt_sources(conversation, turn, |sources| {
            let (held, begin) = (prompt::current_start(sources), prompt::required_start(sources));
            if begin == held {
                return (held, WindowUpdate::Stands);
            }
            // each summary covers more than the one before, so this ends
            if let Some(covering) = free.then(|| summary::summary_coverage(sources)).flatten() {
                let messages = (!spared).then(|| summary::summary_request_messages(sources, covering));
                return (held, WindowUpdate::Summarize(SummaryRequest { coverage: covering, messages }));
            }
            let lost = prompt::dropped_between(sources, held, begin);
            if lost.entries == 0 {
                // only pinned entries are before the new start
                return (begin, WindowUpdate::Stands);
            }
            (begin, WindowUpdate::Moved(self.trimmed_warning(&lost, sources.limit().1)))
        });
        turn.window_start = begin.visit;
        if let Some(context_index) = conversation.context_indexes.get_mut(&turn.agent) {
            context_index.set_start(begin.log);
        }
        settled
    }

    /// The request that sums up all of a conversation; `None`: nothing was said since the last summary. `keep`: what the
    /// summary must keep.
    pub(super) fn compaction_request(
        &self,
        conversation: &LiveConversation,
        turn: &AgentTurn,
        keep: &str,
        spared: bool,
    ) -> Option<SummaryRequest> {
        self.with_prompt_sources(conversation, turn, |sources| {
            let coverage = summary::whole_log_coverage(sources)?;
            let messages = (!spared).then(|| summary::compaction_messages(sources, coverage, keep));
            Some(SummaryRequest { coverage, messages })
        })
    }

    /// Tokens that a prompt of the agent has of the conversation, by estimate.
    pub(super) fn conversation_tokens(&self, conversation: &LiveConversation, turn: &AgentTurn) -> u64 {
        let tokens = self.with_prompt_sources(conversation, turn, summary::shown_chars) / CHARACTERS_A_TOKEN;
        u64::try_from(tokens).unwrap_or(u64::MAX)
    }

    /// The messages of the prompt, unless the caller skips them, and their outline.
    ///
    /// # Errors
    /// What must be shown whole is longer than the limit.
    pub(super) fn build_messages(
        &self,
        conversation: &LiveConversation,
        turn: &AgentTurn,
        spared: bool,
    ) -> Result<(Option<Vec<ChatMessage>>, PromptOutline), ContextOverflow> {
        self.with_prompt_sources(conversation, turn, |sources| {
            if spared {
                return Ok((None, prompt::outline_messages(sources)?));
            }
            let PromptMessages { messages, dropped, shortened_count: shortened } =
                prompt::build_messages(sources)?;
            let outline = PromptOutline { messages: messages.len(), dropped, shortened_count: shortened };
            Ok((Some(messages), outline))
        })
    }

    fn with_prompt_sources<T>(
        &self,
        conversation: &LiveConversation,
        turn: &AgentTurn,
        work: impl FnOnce(&PromptSources<'_>) -> T,
    ) -> T {
        let Self { workflow, agent, context, system_context: brief, version } = *self;
        let side_of = |id: &str| -> Option<ConversationSide> {
            workflow.agents.iter().find(|other| other.id == id).map(|other| other.side)
        };
        let seated = workflow.agents.iter().filter(|other| other.context == agent.context);
        let others = seated.filter(|other| other.id != agent.id).count();
        work(&PromptSources {
            agent,
            context,
            conversation,
            agent_turn: turn,
            system_context: brief,
            other_agent_count: others,
            side_of: &side_of,
            version,
        })
    }

    /// Nothing is left out in silence.
    fn trimmed_warning(&self, lost: &DroppedEntries, field: &str) -> String {
        let DroppedEntries { entries, char_count: characters, first_preview: first, last_preview: last } =
            lost;
        let which = match (first.as_str(), last.as_str()) {
            _ if *entries == 1 => format!("\"{first}\""),
            (first, last) => format!("from \"{first}\" to \"{last}\""),
        };
        format!(
            "`{}` no longer sees the oldest {} of `{}` ({field}): {characters} characters, about {} tokens, {which}",
            self.agent.id,
            entry_count_text(*entries),
            self.context.name,
            characters / CHARACTERS_A_TOKEN,
        )
    }

    /// What to warn of if it is news that `count` entries are shortened in the prompt.
    pub(super) fn new_shortening_warning(
        &self,
        conversation: &LiveConversation,
        turn: &mut AgentTurn,
        count: usize,
    ) -> Option<String> {
        let before = std::mem::replace(&mut turn.shortened_count, count);
        (count > 0 && count != before).then(|| self.shortened_warning(conversation, turn))
    }

    fn shortened_warning(&self, conversation: &LiveConversation, turn: &AgentTurn) -> String {
        let (limit, field) = self.with_prompt_sources(conversation, turn, |sources| sources.limit());
        format!(
            "`{}` sees {} of `{}` without the middle: together they are longer than {limit} characters ({field})",
            self.agent.id,
            entry_count_text(turn.shortened_count),
            self.context.name,
        )
    }
}

fn entry_count_text(entries: usize) -> String {
    if entries == 1 { "1 entry".to_owned() } else { format!("{entries} entries") }
}
