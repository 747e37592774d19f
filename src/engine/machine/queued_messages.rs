//! Queued messages of the user, until a state or script takes them.
//!
//! A script gets a copy and reports afterwards how many it took. Until then these are not offered to another script, so
//! that no text is taken twice; the rest stays queued.

use std::collections::BTreeSet;

use super::{Branch, CallId, Machine, RunEvent};
use crate::queued_messages::QueuedMessage;

impl Machine {
    pub(super) fn queue_message(&mut self, text: String) {
        self.queued_messages.push_back(QueuedMessage { text, offered_to: None });
    }

    /// The first text that no script is looking at.
    pub(super) fn next_available_message(&mut self) -> Option<String> {
        let held = self.scripts_reading_queue();
        let free = self.queued_messages.iter().position(|said| said.is_available(&held))?;
        self.queued_messages.remove(free).map(|said| said.text)
    }

    /// `false`: a state or script has taken it already.
    pub(super) fn take_back(&mut self, text: &str) -> bool {
        let at = self.queued_messages.iter().position(|said| said.text == text);
        at.and_then(|at| self.queued_messages.remove(at)).is_some()
    }

    /// The texts that a script about to be evaluated may take.
    pub(super) fn offer_messages(&mut self, call: CallId) -> Vec<String> {
        if self.queued_messages.is_empty() {
            return Vec::new();
        }
        let held = self.scripts_reading_queue();
        let free = self.queued_messages.iter_mut().filter(|said| said.is_available(&held));
        free.map(|said| {
            said.offered_to = Some(call);
            said.text.clone()
        })
        .collect()
    }

    /// A script has succeeded and took `count` of the texts that it was offered; another text does not replace one that
    /// was withdrawn meanwhile.
    pub(super) fn consume_offered(&mut self, call: CallId, count: usize) {
        if !self.core.spec.offers_messages_once() {
            return;
        }
        let mut left = count;
        let mut kept = std::mem::take(&mut self.queued_messages);
        kept.retain(|said| {
            let taken = left > 0 && said.offered_to == Some(call);
            if taken {
                left -= 1;
                self.core.emit_event(RunEvent::Heard { text: said.text.clone() });
            }
            !taken
        });
        self.queued_messages = kept;
    }

    /// As older runs did it: so many from the front, whatever becomes of the script's other changes.
    pub(super) fn consume_front(&mut self, count: usize) {
        if self.core.spec.offers_messages_once() {
            return;
        }
        for QueuedMessage { text, .. } in self.queued_messages.drain(..count.min(self.queued_messages.len()))
        {
            self.core.output.events.push(RunEvent::Heard { text });
        }
    }

    /// The script has ended: texts that it did not take are available again.
    pub(super) fn release_offer(&mut self, call: CallId) {
        for said in self.queued_messages.iter_mut().filter(|said| said.offered_to == Some(call)) {
            said.offered_to = None;
        }
    }

    /// The pending calls: an abandoned script takes nothing any more.
    fn scripts_reading_queue(&self) -> BTreeSet<CallId> {
        if self.core.spec.offers_messages_once() {
            self.core.branches.all().filter_map(Branch::pending_call).collect()
        } else {
            BTreeSet::new()
        }
    }
}
