//! A live conversation: its log, its mirror for scripts, and what only views use: what was said to one agent in
//! private, and the summary of an old part. The log itself is never shortened by a view.

use std::sync::Arc;

use crate::domain::context::{Author, Context, ContextSpec, Entry};
use crate::domain::ids::AgentIx;
use crate::domain::message::ChatRole;
use crate::domain::script::ScriptMessage;

/// A context and its mirror for scripts; the mirror grows with the log, so a scope costs no copy.
#[derive(Clone, Debug, Default)]
pub struct Thread {
    pub log: Context,
    pub mirror: Arc<Vec<ScriptMessage>>,
    /// In the order in which they happened.
    pub asides: Vec<Aside>,
    pub summary: Option<Summary>,
}

/// Something that one agent with `memory: "private"` heard or said outside of the conversation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Aside {
    pub agent: AgentIx,
    /// So many entries of the log stood before it.
    pub at: usize,
    /// The agent's own word, not one to it.
    pub own: bool,
    pub entry: Entry,
}

/// What stands in views for the oldest part of the log (`trim: "summarize"`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Summary {
    /// Entries of the log, from the first, that it speaks for; those that are never left out stay beside it.
    pub covers: usize,
    /// How many of them it replaces.
    pub replaced: usize,
    /// As it stands in a view.
    pub entry: Entry,
    /// What the model wrote.
    pub text: String,
}

impl Summary {
    pub fn new(covers: usize, replaced: usize, text: String) -> Self {
        let messages = if replaced == 1 { "message" } else { "messages" };
        let shown = format!("[summary of {replaced} earlier {messages}] {text}");
        Self { covers, replaced, entry: Entry::text(Author::Workflow, ChatRole::User, shown), text }
    }
}

impl Thread {
    pub fn start(spec: &ContextSpec) -> Self {
        let mut thread = Self::default();
        for entry in &spec.starting_messages {
            thread.push(entry.clone());
        }
        thread
    }

    pub fn push(&mut self, entry: Entry) {
        Arc::make_mut(&mut self.mirror).push(ScriptMessage {
            role: entry.role.as_str().to_owned(),
            content: entry.text.clone(),
            origin: Some(self.log.entries.len()),
        });
        self.log.entries.push(entry);
    }

    /// Adds what an agent heard or said in private, at the present end of the log.
    pub fn push_aside(&mut self, agent: AgentIx, own: bool, entry: Entry) {
        self.asides.push(Aside { agent, at: self.log.entries.len(), own, entry });
    }

    /// Back to the starting messages (A25): private words and a summary go with the rest.
    pub fn clear(&mut self, spec: &ContextSpec) {
        *self = Self::start(spec);
    }

    /// Takes what a script left of the log (A55). A log without anything that was said is a cleared one;
    /// else private words stay, at the latest at the new end, and a summary stays where its part is untouched.
    pub fn replace(&mut self, entries: Vec<Entry>) {
        let old = std::mem::take(self);
        for entry in entries {
            self.push(entry);
        }
        let entries = &self.log.entries;
        if entries.iter().all(|entry| entry.pinned) {
            return;
        }
        self.summary = old
            .summary
            .filter(|summary| entries.get(..summary.covers) == old.log.entries.get(..summary.covers));
        let end = entries.len();
        self.asides = old.asides;
        for aside in &mut self.asides {
            aside.at = aside.at.min(end);
        }
    }
}
