//! What the person said unasked, until somebody takes it.
//!
//! A script sees a copy of it and tells afterwards how much it took. Until then what it was offered is offered to
//! nobody else, so that no text is taken twice; what it did not take stays.

use std::collections::BTreeSet;

use super::{Branch, CallId, Machine, RunEvent};
use crate::queued_messages::QueuedMessage;
use crate::run_spec::OFFERS_SINCE;

impl Machine {
    pub(super) fn offers_each_once(&self) -> bool {
        self.spec.machine_version >= OFFERS_SINCE
    }

    pub(super) fn queue_message(&mut self, text: String) {
        self.queued_messages.push_back(QueuedMessage { text, offered_to: None });
    }

    /// The first text that no script is looking at.
    pub(super) fn next_available_message(&mut self) -> Option<String> {
        let held = self.scripts_reading_queue();
        let free = self.queued_messages.iter().position(|said| said.is_available(&held))?;
        self.queued_messages.remove(free).map(|said| said.text)
    }

    /// `false`: somebody has taken it already.
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

    /// A script has succeeded and took so many of the texts that it was offered; one that is gone meanwhile is not
    /// made up for by another.
    pub(super) fn consume_offered(&mut self, call: CallId, count: usize) {
        if !self.offers_each_once() {
            return;
        }
        let mut left = count;
        let mut kept = std::mem::take(&mut self.queued_messages);
        kept.retain(|said| {
            let taken = left > 0 && said.offered_to == Some(call);
            if taken {
                left -= 1;
                self.emit_event(RunEvent::Heard { text: said.text.clone() });
            }
            !taken
        });
        self.queued_messages = kept;
    }

    /// As older runs did it: so many from the front, whatever becomes of the script's other changes.
    pub(super) fn consume_front(&mut self, count: usize) {
        if self.offers_each_once() {
            return;
        }
        for QueuedMessage { text, .. } in self.queued_messages.drain(..count.min(self.queued_messages.len()))
        {
            self.output.events.push(RunEvent::Heard { text });
        }
    }

    /// A script is over: what it did not take is anybody's.
    pub(super) fn release_offer(&mut self, call: CallId) {
        for said in self.queued_messages.iter_mut().filter(|said| said.offered_to == Some(call)) {
            said.offered_to = None;
        }
    }

    /// The calls that are waited for: a script that was given up takes nothing any more.
    fn scripts_reading_queue(&self) -> BTreeSet<CallId> {
        if self.offers_each_once() {
            self.all_branches().filter_map(Branch::pending_call).collect()
        } else {
            BTreeSet::new()
        }
    }
}
