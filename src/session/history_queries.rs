//! What the history of the screen asks: pages of runs, one run, one of its steps, why, two runs side by side, a file.
//! Blocking: on a thread of its own. Nothing is changed but the file that is written.

use std::path::Path;
use std::sync::Arc;

use super::error_text::screen_error_text;
use super::past_runs::{list_error_text, store_error_text, with_hint};
use super::ui_settings::{declared_agents, load_definition, run_agents};
use crate::run_exporter::RunExporter;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_cli::history::diff;
use synthdev_cli::history::list::{agent_lines, origin_text};
use synthdev_cli::output::{cost_text, time_text, tokens_text};
use synthdev_cli::snapshots;
use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{RunQuery, RunStatus, RunSummary};
use synthdev_domain::number_format::format_duration;
use synthdev_domain::workflow::plain_text;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::conversations::is_conversation;
use synthdev_service::run_agents::{StartedAgent, StartedAgentsBuilder};
use synthdev_service::run_events::{RunEvent, record_event};
use synthdev_service::run_files::{RunFiles, StepFileChanges};
use synthdev_service::run_list::{self, FoundRun, FoundRuns, WordSearch};
use synthdev_service::run_reports::{
    self, AlignedSide, AlignedStep, RunDiff, RunDiffSide, explain_step_text,
};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_tui::history_browser::run_comparison::{ComparedFact, ComparedStep, RunComparison};
use synthdev_tui::history_browser::run_list::{FOUND, PAGE};
use synthdev_tui::history_browser::step_list::{StepLine, StepListBuilder};
use synthdev_tui::history_browser::workflow_trend::{TREND_RUNS, WorkflowTrend};
use synthdev_tui::history_browser::{
    HistoryRequest, HistoryResponse, HistoryRunFilter, HistoryRunPage, HistoryText, RunDetails,
    RunGraphFacts, RunListCursor, RunRow,
};
use synthdev_tui::report::history::history_run_row;
use synthdev_tui::run_view::run_times::RunTimes;
use synthdev_tui::run_view::timeline::RunTimeline;
use synthdev_tui::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_tui::update::past_run::call_details::CallDetailsBuilder;
use synthdev_tui::update::past_run::step_details::StepDetailsBuilder;

/// Characters around the words.
const WIDTH: usize = 120;
/// States of a path that are shown: its end.
const PATH: usize = 12;
/// Started agents that are shown above the steps.
const MOST_AGENTS: usize = 12;

/// Of a step.
const NO_FILES: &str = "no files were stored by then: its changes are unknown";

/// Where the questions are answered from.
pub(crate) struct TuiHistoryReader {
    pub(crate) runtime: Arc<WiredRuntime>,
    pub(crate) context: StartContext,
    pub(crate) catalog: Arc<ConfigCatalog>,
    /// This project.
    pub(crate) project: String,
}

impl TuiHistoryReader {
    fn handle(&self) -> &RuntimeHandle {
        &self.runtime.handle
    }

    pub(crate) fn answer_request(&self, asked: HistoryRequest) -> HistoryResponse {
        match asked {
            HistoryRequest::Page { filter, after_cursor: after } => {
                HistoryResponse::Page(self.run_page(&filter, after))
            }
            HistoryRequest::Changes => HistoryResponse::Changes(self.handle().history_changes()),
            HistoryRequest::Open { run, known_state: known } => {
                HistoryResponse::Opened(self.open_run(&run, known).map(|look| look.map(Box::new)))
            }
            HistoryRequest::Step { run, step } => HistoryResponse::Text(self.step_text(&run, step)),
            HistoryRequest::Call { run, call } => HistoryResponse::Text(self.call_text(&run, call)),
            HistoryRequest::Graph { run } => HistoryResponse::Graph(self.run_graph(&run).map(Box::new)),
            HistoryRequest::Why { run, step } => HistoryResponse::Text(self.explain_step(&run, step)),
            HistoryRequest::Data { run, step } => {
                let data = run_reports::data_before_step(self.handle(), &run, step);
                HistoryResponse::Data(data.map_err(|error| store_error_text(&error)))
            }
            HistoryRequest::Compare(first, second) => {
                HistoryResponse::Compared(self.compare_runs(&first, &second).map(Box::new))
            }
            HistoryRequest::Trend { workflow } => HistoryResponse::Trend(self.workflow_trend(&workflow)),
            HistoryRequest::Export { run, target_path: to } => {
                HistoryResponse::Done(self.export_run(&run, &to))
            }
            HistoryRequest::Control { run, control } => {
                let runtime = tokio::runtime::Handle::current();
                HistoryResponse::Done(runtime.block_on(super::past_runs::control_run(
                    self.handle(),
                    run.as_str(),
                    control,
                )))
            }
        }
    }

