//! One visit of a state: its attempts, its spending, its pending work. Entering a state begins a new one, so that no
//! counter outlives its visit.

use super::agent_turn::TurnEntry;
use super::budget_usage::BudgetUsage;
use super::effect::UserQuestion;
use serde::{Deserialize, Serialize};
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::tool::{ToolInvocation, ToolRisk};

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct StateVisit {
    /// Number of the visit among all visits of a run, from 1.
    pub nth: u64,
    /// Failures so far that a `retry` rule took, by its position.
    pub attempts: Vec<u32>,
    /// `action.script` has succeeded: a retry begins after it.
    pub script_succeeded: bool,
    /// The work is done and stored: a retry only chooses the transition again.
    pub work_done: bool,
    /// Tool rounds of a failed attempt that the context does not get: only the next attempt sees them.
    pub rounds: Vec<TurnEntry>,
    /// The work was started again: continuing is no new visit.
    pub work_restarted: bool,
    /// A `catch` has been chosen; this visit does not catch an error of its `before` again.
    pub error_caught: bool,
    /// `fallback` and `"on_error": "continue"` count once per visit.
    pub fallback_used: bool,
    pub continued: bool,
    /// Usage of this visit, with everything that it started.
    pub budget_usage: BudgetUsage,
    /// The step that waits for approval or a snapshot, or runs.
    pub step: Option<(ToolInvocation, ToolRisk)>,
    /// The question to the user, to ask it again.
    pub question: Option<UserQuestion>,
    /// Fires when the time for an answer to a pause is up.
    pub pause_timer: Option<CallId>,
}

impl StateVisit {
    pub fn new(nth: u64, now: Timestamp) -> Self {
        Self { nth, budget_usage: BudgetUsage::open(now), ..Self::default() }
    }

    /// Counts a failure for a rule; gives the failures so far.
    pub fn count_failure(&mut self, rule: usize) -> u32 {
        if self.attempts.len() <= rule {
            self.attempts.resize(rule + 1, 0);
        }
        self.attempts[rule] = self.attempts[rule].saturating_add(1);
        self.attempts[rule]
    }

    pub fn failure_count(&self, rule: usize) -> u32 {
        self.attempts.get(rule).copied().unwrap_or(0)
    }
}
