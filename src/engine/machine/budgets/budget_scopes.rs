//! Whose budgets a call counts for, and what is used of them.

use crate::branch::{Branch, BudgetScope, WaitState};
use crate::budget_usage::{AgentBudgetUsage, BudgetUnit, BudgetUsage};
use crate::machine::Machine;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::workflow::{Budget, Workflow};

impl Machine {
    /// The budgets that a branch's work counts for, the innermost first.
    pub(super) fn budget_scopes(&self, lane: &Branch) -> Vec<(BudgetScope, Budget)> {
        let agent = self.agent_in(lane).and_then(|(workflow, agent)| {
            let at = self.agent_place(&workflow.name, &agent.id)?;
            (!agent.budget.is_unbounded()).then_some((BudgetScope::Agent(at), agent.budget))
        });
        let mut found: Vec<(BudgetScope, Budget)> = agent.into_iter().collect();
        let mut current = Some(lane);
        while let Some(lane) = current {
            for (at, frame) in lane.frames.iter().enumerate().rev() {
                let workflow = self.core.spec.program.workflows.get(frame.workflow.0);
                let budget =
                    workflow.and_then(|workflow| workflow.state(frame.state)).map(|state| state.budget);
                let bounded = budget.filter(|budget| !budget.is_unbounded());
                found.extend(
                    bounded.map(|budget| (BudgetScope::State { branch_id: lane.id, frame_id: at }, budget)),
                );
            }
            current = self.core.branches.parent_of(lane);
        }
        let root = self.core.spec.program.workflows.first().map(|root| root.budget);
        found.extend(root.filter(|budget| !budget.is_unbounded()).map(|budget| (BudgetScope::Run, budget)));
        found
    }

    /// The budget of a scope as the definition has it now.
    pub(super) fn budget_for(&self, scope: BudgetScope) -> Option<Budget> {
        match scope {
            BudgetScope::Run => self.core.spec.program.workflows.first().map(|root| root.budget),
            BudgetScope::Agent(at) => {
                let owner = self.agent_budgets.get(at)?;
                let workflows = &self.core.spec.program.workflows;
                let workflow = workflows.iter().find(|one| one.name == owner.workflow)?;
                workflow.agents.iter().find(|one| one.id == owner.agent).map(|agent| agent.budget)
            }
            BudgetScope::State { branch_id: lane, frame_id: frame } => {
                let frame = self.core.branches.by_id(lane)?.frames.get(frame)?;
                let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
                workflow.state(frame.state).map(|state| state.budget)
            }
        }
    }

    pub(super) fn budget_usage(&self, scope: BudgetScope) -> Option<&BudgetUsage> {
        match scope {
            BudgetScope::Run => Some(&self.budget_usage),
            BudgetScope::Agent(at) => self.agent_budgets.get(at).map(|owner| &owner.budget_usage),
            BudgetScope::State { branch_id: lane, frame_id: frame } => {
                self.core.branches.by_id(lane)?.frames.get(frame).map(|f| &f.visit.budget_usage)
            }
        }
    }

    pub(super) fn budget_usage_mut(&mut self, scope: BudgetScope) -> Option<&mut BudgetUsage> {
        match scope {
            BudgetScope::Run => Some(&mut self.budget_usage),
            BudgetScope::Agent(at) => self.agent_budgets.get_mut(at).map(|owner| &mut owner.budget_usage),
            BudgetScope::State { branch_id: lane, frame_id: frame } => {
                self.core.branches.by_id_mut(lane)?.frames.get_mut(frame).map(|f| &mut f.visit.budget_usage)
            }
        }
    }

    /// The agent of the turn has a budget usage from its first call on.
    pub(super) fn open_agent_budget(&mut self) {
        let Some((workflow, agent)) = self.agent_in(&self.core.branches.current) else { return };
        if !agent.budget.is_unbounded() && self.agent_place(&workflow.name, &agent.id).is_none() {
            let (workflow, agent) = (workflow.name.clone(), agent.id.clone());
            self.agent_budgets.push(AgentBudgetUsage {
                workflow,
                agent,
                budget_usage: BudgetUsage::open(self.core.now),
            });
        }
    }

    pub(super) fn agent_budget_mut(&mut self, workflow: &str, agent: &str) -> Option<&mut BudgetUsage> {
        let at = self.agent_place(workflow, agent)?;
        self.budget_usage_mut(BudgetScope::Agent(at))
    }

