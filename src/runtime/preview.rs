//! The last events of a long run, recorded while it is driven and stored from time to time and when it pauses, so that
//! opening the run need not wait for its journal.
//!
//! Owns what is stored, how much and how often. Refuses to be the truth: a preview that is missing, too old or damaged
//! is ignored, and the journal is read instead.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use synthdev_domain::context::ConversationSide;
use synthdev_domain::cost::{CostEntry, TokenUsage};
use synthdev_domain::ids::{SnapshotId, Timestamp};
use synthdev_engine::event::{RunEvent, StepEvent};

/// Inputs of a driven run from one stored preview to the next: the most that the preview of a killed run misses. One
/// costs as much as about twenty inputs.
pub const INPUTS: u32 = 500;
/// Rows since then that a preview may miss: with more, it is too old.
const OLDEST: u64 = 4_000;
/// Events that are kept.
pub const EVENTS: usize = 200;
/// Bytes of the stored text, at most.
pub const BYTES: usize = 256 << 10;
/// Bytes of one text in it, at most: a preview shows no more.
const TEXT: usize = 4 << 10;

/// What is stored.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct RunPreview {
    pub before: OmittedEvents,
    /// The last ones. Long texts are cut, and the path of an end is left out: lists have it.
    pub events: Vec<(Timestamp, RunEvent)>,
    /// Rows of the run that it does not know of.
    #[serde(skip)]
    pub since: u64,
}

/// What the screen has to know of the events that are left out.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct OmittedEvents {
    /// How many there are.
    pub events: u64,
    /// When the run began, or was forked from another one.
    #[serde(default)]
    pub began_at: Option<Timestamp>,
    pub chat: bool,
    /// In the order in which they first answered.
    pub agents: Vec<AgentTotals>,
    pub snapshot: Option<SnapshotId>,
    /// When the run was last resumed, if it has not paused since.
    pub since: Option<Timestamp>,
    /// Milliseconds of work before that.
    pub worked_ms: u64,
    pub last_at: Timestamp,
}

impl RunPreview {
    /// As it was stored. `None`: it is damaged, or too old.
    pub fn parse(text: &str, since: u64) -> Option<Self> {
        let preview: Self = serde_json::from_str(text).ok().filter(|_| since <= OLDEST)?;
        Some(Self { since, ..preview })
    }
}

/// What one agent used.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct AgentTotals {
    pub name: String,
    pub side: ConversationSide,
    pub model: String,
    pub usage: TokenUsage,
    /// `None`: a model has no price.
    pub cost_usd: Option<f64>,
}

/// The last events of a run that is driven. Each event costs the same, however many there were.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct RecentEvents {
    omitted: OmittedEvents,
    events: VecDeque<(Timestamp, RunEvent)>,
    /// Inputs since the last preview that became due.
    inputs: u32,
}

impl RecentEvents {
    /// As if it had received all events of a run from its start.
    pub fn from_events(events: impl IntoIterator<Item = (Timestamp, StepEvent)>) -> Self {
        let mut ring = Self::default();
        events.into_iter().for_each(|(at, event)| ring.push(at, event.event));
        ring
    }

    /// Takes what happened at one moment.
    pub fn record_events(&mut self, at: Timestamp, events: &[StepEvent]) {
        events.iter().for_each(|event| self.push(at, without_path(event)));
    }

    /// Counts an input; returns whether it is time to store a preview.
    pub fn is_due(&mut self) -> bool {
        self.inputs = (self.inputs + 1) % INPUTS;
        self.inputs == 0
    }

    /// The text to store; `None` if nothing was left out, as such a run is read as fast.
    pub fn to_preview_json(&self) -> Option<String> {
        let mut texts = Vec::new();
        let mut room = BYTES;
        for event in self.events.iter().rev() {
            let text = serde_json::to_string(event).ok()?;
            // the comma, and the rest of the surrounding JSON
            let Some(left) = room.checked_sub(text.len() + 1) else { break };
            room = left;
            texts.push(text);
        }
        let left_out = self.events.len() - texts.len();
        if texts.is_empty() || left_out == 0 && self.omitted.events == 0 {
            return None;
        }
        let mut before = self.omitted.clone();
        self.events.iter().take(left_out).for_each(|(at, event)| before.add_event(*at, event));
        let before = serde_json::to_string(&before).ok()?;
        texts.reverse();
        let text = format!("{{\"before\":{before},\"events\":[{}]}}", texts.join(","));
        (text.len() <= BYTES).then_some(text)
    }

    /// Takes one event.
    pub fn push_event(&mut self, at: Timestamp, event: StepEvent) {
        self.push(at, event.event);
    }