    /// A run for the list, with `text` in place of its input.
    fn run_row(&self, run: RunSummary, text: Option<String>) -> RunRow {
        let handle = self.handle();
        let is_open_elsewhere = run.progress.status == RunStatus::Running
            && is_conversation(handle, &run)
            && !handle.running_runs().contains(&run.id);
        let is_at_server = run.progress.status == RunStatus::Running
            && !handle.running_runs().contains(&run.id)
            && handle.is_at_server(&run.id).unwrap_or(false);
        let row = history_run_row(run, &self.project, text);
        let place = row.place.on_disk(|path| Path::new(path).is_dir());
        RunRow { is_open_elsewhere, is_at_server, place, ..row }
    }

    fn run_page(
        &self,
        filter: &HistoryRunFilter,
        after: Option<RunListCursor>,
    ) -> Result<HistoryRunPage, String> {
        let at = self.handle().now();
        let words = filter.search_words.trim();
        let query = RunQuery {
            workflow: filter.workflow.clone(),
            statuses: filter.status.into_iter().collect(),
            project: filter.this_project_only.then(|| self.project.clone()),
            ..RunQuery::default()
        };
        if !words.is_empty() {
            let query = RunQuery { until: after.map(|after| after.started), ..query };
            // so many of the first ones may be known already
            let most = FOUND + after.map_or(0, |after| after.known_count);
            let search = WordSearch { words, query: &query, most, width: WIDTH };
            let found = run_list::find_runs_by_words(self.handle(), &search);
            let FoundRuns { runs, has_more } = found.map_err(|error| list_error_text(&error))?;
            let row = |found: FoundRun| self.run_row(found.run, found.text);
            return Ok(HistoryRunPage { rows: runs.into_iter().map(row).collect(), has_more, at });
        }
        let query = RunQuery {
            limit: PAGE,
            until: after.map(|after| after.started),
            offset: after.map_or(0, |after| after.known_count),
            ..query
        };
        let found = run_list::find_runs(self.handle(), &query).map_err(|error| list_error_text(&error))?;
        let more = found.len() == PAGE;
        Ok(HistoryRunPage {
            rows: found.into_iter().map(|run| self.run_row(run, None)).collect(),
            has_more: more,
            at,
        })
    }

