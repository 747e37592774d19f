//! Which recorded call answers a request, and in which order.
//!
//! A request takes the first call with an equal request that was not taken yet, one of its own state if there is one:
//! so branches find theirs in any order. Answers are given in the order in which they were recorded; a call that the
//! run does not repeat delays the others only for a moment.

use std::sync::Arc;

use super::format::RecordedCall;
use super::normalize::NormalizedRequest;

pub struct RecordedCallMatcher {
    calls: Vec<Arc<RecordedCall>>,
    call_states: Vec<RecordedCallState>,
}

#[derive(Clone, Copy, Default)]
struct RecordedCallState {
    is_taken: bool,
    /// Later calls need not wait for it any more.
    is_over: bool,
}

impl RecordedCallMatcher {
    pub fn new(calls: Vec<Arc<RecordedCall>>) -> Self {
        let places = vec![RecordedCallState::default(); calls.len()];
        Self { calls, call_states: places }
    }

    /// The call that answers, with its position.
    pub fn match_call(
        &mut self,
        asked: &NormalizedRequest,
        state: &str,
    ) -> Option<(usize, Arc<RecordedCall>)> {
        let fits = |at: &usize| !self.call_states[*at].is_taken && self.calls[*at].request == *asked;
        let mut found = (0..self.calls.len()).filter(fits);
        let first = found.next()?;
        let own = std::iter::once(first).chain(found).find(|at| self.calls[*at].state == state);
        let at = own.unwrap_or(first);
        self.call_states[at].is_taken = true;
        Some((at, Arc::clone(&self.calls[at])))
    }

    /// Whether every call before this one is over.
    pub fn is_turn(&self, at: usize) -> bool {
        self.call_states[..at].iter().all(|place| place.is_over)
    }

    pub fn mark_over(&mut self, at: usize) {
        self.call_states[at].is_over = true;
    }

    /// No request has matched these within the time limit: later calls stop waiting for them.
    pub fn release_earlier_calls(&mut self, at: usize) {
        self.call_states[..at]
            .iter_mut()
            .filter(|place| !place.is_taken)
            .for_each(|place| place.is_over = true);
    }

    /// Every call with whether it was taken.
    pub fn calls(&self) -> impl Iterator<Item = (&RecordedCall, bool)> {
        self.calls.iter().map(|call| &**call).zip(self.call_states.iter().map(|place| place.is_taken))
    }
}
