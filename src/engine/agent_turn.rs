//! One agent's turn: its input, the model replies so far, the calls still to answer.
//!
//! A turn enters the context only when it ends, so a failed call leaves no trace.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::VecDeque;

use super::conversation::{ConversationSummary, LiveConversation};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::context::{AnsweredCall, ContextEntry, ConversationSide, MessageAuthor};
use synthdev_domain::decision_source::DecisionSource;
use synthdev_domain::ids::{AgentIx, CallId, Timestamp};
use synthdev_domain::message::{ChatRole, OpaqueBlock, ToolCall};
use synthdev_domain::model::{ModelChoice, ToolChoice};
use synthdev_domain::tool::{ParsingTool, ToolOutcome, ToolRisk};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AgentTurn {
    pub agent: AgentIx,
    pub agent_id: String,
    pub side: ConversationSide,
    /// The text of the state's `input`.
    pub input: Option<String>,
    /// The input becomes an entry of the context; not where the visit continues an earlier one.
    pub stores_input: bool,
    /// The input is for this agent alone: last in its prompt, not stored in the context.
    pub directive: bool,
    pub input_role: MessageAuthor,
    pub entries: Vec<TurnEntry>,
    /// Replies with ordinary tool calls so far, and how many are allowed before asking.
    pub rounds: u32,
    pub allowed: u32,
    pub repair_count: u32,
    pub was_nudged: bool,
    pub choice: ToolChoice,
    /// Its decision was asked for as structured output.
    #[serde(default)]
    pub asked_structured: bool,
    /// Its decision was asked for once more as structured output with the required members only, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_only: Option<RequiredOnlyCause>,
    /// What is wrong with the calls of its last repair, where structured output is asked for after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_calls: Option<Box<str>>,
    /// Why its structured output is not the decision; for the error, where a reminder brings none either.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured_problem: Option<Box<str>>,
    /// The model of the call under way, where another one may take its place.
    pub requested_model: Option<Box<ModelChoice>>,
    /// How often another one took its place in this visit.
    pub fallback_count: usize,
    /// The model call that was answered last.
    pub answered_call: Option<CallId>,
    pub open_reply: Option<OpenReply>,
    /// So many entries, from the first, are no longer shown.
    pub window_start: usize,
    /// The number of texts with their middle cut out that a warning has reported.
    pub shortened_count: usize,
    pub summarization: SummarizationState,
    /// The summary of this turn's first entries (`SummaryPart::Visit`). Prompts show it in their place; the
    /// conversation still gets all entries.
    pub record: Option<ConversationSummary>,
    /// The turn only sums its conversation up (`/compact`): what the summary must keep, in the user's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compaction: Option<Box<str>>,
}

/// Whether an old part is being summed up for this visit (`trim: "summarize"`).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub enum SummarizationState {
    /// A prompt that is too long may ask for a summary.
    #[default]
    Free,
    /// Asked for; the next answer of the model is the summary.
    Asked(SummaryCoverage),
    /// No summary could be had; this visit does without.
    GivenUp,
}

/// The entries that a summary replaces.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct SummaryCoverage {
    pub part: SummaryPart,
    /// Entries of the part, from the first.
    pub covered_count: usize,
    /// How many of them are left out of prompts for it.
    pub replaced_count: usize,
    /// Characters that the summary may take of a prompt.
    pub length: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum SummaryPart {
    /// The log of the context.
    Log,
    /// What the visit has brought so far.
    Visit,
}

/// Why a decision is asked for once more with its required members only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RequiredOnlyCause {
    /// The answer was truncated at the output limit.
    OutputLimit,
    /// The model repeated itself, or took longer than a call may.
    NoEnd,
}

/// An entry of the turn; private ones (reminders) never reach the context.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TurnEntry {
    pub entry: ContextEntry,
    pub private: bool,
    /// Of another agent, which shares the conversation.
    #[serde(default)]
    pub is_foreign: bool,
}

impl AgentTurn {
    /// A turn in which nothing was said or asked yet, without an input and without rounds of tools.
    pub fn new(ix: AgentIx, agent: &AgentSpec) -> Self {
        Self {
            agent: ix,
            agent_id: agent.id.clone(),
            side: agent.side,
            input: None,
            stores_input: false,
            directive: false,
            input_role: MessageAuthor::Human,
            entries: Vec::new(),
            rounds: 0,
            allowed: 0,
            repair_count: 0,
            was_nudged: false,
            asked_structured: false,
            required_only: None,
            refused_calls: None,
            structured_problem: None,
            choice: ToolChoice::Auto,
            requested_model: None,
            fallback_count: 0,
            answered_call: None,
            open_reply: None,
            window_start: 0,
            shortened_count: 0,
            summarization: SummarizationState::Free,
            record: None,
            compaction: None,
        }
    }

