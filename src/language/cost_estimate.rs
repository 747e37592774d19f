//! The cost estimate: what one run of a program can cost at most, by state and in all.
//!
//! Worst cases only: every loop turns as often as its limits let it, every agent uses all its rounds of tools, every
//! retry is needed. Transport retries of model calls are not counted: what failed is not paid. Tokens are estimated
//! from characters. Nothing is run and no file is read.

mod branches;
mod usage_amount;
mod visit_bounds;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use branches::{BranchEstimator, ProgramStateKey};
use synthdev_domain::agent::AgentSpec;
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::workflow::{Budget, StateBody, Workflow, WorkflowProgram};
use usage_amount::{PerCallUsage, UNBOUNDED, UsageAmount, per_call};
use visit_bounds::VisitLimitSource;

/// A worst case, or `None` where nothing bounds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize)]
pub struct WorstCaseCount {
    /// By the limits that the files set themselves.
    pub declared: Option<u64>,
    /// With the default limits where a file sets none.
    pub default: Option<u64>,
}

/// As [`WorstCaseCount`], in US dollars.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize)]
pub struct WorstCaseUsd {
    pub declared: Option<f64>,
    pub default: Option<f64>,
}

/// What is used up.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
pub struct WorstCaseUsage {
    pub calls: WorstCaseCount,
    pub prompt_tokens: WorstCaseCount,
    /// `None`: nothing limits the length of an answer.
    pub answer_tokens: Option<WorstCaseCount>,
    /// `None`: a price is not known. Without `answer_tokens`, of the prompts alone.
    pub cost_usd: Option<WorstCaseUsd>,
}

/// One state that asks a model.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct StateCost {
    pub workflow: String,
    pub state: String,
    pub agent: String,
    pub model: String,
    pub visits: WorstCaseCount,
    pub calls_per_visit: u64,
    #[serde(flatten)]
    pub spending: WorstCaseUsage,
}

/// The worst case of a run.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct CostEstimate {
    pub workflow: String,
    #[serde(flatten)]
    pub spending: WorstCaseUsage,
    /// In the order of the files; only states that ask a model.
    pub states: Vec<StateCost>,
    /// What the figures leave out or rest on.
    pub notes: Vec<String>,
}

/// What is known of the models of all listed states.
#[derive(Clone, Copy)]
struct KnownFigures {
    answers: bool,
    prices: bool,
}

/// The worst case of a run of `program`, whose agents get `brief` beside their roles. Uses the prices of the agents'
/// models.
pub fn estimate_cost(program: &WorkflowProgram, brief: &SystemContext) -> CostEstimate {
    let program = &with_system_context(program, brief);
    let declared = EstimateTotals::new(program, VisitLimitSource::Declared);
    let default = EstimateTotals::new(program, VisitLimitSource::Default);
    let keys: Vec<ProgramStateKey> = default.states.keys().copied().collect();
    let agents = || keys.iter().filter_map(|key| agent_at(program, *key));
    let known = KnownFigures {
        answers: agents().all(|agent| agent.choice.parameters.max_output_tokens.is_some()),
        prices: agents().all(|agent| agent.choice.price.is_some()),
    };
    let mut calls = PerCallUsage::default();
    let states = keys.iter().filter_map(|key| state_cost(program, *key, &mut calls, &declared, &default));
    let states = states.collect();
    let mut notes = estimate_notes(program, known, &keys);
    notes.extend(default.notes);
    CostEstimate {
        workflow: program.workflows.first().map(|root| root.name.clone()).unwrap_or_default(),
        spending: known_usage(declared.total, default.total, known),
        states,
        notes,
    }
}

/// The program with the system context added to the prompts of its agents.
fn with_system_context(program: &WorkflowProgram, brief: &SystemContext) -> WorkflowProgram {
    let mut program = program.clone();
    for workflow in program.workflows.iter_mut().filter(|_| !brief.is_empty()) {
        for agent in &mut Arc::make_mut(workflow).agents {
            for part in brief.included_parts(agent.without) {
                agent.system_prompt.push_str("\n\n");
                agent.system_prompt.push_str(part);
            }
        }
    }
    program
}

struct EstimateTotals {
    total: UsageAmount,
    /// Visits and what they use.
    states: BTreeMap<ProgramStateKey, (u64, UsageAmount)>,
    notes: Vec<String>,
}

impl EstimateTotals {
    fn new(program: &WorkflowProgram, limited: VisitLimitSource) -> Self {
        let mut lanes = BranchEstimator::new(program, limited);
        let (total, visits, notes) = lanes.estimate_run();
        let mut calls = PerCallUsage::default();
        let states = visits
            .into_iter()
            .filter_map(|(key, visits)| {
                let workflow = program.workflows.get(key.workflow)?;
                let each = calls.per_visit(key.workflow, workflow, workflow.states.get(key.state)?);
                (each.calls > 0).then(|| (key, (visits, each.multiply_by(visits))))
            })
            .collect();
        let mut totals = Self { total, states, notes };
        if let Some(root) = program.workflows.first() {
            totals.cap_totals(root, program);
        }
        totals
    }

    /// What all agents can use together, where one has a budget of its own.
    fn by_agents(&self, program: &WorkflowProgram) -> Option<UsageAmount> {
        let mut agents = BTreeMap::new();
        for (key, (_, amount)) in &self.states {
            let agent = agent_at(program, *key)?;
            let own =
                agents.entry((key.workflow, agent.id.as_str())).or_insert((agent, UsageAmount::default()));
            own.1 = own.1.sum_with(*amount);
        }
        if agents.values().all(|(agent, _)| agent.budget.is_unbounded()) {
            return None;
        }
        let each = agents.iter().map(|((workflow, _), (agent, amount))| {
            capped_by_budget(*amount, &agent.budget, per_call(&program.workflows[*workflow], agent))
        });
        Some(each.fold(UsageAmount::default(), UsageAmount::sum_with))
    }

