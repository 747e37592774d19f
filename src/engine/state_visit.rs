//! One stay in a state: what was tried, what was spent, what is under way. It begins anew whenever a state is
//! entered, so that no counter outlives its visit.

use super::agent_turn::TurnEntry;
use super::budget_usage::BudgetUsage;
use super::effect::UserQuestion;
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::tool::{ToolInvocation, ToolRisk};

#[derive(Clone, Debug, Default)]
pub struct StateVisit {
    /// Among all stays of a run, from 1.
    pub nth: u64,
    /// Failures so far that a `retry` rule took, by its position.
    pub attempts: Vec<u32>,
    /// `action.script` has succeeded: a retry begins after it.
    pub script_succeeded: bool,
    /// The work is done and stored: a retry only chooses the transition again (§1.1 line 5).
    pub work_done: bool,
    /// Rounds of tools of a failed attempt whose words are not the context's: the next attempt sees them, nobody
    /// else ever does.
    pub rounds: Vec<TurnEntry>,
    /// The work was begun once more: going on is no new visit.
    pub work_restarted: bool,
    /// A `catch` has been chosen; an error of its `before` is not caught here again.
    pub error_caught: bool,
    /// `fallback` and `"on_error": "continue"` count once per stay.
    pub fallback_used: bool,
    pub continued: bool,
    /// What this stay spent, with everything that it started.
    pub budget_usage: BudgetUsage,
    /// The step that waits for approval or a snapshot, or runs.
    pub step: Option<(ToolInvocation, ToolRisk)>,
    /// What the person was asked, to ask it again.
    pub question: Option<UserQuestion>,
    /// Fires when nobody has answered a pause in time.
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
