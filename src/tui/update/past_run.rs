//! The past of a run through the same eyes as its present: events become entries and facts.

pub mod call_details;
pub mod step_details;

use super::run_events;
use crate::model::UiModel;
use crate::past_run::{PastRun, SHOWN};
use crate::run_view::RunView;
use crate::text::one_line;
use crate::transcript::item::TranscriptItem;
use synthdev_domain::cost::{CostEntry, CostLedger, TokenUsage};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunSummary;
use synthdev_service::run_events::{OmittedEvents, RunEvent, RunPreview};

/// A run's events become a past, one by one. No more is kept than the screen shows, however many there are.
#[derive(Debug)]
pub struct PastRunBuilder {
    run: RunId,
    scratch_model: UiModel,
    /// Entries that were forgotten.
    left_out_count: usize,
    /// Only entries before this one are kept; a tool may end a while after it.
    before_entry: Option<usize>,
    /// Dropped items that the caller has not taken yet, if it takes them.
    forgotten_items: Option<Vec<TranscriptItem>>,
    /// Agents in the order of the workflow: their looks are those of the live run.
    declared_agents: Vec<String>,
}

/// Entries that are kept while events come: a tool may still end that began long before.
const KEPT: usize = 2 * SHOWN;

impl PastRunBuilder {
    pub fn new(run: &RunId) -> Self {
        Self {
            run: run.clone(),
            scratch_model: UiModel::default(),
            left_out_count: 0,
            before_entry: None,
            forgotten_items: None,
            declared_agents: Vec::new(),
        }
    }

    /// The agents of the workflow in the order in which it declares them.
    #[must_use]
    pub fn with_agents(self, agents: &[String]) -> Self {
        Self { declared_agents: agents.to_vec(), ..self }
    }

    /// For the last entries before one.
    pub fn before_entry(run: &RunId, before: usize) -> Self {
        Self { before_entry: Some(before), ..Self::new(run) }
    }

    /// Keeps dropped items for `take_forgotten`.
    #[must_use]
    pub fn keep_forgotten(self) -> Self {
        Self { forgotten_items: Some(Vec::new()), ..self }
    }

