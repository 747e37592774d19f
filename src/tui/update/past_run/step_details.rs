//! One step of a run: its messages and actions, its variables with what changed, and its cost. Keeps nothing of the
//! rest of the run.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::PastRunBuilder;
use crate::json_text::value_text;
use crate::run_view::common_data::RunCommonData;
use crate::text::{
    fit_to_columns, format_count, format_dollars, format_duration, format_thousands, one_line,
};
use crate::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_domain::cost::{CostLedger, TokenUsage};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_service::event_description::{EventKind, describe_event};
use synthdev_service::run_events::{RunEvent, StepEvent};

/// Columns of a variable's value.
const VALUE: usize = 300;
/// Variables that are shown.
const VARIABLES: usize = 500;

/// Takes the events of a run and keeps those of one step.
#[derive(Debug)]
pub struct StepDetailsBuilder {
    wanted_step: u32,
    transcript: PastRunBuilder,
    /// Files of the project were stored at some time, or several things happened at once.
    files: bool,
    /// The entry that begins every run is the first step's.
    skip_first_entry: bool,
    questions: Vec<String>,
    data: RunCommonData,
    data_before: Option<RunCommonData>,
    /// The state was left: what changes from now on is another one's.
    state_left: bool,
    /// The run ended in it.
    run_ended: bool,
    state: String,
    visit: u32,
    agent: Option<String>,
    at: Timestamp,
    duration_ms: Option<u64>,
    model_costs: BTreeMap<(String, String), (TokenUsage, Option<f64>, u32)>,
}

impl StepDetailsBuilder {
    /// `agents`: those of the workflow in their order.
    pub fn new(run: &RunId, wanted: u32, agents: &[String]) -> Self {
        Self {
            wanted_step: wanted,
            transcript: PastRunBuilder::new(run).with_agents(agents),
            files: false,
            skip_first_entry: wanted != 1,
            questions: Vec::new(),
            data: RunCommonData::default(),
            data_before: None,
            state_left: false,
            run_ended: false,
            state: String::new(),
            visit: 0,
            agent: None,
            at: Timestamp(0),
            duration_ms: None,
            model_costs: BTreeMap::new(),
        }
    }

    pub fn apply_event(&mut self, at: Timestamp, step_event: StepEvent) {
        let StepEvent { at_step, event } = step_event;
        let own = at_step == self.wanted_step;
        self.files |= matches!(event, RunEvent::SnapshotTaken { .. } | RunEvent::Forked { .. });
        if let RunEvent::StateEntered { state, visit, agent, .. } = &event
            && own
        {
            (self.state, self.visit, self.agent, self.at) = (state.clone(), *visit, agent.clone(), at);
            self.data_before = Some(self.data.clone());
        }
        let leaves =
            own && matches!(event, RunEvent::Transitioned { .. } | RunEvent::Caught { target: Some(_), .. });
        let ends = matches!(event, RunEvent::Finished { .. }) && self.data_before.is_some();
        self.run_ended |= ends && own;
        if (leaves || ends) && !self.state_left {
            self.duration_ms = u64::try_from(at.0.saturating_sub(self.at.0)).ok();
        }
        self.state_left |= leaves || ends;
        if !self.state_left {
            self.data.apply_event(&event);
        }
        if own {
            self.record_costs(&event);
            self.record_question(at, &event);
        }
        if own || matches!(event, RunEvent::RunStarted { .. }) {
            self.transcript.apply_event(at, event);
        }
    }

    /// Whether anything may be known of the project's files.
    pub fn has_files(&self) -> bool {
        self.files
    }