    /// Limits and budgets of the whole run end it earlier; the call in flight is still paid.
    fn cap_totals(&mut self, root: &Workflow, program: &WorkflowProgram) {
        let agents = self.states.keys().filter_map(|key| Some((*key, agent_at(program, *key)?)));
        let each: BTreeMap<(usize, &str), &AgentSpec> =
            agents.map(|(key, agent)| ((key.workflow, agent.id.as_str()), agent)).collect();
        let mut largest = UsageAmount::default();
        for ((workflow, _), agent) in each {
            largest = largest.max_per_part(per_call(&program.workflows[workflow], agent));
        }
        let by_agents = self.by_agents(program);
        let total = &mut self.total;
        if let Some(sum) = by_agents {
            total.prompt = total.prompt.min(sum.prompt);
            total.answer = total.answer.min(sum.answer);
            total.usd = total.usd.min(sum.usd);
        }
        if let Some(most) = root.limits.max_model_calls {
            let most = u64::from(most);
            *total = total.min_per_part(largest.multiply_by(most));
            total.calls = total.calls.min(most);
        }
        if let Some(most) = root.budget.tokens.hard {
            total.prompt = total.prompt.min(most.saturating_add(largest.prompt));
            total.answer = total.answer.min(most.saturating_add(largest.answer));
        }
        if let Some(most) = root.budget.cost_usd.hard {
            total.usd = total.usd.min(most + largest.usd);
        }
    }
}

/// An agent's budget ends its calls earlier.
fn capped_by_budget(amount: UsageAmount, budget: &Budget, call: UsageAmount) -> UsageAmount {
    let tokens = budget.tokens.hard.unwrap_or(UNBOUNDED);
    UsageAmount {
        calls: amount.calls,
        prompt: amount.prompt.min(tokens.saturating_add(call.prompt)),
        answer: amount.answer.min(tokens.saturating_add(call.answer)),
        usd: amount.usd.min(budget.cost_usd.hard.map_or(f64::INFINITY, |usd| usd + call.usd)),
    }
}

fn state_cost(
    program: &WorkflowProgram,
    key: ProgramStateKey,
    calls: &mut PerCallUsage,
    declared: &EstimateTotals,
    default: &EstimateTotals,
) -> Option<StateCost> {
    let workflow = program.workflows.get(key.workflow)?;
    let state = workflow.states.get(key.state)?;
    let agent = agent_at(program, key)?;
    let (visits, amount) = declared.states.get(&key).copied().unwrap_or_default();
    let (default_visits, default_amount) = default.states.get(&key).copied().unwrap_or_default();
    let known = KnownFigures {
        answers: agent.choice.parameters.max_output_tokens.is_some(),
        prices: agent.choice.price.is_some(),
    };
    Some(StateCost {
        workflow: workflow.name.clone(),
        state: state.name.clone(),
        agent: agent.id.clone(),
        model: agent.choice.model.clone(),
        visits: worst_case_count(visits, default_visits),
        calls_per_visit: calls.per_visit(key.workflow, workflow, state).calls,
        spending: known_usage(amount, default_amount, known),
    })
}

fn known_usage(declared: UsageAmount, default: UsageAmount, known: KnownFigures) -> WorstCaseUsage {
    let dollars = |usd: f64| usd.is_finite().then_some(usd);
    WorstCaseUsage {
        calls: worst_case_count(declared.calls, default.calls),
        prompt_tokens: worst_case_count(declared.prompt, default.prompt),
        answer_tokens: known.answers.then(|| worst_case_count(declared.answer, default.answer)),
        cost_usd: known
            .prices
            .then(|| WorstCaseUsd { declared: dollars(declared.usd), default: dollars(default.usd) }),
    }
}

fn worst_case_count(declared: u64, default: u64) -> WorstCaseCount {
    let some = |number: u64| (number < UNBOUNDED).then_some(number);
    WorstCaseCount { declared: some(declared), default: some(default) }
}

fn agent_at(program: &WorkflowProgram, key: ProgramStateKey) -> Option<&AgentSpec> {
    let workflow = program.workflows.get(key.workflow)?;
    match &workflow.states.get(key.state)?.work {
        StateBody::Agent { agent, .. } => workflow.agent(*agent),
        _ => None,
    }
}

fn estimate_notes(program: &WorkflowProgram, known: KnownFigures, keys: &[ProgramStateKey]) -> Vec<String> {
    let mut notes = Vec::new();
    if keys.is_empty() {
        return notes;
    }
    if !known.answers {
        notes.push(
            "the length of answers is not limited: `parameters.max_output_tokens` sets a limit".to_owned(),
        );
    }
    if !known.prices {
        let mut models: Vec<&str> = Vec::new();
        for agent in keys.iter().filter_map(|key| agent_at(program, *key)) {
            if agent.choice.price.is_none() && !models.contains(&agent.choice.model.as_str()) {
                models.push(&agent.choice.model);
            }
        }
        notes.push(format!("no price is known for {}", models.join(", ")));
    }
    if program.workflows.first().is_some_and(|root| root.resume.is_some()) {
        notes.push("work that the user restarts through the state `resume` is counted once".to_owned());
    }
    notes
}

#[cfg(test)]
mod tests;