    fn open_run(
        &self,
        run: &RunId,
        known: Option<(Timestamp, RunStatus)>,
    ) -> Result<Option<RunDetails>, String> {
        let now = self.handle().summary(run.as_str()).map_err(|error| store_error_text(&error))?.progress;
        if known == Some((now.updated, now.status)) {
            return Ok(None);
        }
        let begin = || {
            let (timeline, times) = (RunTimeline::default(), RunTimes::default());
            (StepListBuilder::default(), StartedAgentsBuilder::default(), timeline, times)
        };
        let told = self.handle().replay_events_and_approvals(
            run.as_str(),
            begin,
            |(walk, agents, timeline, times), at, event| {
                timeline.apply_event(at, &event);
                times.apply_event(at, &event);
                // an approval that was asked for belongs to no step: its answer does
                if !matches!(event.event, RunEvent::ApprovalAsked { .. }) {
                    walk.apply_event(at, &event);
                    agents.apply_event(at, &event);
                }
            },
        );
        let (record, (walk, agents, mut timeline, times)) = told.map_err(|error| store_error_text(&error))?;
        let agents = agents.into_agents(&record.ledger);
        // what was written while it was read
        let summary = self.handle().summary(run.as_str()).unwrap_or(record.summary);
        if !matches!(summary.progress.status, RunStatus::Running | RunStatus::Paused) {
            timeline.end_cut_off();
        }
        let mut facts = run_facts(&summary, &record.unanswered_intents);
        let end = if summary.progress.status == RunStatus::Running {
            self.handle().now()
        } else {
            summary.progress.updated
        };
        facts.splice(1..1, times.describe_until(end).map(|time| ("took".to_owned(), time)));
        facts.extend(agent_facts(&agents));
        Ok(Some(RunDetails {
            row: self.run_row(summary, None),
            facts,
            steps: walk.into_steps(),
            timeline,
            agents: declared_agents(&record.program),
        }))
    }

    /// Its workflow as it is recorded, with where it has been.
    fn run_graph(&self, run: &RunId) -> Result<RunGraphFacts, String> {
        let definition = load_definition(self.handle(), run)?;
        let begin = RunGraphFacts::default;
        let told = self.handle().replay_events(run.as_str(), begin, |facts, at, event| {
            record_event(&mut facts.trace, &event);
            facts.visits.apply_event(at, &event);
        });
        let (_, facts) = told.map_err(|error| store_error_text(&error))?;
        Ok(RunGraphFacts { definition, ..facts })
    }

    fn step_text(&self, run: &RunId, step: u32) -> Result<HistoryText, String> {
        let agents = run_agents(self.handle(), run);
        let told = self.handle().replay_events(
            run.as_str(),
            || StepDetailsBuilder::new(run, step, &agents),
            StepDetailsBuilder::apply_event,
        );
        let (record, fold) = told.map_err(|error| store_error_text(&error))?;
        let variables =
            record.program.workflows.first().map(|root| root.variables.clone()).unwrap_or_default();
        let files = if fold.has_files() { self.files(run, step) } else { NO_FILES.to_owned() };
        let found = fold.into_report(&variables, &files);
        let (title, items) = found.ok_or_else(|| format!("run {run} has no step {step} any more"))?;
        Ok(HistoryText { title, items, step: Some(step), explained_step: None })
    }

    fn call_text(&self, run: &RunId, call: CallId) -> Result<HistoryText, String> {
        let begin = || CallDetailsBuilder::new(run, call);
        let told = self.handle().replay_events_and_approvals(run.as_str(), begin, |fold, at, event| {
            fold.apply_event(at, &event);
        });
        let (_, fold) = told.map_err(|error| store_error_text(&error))?;
        let found = fold.into_report();
        let (title, items) =
            found.ok_or_else(|| format!("run {run} has no such call any more: it was rewound"))?;
        Ok(HistoryText { title, items, ..HistoryText::default() })
    }

    fn files(&self, run: &RunId, step: u32) -> String {
        let snapshots = &*self.runtime.ports.snapshots;
        let files = RunFiles { handle: self.handle(), snapshots, project: &self.project };
        step_files_text(files.changes_of_step(run, step))
    }

