//! A text that the person said unasked, and who may take it.

use std::collections::BTreeSet;

use synthdev_domain::ids::CallId;

#[derive(Clone, Debug)]
pub(super) struct QueuedMessage {
    pub(super) text: String,
    /// The script that may take it.
    pub(super) offered_to: Option<CallId>,
}

impl QueuedMessage {
    /// Nobody among those that are still waited for looks at it.
    pub(super) fn is_available(&self, held: &BTreeSet<CallId>) -> bool {
        self.offered_to.is_none_or(|call| !held.contains(&call))
    }
}
