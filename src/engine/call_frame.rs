//! One workflow in progress: its own data, contexts and agents. A child's frame is on top of its parent's.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::agent_turn::AgentTurn;
use super::conversation::LiveConversation;
use super::state_visit::StateVisit;
use super::time_limit::TimeLimit;
use synthdev_domain::context::MessageAuthor;
use synthdev_domain::ids::{AgentIx, CallId, ContextIx, StateIx, WorkflowIx};
use synthdev_domain::message::ToolCall;
use synthdev_domain::workflow::{StateSpec, Workflow};

/// The last response of an agent in this run, and how its last turn ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct AgentMemory {
    pub last_response: Option<Arc<str>>,
    pub last_tool_calls: Vec<ToolCall>,
    pub last_parsing_calls: Vec<ToolCall>,
    pub continuation: Option<TurnContinuation>,
    /// Answers of its model so far.
    pub replies: u64,
}

/// A turn that ended with executed tool calls: the same input again continues it, unless the context has new entries
/// since.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TurnContinuation {
    pub input: Option<String>,
    pub context_length: usize,
}

/// `context` in conditions: {success, result, agent, toolCalls}. What a visit left becomes JSON only when a script
/// is run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum WorkResult {
    Visit { text: Option<Arc<str>>, agent: Option<String>, calls: Vec<ToolCall> },
    Value(Value),
}

impl WorkResult {
    pub fn value(&self) -> Value {
        match self {
            Self::Visit { text, agent, calls } => visit_result(text.as_deref(), agent.as_deref(), calls),
            Self::Value(value) => value.clone(),
        }
    }

