//! A live conversation: its log, its copy for scripts, and what only prompts use: private messages to one agent, and
//! the summary of an old part. A prompt never shortens the log itself.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

use synthdev_domain::context::compressed_entries::CompressedEntries;
use synthdev_domain::context::{Context, ContextEntry, ContextSpec, MessageAuthor};
use synthdev_domain::ids::AgentIx;
use synthdev_domain::message::ChatRole;
use synthdev_domain::script::ScriptMessage;
use synthdev_domain::script::messages::ContextMessages;

use super::context_index::ContextIndex;

/// A context and its mirror for scripts; the mirror grows with the log, so a scope costs no copy.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct LiveConversation {
    pub log: Context,
    /// Of the log, for scripts: see [`LiveConversation::messages`].
    #[serde(skip)]
    script_messages: Arc<Vec<ScriptMessage>>,
    /// Context indexes of agents; cleared when entries change in another way than by appending.
    pub context_indexes: BTreeMap<AgentIx, ContextIndex>,
    /// In the order in which they happened.
    pub private_messages: Vec<PrivateMessage>,
    pub summary: Option<ConversationSummary>,
    /// In a branch: the number of entries it began with while these are unchanged; `None` once it rewrote them.
    pub base: Option<usize>,
    /// Number of first entries that are not in `log` any more: see
    /// [`Machine::forget_old`](super::machine::Machine::forget_old).
    pub dropped_count: usize,
    /// Those of them that every prompt shows, with their positions.
    pub pinned_entries: Vec<(usize, ContextEntry)>,
    /// All that are gone, where a script may ask for them.
    compressed: CompressedEntries,
}

/// A message to or from one agent with `memory: "private"`, outside of the shared log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PrivateMessage {
    pub agent: AgentIx,
    /// Number of log entries before it.
    pub log_position: usize,
    /// The agent's own word, not one to it.
    pub is_own: bool,
    pub entry: ContextEntry,
}

/// Replaces the oldest part of a log, or of a turn, in prompts (`trim: "summarize"`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ConversationSummary {
    /// Number of entries, from the first, that it covers; pinned ones are shown beside it.
    pub covered_count: usize,
    /// How many of them it replaces.
    pub replaced_count: usize,
    /// As prompts show it.
    pub entry: ContextEntry,
    /// What the model wrote.
    pub text: String,
}

impl ConversationSummary {
    pub fn new(covers: usize, replaced: usize, text: String) -> Self {
        let messages = if replaced == 1 { "message" } else { "messages" };
        let shown = format!("[summary of {replaced} earlier {messages}] {text}");
        Self {
            covered_count: covers,
            replaced_count: replaced,
            entry: ContextEntry::text(MessageAuthor::Workflow, ChatRole::User, shown),
            text,
        }
    }
}

impl LiveConversation {
    pub fn from_spec(spec: &ContextSpec) -> Self {
        let mut conversation = Self::default();
        for entry in &spec.starting_messages {
            conversation.push(entry.clone());
        }
        conversation
    }

    /// How many entries there were, in the log or gone.
    pub fn length(&self) -> usize {
        self.dropped_count + self.log.entries.len()
    }

    /// One of them, if it is still there.
    pub fn entry(&self, at: usize) -> Option<&ContextEntry> {
        match at.checked_sub(self.dropped_count) {
            Some(at) => self.log.entries.get(at),
            None => {
                let found = self.pinned_entries.binary_search_by_key(&at, |(place, _)| *place).ok()?;
                self.pinned_entries.get(found).map(|(_, entry)| entry)
            }
        }
    }

    pub fn push(&mut self, entry: ContextEntry) {
        self.log.entries.push(entry);
    }

    /// The messages up to now, for scripts. Copies new entries only, and none before the first call.
    pub fn messages(&mut self) -> ContextMessages {
        let known = self.script_messages.len();
        if known < self.log.entries.len() {
            let fresh = (self.dropped_count..).zip(&self.log.entries).skip(known);
            Arc::make_mut(&mut self.script_messages)
                .extend(fresh.map(|(at, entry)| ScriptMessage::from_entry(at, entry)));
        }
        ContextMessages::new(self.compressed.clone(), Arc::clone(&self.script_messages))
    }

