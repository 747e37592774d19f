//! Which recorded call answers a request, and whose turn it is.
//!
//! A request takes the first call that asked the same and was not taken yet, one of its own state if there is one: so
//! branches find theirs in whatever order they ask. Answers are given in the order in which they came when they were
//! recorded; a call that nobody asks for again holds up the others only for a moment.

use std::sync::Arc;

use super::format::RecordedCall;
use super::normalize::NormalizedRequest;

pub struct RecordedCallMatcher {
    calls: Vec<Arc<RecordedCall>>,
    places: Vec<RecordedCallState>,
}

#[derive(Clone, Copy, Default)]
struct RecordedCallState {
    taken: bool,
    /// Nobody need wait for it any more.
    over: bool,
}

impl RecordedCallMatcher {
    pub fn new(calls: Vec<Arc<RecordedCall>>) -> Self {
        let places = vec![RecordedCallState::default(); calls.len()];
        Self { calls, places }
    }

    /// The call that answers, with its position.
    pub fn match_call(
        &mut self,
        asked: &NormalizedRequest,
        state: &str,
    ) -> Option<(usize, Arc<RecordedCall>)> {
        let fits = |at: &usize| !self.places[*at].taken && self.calls[*at].asked == *asked;
        let mut found = (0..self.calls.len()).filter(fits);
        let first = found.next()?;
        let own = std::iter::once(first).chain(found).find(|at| self.calls[*at].state == state);
        let at = own.unwrap_or(first);
        self.places[at].taken = true;
        Some((at, Arc::clone(&self.calls[at])))
    }

    /// Whether every call before this one is over.
    pub fn is_turn(&self, at: usize) -> bool {
        self.places[..at].iter().all(|place| place.over)
    }

    pub fn end(&mut self, at: usize) {
        self.places[at].over = true;
    }

    /// Nobody asked for these in all the time: they are not waited for.
    pub fn release_earlier_calls(&mut self, at: usize) {
        self.places[..at].iter_mut().filter(|place| !place.taken).for_each(|place| place.over = true);
    }

    /// Every call with whether it was taken.
    pub fn calls(&self) -> impl Iterator<Item = (&RecordedCall, bool)> {
        self.calls.iter().map(|call| &**call).zip(self.places.iter().map(|place| place.taken))
    }
}
