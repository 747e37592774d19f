//! What the history of the screen asks: pages of runs, one run, one of its steps, why, two runs side by side, a file.
//! Blocking: on a thread of its own. Nothing is changed but the file that is written.

use std::path::Path;
use std::sync::Arc;

use super::error_text::to_slash_commands;
use super::past_runs::{store_error_text, with_hint};
use crate::bootstrap::WiredRuntime;
use crate::cli_context::CliContext;
use crate::{history_commands, recordings};
use synthdev_cli::args::ExportFormat;
use synthdev_cli::history::diff;
use synthdev_cli::history::list::origin_text;
use synthdev_cli::output::{cost_text, time_text, tokens_text};
use synthdev_cli::snapshots;
use synthdev_domain::ids::{RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{RunQuery, RunStatus, RunSummary, SearchQuery};
use synthdev_domain::workflow::plain_text;
use synthdev_engine::explain;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::RunStep;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_tui::history_browser::run_list::{FOUND, PAGE};
use synthdev_tui::history_browser::step_list::StepListBuilder;
use synthdev_tui::history_browser::{
    HistoryRequest, HistoryResponse, HistoryRunFilter, HistoryRunPage, HistoryText, RunDetails,
    RunListCursor, RunRow,
};
use synthdev_tui::report::history::history_run_row;
use synthdev_tui::transcript::item::{ItemTone, TranscriptBlock, TranscriptItem};
use synthdev_tui::update::past_run::step_details::StepDetailsBuilder;

/// Places that a search looks at first; several may be in one run.
const HITS: usize = 600;
/// Where so many places are in few runs, older runs are left out.
const MOST_HITS: usize = HITS * 64;
/// Characters around the words.
const WIDTH: usize = 120;
/// States of a path that are shown: its end.
const PATH: usize = 12;

/// Of a step.
const NO_FILES: &str = "no files were stored by then: its changes are unknown";

/// Where the questions are answered from.
pub(super) struct TuiHistoryReader {
    pub(super) runtime: Arc<WiredRuntime>,
    pub(super) context: CliContext,
    pub(super) catalog: Arc<ConfigCatalog>,
    /// This project.
    pub(super) project: String,
}

impl TuiHistoryReader {
    fn handle(&self) -> &RuntimeHandle {
        &self.runtime.handle
    }

    pub(super) fn answer_request(&self, asked: HistoryRequest) -> HistoryResponse {
        match asked {
            HistoryRequest::Page { filter, after_cursor: after } => {
                HistoryResponse::Page(self.run_page(&filter, after))
            }
            HistoryRequest::Changes => HistoryResponse::Changes(self.handle().history_changes()),
            HistoryRequest::Open { run, known_state: known } => {
                HistoryResponse::Opened(self.open_run(&run, known).map(|look| look.map(Box::new)))
            }
            HistoryRequest::Step { run, step } => HistoryResponse::Text(self.step_text(&run, step)),
            HistoryRequest::Why { run, step } => HistoryResponse::Text(self.explain_step(&run, step)),
            HistoryRequest::Compare(first, second) => {
                HistoryResponse::Text(self.compare_runs(&first, &second))
            }
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
            let query =
                RunQuery { words: Some(words.to_owned()), until: after.map(|after| after.started), ..query };
            let (rows, more) = self.search_runs(words, &query, after.map_or(0, |after| after.known_count))?;
            return Ok(HistoryRunPage { rows, has_more: more, at });
        }
        let query = RunQuery {
            limit: PAGE,
            until: after.map(|after| after.started),
            offset: after.map_or(0, |after| after.known_count),
            ..query
        };
        let found = self.handle().find_runs(&query).map_err(|error| store_error_text(&error))?;
        let more = found.len() == PAGE;
        Ok(HistoryRunPage {
            rows: found.into_iter().map(|run| history_run_row(run, &self.project, None)).collect(),
            has_more: more,
            at,
        })
    }

    /// Runs with the words in their names, inputs, messages or actions; newest first, and whether there are others
    /// after them. `known`: so many of the first ones may be known already.
    fn search_runs(
        &self,
        words: &str,
        query: &RunQuery,
        known: usize,
    ) -> Result<(Vec<RunRow>, bool), String> {
        let most = FOUND + known;
        let named = self
            .handle()
            .find_runs(&RunQuery { limit: most + 1, ..query.clone() })
            .map_err(|error| store_error_text(&error))?;
        let mut hits = HITS;
        loop {
            let said = SearchQuery {
                text: words.to_owned(),
                limit: hits,
                run: None,
                workflow: query.workflow.clone(),
            };
            let places = self.handle().search(&said, WIDTH).map_err(|error| store_error_text(&error))?;
            let all = places.len() < hits;
            let mut texts = std::collections::HashMap::new();
            for hit in places {
                texts.entry(hit.run).or_insert(hit.snippet.text);
            }
            let mut runs = named.clone();
            for run in texts.keys() {
                if runs.iter().all(|known| known.id != *run) {
                    // it may be gone by now
                    runs.extend(
                        self.handle().summary(run.as_str()).ok().filter(|run| matches_query(run, query)),
                    );
                }
            }
            // the newest runs come first: with too few of them, more places are looked at
            if runs.len() <= most && !all && hits < MOST_HITS {
                hits *= 4;
                continue;
            }
            runs.sort_by(|one, other| (other.started, &other.id).cmp(&(one.started, &one.id)));
            let more = runs.len() > most;
            runs.truncate(most);
            let mut shown = |run: RunSummary| {
                let text = texts.remove(&run.id);
                history_run_row(run, &self.project, text)
            };
            return Ok((runs.into_iter().map(&mut shown).collect(), more));
        }
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
        let told = self.handle().replay_events(run.as_str(), StepListBuilder::default, |walk, at, event| {
            walk.apply_event(at, &event)
        });
        let (record, walk) = told.map_err(|error| store_error_text(&error))?;
        // what was written while it was read
        let summary = self.handle().summary(run.as_str()).unwrap_or(record.summary);
        let facts = run_facts(&summary, &record.unanswered_intents);
        Ok(Some(RunDetails {
            row: history_run_row(summary, &self.project, None),
            facts,
            steps: walk.into_steps(),
        }))
    }

    fn step_text(&self, run: &RunId, step: u32) -> Result<HistoryText, String> {
        let told = self.handle().replay_events(
            run.as_str(),
            || StepDetailsBuilder::new(run, step),
            StepDetailsBuilder::apply_event,
        );
        let (record, fold) = told.map_err(|error| store_error_text(&error))?;
        let variables =
            record.program.workflows.first().map(|root| root.variables.clone()).unwrap_or_default();
        let files = if fold.has_files() { self.files(run, step) } else { NO_FILES.to_owned() };
        let found = fold.into_report(&variables, &files);
        let (title, items) = found.ok_or_else(|| format!("run {run} has no step {step} any more"))?;
        Ok(HistoryText { title, items, step: Some(step) })
    }

    /// What the project's files differ in from the beginning of a step to the next stored state.
    fn files(&self, run: &RunId, step: u32) -> String {
        let steps = match self.handle().steps(run) {
            Ok(steps) => steps,
            Err(error) => return store_error_text(&error),
        };
        let at = usize::try_from(step).unwrap_or(usize::MAX).saturating_sub(1);
        let Some(place) = steps.get(at) else { return "not known".to_owned() };
        if let Some(owner) = &place.within {
            return format!(
                "stored before and after all branches of {owner}: see step {}",
                forked_step_text(place)
            );
        }
        let Some(before) = &place.files else {
            return NO_FILES.to_owned();
        };
        let later =
            steps.iter().skip(at + 1).find(|other| other.within.is_none() && other.files != place.files);
        let after = later.and_then(|place| place.files.clone()).or_else(|| self.last_stored(run, before));
        let Some(after) = after else {
            return "no known changes: no snapshot was taken after it".to_owned();
        };
        match self.runtime.ports.snapshots.changes(before, Some(&after)) {
            Ok(changes) if changes.is_empty() => "none was changed".to_owned(),
            Ok(changes) => snapshots::merge_changes_text(&changes),
            Err(error) => with_hint(&error.message, error.hint.as_deref()),
        }
    }

    /// The newest stored state of the run, if it is another one.
    fn last_stored(&self, run: &RunId, before: &SnapshotId) -> Option<SnapshotId> {
        let list = self.runtime.ports.snapshots.list().ok()?;
        list.into_iter()
            .find(|info| info.run.as_ref() == Some(run))
            .map(|info| info.id)
            .filter(|id| id != before)
    }

    fn explain_step(&self, run: &RunId, step: u32) -> Result<HistoryText, String> {
        let why = self
            .handle()
            .explain_step(run, step)
            .map_err(|error| to_slash_commands(&store_error_text(&error)))?;
        let text = explain::report_lines(&why).join("\n");
        let items = vec![TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &text))];
        Ok(HistoryText { title: format!("why step {step}"), items, step: None })
    }

    fn compare_runs(&self, first: &RunId, second: &RunId) -> Result<HistoryText, String> {
        let both = self
            .handle()
            .diff_runs(first.as_str(), second.as_str())
            .map_err(|error| store_error_text(&error))?;
        let mut text = Vec::new();
        diff::write_run_diff(&both, false, &mut text).map_err(|error| error.to_string())?;
        let text = String::from_utf8_lossy(&text);
        let items = vec![TranscriptItem::Block(TranscriptBlock::new(ItemTone::Plain, "", &text))];
        Ok(HistoryText { title: format!("{first} and {second}"), items, step: None })
    }

    /// A path counts from the project.
    fn export_run(&self, run: &RunId, to: &str) -> Result<String, String> {
        let path = Path::new(&self.project).join(to);
        if recordings::is_recordings_path(&path) {
            let told =
                recordings::write_recording(&self.context, &self.catalog, &self.runtime, run.as_str(), &path);
            return told.map(|lines| lines.join("\n")).map_err(|error| format!("{error:#}"));
        }
        let markdown = path.extension().is_some_and(|end| end.eq_ignore_ascii_case("md"));
        let format = if markdown { ExportFormat::Markdown } else { ExportFormat::Bundle };
        let lines = history_commands::export_to(self.handle(), run.as_str(), &path, format);
        lines.map(|lines| lines.join("\n")).map_err(|error| format!("{error:#}"))
    }
}

fn forked_step_text(place: &RunStep) -> String {
    place.forked.map_or_else(|| "before it".to_owned(), |step| step.to_string())
}

fn matches_query(run: &RunSummary, query: &RunQuery) -> bool {
    let project = query.project.as_ref().is_none_or(|project| *project == run.project);
    let status = query.statuses.is_empty() || query.statuses.contains(&run.progress.status);
    let begun = query.until.is_none_or(|until| run.started <= until);
    project && status && begun && query.workflow.as_ref().is_none_or(|workflow| *workflow == run.workflow)
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
    if let Some(error) = &progress.error {
        facts.push(("error", line(&format!("{}: {} {}", error.code, error.title, error.detail))));
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
        facts.push(("open", line(first)));
    }
    facts.into_iter().map(|(name, text)| (name.to_owned(), text)).collect()
}
