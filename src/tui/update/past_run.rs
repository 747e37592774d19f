//! The past of a run through the same eyes as its present: events become entries and facts.

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
use synthdev_engine::event::RunEvent;
use synthdev_runtime::preview::{OmittedEvents, RunPreview};

/// A run's events become a past, one by one. No more is kept than the screen shows, however many there are.
#[derive(Debug)]
pub struct PastRunBuilder {
    run: RunId,
    scratch: UiModel,
    /// Entries that were forgotten.
    left_out: usize,
    /// Only what comes before this entry is wanted; a tool may end a while after it.
    before: Option<usize>,
    /// Those that were forgotten and nobody has taken yet, if somebody takes them.
    forgotten: Option<Vec<TranscriptItem>>,
}

/// Entries that are kept while events come: a tool may still end that began long before.
const KEPT: usize = 2 * SHOWN;

impl PastRunBuilder {
    pub fn new(run: &RunId) -> Self {
        Self { run: run.clone(), scratch: UiModel::default(), left_out: 0, before: None, forgotten: None }
    }

    /// For the last entries before one.
    pub fn before(run: &RunId, before: usize) -> Self {
        Self { before: Some(before), ..Self::new(run) }
    }

    /// What is forgotten can be taken.
    #[must_use]
    pub fn keeping(self) -> Self {
        Self { forgotten: Some(Vec::new()), ..self }
    }

    /// The entries that were forgotten since this was asked last.
    pub fn forgotten(&mut self) -> Vec<TranscriptItem> {
        self.forgotten.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub fn event(&mut self, at: Timestamp, event: RunEvent) {
        let seen = self.left_out + self.scratch.transcript.len();
        if self.before.is_some_and(|before| seen >= before.saturating_add(SHOWN)) {
            return;
        }
        self.scratch.now = self.scratch.now.max(at);
        run_events::event(&mut self.scratch, &self.run, at, event);
        if self.scratch.transcript.len() >= 2 * KEPT {
            self.forget();
        }
    }

    /// `ledger` is what the run has cost, with what it paid before it went back.
    pub fn into_past_run(self, ledger: CostLedger) -> PastRun {
        let nothing = || RunView::new(self.run, "", false);
        let PastRun { mut view, items, left_out, .. } = folded(self.scratch, nothing);
        let sums = ledger.grouped(|entry| &entry.agent);
        for line in &mut view.agents {
            line.usage = TokenUsage::default();
            let own = sums.iter().filter(|(agent, ..)| one_line(agent) == line.name);
            own.for_each(|(_, usage, _)| line.usage.add(usage));
        }
        view.paid_here = CostLedger::default();
        view.charged(ledger);
        view.sum_up();
        PastRun { view, items, left_out: left_out + self.left_out, behind: false }
    }

    /// The last entries before the one that `before` names.
    pub fn items(self) -> Vec<TranscriptItem> {
        let (first, mut items) = self.scratch.transcript.into_last(2 * KEPT);
        let first = self.left_out + first;
        items.truncate(self.before.unwrap_or(usize::MAX).saturating_sub(first));
        items.split_off(items.len().saturating_sub(SHOWN))
    }

    /// What was not forgotten, up to the entry that `before` names.
    pub fn rest(self) -> Vec<TranscriptItem> {
        let (_, mut items) = self.scratch.transcript.into_last(usize::MAX);
        items.truncate(self.before.unwrap_or(usize::MAX).saturating_sub(self.left_out));
        items
    }

    fn forget(&mut self) {
        let first = self.scratch.transcript.len() - KEPT;
        if let Some(forgotten) = &mut self.forgotten {
            forgotten.extend(self.scratch.transcript.items().take(first).cloned());
        }
        self.scratch.transcript.forget(first);
        self.left_out += first;
        for view in &mut self.scratch.runs {
            view.remap_positions(|at| at.checked_sub(first));
            // only the sums are looked at
            view.sum_up();
            view.paid_here = CostLedger::default();
        }
    }
}

/// Folds all of a run's events.
pub fn fold(run: &RunId, events: Vec<(Timestamp, RunEvent)>, ledger: CostLedger) -> PastRun {
    let mut folding = PastRunBuilder::new(run);
    events.into_iter().for_each(|(at, event)| folding.event(at, event));
    folding.into_past_run(ledger)
}

/// The end of a run from what was stored when it stood still last: as long as that is, whatever the run's length.
pub fn from_preview(summary: &RunSummary, glance: RunPreview) -> PastRun {
    let RunPreview { before, events, since } = glance;
    let mut scratch =
        UiModel { now: before.last_at, runs: vec![begun(summary, before)], ..UiModel::default() };
    let ended = matches!(events.last(), Some((_, RunEvent::Finished { .. })));
    let last = events.len();
    for (number, (at, mut event)) in (1..).zip(events) {
        scratch.now = scratch.now.max(at);
        if let RunEvent::Finished { path, .. } = &mut event
            && number == last
        {
            path.clone_from(&summary.progress.path);
        }
        run_events::event(&mut scratch, &summary.id, at, event);
    }
    let mut past = folded(scratch, || RunView::new(summary.id.clone(), &summary.workflow, false));
    let view = &mut past.view;
    if !ended {
        view.path.clear();
        summary.progress.path.iter().for_each(|state| view.visit(&one_line(state)));
    }
    if let (true, Some(state)) = (view.state.is_empty(), view.path.last()) {
        view.state.clone_from(state);
    }
    // what was paid behind a step to which the run went back
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
        view.watch.spending.add(&entry);
        view.ledger.entries.push(&entry);
    }
    view.paid_here = CostLedger::default();
    past.behind = since > 0;
    past
}

/// A run where its glance begins.
fn begun(summary: &RunSummary, before: OmittedEvents) -> RunView {
    let mut view = RunView::new(summary.id.clone(), &one_line(&summary.workflow), before.chat);
    for sum in before.agents {
        let line = view.agent(&one_line(&sum.name), sum.side);
        line.model = one_line(&sum.model);
        line.usage = sum.usage;
        let (agent, model) = (line.name.clone(), line.model.clone());
        let entry =
            CostEntry { agent, model, usage: sum.usage, cost_usd: sum.cost_usd, ..CostEntry::default() };
        view.watch.spending.add(&entry);
        view.ledger.entries.push(&entry);
    }
    view.snapshot = before.snapshot.map(|id| one_line(&id.as_str().chars().take(8).collect::<String>()));
    (view.busy_since, view.worked_ms, view.last_at) = (before.since, before.worked_ms, before.last_at);
    // it has been somewhere: its next state is not its first
    view.path.extend(summary.progress.path.first().map(|state| one_line(state)));
    view
}

/// What came of the events: the facts, and the last entries.
fn folded(mut scratch: UiModel, nothing: impl FnOnce() -> RunView) -> PastRun {
    let mut view = scratch.runs.pop().unwrap_or_else(nothing);
    let (left_out, items) = scratch.transcript.into_last(SHOWN);
    view.remap_positions(|at| at.checked_sub(left_out));
    PastRun { view, items, left_out, behind: false }
}
