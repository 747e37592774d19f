//! The facts of a run that tests can check: a fold over its events.

use serde_json::{Map, Value};

use synthdev_domain::context::MessageAuthor;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{StateBody, StateSpec, Workflow, without_item_index};
use synthdev_engine::event::RunEvent;

#[derive(Clone, Debug)]
pub struct SimulationFacts {
    pub status: RunStatus,
    pub path: Vec<String>,
    /// Visits by state, in the order of the first ones.
    pub visits: Vec<(String, u64)>,
    pub messages: Vec<SimulatedMessage>,
    /// Variables of the root at its end.
    pub data: Map<String, Value>,
    pub output: Option<Value>,
    pub error: Option<RunError>,
    /// Code and text.
    pub warnings: Vec<(String, String)>,
    /// State and line of `console.log`.
    pub logs: Vec<(String, String)>,
    pub calls: u64,
    pub usage: TokenUsage,
    pub cost_usd: Option<f64>,
}

/// One message.
#[derive(Clone, Debug)]
pub struct SimulatedMessage {
    pub context: String,
    pub author: String,
    pub text: String,
    pub private: bool,
}

impl Default for SimulationFacts {
    fn default() -> Self {
        Self {
            status: RunStatus::Running,
            path: Vec::new(),
            visits: Vec::new(),
            messages: Vec::new(),
            data: Map::new(),
            output: None,
            error: None,
            warnings: Vec::new(),
            logs: Vec::new(),
            calls: 0,
            usage: TokenUsage::default(),
            cost_usd: None,
        }
    }
}

impl SimulationFacts {
    /// Of a run of this root workflow.
    pub fn from_events(root: &Workflow, events: &[RunEvent]) -> Self {
        let mut facts = Self { data: root.variables.clone(), ..Self::default() };
        events.iter().for_each(|event| facts.apply_event(root, event));
        facts
    }

    /// Of a state of a loop's body: `each/work` counts all items, `each[3]/work` one.
    pub fn visit_count(&self, state: &str) -> u64 {
        let named = self.visits.iter().filter(|(name, _)| name == state || without_item_index(name) == state);
        named.map(|(_, count)| count).sum()
    }

    fn apply_event(&mut self, root: &Workflow, event: &RunEvent) {
        match event {
            RunEvent::RunStarted { inputs, .. } => self.data.extend(inputs.clone()),
            RunEvent::DataChanged { state, set, removed } if is_of_root(root, state) => {
                self.data.extend(set.clone());
                removed.iter().for_each(|key| drop(self.data.shift_remove(key)));
            }
            RunEvent::StateEntered { state, .. } => self.record_state_entered(state),
            RunEvent::Warning { code, text } => self.warnings.push((code.clone(), text.clone())),
            RunEvent::MessageAdded { context, author, text, private, .. } => {
                self.messages.push(SimulatedMessage {
                    context: context.clone(),
                    author: author_name(author).to_owned(),
                    text: text.clone(),
                    private: *private,
                })
            }
            RunEvent::ScriptLog { state, text } => self.logs.push((state.clone(), text.clone())),
            RunEvent::ModelCalled { .. } => self.calls += 1,
            RunEvent::Finished { status, output, error, usage, cost_usd, .. } => {
                self.status = *status;
                self.output.clone_from(output);
                self.error = error.as_deref().cloned();
                self.usage = *usage;
                self.cost_usd = *cost_usd;
            }
            _ => {}
        }
    }

    fn record_state_entered(&mut self, state: &str) {
        self.path.push(state.to_owned());
        match self.visits.iter_mut().find(|(name, _)| name == state) {
            Some((_, count)) => *count += 1,
            None => self.visits.push((state.to_owned(), 1)),
        }
    }
}

/// A state of the workflow itself: not of a child (`child/state`), a branch (`owner.branch/state`) or a loop's body
/// (`owner[3]/state`). What those write is theirs until it is merged.
fn is_of_root(root: &Workflow, state: &str) -> bool {
    let is_inside = |owner: &StateSpec| {
        let rest = state.strip_prefix(owner.name.as_str());
        matches!(owner.work, StateBody::Parallel(_) | StateBody::ForEach(_))
            && rest.is_some_and(|rest| rest.contains('/') && rest.starts_with(['/', '.']))
    };
    root.states.iter().any(|known| known.name == state) && !root.states.iter().any(is_inside)
}

fn author_name(author: &MessageAuthor) -> &str {
    match author {
        MessageAuthor::Start => "start",
        MessageAuthor::Workflow => "workflow",
        MessageAuthor::Human => "human",
        MessageAuthor::Agent(id) => id,
        MessageAuthor::Script => "script",
    }
}