    /// Removes so many of the oldest entries from the log. `pack`: they can be restored, if all before them can.
    pub fn drop_oldest(&mut self, count: usize, pack: bool) -> Vec<ContextEntry> {
        let old: Vec<ContextEntry> = self.log.entries.drain(..count.min(self.log.entries.len())).collect();
        if pack && self.compressed.len() == self.dropped_count {
            self.compressed.push(&old);
        } else {
            self.compressed = CompressedEntries::default();
        }
        if !self.script_messages.is_empty() {
            let mirror = Arc::make_mut(&mut self.script_messages);
            mirror.drain(..old.len().min(mirror.len()));
        }
        self.dropped_count += old.len();
        // entries that were read in bulk leave their capacity allocated
        if self.log.entries.capacity() > 4 * self.log.entries.len().max(64) {
            self.log.entries.shrink_to_fit();
        }
        old
    }

    /// Puts compressed entries back into the log, as far as they are kept.
    pub fn restore_compressed(&mut self) {
        if self.compressed.is_empty() {
            return;
        }
        let packed = std::mem::take(&mut self.compressed);
        let late = std::mem::take(&mut self.log.entries);
        self.log.entries = packed.entries().chain(late).collect();
        self.dropped_count = 0;
        self.pinned_entries.clear();
        self.script_messages = Arc::default();
    }

    /// How many entries are not pinned by themselves.
    pub fn unpinned_count(&self) -> usize {
        let early = self.pinned_entries.iter().map(|(_, entry)| entry);
        self.length() - early.chain(&self.log.entries).filter(|entry| entry.pinned).count()
    }

    /// Adds a private message to or from an agent, at the present end of the log.
    pub fn push_private(&mut self, agent: AgentIx, own: bool, entry: ContextEntry) {
        self.private_messages.push(PrivateMessage { agent, log_position: self.length(), is_own: own, entry });
    }

    /// For a branch: the same entries, marked as not its own.
    pub fn branch(&self) -> Self {
        Self { base: Some(self.length()), ..self.clone() }
    }

    /// A conversation of what an agent still sees of this one: entries that no prompt shows any more may be gone here, and
    /// may not be gone when the run is replayed.
    pub fn copy_visible(&self, agent: AgentIx, pin_first: usize) -> Self {
        let hidden = self.context_indexes.get(&agent).map_or(0, ContextIndex::entries_before_start);
        let covered = self.summary.as_ref().map_or(0, |summary| summary.covered_count);
        let start = hidden.max(covered).min(self.length());
        let mut copy = Self::default();
        let mut left = pin_first;
        for entry in (0..start).filter_map(|at| self.entry(at)) {
            if entry.pinned || left > 0 {
                left = left.saturating_sub(usize::from(!entry.pinned));
                copy.push(entry.clone());
            }
        }
        if let Some(summary) = &self.summary {
            copy.push(summary.entry.clone());
        }
        for entry in (start..self.length()).filter_map(|at| self.entry(at)) {
            copy.push(entry.clone());
        }
        copy
    }

    /// Adds the entries of a branch of this conversation, its private messages, and a summary that it made of the
    /// shared part. `length` and `asides` are the lengths that the branch began with.
    pub fn append_branch(&mut self, branch: &Self, length: usize, asides: usize) {
        let end = self.length();
        let heard = branch.private_messages.iter().skip(asides);
        self.private_messages.extend(heard.map(|aside| PrivateMessage {
            log_position: aside.log_position.saturating_sub(length) + end,
            ..aside.clone()
        }));
        for entry in branch.log.entries.iter().skip(length.saturating_sub(branch.dropped_count)) {
            self.push(entry.clone());
        }
        let covers =
            |conversation: &Self| conversation.summary.as_ref().map_or(0, |summary| summary.covered_count);
        if covers(branch) > covers(self) && covers(branch) <= length {
            self.summary.clone_from(&branch.summary);
        }
    }

    /// Back to the starting messages: private words and a summary go with the rest.
    pub fn reset_to_start(&mut self, spec: &ContextSpec) {
        *self = Self::from_spec(spec);
    }