    /// `None`: the run has no such step. `variables` are those that the workflow begins with; `files` says what changed
    /// in the project.
    pub fn into_report(
        mut self,
        variables: &Map<String, Value>,
        files: &str,
    ) -> Option<(String, Vec<TranscriptItem>)> {
        self.data_before.as_ref()?;
        let agent = self.agent.as_ref().map(|agent| format!(" ({})", one_line(agent))).unwrap_or_default();
        let took = self.duration_ms.map(|ms| format!(" · {}", format_duration(ms))).unwrap_or_default();
        let title =
            format!("step {}: {} #{}{agent}{took}", self.wanted_step, one_line(&self.state), self.visit);
        let mut items = vec![TranscriptItem::rule("what was said and done")];
        items.extend(self.message_items());
        items.push(TranscriptItem::rule("variables"));
        items.push(self.changed_variables(variables));
        items.push(TranscriptItem::rule("files"));
        items.push(TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", files)));
        items.push(TranscriptItem::rule("cost"));
        items.push(TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &self.cost())));
        Some((title, items))
    }

    fn message_items(&mut self) -> Vec<TranscriptItem> {
        let folding = std::mem::replace(&mut self.transcript, PastRunBuilder::new(&RunId::from("")));
        let past = folding.into_past_run(CostLedger::default());
        let (mut items, mut left_out) = (past.items, past.left_out_count);
        if let Some(TranscriptItem::Block(end)) = items.last_mut().filter(|_| self.run_ended) {
            // the figures below it would be the run's, of which only this step was read
            *end = end.clone().without_footers();
        }
        if self.skip_first_entry {
            if left_out > 0 {
                left_out -= 1;
            } else if !items.is_empty() {
                items.remove(0);
            }
        }
        if left_out > 0 {
            let text = format!("… {} before these", format_count(left_out as u64, "message or call"));
            items.insert(0, TranscriptItem::note_item(&text));
        }
        items.extend(self.questions.drain(..).map(|text| TranscriptItem::line(ItemTone::Human, &text)));
        if items.is_empty() {
            items.push(TranscriptItem::note_item("nothing: no model was asked and no tool was used"));
        }
        items
    }

    fn record_question(&mut self, at: Timestamp, event: &RunEvent) {
        let words = describe_event(at, event);
        if matches!(words.kind, EventKind::Question | EventKind::Approval) {
            self.questions.push(format!("{} {}", words.mark(), one_line(&words.line())));
        }
    }

    fn record_costs(&mut self, event: &RunEvent) {
        let mut add = |agent: &str, model: &str, usage: &TokenUsage, cost_usd: Option<f64>| {
            let known = self.model_costs.entry((agent.to_owned(), model.to_owned()));
            let sum = known.or_insert((TokenUsage::default(), Some(0.0), 0));
            sum.0.add(usage);
            sum.1 = sum.1.zip(cost_usd).map(|(sum, one)| sum + one);
            sum.2 += 1;
        };
        match event {
            RunEvent::Replied { agent, model, usage, cost_usd, .. }
            | RunEvent::ContextSummarized { agent, model, usage, cost_usd, .. } => {
                add(agent, model, usage, *cost_usd);
            }
            RunEvent::ModelFailed { spent, .. } | RunEvent::ModelStopped { spent, .. } => {
                spent.iter().for_each(|entry| add(&entry.agent, &entry.model, &entry.usage, entry.cost_usd));
            }
            _ => {}
        }
    }

    fn cost(&self) -> String {
        let line =
            |((agent, model), (usage, cost, calls)): (&(String, String), &(TokenUsage, Option<f64>, u32))| {
                let (agent, model) = (one_line(agent), one_line(model));
                let calls = format_count(u64::from(*calls), "call");
                format!(
                    "{agent} · {model} · {calls} · {} tokens · {}",
                    format_thousands(usage.total()),
                    format_dollars(*cost)
                )
            };
        let lines: Vec<String> = self.model_costs.iter().map(line).collect();
        if lines.is_empty() { "no model was asked".to_owned() } else { lines.join("\n") }
    }

    /// `● name: value`, where it is another one than before the step.
    fn changed_variables(&mut self, variables: &Map<String, Value>) -> TranscriptItem {
        self.data.set_initial(variables);
        let mut before = self.data_before.take().unwrap_or_default();
        before.set_initial(variables);
        let old = |scope: &str, key: &str| {
            before.scope_data().find(|(name, _)| *name == scope).and_then(|(_, map)| map.get(key))
        };
        let mut lines = Vec::new();
        for (scope, map) in self.data.scope_data() {
            if !scope.is_empty() && !map.is_empty() {
                lines.push(format!("{}: what it changed", one_line(scope.trim_end_matches('/'))));
            }
            for (key, value) in map {
                let was = old(scope, key);
                let mark = if was == Some(value) { ' ' } else { '●' };
                let was =
                    was.filter(|was| *was != value).map(|was| format!("   (was {})", short_value_text(was)));
                lines.push(format!(
                    "{mark} {}: {}{}",
                    one_line(key),
                    short_value_text(value),
                    was.unwrap_or_default()
                ));
            }
        }
        let root = self.data.scope_data().find(|(scope, _)| scope.is_empty()).map(|(_, map)| map);
        let gone = before.scope_data().filter(|(scope, _)| scope.is_empty()).flat_map(|(_, map)| map.keys());
        let gone = gone.filter(|key| root.is_none_or(|map| !map.contains_key(*key)));
        lines.extend(gone.map(|key| format!("● {}: removed", one_line(key))));
        let more = lines.len().saturating_sub(VARIABLES);
        lines.truncate(VARIABLES);
        if more > 0 {
            lines.push(format!("… {} more", format_thousands(more as u64)));
        }
        let text = if lines.is_empty() { "common_data is empty".to_owned() } else { lines.join("\n") };
        TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &text))
    }
}

fn short_value_text(value: &Value) -> String {
    fit_to_columns(&one_line(&value_text(value)), VALUE).into_owned()
}