    /// The text or result of the work.
    pub fn result(&self) -> Value {
        match self {
            Self::Visit { text, .. } => text.as_deref().map_or(Value::Null, Value::from),
            Self::Value(value) => value["result"].clone(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallFrame {
    /// Unique within the run; scripts of different frames never share a JavaScript runtime.
    pub id: u64,
    pub workflow: WorkflowIx,
    /// Put before a state's name in paths: `""`, or `child_workflow/`.
    pub prefix: String,
    pub data: Arc<Map<String, Value>>,
    pub version: u64,
    pub variables: Arc<Vec<String>>,
    pub conversations: Vec<LiveConversation>,
    pub agents: Vec<AgentMemory>,
    pub state: StateIx,
    /// The number of the step that entered this state; 0: none was entered.
    pub step: u32,
    /// Per state: visits made, and visits granted on top of the limit.
    pub visits: Vec<u32>,
    pub extra_visits: Vec<u32>,
    #[serde(with = "crate::optional_value")]
    pub child_result: Option<Value>,
    pub last_response: Option<Arc<str>>,
    pub last_tool_calls: Vec<ToolCall>,
    pub last_parsing_calls: Vec<ToolCall>,
    /// `context` in conditions.
    pub result: Option<WorkResult>,
    pub agent_turn: Option<AgentTurn>,
    /// A tool that can change files ran since the last snapshot.
    pub files_touched: bool,
    /// Keys of `data` that this frame set or removed; what a branch writes at its join.
    pub written_keys: BTreeSet<String>,
    /// An agent of this frame has finished a turn.
    pub agent_replied: bool,
    /// `loop` in scripts: {item, index, total, is_first, is_last} of the innermost `foreach`.
    pub item: Option<Arc<Value>>,
    /// For an item's body: `owner/` in front of its states' names is written `owner[3]/`.
    pub body: Option<(String, String)>,
    /// The inputs as given (`inputs` in scripts).
    pub inputs: Arc<Map<String, Value>>,
    /// Fires when the whole workflow has taken too long.
    pub timer: Option<CallId>,
    /// Fires when the current visit has taken too long.
    pub state_timer: TimeLimit,
    /// The current visit.
    pub visit: StateVisit,
    /// Limits for which this frame has taken `on_limit` or `catch`: once each.
    pub taken_limit_exits: BTreeSet<String>,
}

impl CallFrame {
    /// Variables first, then the inputs.
    pub fn new(
        id: u64,
        ix: WorkflowIx,
        workflow: &Workflow,
        prefix: String,
        inputs: Map<String, Value>,
    ) -> Self {
        let mut data = workflow.variables.clone();
        data.extend(inputs.clone());
        let variables = Arc::new(workflow.variables.keys().cloned().collect());
        Self { variables, inputs: Arc::new(inputs), ..Self::bare(id, ix, workflow, prefix, data) }
    }

    fn bare(id: u64, ix: WorkflowIx, workflow: &Workflow, prefix: String, data: Map<String, Value>) -> Self {
        Self {
            id,
            workflow: ix,
            prefix,
            data: Arc::new(data),
            version: 0,
            variables: Arc::default(),
            conversations: workflow.contexts.iter().map(LiveConversation::from_spec).collect(),
            agents: vec![AgentMemory::default(); workflow.agents.len()],
            state: workflow.start,
            step: 0,
            visits: vec![0; workflow.states.len()],
            extra_visits: vec![0; workflow.states.len()],
            child_result: None,
            last_response: None,
            last_tool_calls: Vec::new(),
            last_parsing_calls: Vec::new(),
            result: None,
            agent_turn: None,
            files_touched: false,
            written_keys: BTreeSet::new(),
            agent_replied: false,
            item: None,
            body: None,
            inputs: Arc::default(),
            timer: None,
            state_timer: TimeLimit::default(),
            visit: StateVisit::default(),
            taken_limit_exits: BTreeSet::new(),
        }
    }

    /// A branch: a copy of everything that its parent can see, as of now.
    pub fn for_branch(&self, id: u64, start: StateIx) -> Self {
        Self {
            id,
            state: start,
            visits: vec![0; self.visits.len()],
            extra_visits: vec![0; self.extra_visits.len()],
            agent_turn: None,
            files_touched: false,
            written_keys: BTreeSet::new(),
            agent_replied: false,
            result: None,
            timer: None,
            state_timer: TimeLimit::default(),
            visit: StateVisit::default(),
            taken_limit_exits: BTreeSet::new(),
            conversations: self.conversations.iter().map(LiveConversation::branch).collect(),
            ..self.clone()
        }
    }

    /// One item of a `foreach`: contexts and agents of its own, and only the data in `data`.
    pub fn for_item(&self, id: u64, workflow: &Workflow, start: StateIx, data: Map<String, Value>) -> Self {
        let inputs = Arc::clone(&self.inputs);
        let step = self.step;
        Self {
            inputs,
            step,
            state: start,
            ..Self::bare(id, self.workflow, workflow, self.prefix.clone(), data)
        }
    }

    pub fn path_name(&self, state: &StateSpec) -> String {
        match &self.body {
            Some((owner, shown)) if state.name.starts_with(owner) => {
                format!("{}{shown}{}", self.prefix, &state.name[owner.len()..])
            }
            _ => format!("{}{}", self.prefix, state.name),
        }
    }

    /// Timers that run beside the work.
    pub fn timers(&self) -> impl Iterator<Item = CallId> {
        self.visit.pause_timer.into_iter().chain(self.state_timer.pending_call()).chain(self.timer)
    }

    /// The timers of the current visit, to be stopped. What rests is over, too.
    pub fn take_visit_timers(&mut self) -> impl Iterator<Item = CallId> + use<> {
        self.visit.pause_timer.take().into_iter().chain(self.state_timer.cancel())
    }

    pub fn take_timers(&mut self) -> impl Iterator<Item = CallId> + use<> {
        self.take_visit_timers().chain(self.timer.take())
    }

    pub fn conversation_mut(&mut self, at: ContextIx) -> Option<&mut LiveConversation> {
        self.conversations.get_mut(at.0)
    }

    pub fn agent_memory(&mut self, at: AgentIx) -> Option<&mut AgentMemory> {
        self.agents.get_mut(at.0)
    }

    /// What scripts read as the last answer is gone: it must not be taken for a new one.
    pub fn clear_last_answer(&mut self) {
        self.last_response = None;
        self.last_tool_calls.clear();
        self.last_parsing_calls.clear();
        self.result = None;
    }

    pub fn set_data(&mut self, set: &Map<String, Value>, removed: &[String]) {
        if set.is_empty() && removed.is_empty() {
            return;
        }
        let data = Arc::make_mut(&mut self.data);
        for key in removed {
            data.shift_remove(key);
            self.written_keys.insert(key.clone());
        }
        for (key, value) in set {
            data.insert(key.clone(), value.clone());
            self.written_keys.insert(key.clone());
        }
        self.version += 1;
    }
}

/// The author of a workflow's own texts in a context.
pub fn workflow_author(workflow: &Workflow) -> MessageAuthor {
    if workflow.conversational { MessageAuthor::Human } else { MessageAuthor::Workflow }
}

fn visit_result(text: Option<&str>, agent: Option<&str>, calls: &[ToolCall]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|call| {
            let arguments: Value =
                serde_json::from_str(&call.arguments).unwrap_or_else(|_| Value::String(call.arguments.clone()));
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        })
        .collect();
    json!({"success": true, "result": text, "agent": agent, "toolCalls": calls})
}
