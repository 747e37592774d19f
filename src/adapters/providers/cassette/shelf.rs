//! Which recorded call answers a request, and whose turn it is.
//!
//! A request takes the first call that asked the same and was not taken yet, one of its own state if there is one: so
//! branches find theirs in whatever order they ask. Answers are given in the order in which they came when they were
//! recorded; a call that nobody asks for again holds up the others only for a moment.

use std::sync::Arc;

use super::format::Recorded;
use super::neutral::Asked;

pub struct Shelf {
    calls: Vec<Arc<Recorded>>,
    places: Vec<Place>,
}

#[derive(Clone, Copy, Default)]
struct Place {
    taken: bool,
    /// Nobody need wait for it any more.
    over: bool,
}

impl Shelf {
    pub fn new(calls: Vec<Arc<Recorded>>) -> Self {
        let places = vec![Place::default(); calls.len()];
        Self { calls, places }
    }

    /// The call that answers, with its position.
    pub fn take(&mut self, asked: &Asked, state: &str) -> Option<(usize, Arc<Recorded>)> {
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
    pub fn give_up_before(&mut self, at: usize) {
        self.places[..at].iter_mut().filter(|place| !place.taken).for_each(|place| place.over = true);
    }

    /// Every call with whether it was taken.
    pub fn calls(&self) -> impl Iterator<Item = (&Recorded, bool)> {
        self.calls.iter().map(|call| &**call).zip(self.places.iter().map(|place| place.taken))
    }
}
