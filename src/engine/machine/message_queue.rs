//! Queued messages of the user, until a state or script takes them.
//!
//! A script gets a copy and reports afterwards how many it took. Until then these are not offered to another script, so
//! that no text is taken twice; the rest stays queued.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeSet, VecDeque};

use super::machine_core::MachineCore;
use crate::branch::Branch;
use crate::event::RunEvent;
use synthdev_domain::ids::CallId;

/// A message of the user that no state asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct QueuedMessage {
    text: String,
    /// The script that may take it, and its position among the texts that this script was offered.
    offered_to: Option<(CallId, usize)>,
}

impl QueuedMessage {
    /// No pending script has it on offer.
    fn is_available(&self, held: &BTreeSet<CallId>) -> bool {
        self.offered_to.is_none_or(|(call, _)| !held.contains(&call))
    }
}

/// The messages of the user that no state asked for, the oldest first.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct MessageQueue {
    messages: VecDeque<QueuedMessage>,
}

impl MessageQueue {
    pub(super) fn push(&mut self, text: String) {
        self.messages.push_back(QueuedMessage { text, offered_to: None });
    }

    pub(super) fn texts(&self) -> impl Iterator<Item = &str> {
        self.messages.iter().map(|message| message.text.as_str())
    }

    /// Takes the first text that no script has on offer.
    pub(super) fn take_available(&mut self, core: &MachineCore) -> Option<String> {
        let held = pending_calls(core);
        let free = self.messages.iter().position(|message| message.is_available(&held))?;
        self.messages.remove(free).map(|message| message.text)
    }

    /// `false`: a state or script has taken it already.
    pub(super) fn take_back(&mut self, text: &str) -> bool {
        let at = self.messages.iter().position(|message| message.text == text);
        at.and_then(|at| self.messages.remove(at)).is_some()
    }

    /// The texts that a script about to be evaluated may take.
    pub(super) fn offer(&mut self, core: &MachineCore, call: CallId) -> Vec<String> {
        if self.messages.is_empty() {
            return Vec::new();
        }
        let held = pending_calls(core);
        let free = self.messages.iter_mut().filter(|message| message.is_available(&held));
        free.enumerate()
            .map(|(position, message)| {
                message.offered_to = Some((call, position));
                message.text.clone()
            })
            .collect()
    }

    /// A script has succeeded and took the first `count` of the texts that it was offered; another text does not replace
    /// one that was withdrawn meanwhile.
    pub(super) fn consume_offered(&mut self, core: &mut MachineCore, call: CallId, count: usize) {
        if !core.spec.offers_messages_once() {
            return;
        }
        let takes_read = core.spec.takes_read_messages();
        let mut left = count;
        self.messages.retain(|message| {
            let position =
                message.offered_to.filter(|(script, _)| *script == call).map(|(_, position)| position);
            let taken = position.is_some_and(|position| if takes_read { position < count } else { left > 0 });
            if taken {
                left = left.saturating_sub(1);
                core.emit_event(RunEvent::Heard { text: message.text.clone() });
            }
            !taken
        });
    }

    /// As older runs did it: so many from the front, whatever becomes of the script's other changes.
    pub(super) fn consume_front(&mut self, core: &mut MachineCore, count: usize) {
        if core.spec.offers_messages_once() {
            return;
        }
        for QueuedMessage { text, .. } in self.messages.drain(..count.min(self.messages.len())) {
            core.emit_event(RunEvent::Heard { text });
        }
    }

    /// The script has ended: texts that it did not take are available again.
    pub(super) fn release_offer(&mut self, call: CallId) {
        for message in self
            .messages
            .iter_mut()
            .filter(|message| message.offered_to.is_some_and(|(script, _)| script == call))
        {
            message.offered_to = None;
        }
    }
}

/// The pending calls of all branches: an abandoned script takes nothing any more. Empty for runs in which every message
/// is available.
fn pending_calls(core: &MachineCore) -> BTreeSet<CallId> {
    if core.spec.offers_messages_once() {
        core.branches.all().filter_map(Branch::pending_call).collect()
    } else {
        BTreeSet::new()
    }
}
