//! The partial reply of a model call that is stopped stays in the turn, marked.

use super::{CallId, Machine};
use crate::agent_turn::TurnEntry;
use synthdev_domain::context::{ContextEntry, MessageAuthor};

impl Machine {
    pub(super) fn store_partial_replies(&mut self, partial: Vec<(CallId, String)>) {
        // The partial text of a summary belongs to no agent.
        let pending =
            self.core.branches.current.pending_call().filter(|_| self.pending_summary_coverage().is_none());
        let text = partial.into_iter().find(|(call, _)| Some(*call) == pending).map(|(_, text)| text);
        let Some(text) = text.filter(|text| !text.trim().is_empty()) else { return };
        let Some(turn) = self.core.frame_mut().and_then(|frame| frame.agent_turn.as_mut()) else { return };
        let author = MessageAuthor::Agent(turn.agent_id.clone());
        let mut entry = ContextEntry::text(author, turn.side.stored_role(), text);
        entry.interrupted = true;
        turn.entries.push(TurnEntry { entry, private: false, is_foreign: false });
    }
}
