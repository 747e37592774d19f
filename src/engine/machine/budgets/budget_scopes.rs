//! Whose budgets a call counts for, and the purses that hold what was spent of them.

use crate::branch::{Branch, BudgetScope, WaitState};
use crate::budget_usage::{AgentBudgetUsage, BudgetUnit, BudgetUsage};
use crate::machine::Machine;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::workflow::{Budget, Workflow};

impl Machine {
    /// The budgets that a lane's work counts for, the innermost first.
    pub(super) fn scopes(&self, lane: &Branch) -> Vec<(BudgetScope, Budget)> {
        let agent = self.agent_of(lane).and_then(|(workflow, agent)| {
            let at = self.agent_place(&workflow.name, &agent.id)?;
            (!agent.budget.is_unbounded()).then_some((BudgetScope::Agent(at), agent.budget))
        });
        let mut found: Vec<(BudgetScope, Budget)> = agent.into_iter().collect();
        let mut current = Some(lane);
        while let Some(lane) = current {
            for (at, frame) in lane.frames.iter().enumerate().rev() {
                let workflow = self.spec.program.workflows.get(frame.workflow.0);
                let budget =
                    workflow.and_then(|workflow| workflow.state(frame.state)).map(|state| state.budget);
                let bounded = budget.filter(|budget| !budget.is_unbounded());
                found.extend(bounded.map(|budget| (BudgetScope::State { lane: lane.id, frame: at }, budget)));
            }
            current = lane.parent.and_then(|(id, _)| self.lane_of(id));
        }
        let root = self.spec.program.workflows.first().map(|root| root.budget);
        found.extend(root.filter(|budget| !budget.is_unbounded()).map(|budget| (BudgetScope::Run, budget)));
        found
    }

    /// The budget of a scope as the definition has it now.
    pub(super) fn budget_of(&self, scope: BudgetScope) -> Option<Budget> {
        match scope {
            BudgetScope::Run => self.spec.program.workflows.first().map(|root| root.budget),
            BudgetScope::Agent(at) => {
                let owner = self.agent_purses.get(at)?;
                let workflows = &self.spec.program.workflows;
                let workflow = workflows.iter().find(|one| one.name == owner.workflow)?;
                workflow.agents.iter().find(|one| one.id == owner.agent).map(|agent| agent.budget)
            }
            BudgetScope::State { lane, frame } => {
                let frame = self.lane_of(lane)?.frames.get(frame)?;
                let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
                workflow.state(frame.state).map(|state| state.budget)
            }
        }
    }

    pub(super) fn purse(&self, scope: BudgetScope) -> Option<&BudgetUsage> {
        match scope {
            BudgetScope::Run => Some(&self.purse),
            BudgetScope::Agent(at) => self.agent_purses.get(at).map(|owner| &owner.purse),
            BudgetScope::State { lane, frame } => {
                self.lane_of(lane)?.frames.get(frame).map(|f| &f.stay.purse)
            }
        }
    }

    pub(super) fn purse_mut(&mut self, scope: BudgetScope) -> Option<&mut BudgetUsage> {
        match scope {
            BudgetScope::Run => Some(&mut self.purse),
            BudgetScope::Agent(at) => self.agent_purses.get_mut(at).map(|owner| &mut owner.purse),
            BudgetScope::State { lane, frame } => {
                self.lane_mut(lane)?.frames.get_mut(frame).map(|f| &mut f.stay.purse)
            }
        }
    }

    pub(in crate::machine) fn lane_mut(&mut self, id: u64) -> Option<&mut Branch> {
        if self.lane.id == id { Some(&mut self.lane) } else { self.lanes.get_mut(&id) }
    }

    /// The agent of the visit has a purse from its first call on.
    pub(super) fn open_purse(&mut self) {
        let Some((workflow, agent)) = self.agent_of(&self.lane) else { return };
        if !agent.budget.is_unbounded() && self.agent_place(&workflow.name, &agent.id).is_none() {
            let (workflow, agent) = (workflow.name.clone(), agent.id.clone());
            self.agent_purses.push(AgentBudgetUsage { workflow, agent, purse: BudgetUsage::open(self.now) });
        }
    }