    /// Takes the log as a script left it. A log without entries is a cleared one; else private messages stay, at the
    /// latest at the new end, and a summary stays if its part is unchanged. The part that a branch began with still
    /// counts as unchanged if its entries are equal.
    pub fn replace_entries(&mut self, entries: Vec<ContextEntry>) {
        let old = std::mem::take(self);
        let stands = |length: &usize| entries.get(..*length) == old.log.entries.get(..*length);
        self.base = old.base.filter(stands);
        for entry in entries {
            self.push(entry);
        }
        let entries = &self.log.entries;
        if entries.iter().all(|entry| entry.pinned) {
            return;
        }
        let before = &old.log.entries;
        self.summary =
            old.summary.filter(|one| entries.get(..one.covered_count) == before.get(..one.covered_count));
        let end = entries.len();
        self.private_messages = old.private_messages;
        for aside in &mut self.private_messages {
            aside.log_position = aside.log_position.min(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_entry(text: &str) -> ContextEntry {
        ContextEntry::text(MessageAuthor::Workflow, ChatRole::User, text)
    }

    fn conversation_of(texts: &[&str]) -> LiveConversation {
        let mut conversation = LiveConversation::default();
        for text in texts {
            conversation.push(text_entry(text));
        }
        conversation
    }

    /// Private messages as `position text`, and the number of entries that the summary covers.
    fn hidden(conversation: &LiveConversation) -> (Vec<String>, Option<usize>) {
        let asides = conversation
            .private_messages
            .iter()
            .map(|aside| format!("{} {}", aside.log_position, aside.entry.text))
            .collect();
        (asides, conversation.summary.as_ref().map(|summary| summary.covered_count))
    }

    #[test]
    fn a_script_that_rewrites_a_log_keeps_what_still_has_a_place() {
        let mut full = conversation_of(&["a", "b", "c"]);
        full.push_private(AgentIx(0), false, text_entry("x"));
        full.push(text_entry("d"));
        full.summary = Some(ConversationSummary::new(2, 2, "s".into()));
        let pinned = ContextEntry { pinned: true, ..text_entry("start") };
        let rows: [(Vec<ContextEntry>, &[&str], Option<usize>); 5] = [
            (full.log.entries.clone(), &["3 x"], Some(2)),
            (full.log.entries[..2].to_vec(), &["2 x"], Some(2)),
            (vec![text_entry("new"), text_entry("b")], &["2 x"], None),
            (Vec::new(), &[], None),
            (vec![pinned], &[], None),
        ];
        for (entries, asides, covers) in rows {
            let mut rewritten = full.clone();
            rewritten.replace_entries(entries.clone());
            let texts: Vec<String> = asides.iter().map(|text| (*text).to_owned()).collect();
            assert_eq!(hidden(&rewritten), (texts, covers), "{entries:?}");
            assert_eq!(rewritten.messages().len(), entries.len());
        }
    }

    #[test]
    fn a_copy_is_the_same_when_old_entries_are_gone() {
        let mut whole = conversation_of(&["a", "b", "c", "d"]);
        whole.summary = Some(ConversationSummary::new(2, 1, "s".into()));
        let mut short = whole.clone();
        short.drop_oldest(2, false);
        short.pinned_entries.push((0, text_entry("a")));
        for conversation in [whole, short] {
            let copy = conversation.copy_visible(AgentIx(0), 1);
            let texts: Vec<&str> = copy.log.entries.iter().map(|entry| entry.text.as_str()).collect();
            assert_eq!(texts, ["a", "[summary of 1 earlier message] s", "c", "d"]);
        }
    }

    #[test]
    fn a_branch_brings_what_it_said_heard_and_summed_up() {
        let mut base = conversation_of(&["a", "b"]);
        base.push_private(AgentIx(0), false, text_entry("early"));
        let branch = |name: &str, covers: usize| {
            let mut branch = base.branch();
            branch.push(text_entry(&format!("{name}1")));
            branch.push_private(AgentIx(1), true, text_entry(&format!("{name} aside")));
            branch.push(text_entry(&format!("{name}2")));
            branch.summary = Some(ConversationSummary::new(covers, covers, name.to_owned()));
            branch
        };
        let mut joined = base.clone();
        // the second summary covers only what its branch has seen: it is none of the whole
        for branch in [branch("p", 2), branch("q", 3)] {
            joined.append_branch(&branch, 2, 1);
        }
        let texts: Vec<&str> = joined.log.entries.iter().map(|entry| entry.text.as_str()).collect();
        assert_eq!(texts, ["a", "b", "p1", "p2", "q1", "q2"]);
        let asides = ["2 early", "3 p aside", "5 q aside"].map(str::to_owned).to_vec();
        assert_eq!(hidden(&joined), (asides, Some(2)));
    }
}
