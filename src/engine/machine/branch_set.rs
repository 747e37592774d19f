//! The branches of a run: the one that the input at hand is for, all others, and those that can continue without an
//! input.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

use crate::branch::{Branch, PendingQuestion, WaitState};

/// All branches; exactly one of them is current.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct BranchSet {
    /// The branch that the current input is for; between two inputs, the one that ran last.
    pub(super) current: Branch,
    /// All others, by id.
    pub(super) others: BTreeMap<u64, Branch>,
    /// Branches that can continue without an input.
    pub(super) ready: VecDeque<u64>,
    pub(super) last_id: u64,
}

impl BranchSet {
    pub(super) fn new(root: Branch) -> Self {
        Self { current: root, others: BTreeMap::new(), ready: VecDeque::new(), last_id: 0 }
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Branch> {
        std::iter::once(&self.current).chain(self.others.values())
    }

    pub(super) fn all_mut(&mut self) -> impl Iterator<Item = &mut Branch> {
        std::iter::once(&mut self.current).chain(self.others.values_mut())
    }

    /// In the order in which they began.
    pub(super) fn sorted(&self) -> Vec<&Branch> {
        let mut all: Vec<&Branch> = self.all().collect();
        all.sort_by_key(|branch| branch.id);
        all
    }

    pub(super) fn by_id(&self, id: u64) -> Option<&Branch> {
        if self.current.id == id { Some(&self.current) } else { self.others.get(&id) }
    }

    pub(super) fn by_id_mut(&mut self, id: u64) -> Option<&mut Branch> {
        if self.current.id == id { Some(&mut self.current) } else { self.others.get_mut(&id) }
    }

    /// The branch in which this one was started.
    pub(super) fn parent_of(&self, branch: &Branch) -> Option<&Branch> {
        self.by_id(branch.parent?.0)
    }

    /// Whether a branch is the one with this id, or was started inside it.
    pub(super) fn is_within(&self, branch: &Branch, id: u64) -> bool {
        let mut current = Some(branch);
        while let Some(branch) = current {
            if branch.id == id {
                return true;
            }
            current = self.parent_of(branch);
        }
        false
    }

    /// Makes a branch current. `false`: there is none with this id.
    pub(super) fn switch_to(&mut self, id: u64) -> bool {
        if self.current.id == id {
            return true;
        }
        let Some(next) = self.others.remove(&id) else { return false };
        let previous = std::mem::replace(&mut self.current, next);
        self.others.insert(previous.id, previous);
        true
    }

    /// Makes a branch current and takes the one that was current out.
    pub(super) fn replace_current(&mut self, id: u64) -> Option<Branch> {
        let next = self.others.remove(&id)?;
        Some(std::mem::replace(&mut self.current, next))
    }

    /// The first branch that waits for the user because of an error.
    pub(super) fn first_failed(&self) -> Option<&Branch> {
        let failed =
            |branch: &&Branch| matches!(branch.wait_state, WaitState::Person(_, PendingQuestion::Failed));
        self.all().filter(failed).min_by_key(|branch| branch.id)
    }
}
