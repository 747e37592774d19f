//! Whose budgets a call counts for, and what is used of them.

use crate::branch::{Branch, BudgetScope, SpawnedBranch, WaitState};
use crate::budget_usage::{AgentBudgetUsage, BudgetUnit, BudgetUsage};
use crate::call_frame::CallFrame;
use crate::machine::budgets::BudgetTracker;
use crate::machine::checkpoint_store::CheckpointStore;
use crate::machine::machine_core::MachineCore;
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::agent_team::AgentShare;
use synthdev_domain::workflow::{Budget, Workflow};

impl BudgetTracker {
    /// The budgets that a branch's work counts for, the innermost first.
    pub(super) fn budget_scopes(&self, core: &MachineCore, branch: &Branch) -> Vec<(BudgetScope, Budget)> {
        let agents = Self::charged_agents(core, branch).filter_map(|(workflow, agent)| {
            let at = self.agent_place(&workflow.name, &agent.id)?;
            (!agent.budget.is_unbounded()).then_some((BudgetScope::Agent(at), agent.budget))
        });
        let mut found: Vec<(BudgetScope, Budget)> = agents.collect();
        let mut current = Some(branch);
        while let Some(branch) = current {
            for (at, frame) in branch.frames.iter().enumerate().rev() {
                let budget = Self::frame_budget(core, branch, at, frame);
                let bounded = budget.filter(|budget| !budget.is_unbounded());
                found.extend(
                    bounded.map(|budget| (BudgetScope::State { branch_id: branch.id, frame_id: at }, budget)),
                );
            }
            current = core.branches.parent_of(branch);
        }
        let root = core.spec.program.workflows.first().map(|root| root.budget);
        found.extend(root.filter(|budget| !budget.is_unbounded()).map(|budget| (BudgetScope::Run, budget)));
        found
    }

    /// The budget of the state that a frame is in. The first frame of a started agent has what the agent may use in its
    /// place: the workflow of a role has no budget of its own.
    fn frame_budget(core: &MachineCore, branch: &Branch, at: usize, frame: &CallFrame) -> Option<Budget> {
        if let Some(share) = Self::agent_share(branch, at) {
            return Some(share.budget);
        }
        let workflow = core.spec.program.workflows.get(frame.workflow.0)?;
        workflow.state(frame.state).map(|state| state.budget)
    }

    /// The started agent whose budget counts for this frame.
    fn agent_share(branch: &Branch, at: usize) -> Option<&SpawnedBranch> {
        branch.spawned.as_ref().filter(|spawned| at == 0 && !spawned.budget.is_unbounded())
    }