    fn explain_step(&self, run: &RunId, step: u32) -> Result<HistoryText, String> {
        let text = explain_step_text(self.handle(), run, step).map_err(|error| store_error_text(&error))?;
        let items = vec![TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &text))];
        Ok(HistoryText { title: format!("why step {step}"), items, step: None, explained_step: Some(step) })
    }

    /// One query over the index of runs.
    fn workflow_trend(&self, workflow: &str) -> Option<WorkflowTrend> {
        let query =
            RunQuery { workflow: Some(workflow.to_owned()), limit: TREND_RUNS, ..RunQuery::default() };
        let found = run_list::find_runs(self.handle(), &query).ok()?;
        let rows: Vec<RunRow> = found.into_iter().map(|run| self.run_row(run, None)).collect();
        Some(WorkflowTrend::from_rows(workflow, &rows))
    }

    fn compare_runs(&self, first: &RunId, second: &RunId) -> Result<RunComparison, String> {
        let both = run_reports::compare_runs(self.handle(), first.as_str(), second.as_str())
            .map_err(|error| store_error_text(&error))?;
        let mut text = Vec::new();
        diff::write_difference_details(&both, &mut text).map_err(|error| error.to_string())?;
        let notes = String::from_utf8_lossy(&text).lines().map(str::to_owned).collect();
        let steps = align_steps(&both.path, self.run_steps(first)?, self.run_steps(second)?);
        Ok(RunComparison::new([first.clone(), second.clone()], compared_facts(&both), steps, notes))
    }

    fn run_steps(&self, run: &RunId) -> Result<Vec<StepLine>, String> {
        let told = self.handle().replay_events(run.as_str(), StepListBuilder::default, |walk, at, event| {
            walk.apply_event(at, &event);
        });
        told.map(|(_, walk)| walk.into_steps()).map_err(|error| store_error_text(&error))
    }

    /// A path counts from the project.
    fn export_run(&self, run: &RunId, to: &str) -> Result<String, String> {
        let exporter = RunExporter { context: &self.context, catalog: &self.catalog, wired: &self.runtime };
        let path = Path::new(&self.project).join(to);
        let lines = exporter.write_file(run.as_str(), &path, &path.display().to_string(), None);
        lines.map(|lines| lines.join("\n")).map_err(|error| screen_error_text(&error))
    }
}

/// What each of the two was.
fn compared_facts(both: &RunDiff) -> Vec<ComparedFact> {
    let fact = |name: &'static str, text: &dyn Fn(&RunDiffSide) -> String| {
        ComparedFact::new(name, text(&both.first), text(&both.second))
    };
    let took = |side: &RunDiffSide| {
        format_duration(u64::try_from(side.updated.0.saturating_sub(side.started.0)).unwrap_or(0))
    };
    let mut facts = vec![
        fact("run", &|side| side.run.to_string()),
        fact("fork of", &diff::fork_place_text),
        fact("workflow", &|side| side.workflow.clone()),
        fact("status", &|side| side.status.as_str().to_owned()),
        fact("started", &|side| time_text(side.started)),
        fact("took", &took),
        fact("cost", &|side| cost_text(side.cost_usd)),
        fact("tokens", &|side| side.usage.total().to_string()),
        fact("steps", &|side| side.steps.to_string()),
        fact("error", &|side| side.error.clone().unwrap_or_default()),
    ];
    facts.retain(|fact| !(fact.first.is_empty() && fact.second.is_empty()));
    facts
}

/// The steps of both in the order of the path that was laid side by side.
fn align_steps(path: &[AlignedStep], first: Vec<StepLine>, second: Vec<StepLine>) -> Vec<ComparedStep> {
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let mut step = |side: AlignedSide| ComparedStep {
        first: if side == AlignedSide::Second { None } else { first.next() },
        second: if side == AlignedSide::First { None } else { second.next() },
    };
    path.iter().map(|aligned| step(aligned.of)).collect()
}

fn step_files_text(changes: StepFileChanges) -> String {
    match changes {
        StepFileChanges::Known(changes) if changes.is_empty() => "none was changed".to_owned(),
        StepFileChanges::Known(changes) => snapshots::merge_changes_text(&changes),
        StepFileChanges::NoStep => "not known".to_owned(),
        StepFileChanges::InBranch { owner, forked } => {
            let step = forked.map_or_else(|| "before it".to_owned(), |step| step.to_string());
            format!("stored before and after all branches of {owner}: see step {step}")
        }
        StepFileChanges::NoneStored => NO_FILES.to_owned(),
        StepFileChanges::NoneStoredAfter => "no known changes: no later snapshot differs".to_owned(),
        StepFileChanges::Unreadable { message, hint } => with_hint(&message, hint.as_deref()),
    }
}

