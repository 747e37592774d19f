//! The steps of a run with what happened in each, folded from its events one by one.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::RunStatus;
use synthdev_service::run_events::{RunEvent, StepEvent};

/// A state that the run entered.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct StepLine {
    /// From 1, as `runs steps` counts.
    pub step: u32,
    pub at: Timestamp,
    /// Milliseconds; `None`: it was not left.
    pub duration_ms: Option<u64>,
    /// A long run has few names for many steps: equal ones are one text.
    pub state: Arc<str>,
    pub visit: u32,
    pub agent: Option<Arc<str>>,
    pub messages: u32,
    pub tools: u32,
    /// Variables that it set or removed.
    pub changed_variables: u32,
    pub tokens: u64,
    /// `None`: a price is not known.
    pub cost_usd: Option<f64>,
    /// What went wrong in it, last.
    pub error_text: Option<Box<str>>,
    /// Why the run was paused in it, last: a question that was put off, or what it waited for.
    pub pause_text: Option<Box<str>>,
}

/// Folds events into steps.
#[derive(Clone, Debug, Default)]
pub struct StepListBuilder {
    steps: Vec<StepLine>,
    /// States that were not left, with the places of their steps.
    open_steps: BTreeMap<Arc<str>, usize>,
    names: BTreeSet<Arc<str>>,
}

impl StepListBuilder {
    pub fn apply_event(&mut self, at: Timestamp, step_event: &StepEvent) {
        let StepEvent { at_step: step, event } = step_event;
        if let RunEvent::StateEntered { state, visit, agent, .. } = event {
            let (state, agent) =
                (self.intern_name(state), agent.as_ref().map(|agent| self.intern_name(agent)));
            self.open_steps.insert(Arc::clone(&state), self.steps.len());
            let line = StepLine { step: *step, at, state, visit: *visit, agent, ..StepLine::default() };
            return self.steps.push(StepLine { cost_usd: Some(0.0), ..line });
        }
        if let RunEvent::Finished { status, error, .. } = event {
            let error = error.as_deref().map(|error| (error.state.as_deref(), error.title.as_str()));
            return self.on_run_finished(at, *status, error);
        }
        self.close_inside(at, event);
        let Some(line) = (*step as usize).checked_sub(1).and_then(|at| self.steps.get_mut(at)) else {
            return;
        };
        match event {
            RunEvent::Transitioned { .. } | RunEvent::Caught { target: Some(_), .. } => {
                self.open_steps.remove(&line.state);
                line.record_left(at);
            }
            // after a rewind the run is before the state
            RunEvent::DataChanged { set, removed, .. } => {
                line.changed_variables = line
                    .changed_variables
                    .saturating_add(u32::try_from(set.len() + removed.len()).unwrap_or(0));
            }
            RunEvent::Stored { .. } => line.changed_variables += 1,
            RunEvent::MessageAdded { .. } => line.messages += 1,
            RunEvent::Replied { usage, cost_usd, .. }
            | RunEvent::ContextSummarized { usage, cost_usd, .. } => {
                line.add_usage(usage, *cost_usd);
            }
            RunEvent::ModelFailed { spent, reason, .. } => {
                spent.iter().for_each(|entry| line.add_usage(&entry.usage, entry.cost_usd));
                line.error_text = Some(reason.as_str().into());
            }
            RunEvent::ModelStopped { spent, .. } => {
                spent.iter().for_each(|entry| line.add_usage(&entry.usage, entry.cost_usd));
            }
            RunEvent::ToolStarted { .. } => line.tools += 1,
            RunEvent::Retrying { error, .. } => line.error_text = Some(error.title.as_str().into()),
            _ => {}
        }
        if let RunEvent::Caught { error, .. } = event {
            line.error_text = Some(error.title.as_str().into());
        }
    }

    /// The last state of a called workflow, of a branch or of a started agent has no transition: it ends with them.
    fn close_inside(&mut self, at: Timestamp, event: &RunEvent) {
        let parent = |state: &str| state.rfind('/').map_or(0, |end| end + 1);
        let prefixes = match event {
            RunEvent::ChildFinished { state, workflow, .. } => {
                vec![format!("{}{workflow}/", &state[..parent(state)])]
            }
            RunEvent::BranchFinished { state, branch, .. } if branch.starts_with('[') => {
                vec![format!("{state}{branch}/")]
            }
            RunEvent::BranchFinished { state, branch, .. } => vec![format!("{state}.{branch}/")],
            RunEvent::AgentEnded { state, agent, .. } => vec![format!("{state}/{agent}/")],
            RunEvent::Joined { state, .. } => vec![format!("{state}["), format!("{state}.")],
            _ => return,
        };
        for prefix in prefixes {
            let inside =
                self.open_steps.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
            let inside = inside.take_while(|(state, _)| state.starts_with(&prefix));
            let ended: Vec<(Arc<str>, usize)> =
                inside.map(|(state, step)| (Arc::clone(state), *step)).collect();
            for (state, step) in ended {
                self.open_steps.remove(&state);
                self.steps[step].record_left(at);
            }
        }
    }

    pub fn into_steps(self) -> Vec<StepLine> {
        self.steps
    }

    fn intern_name(&mut self, name: &str) -> Arc<str> {
        if let Some(known) = self.names.get(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = Arc::from(name);
        self.names.insert(Arc::clone(&name));
        name
    }

    fn on_run_finished(&mut self, at: Timestamp, status: RunStatus, error: Option<(Option<&str>, &str)>) {
        if let Some((state, title)) = error {
            let named =
                state.and_then(|state| self.steps.iter_mut().rev().find(|line| *line.state == *state));
            let line = match named {
                Some(line) => Some(line),
                None => self.steps.last_mut(),
            };
            match line {
                // to wait is no failure
                Some(line) if status == RunStatus::Paused => line.pause_text = Some(title.into()),
                Some(line) => line.error_text = Some(title.into()),
                None => {}
            }
        }
        for step in std::mem::take(&mut self.open_steps).into_values() {
            self.steps[step].record_left(at);
        }
    }
}

impl StepLine {
    /// The sign of the step, as lists of runs have it, and what is said of it.
    pub fn outcome(&self) -> Option<(RunStatus, &str)> {
        let failed = self.error_text.as_deref().map(|text| (RunStatus::Failed, text));
        failed.or_else(|| self.pause_text.as_deref().map(|text| (RunStatus::Paused, text)))
    }

    fn record_left(&mut self, at: Timestamp) {
        let took = u64::try_from(at.0.saturating_sub(self.at.0)).unwrap_or(0);
        self.duration_ms.get_or_insert(took);
    }

    fn add_usage(&mut self, usage: &TokenUsage, cost_usd: Option<f64>) {
        self.tokens += usage.total();
        self.cost_usd = self.cost_usd.zip(cost_usd).map(|(sum, one)| sum + one);
    }
}