    /// The entries that were forgotten since this was asked last.
    pub fn take_forgotten(&mut self) -> Vec<TranscriptItem> {
        self.forgotten_items.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn apply_event(&mut self, at: Timestamp, event: RunEvent) {
        let seen = self.left_out_count + self.scratch_model.transcript.len();
        if self.before_entry.is_some_and(|before| seen >= before.saturating_add(SHOWN)) {
            return;
        }
        self.scratch_model.now = self.scratch_model.now.max(at);
        if matches!(event, RunEvent::ApprovalAsked { .. }) {
            // it was waited for: that is in the chart and the times, and asks nothing any more
            self.scratch_model.runs.iter_mut().for_each(|view| view.apply_event(at, &event));
            return;
        }
        run_events::on_published_event(&mut self.scratch_model, &self.run, at, event);
        let agents = std::mem::take(&mut self.declared_agents);
        match self.scratch_model.runs.first_mut() {
            Some(view) => view.roster.add_all(agents.iter().map(String::as_str)),
            None => self.declared_agents = agents,
        }
        if self.scratch_model.transcript.len() >= 2 * KEPT {
            self.forget_oldest();
        }
    }

    /// `ledger` is the cost of the run, with that of steps that a rewind discarded.
    pub fn into_past_run(self, ledger: CostLedger) -> PastRun {
        let nothing = || RunView::new(self.run, "", false);
        let PastRun { mut view, items, left_out_count: left_out, .. } =
            folded_run(self.scratch_model, nothing);
        let sums = ledger.group_costs_by(|entry| &entry.agent);
        for line in &mut view.agents {
            line.usage = TokenUsage::default();
            let own = sums.iter().filter(|(agent, ..)| one_line(agent) == line.name);
            own.for_each(|(_, usage, _)| line.usage.add(usage));
        }
        view.session_costs = CostLedger::default();
        view.set_ledger(ledger);
        view.collapse_ledger();
        let left_out_count = left_out + self.left_out_count;
        PastRun { view, items, left_out_count, is_outdated: false, definition_note: None }
    }

    /// The last entries before the one that `before` names.
    pub fn items(self) -> Vec<TranscriptItem> {
        let (first, mut items) = self.scratch_model.transcript.into_last(2 * KEPT);
        let first = self.left_out_count + first;
        items.truncate(self.before_entry.unwrap_or(usize::MAX).saturating_sub(first));
        items.split_off(items.len().saturating_sub(SHOWN))
    }

    /// Items that were kept, up to `before_entry`.
    pub fn remaining_items(self) -> Vec<TranscriptItem> {
        let (_, mut items) = self.scratch_model.transcript.into_last(usize::MAX);
        items.truncate(self.before_entry.unwrap_or(usize::MAX).saturating_sub(self.left_out_count));
        items
    }

    fn forget_oldest(&mut self) {
        let first = self.scratch_model.transcript.len() - KEPT;
        if let Some(forgotten) = &mut self.forgotten_items {
            forgotten.extend(self.scratch_model.transcript.items().take(first).cloned());
        }
        self.scratch_model.transcript.forget_first(first);
        self.left_out_count += first;
        for view in &mut self.scratch_model.runs {
            view.remap_positions(|at| at.checked_sub(first));
            // only the sums are looked at
            view.collapse_ledger();
            view.session_costs = CostLedger::default();
        }
    }
}

/// Folds all of a run's events.
pub fn fold_events(run: &RunId, events: Vec<(Timestamp, RunEvent)>, ledger: CostLedger) -> PastRun {
    let mut folding = PastRunBuilder::new(run);
    events.into_iter().for_each(|(at, event)| folding.apply_event(at, event));
    folding.into_past_run(ledger)
}

/// The end of a run from its stored preview: the time depends on the preview's length, not the run's.
/// `agents`: those of the workflow in their order.
pub fn from_preview(summary: &RunSummary, preview: RunPreview, agents: &[String]) -> PastRun {
    let RunPreview { before, events, since } = preview;
    let mut scratch = UiModel {
        now: before.last_at,
        runs: vec![view_before_events(summary, before, agents)],
        ..UiModel::default()
    };
    let ended = matches!(events.last(), Some((_, RunEvent::Finished { .. })));
    let last = events.len();
    for (number, (at, mut event)) in (1..).zip(events) {
        scratch.now = scratch.now.max(at);
        if let RunEvent::Finished { path, .. } = &mut event
            && number == last
        {
            *path = summary.progress.path.iter().map(ToString::to_string).collect();
        }
        run_events::on_published_event(&mut scratch, &summary.id, at, event);
    }
    let mut past = folded_run(scratch, || RunView::new(summary.id.clone(), &summary.workflow, false));
    let view = &mut past.view;
    if !ended {
        view.path.clear();
        summary.progress.path.iter().for_each(|state| view.add_to_path(&one_line(state)));
    }
    if let (true, Some(state)) = (view.state.is_empty(), view.path.last()) {
        view.state.clone_from(state);
    }
    // the cost of steps that a rewind discarded
    let (all, told) = (&summary.progress, view.ledger.usage());
    if all.usage.total() > told.total() {
        let usage = TokenUsage {
            prompt: all.usage.prompt.saturating_sub(told.prompt),
            completion: all.usage.completion.saturating_sub(told.completion),
            cached: all.usage.cached.saturating_sub(told.cached),
            written: all.usage.written.saturating_sub(told.written),
            reasoning: all.usage.reasoning.saturating_sub(told.reasoning),
        };
        let cost_usd = all.cost_usd.zip(view.ledger.cost_usd()).map(|(all, told)| all - told);
        let entry = CostEntry { usage, cost_usd, ..CostEntry::default() };
        view.pane_data.run_costs.add_entry(&entry);
        view.ledger.entries.push(&entry);
    }
    view.session_costs = CostLedger::default();
    past.is_outdated = since > 0;
    past
}

/// A run at the beginning of its preview.
fn view_before_events(summary: &RunSummary, before: OmittedEvents, agents: &[String]) -> RunView {
    let mut view = RunView::new(summary.id.clone(), &one_line(&summary.workflow), before.chat);
    view.roster.add_all(agents.iter().map(String::as_str));
    for sum in before.agents {
        let line = view.agent_mut(&one_line(&sum.name), sum.side);
        line.model = one_line(&sum.model);
        line.usage = sum.usage;
        let (agent, model) = (line.name.clone(), line.model.clone());
        let entry =
            CostEntry { agent, model, usage: sum.usage, cost_usd: sum.cost_usd, ..CostEntry::default() };
        view.pane_data.run_costs.add_entry(&entry);
        view.ledger.entries.push(&entry);
    }
    if before.snapshot.is_some() {
        view.snapshot_facts.assume_changed_files();
    }
    view.snapshot = before.snapshot.map(|id| one_line(&id.as_str().chars().take(8).collect::<String>()));
    (view.busy_since, view.worked_ms, view.last_event_at) = (before.since, before.worked_ms, before.last_at);
    view.times.begin_later(before.began_at.unwrap_or(summary.started), view.last_event_at);
    // its next state is not its first
    view.path.extend(summary.progress.path.first().map(|state| one_line(state)));
    view
}

/// The view that results from the events, and the last entries.
fn folded_run(mut scratch: UiModel, nothing: impl FnOnce() -> RunView) -> PastRun {
    let mut view = scratch.runs.pop().unwrap_or_else(nothing);
    let (left_out, items) = scratch.transcript.into_last(SHOWN);
    view.remap_positions(|at| at.checked_sub(left_out));
    PastRun { view, items, left_out_count: left_out, is_outdated: false, definition_note: None }
}