    /// A turn that says nothing in the conversation: it only sums it up.
    pub fn for_compaction(ix: AgentIx, agent: &AgentSpec, keep: &str) -> Self {
        Self { compaction: Some(keep.into()), ..Self::new(ix, agent) }
    }

    /// The agent's parsing tools as the next request has them.
    pub fn offered_parsing_tools(&self, agent: &AgentSpec) -> Vec<ParsingTool> {
        if self.required_only.is_some() && self.choice.structured_tools().is_some() {
            agent.parsing_tools.iter().map(ParsingTool::with_required_only).collect()
        } else {
            agent.parsing_tools.clone()
        }
    }

    /// How a decision that is given now came about.
    pub fn decision_source(&self) -> DecisionSource {
        match self.choice {
            ToolChoice::Structured(_) | ToolChoice::StructuredOneOf(_) => DecisionSource::StructuredOutput,
            ToolChoice::Auto | ToolChoice::Required | ToolChoice::Named(_) => {
                if self.was_nudged || self.repair_count > 0 {
                    DecisionSource::Reminder
                } else {
                    DecisionSource::Call
                }
            }
        }
    }
}

impl TurnEntry {
    /// The agent's own text: neither a reminder nor a message of the user to it.
    pub fn is_own(&self) -> bool {
        !self.private && !self.is_foreign && matches!(self.entry.author, MessageAuthor::Agent(_))
    }
}

/// A reply whose ordinary calls are being answered, in order.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OpenReply {
    pub text: String,
    /// All calls of the reply in their order; the answers of waiting ones are filled in as they come.
    pub calls: Vec<AnsweredCall>,
    /// What the provider wants back with the calls.
    pub opaque_blocks: Vec<OpaqueBlock>,
    /// Positions in `calls` still to run.
    pub pending_calls: VecDeque<usize>,
    /// The call in front, as the user has changed it before allowing it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_call: Option<EditedCall>,
    /// When the call in front began to run, and what it may do.
    pub running_since: Option<(Timestamp, ToolRisk)>,
    /// Calls behind the one in front that began beside it, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub concurrent_calls: Vec<ConcurrentCall>,
    /// Calls that hold the calls behind them; oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batches: Vec<CallBatch>,
    /// Valid parsing calls that count as the decision once the ordinary calls are done (last round).
    pub decision: Vec<ToolCall>,
}

/// A call of a reply that runs with other arguments than the model gave it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct EditedCall {
    /// Its position in the reply's `calls`.
    pub at: usize,
    pub arguments: Value,
}

/// A `multicall` of a reply, with the inner calls that follow it in `calls` until all are answered.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct CallBatch {
    /// The position of the call that holds the others.
    pub at: usize,
    pub count: usize,
}

/// A call of a reply that began before the calls before it were answered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ConcurrentCall {
    /// Its position in the reply's `calls`.
    pub at: usize,
    pub call: CallId,
    pub since: Timestamp,
    /// The number of the agent that it has started; otherwise a tool that reads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<u64>,
    /// The outcome of the tool, once it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<ToolOutcome>,
    /// It was interrupted and may have had an effect: the user is asked when it is in front.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncertain: Option<String>,
    /// It was stopped with the work of its branch.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
}

impl ConcurrentCall {
    /// A tool that has just begun.
    pub fn of_tool(at: usize, call: CallId, since: Timestamp) -> Self {
        Self { at, call, since, agent: None, outcome: None, uncertain: None, is_stopped: false }
    }

    /// Whether the outcome of its tool is still to come.
    pub fn is_running(&self) -> bool {
        let has_ended = self.outcome.is_some() || self.uncertain.is_some() || self.is_stopped;
        self.agent.is_none() && !has_ended
    }
}

const INTERRUPTED: &str = "interrupted before this call ran";

/// The answer of a call whose end was not seen.
fn interrupted_since(since: Timestamp, risk: ToolRisk) -> String {
    let effect = match risk {
        ToolRisk::Read => "it changes nothing",
        ToolRisk::Write | ToolRisk::Execute => "it may have had an effect: look before you repeat it",
    };
    format!(
        "interrupted while this call ran: it began at {} UTC and was stopped; {effect}",
        since.format_utc()
    )
}

impl AgentTurn {
    /// Adds a finished reply (or a text) of the agent.
    pub fn add_reply(&mut self, text: String, calls: Vec<AnsweredCall>, sealed: Vec<OpaqueBlock>) {
        let mut entry =
            ContextEntry::text(MessageAuthor::Agent(self.agent_id.clone()), self.side.stored_role(), text);
        entry.calls = calls;
        entry.sealed = sealed;
        self.entries.push(TurnEntry { entry, private: false, is_foreign: false });
    }

    /// A private word to the agent inside the visit.
    pub fn push_private_note(&mut self, text: &str) {
        let entry = ContextEntry::text(MessageAuthor::Workflow, ChatRole::User, text);
        self.entries.push(TurnEntry { entry, private: true, is_foreign: false });
    }