    /// Cost from before a rewind still counts, for agents too.
    pub(in crate::machine) fn spent_before(&mut self, entry: &synthdev_domain::cost::CostEntry) {
        let workflows = self.core.spec.program.workflows.clone();
        let mut asked = workflows.iter().flat_map(|one| &one.agents).filter(|agent| agent.id == entry.agent);
        // as when it was charged: see `pay`
        let reckoned =
            asked.find_map(|agent| agent.choice.price).filter(|_| self.core.spec.charges_every_attempt());
        let cost_usd = entry.cost_usd.or(reckoned.map(|price| price.cost_usd(&entry.usage)));
        self.budget_usage.add_usage(&entry.usage, cost_usd);
        for workflow in workflows {
            let named = workflow.agents.iter().find(|agent| agent.id == entry.agent);
            if named.is_none_or(|agent| agent.budget.is_unbounded()) {
                continue;
            }
            let at = self.agent_place(&workflow.name, &entry.agent).unwrap_or_else(|| {
                let (workflow, agent) = (workflow.name.clone(), entry.agent.clone());
                self.agent_budgets.push(AgentBudgetUsage {
                    workflow,
                    agent,
                    budget_usage: BudgetUsage::open(self.core.now),
                });
                self.agent_budgets.len() - 1
            });
            self.agent_budgets[at].budget_usage.add_usage(&entry.usage, cost_usd);
        }
    }

    /// Budgets and time limits exclude the time during which no process drove the run.
    pub(in crate::machine) fn skip_budgets(&mut self, gap: i64) {
        self.budget_usage.exclude_time(gap);
        for owner in &mut self.agent_budgets {
            owner.budget_usage.exclude_time(gap);
        }
        for lane in self.core.branches.all_mut() {
            for frame in &mut lane.frames {
                frame.visit.budget_usage.exclude_time(gap);
                frame.state_timer.exclude_time(gap);
            }
        }
        self.exclude_time_in_checkpoints(gap);
    }

    /// The reservations of calls in progress, without that of this branch.
    pub(super) fn reserved_by_others(&self, scope: BudgetScope, own: u64, kind: BudgetUnit) -> f64 {
        let lanes = self.core.branches.all();
        lanes
            .filter(|lane| lane.id != own && matches!(lane.phase, WaitState::Model(_)))
            .filter(|lane| self.is_within(lane, scope))
            .map(|lane| lane.reserved_usage.amount(kind))
            .sum()
    }

    /// `run`, `agent` with its name, or the path name of the state.
    pub(super) fn scope_name(&self, scope: BudgetScope) -> String {
        match scope {
            BudgetScope::Run => "run".to_owned(),
            BudgetScope::Agent(at) => {
                self.agent_budgets.get(at).map(|owner| format!("agent {}", owner.agent)).unwrap_or_default()
            }
            BudgetScope::State { branch_id: lane, frame_id: frame } => self
                .core
                .branches
                .by_id(lane)
                .map(|lane| self.core.state_path_in(lane, frame))
                .unwrap_or_default(),
        }
    }

    pub(in crate::machine) fn is_within(&self, lane: &Branch, scope: BudgetScope) -> bool {
        let owner = match scope {
            BudgetScope::Run => return true,
            BudgetScope::Agent(at) => {
                let asked = self.agent_in(lane);
                return asked.is_some_and(|(workflow, agent)| {
                    self.agent_place(&workflow.name, &agent.id) == Some(at)
                });
            }
            BudgetScope::State { branch_id: lane, .. } => lane,
        };
        let mut current = Some(lane);
        while let Some(lane) = current {
            if lane.id == owner {
                return true;
            }
            current = self.core.branches.parent_of(lane);
        }
        false
    }

    /// The agent that a branch calls, with its workflow.
    fn agent_in(&self, lane: &Branch) -> Option<(&Workflow, &AgentSpec)> {
        let frame = lane.frames.last()?;
        let workflow = self.core.spec.program.workflows.get(frame.workflow.0)?;
        Some((workflow, workflow.agent(frame.agent_turn.as_ref()?.agent)?))
    }

    fn agent_place(&self, workflow: &str, agent: &str) -> Option<usize> {
        self.agent_budgets.iter().position(|owner| owner.workflow == workflow && owner.agent == agent)
    }
}
