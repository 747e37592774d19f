//! A budget's end is reached, and moved.

use crate::branch::{BudgetScope, PendingQuestion};
use crate::budget_usage::BudgetUnit;
use crate::event::RunEvent;
use crate::machine::NextHandler;
use crate::machine::budgets::BudgetTracker;
use crate::machine::checkpoint_store::CheckpointStore;
use crate::machine::machine_core::MachineCore;

impl BudgetTracker {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "shown to people, saturates")]
    pub(super) fn budget_exceeded(
        &self,
        core: &MachineCore,
        scope: BudgetScope,
        kind: BudgetUnit,
    ) -> NextHandler {
        let Some((budget, budget_usage)) = self.budget_for(core, scope).zip(self.budget_usage(core, scope))
        else {
            return NextHandler::Wait;
        };
        let end = budget_usage.hard_limit(kind, &budget).unwrap_or_default();
        let owner = match scope {
            BudgetScope::Run => "the run".to_owned(),
            BudgetScope::Agent(_) => self.scope_name(core, scope),
            BudgetScope::State { .. } if Self::share_owner(core, scope).is_some() => {
                self.scope_name(core, scope)
            }
            BudgetScope::State { .. } => format!("state `{}`", self.scope_name(core, scope)),
        };
        let spent = budget_usage.used_amount(kind, core.now);
        let mut text =
            format!("{owner} has used {} of {}", kind.format_amount(spent), kind.format_amount(end));
        if let Some(need) = core.branches.current.next_call_bound.filter(|_| spent < end) {
            let next = need.estimate_with_answer(need.min_useful_answer(kind, end)).amount(kind);
            text.push_str(&format!(
                "; the next call needs room for {}, which is not left",
                kind.format_amount(next)
            ));
        }
        NextHandler::limit(PendingQuestion::Budget(scope, kind), kind.limit(), end.ceil() as u32, text)
    }

    /// So that what `on_limit` leads to can run: a tenth more than is used.
    pub(in crate::machine) fn grant_tenth(
        &mut self,
        core: &mut MachineCore,
        checkpoints: &mut CheckpointStore,
        scope: BudgetScope,
        kind: BudgetUnit,
    ) {
        let Some((budget, budget_usage)) = self.budget_for(core, scope).zip(self.budget_usage(core, scope))
        else {
            return;
        };
        let (Some(hard), Some(end)) = (kind.soft_and_hard(&budget).1, budget_usage.hard_limit(kind, &budget))
        else {
            return;
        };
        // what the last call used beyond the end is not taken from what is left
        let over = (budget_usage.used_amount(kind, core.now) - end).max(0.0);
        self.grant_budget(core, checkpoints, scope, kind, over + hard / 10.0);
    }

    /// The user grants the same amount again, counted from what is used up by now, and at least what the next call
    /// needs, so that one "continue" is always enough.
    pub(in crate::machine) fn grant_same_amount(
        &mut self,
        core: &mut MachineCore,
        checkpoints: &mut CheckpointStore,
        scope: BudgetScope,
        kind: BudgetUnit,
    ) {
        let Some((budget, budget_usage)) = self.budget_for(core, scope).zip(self.budget_usage(core, scope))
        else {
            return;
        };
        let (Some(hard), Some(end)) = (kind.soft_and_hard(&budget).1, budget_usage.hard_limit(kind, &budget))
        else {
            return;
        };
        let spent = budget_usage.used_amount(kind, core.now);
        let next = |end| {
            core.branches
                .current
                .next_call_bound
                .map_or(0.0, |need| need.estimate_with_answer(need.min_useful_answer(kind, end)).amount(kind))
        };
        // another branch that asked the same may have been answered already
        if spent < end && spent + next(end) <= end {
            return;
        }
        let over = (spent - end).max(0.0);
        let same = hard + over;
        // of a larger budget, only a longer answer is worth its prompt
        let then = if core.spec.charges_every_attempt() { f64::INFINITY } else { end + same };
        let needed = spent + next(then) - end;
        self.grant_budget(core, checkpoints, scope, kind, same.max(needed));
    }

    /// The user grants an amount on top of what is used by now: dollars, tokens or seconds. That much is left then, or
    /// what was left before if that is more. Branches that wait for the same budget get it once.
    pub(in crate::machine) fn grant_more(
        &mut self,
        core: &mut MachineCore,
        checkpoints: &mut CheckpointStore,
        scope: BudgetScope,
        kind: BudgetUnit,
        more: f64,
    ) {
        if self.granted.contains(&(scope, kind)) {
            return;
        }
        self.granted.push((scope, kind));
        let Some((budget, budget_usage)) = self.budget_for(core, scope).zip(self.budget_usage(core, scope))
        else {
            return;
        };
        let Some(end) = budget_usage.hard_limit(kind, &budget) else { return };
        let asked = budget_usage.used_amount(kind, core.now) + more * kind.divisor();
        if asked > end {
            self.grant_budget(core, checkpoints, scope, kind, asked - end);
        }
    }

    fn grant_budget(
        &mut self,
        core: &mut MachineCore,
        checkpoints: &mut CheckpointStore,
        scope: BudgetScope,
        kind: BudgetUnit,
        more: f64,
    ) {
        let budget = self.budget_for(core, scope);
        checkpoints.grant(core, scope, kind, more);
        let Some(budget_usage) = self.budget_usage_mut(core, scope) else { return };
        budget_usage.grant_more(kind, more);
        let end = budget.and_then(|budget| budget_usage.hard_limit(kind, &budget));
        if let Some(hard) = end.filter(|_| core.spec.checks_budgets_ahead()) {
            let (scope, what) = (self.scope_name(core, scope), kind.name().to_owned());
            core.emit_event(RunEvent::BudgetRaised { scope, what, hard });
        }
    }
}