    /// Closes an open reply: every call gets an answer, so no later request carries a dangling call.
    /// `tells_begun`: the answer of a call that had begun says so.
    pub fn close_open(&mut self, tells_begun: bool) {
        let Some(mut open) = self.open_reply.take() else { return };
        let begun = open.running_since.filter(|_| tells_begun);
        for (nth, at) in open.pending_calls.drain(..).enumerate() {
            let Some(call) = open.calls.get_mut(at) else { continue };
            let mut beside = open.concurrent_calls.iter_mut().find(|begun| begun.at == at);
            if let Some(outcome) = beside.as_mut().and_then(|begun| begun.outcome.take()) {
                (call.answer, call.ok) = (outcome.content, outcome.ok);
                continue;
            }
            let beside = beside.map(|begun| (begun.since, ToolRisk::Read));
            call.answer = match begun.filter(|_| nth == 0).or(beside) {
                Some((since, risk)) => interrupted_since(since, risk),
                None => INTERRUPTED.to_owned(),
            };
        }
        open.fold_batches();
        self.add_reply(open.text, open.calls, open.opaque_blocks);
    }

    /// Whether the model has answered anything in this visit.
    pub fn has_replied(&self) -> bool {
        self.entries.iter().any(TurnEntry::is_own)
    }

    /// The stored input as the context gets it.
    pub fn stored_input(&self) -> Option<ContextEntry> {
        let text = self.input.as_ref().filter(|_| self.stores_input)?;
        Some(self.input_entry(text.clone()))
    }

    /// The same without a copy, for its last use.
    fn take_input(&mut self) -> Option<ContextEntry> {
        let text = self.input.take().filter(|_| self.stores_input)?;
        Some(self.input_entry(text))
    }

    fn input_entry(&self, text: String) -> ContextEntry {
        let mut entry = ContextEntry::text(self.input_role.clone(), ChatRole::User, text);
        // In a user seat the workflow's texts count as the agent's own, except those addressed to it.
        entry.to = (self.side == ConversationSide::User).then(|| self.agent_id.clone());
        entry
    }

    /// The directive as the agent sees it.
    pub fn directive_entry(&self) -> Option<ContextEntry> {
        let text = self.input.as_ref().filter(|_| self.directive)?;
        Some(ContextEntry::text(MessageAuthor::Workflow, ChatRole::User, text.as_str()))
    }

    /// Moves the turn into the conversation. `private`: the agent's own texts are kept out of the shared log.
    /// `remembers`: private entries are kept for the agent's later prompts.
    pub fn commit_to(mut self, conversation: &mut LiveConversation, private: bool, remembers: bool) {
        let directive = self.directive_entry().filter(|_| remembers);
        if self.window_start > 0
            && (!private || remembers)
            && let Some(context_index) = conversation.context_indexes.get_mut(&self.agent)
        {
            context_index
                .set_min_start(self.window_start + usize::from(directive.is_some() || self.stores_input));
        }
        if let Some(directive) = directive {
            conversation.push_private(self.agent, false, directive);
        }
        if let Some(input) = self.take_input() {
            conversation.push(input);
        }
        if !private {
            for entry in join_nudged_entries(self.entries) {
                conversation.push(entry);
            }
        } else if remembers {
            for turn in self.entries {
                conversation.push_private(self.agent, turn.is_own(), turn.entry);
            }
        }
    }
}

/// The agent's entries, in order. A text that was nudged into a decision is joined with it, so that one speaker never
/// has two entries in a row.
fn join_nudged_entries(entries: Vec<TurnEntry>) -> Vec<ContextEntry> {
    let mut own: Vec<ContextEntry> = Vec::new();
    for turn in entries.into_iter().filter(|turn| !turn.private) {
        let entry = turn.entry;
        match own.last_mut() {
            Some(last) if last.calls.is_empty() && !last.interrupted && last.author == entry.author => {
                if !entry.text.is_empty() {
                    last.text.push_str("\n\n");
                    last.text.push_str(&entry.text);
                }
                last.calls = entry.calls;
                last.sealed = entry.sealed;
                last.interrupted = entry.interrupted;
            }
            _ => own.push(entry),
        }
    }
    own
}

/// Calls of a reply with ids that are present and unique: some servers send none, or the same twice.
pub fn with_unique_ids(calls: Vec<ToolCall>, prefix: u64) -> Vec<ToolCall> {
    let mut seen: Vec<String> = Vec::with_capacity(calls.len());
    let mut unique = Vec::with_capacity(calls.len());
    for (at, mut call) in calls.into_iter().enumerate() {
        if call.id.trim().is_empty() || seen.contains(&call.id) {
            call.id = format!("call_{prefix}_{at}");
        }
        seen.push(call.id.clone());
        unique.push(call);
    }
    unique
}
