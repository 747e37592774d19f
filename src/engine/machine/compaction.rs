//! Compaction of old entries: the window of a prompt never moves back, so entries that no agent of a conversation sees
//! any more are needed only by a script that reads them, or by another definition.
//!
//! Owns when this is the case. Where a script may read old entries, they are compressed; else they are dropped, because
//! the journal has all of them.

use super::Machine;
use crate::conversation::LiveConversation;
use synthdev_domain::context::compressed_entries::CompressedEntries;
use synthdev_domain::context::{ContextSpec, TrimPolicy};
use synthdev_domain::ids::{AgentIx, ContextIx};

/// Inputs between two compactions.
const APART: u32 = 512;

/// Entries that are packed at once, at least: a few take nearly as much room as before.
const TOGETHER: usize = 64;

impl Machine {
    /// From now on the machine drops or compresses old entries. Not for a machine that is to be upgraded to another
    /// definition.
    pub fn compacts_history(&mut self) {
        self.compacts_history = true;
    }

    /// Another input was taken.
    pub(super) fn compact_periodically(&mut self) {
        if self.compacts_history {
            self.inputs_since_compaction += 1;
            if self.inputs_since_compaction >= APART {
                self.inputs_since_compaction = 0;
                let scripted =
                    self.core.spec.program.workflows.iter().any(|workflow| !workflow.scripts.is_empty());
                self.sort_out(scripted.then_some(TOGETHER));
            }
        }
    }

    /// Drops entries that no prompt shows any more. Whether any were dropped: then the whole of a conversation must not
    /// be read again.
    pub fn forget_old(&mut self) -> bool {
        self.sort_out(None)
    }

    /// The same, but the entries can be restored.
    pub fn pack_old(&mut self) {
        self.sort_out(Some(1));
    }

    /// `pack`: compresses entries that can be restored, if there are so many at least.
    fn sort_out(&mut self, pack: Option<usize>) -> bool {
        let program = &self.core.spec.program;
        let branches = self.core.branches.all_mut();
        let mut gone = false;
        // a branch's entries go to its parent, whose agents have not seen them yet
        for frame in branches.filter(|branch| branch.parent.is_none()).flat_map(|branch| &mut branch.frames) {
            let Some(workflow) = program.workflows.get(frame.workflow.0) else { continue };
            for (at, (conversation, spec)) in
                frame.conversations.iter_mut().zip(&workflow.contexts).enumerate()
            {
                let agents = workflow.agents.iter().enumerate();
                let seated = agents.filter(|(_, agent)| agent.context == ContextIx(at));
                if spec.trim == TrimPolicy::DropOldest && conversation.base.is_none() {
                    conversation.compact_history(spec, seated.map(|(agent, _)| AgentIx(agent)), pack);
                }
                gone |= conversation.dropped_count > 0;
            }
        }
        gone
    }
}

impl LiveConversation {
    /// `seated` are all agents of this conversation: an agent without an index will read all of it.
    fn compact_history(
        &mut self,
        spec: &ContextSpec,
        seated: impl Iterator<Item = AgentIx>,
        pack: Option<usize>,
    ) {
        let begins = seated.map(|agent| {
            self.context_indexes.get(&agent).map_or(0, |context_index| context_index.entries_before_start())
        });
        let until = begins.min().unwrap_or(0).min(self.length());
        if self.summary.is_none() {
            self.context_indexes
                .values_mut()
                .for_each(|context_index| context_index.drop_hidden(spec.pin_first));
        }
        let count = until.saturating_sub(self.dropped_count);
        let old = self.log.entries.get(..count).unwrap_or_default();
        if count < pack.unwrap_or(1) || (pack.is_some() && !CompressedEntries::can_compress(old)) {
            return;
        }
        let mut first = spec
            .pin_first
            .saturating_sub(self.pinned_entries.iter().filter(|(_, entry)| !entry.pinned).count());
        let from = self.dropped_count;
        for (at, entry) in (from..).zip(self.drop_oldest(count, pack.is_some())) {
            if entry.pinned {
                self.pinned_entries.push((at, entry));
            } else if first > 0 {
                first -= 1;
                self.pinned_entries.push((at, entry));
            }
        }
    }
}