/// A line for each agent that an agent has started, below the one that started it.
fn agent_facts(agents: &[StartedAgent]) -> Vec<(String, String)> {
    let lines = agent_lines(agents);
    let hidden = lines.len().saturating_sub(MOST_AGENTS);
    let mut facts: Vec<_> =
        lines.into_iter().take(MOST_AGENTS).map(|line| ("agent".to_owned(), line)).collect();
    if hidden > 0 {
        facts.push(("agent".to_owned(), format!("and {hidden} more: `synthdev runs list --tree` has all")));
    }
    facts
}

/// A call without a result yet, in words; `intent`: its row in the journal.
fn open_call_text(intent: &str) -> String {
    let intent: serde_json::Value = serde_json::from_str(intent).unwrap_or_default();
    let field = |name: &str| intent[name].as_str().unwrap_or_default().to_owned();
    match field("effect").as_str() {
        "call_model" => format!("{} asks {} in {}", field("agent"), field("model"), field("state")),
        "run_tool" => format!("{} uses {}", field("agent"), field("tool")),
        _ => "a snapshot is taken".to_owned(),
    }
}

/// What `runs show` says above its timeline.
fn run_facts(run: &RunSummary, open: &[String]) -> Vec<(String, String)> {
    let progress = &run.progress;
    let line = |text: &str| synthdev_tui::text::one_line(text);
    let mut facts = vec![("started", format!("{} UTC", time_text(run.started)))];
    if let Some(origin) = &run.origin {
        facts.push(("from", origin_text(origin, &run.id)));
    }
    facts.push(("input", line(&run.input)));
    let gone = progress.path.len().saturating_sub(PATH);
    let path = progress.path.iter().skip(gone).map(|state| line(state)).collect::<Vec<_>>().join(" > ");
    facts.push(("path", if gone > 0 { format!("… {path}") } else { path }));
    facts.push(("usage", format!("{}, cost {}", tokens_text(&progress.usage), cost_text(progress.cost_usd))));
    match &progress.error {
        // it waits, and nothing went wrong
        Some(error) if error.code == "paused" => {
            let why = if error.detail.is_empty() { &error.title } else { &error.detail };
            facts.extend(progress.pauses.is_empty().then(|| ("waits", line(why))));
        }
        Some(error) => {
            let parts = [error.code.as_str(), error.title.as_str(), error.detail.as_str()];
            let told: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            facts.push(("error", line(&told.join(": "))));
        }
        None => {}
    }
    for pause in progress.pauses.iter().take(3) {
        facts.push(("waits for", line(&format!("{}: {}", pause.state, pause.message))));
    }
    if let Some(output) = &progress.output {
        facts.push(("output", line(&plain_text(output))));
    }
    if let Some(tree) = &run.worktree {
        facts.push(("worktree", line(&tree.path)));
    }
    if let (false, false, Some(first)) = (progress.status.is_over(), open.is_empty(), open.first()) {
        facts.push(("open", line(&open_call_text(first))));
    }
    facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_call_is_told_in_words() {
        let check = |intent: serde_json::Value, expected: &str| {
            assert_eq!(open_call_text(&intent.to_string()), expected, "{intent}");
        };
        let model =
            serde_json::json!({"effect": "call_model", "agent": "coder", "state": "code", "model": "m"});
        check(model, "coder asks m in code");
        check(serde_json::json!({"effect": "run_tool", "agent": "coder", "tool": "bash"}), "coder uses bash");
        check(serde_json::json!({"effect": "take_snapshot", "label": "x"}), "a snapshot is taken");
    }
}