    fn push(&mut self, at: Timestamp, mut event: RunEvent) {
        shorten_event(&mut event);
        if self.events.len() >= EVENTS
            && let Some((at, event)) = self.events.pop_front()
        {
            self.omitted.add_event(at, &event);
        }
        self.events.push_back((at, event));
    }
}

impl OmittedEvents {
    fn add_event(&mut self, at: Timestamp, event: &RunEvent) {
        self.events += 1;
        self.began_at.get_or_insert(at);
        match event {
            RunEvent::Forked { .. } | RunEvent::Rewound { fork_of: Some(_), .. } => self.began_at = Some(at),
            RunEvent::RunStarted { chat, .. } => {
                self.chat = *chat;
                self.since = Some(at);
            }
            RunEvent::Resumed { .. } => {
                // a process that died left the time open
                self.pause_at(self.last_at);
                self.since = Some(at);
            }
            RunEvent::Finished { .. } => self.pause_at(at),
            RunEvent::SnapshotTaken { id, .. } => self.snapshot = Some(id.clone()),
            RunEvent::Replied { agent, side, model, usage, cost_usd, .. }
            | RunEvent::ContextSummarized { agent, side, model, usage, cost_usd, .. } => {
                self.add_charge(agent, *side, model, usage, *cost_usd);
            }
            RunEvent::ModelFailed { spent, .. } | RunEvent::ModelStopped { spent, .. } => {
                for CostEntry { agent, model, usage, cost_usd, .. } in spent {
                    self.add_charge(agent, ConversationSide::Assistant, model, usage, *cost_usd);
                }
            }
            _ => {}
        }
        self.last_at = self.last_at.max(at);
    }

    fn pause_at(&mut self, at: Timestamp) {
        if let Some(since) = self.since.take() {
            self.worked_ms += u64::try_from(at.0.saturating_sub(since.0)).unwrap_or(0);
        }
    }

    fn add_charge(
        &mut self,
        name: &str,
        side: ConversationSide,
        model: &str,
        usage: &TokenUsage,
        cost_usd: Option<f64>,
    ) {
        let Some(sum) = self.agents.iter_mut().find(|sum| sum.name == name) else {
            let (name, model, usage) = (name.to_owned(), model.to_owned(), *usage);
            return self.agents.push(AgentTotals { name, side, model, usage, cost_usd });
        };
        sum.usage.add(usage);
        sum.cost_usd = sum.cost_usd.zip(cost_usd).map(|(sum, one)| sum + one);
        if sum.model != model {
            model.clone_into(&mut sum.model);
        }
    }
}

/// The path of a long run's end is as long as the run.
fn without_path(event: &RunEvent) -> RunEvent {
    let RunEvent::Finished { status, output, error, snapshot, usage, cost_usd, .. } = event else {
        return event.clone();
    };
    RunEvent::Finished {
        status: *status,
        output: output.clone(),
        error: error.clone(),
        path: Vec::new(),
        snapshot: snapshot.clone(),
        usage: *usage,
        cost_usd: *cost_usd,
    }
}

/// What can be long is cut: two hundred results of tools would otherwise be held as well as written.
fn shorten_event(event: &mut RunEvent) {
    match event {
        RunEvent::Finished { path, .. } => *path = Vec::new(),
        RunEvent::MessageAdded { text, .. }
        | RunEvent::ContextSummarized { text, .. }
        | RunEvent::ScriptLog { text, .. }
        | RunEvent::ToolFinished { content: text, .. } => truncate_text(text),
        RunEvent::Replied { text, reasoning, tool_calls, .. } => {
            truncate_text(text);
            truncate_text(reasoning);
            tool_calls.iter_mut().for_each(|call| truncate_text(&mut call.arguments));
        }
        RunEvent::ToolStarted { arguments: value, .. }
        | RunEvent::ApprovalAsked { arguments: value, .. }
        | RunEvent::Decided { arguments: value, .. }
        | RunEvent::Stored { value, .. } => shorten_value(value),
        RunEvent::RunStarted { inputs: values, .. }
        | RunEvent::ChildStarted { inputs: values, .. }
        | RunEvent::DataChanged { set: values, .. } => values.values_mut().for_each(shorten_value),
        _ => {}
    }
}

fn shorten_value(value: &mut Value) {
    match value {
        Value::String(text) => truncate_text(text),
        Value::Array(items) => items.iter_mut().for_each(shorten_value),
        Value::Object(fields) => fields.values_mut().for_each(shorten_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn truncate_text(text: &mut String) {
    if text.len() > TEXT {
        text.truncate(text.floor_char_boundary(TEXT));
        text.push('…');
        text.shrink_to_fit();
    }
}

#[cfg(test)]
mod tests;