    /// What the agent of the current branch gives another one: no more than is left of any budget that counts for it.
    ///
    /// # Errors
    /// Nothing is wanted, or nothing is left.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "token counts stay far below 2^53, and the amount is more than 0"
    )]
    pub(in crate::machine) fn share_budget(
        &self,
        core: &MachineCore,
        wanted: AgentShare,
    ) -> Result<Budget, String> {
        let mut budget = Budget::default();
        if let Some(tokens) = wanted.tokens {
            let given = self.given_amount(core, BudgetUnit::Tokens, tokens as f64)?;
            budget.tokens.hard = Some(given.floor() as u64);
        }
        if let Some(cost_usd) = wanted.cost_usd {
            budget.cost_usd.hard = Some(self.given_amount(core, BudgetUnit::Cost, cost_usd)?);
        }
        Ok(budget)
    }

    fn given_amount(&self, core: &MachineCore, kind: BudgetUnit, wanted: f64) -> Result<f64, String> {
        let name = kind.name();
        if wanted <= 0.0 {
            return Err(format!("`budget.{name}` must be more than 0"));
        }
        let branch = &core.branches.current;
        let left = self.budget_scopes(core, branch).into_iter().filter_map(|(scope, budget)| {
            let usage = self.budget_usage(core, scope)?;
            let spent = usage.used_amount(kind, core.now);
            Some(
                usage.hard_limit(kind, &budget)?
                    - spent
                    - self.reserved_by_others(core, scope, branch.id, kind),
            )
        });
        let given = left.fold(wanted, f64::min);
        let least = if kind == BudgetUnit::Tokens { 1.0 } else { f64::MIN_POSITIVE };
        if given < least {
            return Err(format!("nothing is left of the budget ({name}) for another agent"));
        }
        Ok(given)
    }

    /// The budget of a scope as the definition has it now.
    pub(super) fn budget_for(&self, core: &MachineCore, scope: BudgetScope) -> Option<Budget> {
        match scope {
            BudgetScope::Run => core.spec.program.workflows.first().map(|root| root.budget),
            BudgetScope::Agent(at) => {
                let owner = self.agents.get(at)?;
                let workflows = &core.spec.program.workflows;
                let workflow = workflows.iter().find(|one| one.name == owner.workflow)?;
                workflow.agents.iter().find(|one| one.id == owner.agent).map(|agent| agent.budget)
            }
            BudgetScope::State { branch_id: branch, frame_id: frame } => {
                let branch = core.branches.by_id(branch)?;
                Self::frame_budget(core, branch, frame, branch.frames.get(frame)?)
            }
        }
    }

    pub(super) fn budget_usage<'a>(
        &'a self,
        core: &'a MachineCore,
        scope: BudgetScope,
    ) -> Option<&'a BudgetUsage> {
        match scope {
            BudgetScope::Run => Some(&self.run),
            BudgetScope::Agent(at) => self.agents.get(at).map(|owner| &owner.budget_usage),
            BudgetScope::State { branch_id: branch, frame_id: frame } => {
                core.branches.by_id(branch)?.frames.get(frame).map(|f| &f.visit.budget_usage)
            }
        }
    }

    pub(super) fn budget_usage_mut<'a>(
        &'a mut self,
        core: &'a mut MachineCore,
        scope: BudgetScope,
    ) -> Option<&'a mut BudgetUsage> {
        match scope {
            BudgetScope::Run => Some(&mut self.run),
            BudgetScope::Agent(at) => self.agents.get_mut(at).map(|owner| &mut owner.budget_usage),
            BudgetScope::State { branch_id: branch, frame_id: frame } => {
                core.branches.by_id_mut(branch)?.frames.get_mut(frame).map(|f| &mut f.visit.budget_usage)
            }
        }
    }

    /// The agent of the turn has a budget usage from its first call on.
    pub(super) fn open_agent_budget(&mut self, core: &mut MachineCore) {
        let Some((workflow, agent)) = Self::agent_in(core, &core.branches.current) else { return };
        if !agent.budget.is_unbounded() && self.agent_place(&workflow.name, &agent.id).is_none() {
            let (workflow, agent) = (workflow.name.clone(), agent.id.clone());
            self.agents.push(AgentBudgetUsage { workflow, agent, budget_usage: BudgetUsage::open(core.now) });
        }
    }

    pub(super) fn agent_budget_mut(&mut self, workflow: &str, agent: &str) -> Option<&mut BudgetUsage> {
        let at = self.agent_place(workflow, agent)?;
        self.agents.get_mut(at).map(|owner| &mut owner.budget_usage)
    }

    /// Cost from before a rewind still counts, for agents too.
    pub(in crate::machine) fn spent_before(
        &mut self,
        core: &mut MachineCore,
        entry: &synthdev_domain::cost::CostEntry,
    ) {
        let workflows = core.spec.program.workflows.clone();
        let mut asked = workflows.iter().flat_map(|one| &one.agents).filter(|agent| agent.id == entry.agent);
        // as when it was charged: see `pay`
        let reckoned =
            asked.find_map(|agent| agent.choice.price).filter(|_| core.spec.charges_every_attempt());
        let cost_usd = entry.cost_usd.or(reckoned.map(|price| price.cost_usd(&entry.usage)));
        self.run.add_usage(&entry.usage, cost_usd);
        for workflow in workflows {
            let named = workflow.agents.iter().find(|agent| agent.id == entry.agent);
            if named.is_none_or(|agent| agent.budget.is_unbounded()) {
                continue;
            }
            let at = self.agent_place(&workflow.name, &entry.agent).unwrap_or_else(|| {
                let (workflow, agent) = (workflow.name.clone(), entry.agent.clone());
                self.agents.push(AgentBudgetUsage {
                    workflow,
                    agent,
                    budget_usage: BudgetUsage::open(core.now),
                });
                self.agents.len() - 1
            });
            self.agents[at].budget_usage.add_usage(&entry.usage, cost_usd);
        }
    }

    /// Budgets and time limits exclude the time during which no process drove the run.
    pub(in crate::machine) fn skip_budgets(
        &mut self,
        core: &mut MachineCore,
        checkpoints: &mut CheckpointStore,
        gap: i64,
    ) {
        self.run.exclude_time(gap);
        for owner in &mut self.agents {
            owner.budget_usage.exclude_time(gap);
        }
        for branch in core.branches.all_mut() {
            for frame in &mut branch.frames {
                frame.visit.budget_usage.exclude_time(gap);
                frame.state_timer.exclude_time(gap);
            }
        }
        checkpoints.exclude_time(core, gap);
    }

    /// The reservations of calls in progress, without that of this branch.
    pub(super) fn reserved_by_others(
        &self,
        core: &MachineCore,
        scope: BudgetScope,
        own: u64,
        kind: BudgetUnit,
    ) -> f64 {
        let branches = core.branches.all();
        branches
            .filter(|branch| branch.id != own && matches!(branch.wait_state, WaitState::Model(_)))
            .filter(|branch| self.is_within(core, branch, scope))
            .map(|branch| branch.reserved_usage.amount(kind))
            .sum()
    }

    /// The started agent whose budget it is.
    pub(super) fn share_owner(core: &MachineCore, scope: BudgetScope) -> Option<&str> {
        let BudgetScope::State { branch_id, frame_id } = scope else { return None };
        let share = Self::agent_share(core.branches.by_id(branch_id)?, frame_id)?;
        Some(&share.name)
    }

    /// `run`, `agent` with its name, or the path name of the state.
    pub(super) fn scope_name(&self, core: &MachineCore, scope: BudgetScope) -> String {
        match scope {
            BudgetScope::Run => "run".to_owned(),
            BudgetScope::Agent(at) => {
                self.agents.get(at).map(|owner| format!("agent {}", owner.agent)).unwrap_or_default()
            }
            BudgetScope::State { branch_id: branch, frame_id: frame } => {
                if let Some(agent) = Self::share_owner(core, scope) {
                    return format!("agent {agent}");
                }
                let branch = core.branches.by_id(branch);
                branch.map(|branch| core.state_path_in(branch, frame)).unwrap_or_default()
            }
        }
    }

    fn is_within(&self, core: &MachineCore, branch: &Branch, scope: BudgetScope) -> bool {
        let owner = match scope {
            BudgetScope::Run => return true,
            BudgetScope::Agent(at) => {
                return Self::charged_agents(core, branch)
                    .any(|(workflow, agent)| self.agent_place(&workflow.name, &agent.id) == Some(at));
            }
            BudgetScope::State { branch_id: branch, .. } => branch,
        };
        core.branches.is_within(branch, owner)
    }

    /// The agent that a branch calls, with its workflow.
    fn agent_in<'a>(core: &'a MachineCore, branch: &Branch) -> Option<(&'a Workflow, &'a AgentSpec)> {
        let frame = branch.frames.last()?;
        let workflow = core.spec.program.workflows.get(frame.workflow.0)?;
        Some((workflow, workflow.agent(frame.agent_turn.as_ref()?.agent)?))
    }

    /// The agent that a branch calls, and those that started it: what it uses is theirs, too.
    pub(in crate::machine) fn charged_agents<'a>(
        core: &'a MachineCore,
        branch: &'a Branch,
    ) -> impl Iterator<Item = (&'a Workflow, &'a AgentSpec)> {
        let above = |branch: &&'a Branch| {
            branch.spawned.as_ref()?;
            core.branches.parent_of(branch)
        };
        std::iter::successors(Some(branch), above).filter_map(|branch| Self::agent_in(core, branch))
    }

    fn agent_place(&self, workflow: &str, agent: &str) -> Option<usize> {
        self.agents.iter().position(|owner| owner.workflow == workflow && owner.agent == agent)
    }
}
