//! What the screen knows of one run, folded from its events.

use std::collections::{HashMap, VecDeque};

use crate::domain::context::Side;
use crate::domain::cost::{CostEntry, CostLedger, Usage};
use crate::domain::ids::{CallId, RunId, Timestamp};

/// One agent that has spoken.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentLine {
    pub name: String,
    pub side: Side,
    pub model: String,
    pub usage: Usage,
}

#[derive(Clone, Debug)]
pub struct RunView {
    pub id: RunId,
    pub workflow: String,
    pub chat: bool,
    pub state: String,
    /// States in order of their visits.
    pub path: Vec<String>,
    pub agents: Vec<AgentLine>,
    pub ledger: CostLedger,
    pub snapshot: Option<String>,
    /// What goes on now (`coder asks m-1`, `runs execute_terminal`); empty: nothing.
    pub activity: String,
    /// When it began: for the elapsed time.
    pub busy_since: Option<Timestamp>,
    /// The run waits for a text (`Question::Message`).
    pub waiting: Option<CallId>,
    /// Texts for the run that wait for its next question.
    pub outbox: VecDeque<String>,
    /// Who was asked last: name, seat, model; whose text streams.
    pub speaker: Option<(String, Side, String)>,
    /// Positions in the transcript of what is still growing.
    pub replies: HashMap<CallId, usize>,
    pub tools: HashMap<CallId, usize>,
    /// A call that sums a conversation up: what it streams is nobody's word.
    pub summing: Option<CallId>,
    /// The call that is asked again, and where that is told.
    pub retry: Option<(CallId, usize)>,
    pub over: bool,
}

impl RunView {
    pub fn new(id: RunId, workflow: &str, chat: bool) -> Self {
        Self {
            id,
            workflow: workflow.to_owned(),
            chat,
            state: String::new(),
            path: Vec::new(),
            agents: Vec::new(),
            ledger: CostLedger::default(),
            snapshot: None,
            activity: String::new(),
            busy_since: None,
            waiting: None,
            outbox: VecDeque::new(),
            speaker: None,
            replies: HashMap::new(),
            summing: None,
            tools: HashMap::new(),
            retry: None,
            over: false,
        }
    }

    /// Something goes on that a person may want to stop.
    pub fn busy(&self) -> bool {
        !self.over && self.waiting.is_none()
    }

    pub fn agent(&mut self, name: &str, side: Side) -> &mut AgentLine {
        let at = self.agents.iter().position(|agent| agent.name == name).unwrap_or_else(|| {
            self.agents.push(AgentLine {
                name: name.to_owned(),
                side,
                model: String::new(),
                usage: Usage::default(),
            });
            self.agents.len() - 1
        });
        &mut self.agents[at]
    }

    pub fn charge(&mut self, agent: &str, side: Side, model: &str, usage: Usage, cost_usd: Option<f64>) {
        let line = self.agent(agent, side);
        model.clone_into(&mut line.model);
        line.usage.add(&usage);
        self.ledger.entries.push(CostEntry {
            agent: agent.to_owned(),
            state: self.state.clone(),
            model: model.to_owned(),
            usage,
            cost_usd,
        });
    }
}