    pub(super) fn agent_purse(&mut self, workflow: &str, agent: &str) -> Option<&mut BudgetUsage> {
        let at = self.agent_place(workflow, agent)?;
        self.purse_mut(BudgetScope::Agent(at))
    }

    /// What a run spent before it went back stays spent, for its agents, too.
    pub(in crate::machine) fn spent_before(&mut self, entry: &synthdev_domain::cost::CostEntry) {
        let workflows = self.spec.program.workflows.clone();
        let mut asked = workflows.iter().flat_map(|one| &one.agents).filter(|agent| agent.id == entry.agent);
        // as when it was charged: see `pay`
        let reckoned = asked.find_map(|agent| agent.choice.price).filter(|_| self.counts_all());
        let cost_usd = entry.cost_usd.or(reckoned.map(|price| price.cost_usd(&entry.usage)));
        self.purse.spend(&entry.usage, cost_usd);
        for workflow in workflows {
            let named = workflow.agents.iter().find(|agent| agent.id == entry.agent);
            if named.is_none_or(|agent| agent.budget.is_unbounded()) {
                continue;
            }
            let at = self.agent_place(&workflow.name, &entry.agent).unwrap_or_else(|| {
                let (workflow, agent) = (workflow.name.clone(), entry.agent.clone());
                self.agent_purses.push(AgentBudgetUsage {
                    workflow,
                    agent,
                    purse: BudgetUsage::open(self.now),
                });
                self.agent_purses.len() - 1
            });
            self.agent_purses[at].purse.spend(&entry.usage, cost_usd);
        }
    }

    /// While nobody drove the run, no time of its budgets and limits has passed.
    pub(in crate::machine) fn skip_budgets(&mut self, gap: i64) {
        self.purse.skip(gap);
        for owner in &mut self.agent_purses {
            owner.purse.skip(gap);
        }
        for lane in std::iter::once(&mut self.lane).chain(self.lanes.values_mut()) {
            for frame in &mut lane.frames {
                frame.stay.purse.skip(gap);
                frame.state_timer.skip(gap);
            }
        }
        self.skip_kept(gap);
    }

    /// What calls under way may still use, but for the one of this lane.
    pub(super) fn reserved(&self, scope: BudgetScope, own: u64, kind: BudgetUnit) -> f64 {
        let lanes = std::iter::once(&self.lane).chain(self.lanes.values());
        lanes
            .filter(|lane| lane.id != own && matches!(lane.phase, WaitState::Model(_)))
            .filter(|lane| self.is_within(lane, scope))
            .map(|lane| lane.reserved.amount(kind))
            .sum()
    }

    /// `run`, `agent` with its name, or the path name of the state.
    pub(super) fn scope_name(&self, scope: BudgetScope) -> String {
        match scope {
            BudgetScope::Run => "run".to_owned(),
            BudgetScope::Agent(at) => {
                self.agent_purses.get(at).map(|owner| format!("agent {}", owner.agent)).unwrap_or_default()
            }
            BudgetScope::State { lane, frame } => {
                self.lane_of(lane).map(|lane| self.name_in(lane, frame)).unwrap_or_default()
            }
        }
    }

    pub(in crate::machine) fn is_within(&self, lane: &Branch, scope: BudgetScope) -> bool {
        let owner = match scope {
            BudgetScope::Run => return true,
            BudgetScope::Agent(at) => {
                let asked = self.agent_of(lane);
                return asked.is_some_and(|(workflow, agent)| {
                    self.agent_place(&workflow.name, &agent.id) == Some(at)
                });
            }
            BudgetScope::State { lane, .. } => lane,
        };
        let mut current = Some(lane);
        while let Some(lane) = current {
            if lane.id == owner {
                return true;
            }
            current = lane.parent.and_then(|(id, _)| self.lane_of(id));
        }
        false
    }

    /// Who is asked in a lane, with its workflow.
    fn agent_of(&self, lane: &Branch) -> Option<(&Workflow, &AgentSpec)> {
        let frame = lane.frames.last()?;
        let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
        Some((workflow, workflow.agent(frame.turn.as_ref()?.agent)?))
    }

    fn agent_place(&self, workflow: &str, agent: &str) -> Option<usize> {
        self.agent_purses.iter().position(|owner| owner.workflow == workflow && owner.agent == agent)
    }
}
