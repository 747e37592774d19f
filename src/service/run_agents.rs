//! The agents that the agents of a run have started, each below the one that started it.
//!
//! Owns what a list shows of them, and how a long list finds them: the search index names the runs that start agents, and
//! only the journals of these are read. Refuses to guess: an agent whose end is not in the journal still runs.

use synthdev_domain::agent_team::{SPAWN_AGENT, SpawnedAgentStatus};
use synthdev_domain::cost::CostLedger;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::SearchQuery;
use synthdev_engine::event::{RunEvent, StepEvent};
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

/// Levels of JSON that every reader takes.
const LEVELS: usize = 24;

/// An agent that another one has started.
#[derive(Clone, PartialEq, Debug)]
pub struct StartedAgent {
    pub name: String,
    pub role: String,
    pub status: SpawnedAgentStatus,
    pub started: Timestamp,
    /// Until its end; while it runs, until the last event of the run.
    pub duration_ms: u64,
    /// Of its own calls, without those of agents below it.
    pub tokens: u64,
    /// `None`: a model has no price.
    pub cost_usd: Option<f64>,
    /// The agents that it has started.
    pub agents: Vec<StartedAgent>,
}

/// Folds the events of a run into its agents.
#[derive(Clone, Debug, Default)]
pub struct StartedAgentsBuilder {
    /// In the order in which they began.
    found: Vec<FoundAgent>,
    last_at: Timestamp,
}

#[derive(Clone, Debug)]
struct FoundAgent {
    /// What the path names of its states begin with.
    prefix: String,
    agent: StartedAgent,
    ended: Option<Timestamp>,
}

impl StartedAgentsBuilder {
    pub fn apply_event(&mut self, at: Timestamp, event: &StepEvent) {
        self.last_at = self.last_at.max(at);
        match &event.event {
            RunEvent::AgentSpawned { state, agent, role, .. } => {
                let prefix = format!("{state}/{agent}/");
                // after a rewind an agent of the same name takes the place of the discarded one
                self.found.retain(|known| !known.prefix.starts_with(&prefix));
                let agent = StartedAgent {
                    name: agent.clone(),
                    role: role.clone(),
                    status: SpawnedAgentStatus::Running,
                    started: at,
                    duration_ms: 0,
                    tokens: 0,
                    cost_usd: Some(0.0),
                    agents: Vec::new(),
                };
                self.found.push(FoundAgent { prefix, agent, ended: None });
            }
            RunEvent::AgentEnded { state, agent, status, .. } => {
                let prefix = format!("{state}/{agent}/");
                if let Some(known) = self.found.iter_mut().find(|known| known.prefix == prefix) {
                    (known.agent.status, known.ended) = (*status, Some(at));
                }
            }
            _ => {}
        }
    }

    /// The agents with what they have used, as a tree.
    pub fn into_agents(mut self, ledger: &CostLedger) -> Vec<StartedAgent> {
        if self.found.is_empty() {
            return Vec::new();
        }
        for known in &mut self.found {
            let ms = known.ended.unwrap_or(self.last_at).0.saturating_sub(known.agent.started.0);
            known.agent.duration_ms = u64::try_from(ms).unwrap_or(0);
        }
        for entry in ledger.entries.iter() {
            let Some(owner) = self.owner_of(&entry.state, self.found.len()) else { continue };
            let agent = &mut self.found[owner].agent;
            agent.tokens += entry.usage.total();
            agent.cost_usd = agent.cost_usd.zip(entry.cost_usd).map(|(sum, one)| sum + one);
        }
        // an agent begins after the one that starts it: from the last one on, each is complete when it moves up
        let mut tops = Vec::new();
        while let Some(FoundAgent { prefix, mut agent, .. }) = self.found.pop() {
            agent.agents.reverse();
            match self.owner_of(&prefix, self.found.len()).filter(|_| depth_of(&prefix) < LEVELS) {
                Some(parent) => self.found[parent].agent.agents.push(agent),
                None => tops.push(agent),
            }
        }
        tops.reverse();
        tops
    }

    /// The innermost of the first agents whose state this is.
    fn owner_of(&self, state: &str, count: usize) -> Option<usize> {
        let owners = self.found.iter().take(count).enumerate();
        let owners = owners.filter(|(_, known)| state.starts_with(&known.prefix));
        owners.max_by_key(|(_, known)| known.prefix.len()).map(|(at, _)| at)
    }
}

fn depth_of(prefix: &str) -> usize {
    prefix.matches('/').count() / 2
}

/// The agents of one run. A run that starts none costs a look into the search index.
///
/// # Errors
/// The journal of a run with agents cannot be read.
pub fn find_started_agents(handle: &RuntimeHandle, run: &RunId) -> Result<Vec<StartedAgent>, StoreError> {
    let query =
        SearchQuery { text: format!("\"{SPAWN_AGENT}\""), limit: 1, run: Some(run.clone()), workflow: None };
    // without an index the journal decides
    if handle.search(&query, 0).is_ok_and(|places| places.is_empty()) {
        return Ok(Vec::new());
    }
    let tell = |agents: &mut StartedAgentsBuilder, at, event: StepEvent| agents.apply_event(at, &event);
    let (record, agents) = handle.replay_events(run.as_str(), StartedAgentsBuilder::default, tell)?;
    Ok(agents.into_agents(&record.ledger))
}
