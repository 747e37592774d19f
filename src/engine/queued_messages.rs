//! A message of the user that no state asked for, and which script may take it.

use std::collections::BTreeSet;

use synthdev_domain::ids::CallId;

#[derive(Clone, Debug)]
pub(super) struct QueuedMessage {
    pub(super) text: String,
    /// The script that may take it.
    pub(super) offered_to: Option<CallId>,
}

impl QueuedMessage {
    /// No pending script has it on offer.
    pub(super) fn is_available(&self, held: &BTreeSet<CallId>) -> bool {
        self.offered_to.is_none_or(|call| !held.contains(&call))
    }
}
