//! What the person said unasked, until somebody takes it.
//!
//! A script sees a copy of it and tells afterwards how much it took. Until then what it was offered is offered to
//! nobody else, so that no text is taken twice; what it did not take stays.

use std::collections::BTreeSet;

use super::{Branch, CallId, Machine, RunEvent};
use crate::queued_messages::QueuedMessage;
use crate::run_spec::OFFERS_SINCE;

impl Machine {
    pub(super) fn offers(&self) -> bool {
        self.spec.machine_version >= OFFERS_SINCE
    }

    pub(super) fn keep_said(&mut self, text: String) {
        self.said.push_back(QueuedMessage { text, offered: None });
    }

    /// The first text that no script is looking at.
    pub(super) fn next_said(&mut self) -> Option<String> {
        let held = self.reading();
        let free = self.said.iter().position(|said| said.is_free(&held))?;
        self.said.remove(free).map(|said| said.text)
    }

    /// `false`: somebody has taken it already.
    pub(super) fn take_back(&mut self, text: &str) -> bool {
        let at = self.said.iter().position(|said| said.text == text);
        at.and_then(|at| self.said.remove(at)).is_some()
    }

    /// The texts that a script about to be evaluated may take.
    pub(super) fn offer(&mut self, call: CallId) -> Vec<String> {
        if self.said.is_empty() {
            return Vec::new();
        }
        let held = self.reading();
        let free = self.said.iter_mut().filter(|said| said.is_free(&held));
        free.map(|said| {
            said.offered = Some(call);
            said.text.clone()
        })
        .collect()
    }

    /// A script has succeeded and took so many of the texts that it was offered; one that is gone meanwhile is not
    /// made up for by another.
    pub(super) fn consume_offered(&mut self, call: CallId, count: usize) {
        if !self.offers() {
            return;
        }
        let mut left = count;
        let mut kept = std::mem::take(&mut self.said);
        kept.retain(|said| {
            let taken = left > 0 && said.offered == Some(call);
            if taken {
                left -= 1;
                self.emit(RunEvent::Heard { text: said.text.clone() });
            }
            !taken
        });
        self.said = kept;
    }

    /// As older runs did it: so many from the front, whatever becomes of the script's other changes.
    pub(super) fn hear_front(&mut self, count: usize) {
        if self.offers() {
            return;
        }
        for QueuedMessage { text, .. } in self.said.drain(..count.min(self.said.len())) {
            self.out.events.push(RunEvent::Heard { text });
        }
    }

    /// A script is over: what it did not take is anybody's.
    pub(super) fn offer_ends(&mut self, call: CallId) {
        for said in self.said.iter_mut().filter(|said| said.offered == Some(call)) {
            said.offered = None;
        }
    }

    /// The calls that are waited for: a script that was given up takes nothing any more.
    fn reading(&self) -> BTreeSet<CallId> {
        if self.offers() { self.every_lane().filter_map(Branch::pending).collect() } else { BTreeSet::new() }
    }
}
