//! The history as a whole: lists, search, comparison, moving runs between machines, tidying up.

mod cost_command;
mod export_command;
mod gc_and_du;

use std::io::{IsTerminal, Write};

use anyhow::{Result, anyhow};

use super::read_only::{error_with_hint, open_reader, store_error};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::{ListArgs, RunFilterArgs};
use synthdev_cli::exit;
use synthdev_cli::history::list::ListedRun;
use synthdev_cli::history::search::SearchOutputOptions;
use synthdev_cli::history::time_filter::{self, DayBoundary};
use synthdev_cli::history::{contexts, diff, list, search};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::{RunQuery, RunSummary, SearchQuery};
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::run_agents::find_started_agents;
use synthdev_service::run_list::{self, RunListError, RunPages};
use synthdev_service::run_reports::{compare_runs, measure_contexts};

pub(crate) use cost_command::show_costs;
pub(crate) use export_command::{export_run, import_run};
pub(crate) use gc_and_du::{collect_garbage, delete_run, show_disk_usage};

pub(crate) fn list_runs(context: &StartContext, args: &ListArgs) -> Result<u8> {
    let wired = open_reader(context)?;
    let now = wired.handle.now();
    let query = run_query(context, &args.filters, args.limit, now)?;
    let narrowed = query != RunQuery::newest(query.limit);
    let runs = RunPages::new(&wired.handle, query).map_err(list_error)?;
    let failed = runs.list_error_slot();
    let head = std::io::stdout().is_terminal();
    let shown =
        list::RunListOptions { json: args.json, tree: args.tree, is_filtered: narrowed, has_header: head };
    // ten thousand lines are not ten thousand writes
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let shows_agents = args.json || args.tree;
    let listed = runs.map(|run| list_with_agents(&wired.handle, run, shows_agents));
    let listed = list::write_run_list(listed, shown, now, &mut out);
    if let Some(error) = failed.take() {
        return Err(store_error(error));
    }
    listed?;
    out.flush()?;
    Ok(exit::COMPLETED)
}

pub(crate) fn show_contexts(context: &StartContext, run: &str, json: bool) -> Result<u8> {
    let (run, found) = measure_contexts(&open_reader(context)?.handle, run).map_err(store_error)?;
    contexts::write_contexts(&run, &found, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

/// A journal that cannot be read hides the agents of its run, not the list.
fn list_with_agents(handle: &RuntimeHandle, run: RunSummary, shows_agents: bool) -> ListedRun {
    let agents =
        if shows_agents { find_started_agents(handle, &run.id).unwrap_or_default() } else { Vec::new() };
    ListedRun { run, agents }
}

/// What was asked for.
fn run_query(context: &StartContext, args: &RunFilterArgs, limit: usize, now: Timestamp) -> Result<RunQuery> {
    let statuses = args.status.iter().map(|typed| run_list::parse_status(typed));
    let statuses = statuses.collect::<Result<_, _>>().map_err(list_error)?;
    let time = |flag: &str, typed: &Option<String>, day: DayBoundary| {
        let parsed = typed.as_deref().map(|typed| time_filter::parse_time(typed, now, day)).transpose();
        parsed.map_err(|error| anyhow!("{flag}: {error}"))
    };
    Ok(RunQuery {
        limit,
        offset: 0,
        workflow: args.workflow.clone(),
        without_workflow: None,
        statuses,
        since: time("--since", &args.since, DayBoundary::Begin)?,
        until: time("--until", &args.until, DayBoundary::End)?,
        min_cost: args.min_cost,
        max_cost: args.max_cost,
        project: args.here.then(|| context.project.display().to_string()),
        words: args.matching.clone(),
        origin_run: None,
    })
}

/// A refusal, with the option that it is about.
fn list_error(error: RunListError) -> anyhow::Error {
    let option = if matches!(error, RunListError::UnknownStatus(_)) { "--status: " } else { "" };
    error_with_hint(&format!("{option}{error}"), error.hint().as_deref())
}

pub(crate) struct RunSearchArgs {
    pub(crate) words: String,
    pub(crate) run: Option<String>,
    pub(crate) workflow: Option<String>,
    pub(crate) limit: usize,
    pub(crate) json: bool,
}

pub(crate) fn search_runs(context: &StartContext, args: RunSearchArgs) -> Result<u8> {
    let RunSearchArgs { words, run, workflow, limit, json } = args;
    let handle = open_reader(context)?.handle;
    let run = run.map(|id| handle.summary(&id)).transpose().map_err(store_error)?;
    let query = SearchQuery { text: words, limit, run: run.map(|run| run.id), workflow };
    let found = run_list::search_texts(&handle, &query, search::WIDTH).map_err(list_error)?;
    let stdout = std::io::stdout();
    let shown = SearchOutputOptions { json, is_painted: stdout.is_terminal() && !json, limit };
    search::write_hits(&found, shown, &mut stdout.lock())?;
    Ok(exit::COMPLETED)
}

pub(crate) fn diff_runs(context: &StartContext, first: &str, second: &str, json: bool) -> Result<u8> {
    let both = compare_runs(&open_reader(context)?.handle, first, second).map_err(store_error)?;
    diff::write_run_diff(&both, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}
