//! The history as a whole: lists, search, comparison, moving runs between machines, tidying up.

mod cost_command;
mod gc_and_du;
mod run_pages;

use std::io::{IsTerminal, Write};
use std::path::Path;

use anyhow::{Result, anyhow, bail};

use self::run_pages::PagedRuns;
use super::cli_context::CliContext;
use super::load_config::load_catalog;
use super::read_only::{open_reader, store_error};
use super::{bootstrap, recordings};
use synthdev_adapters::file_io;
use synthdev_cli::args::{ExportFormat, ListArgs, RunFilterArgs};
use synthdev_cli::exit;
use synthdev_cli::history::search::SearchOutputOptions;
use synthdev_cli::history::time_filter::{self, DayBoundary};
use synthdev_cli::history::{diff, import_export, list, markdown, search};
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name};
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::{RunQuery, RunStatus, SearchQuery};
use synthdev_runtime::export_import::{BundleError, LARGEST};
use synthdev_runtime::handle::RuntimeHandle;

pub(super) use cost_command::show_costs;
pub(super) use gc_and_du::{collect_garbage, show_disk_usage};

pub(super) fn list_runs(world: &CliContext, args: &ListArgs) -> Result<u8> {
    let wired = open_reader(world)?;
    let now = wired.handle.now();
    let query = run_query(world, &args.filters, args.limit, now)?;
    let narrowed = query != RunQuery::newest(query.limit);
    let runs = PagedRuns::new(&*wired.ports.store, query);
    let failed = runs.list_error_slot();
    let head = std::io::stdout().is_terminal();
    let shown =
        list::RunListOptions { json: args.json, tree: args.tree, is_filtered: narrowed, has_header: head };
    // ten thousand lines are not ten thousand writes
    let mut out = std::io::BufWriter::with_capacity(1 << 16, std::io::stdout().lock());
    let listed = list::write_run_list(runs, shown, now, &mut out);
    if let Some(error) = failed.take() {
        return Err(store_error(error));
    }
    listed?;
    out.flush()?;
    Ok(exit::COMPLETED)
}

/// What was asked for, checked.
fn run_query(world: &CliContext, args: &RunFilterArgs, limit: usize, now: Timestamp) -> Result<RunQuery> {
    let mut statuses = Vec::new();
    for typed in &args.status {
        let found = RunStatus::ALL.into_iter().find(|status| status.as_str() == typed.trim().to_lowercase());
        let Some(status) = found else {
            let known = RunStatus::ALL.map(RunStatus::as_str).join(", ");
            bail!("--status: there is no status `{}`\nhint: one of {known}", safe_name(typed));
        };
        statuses.push(status);
    }
    let time = |flag: &str, typed: &Option<String>, day: DayBoundary| {
        let parsed = typed.as_deref().map(|typed| time_filter::parse_time(typed, now, day)).transpose();
        parsed.map_err(|error| anyhow!("{flag}: {error}"))
    };
    let (since, until) =
        (time("--since", &args.since, DayBoundary::Begin)?, time("--until", &args.until, DayBoundary::End)?);
    if since > until && until.is_some() {
        bail!("--since is later than --until: no run can be between them");
    }
    for (flag, usd) in [("--min-cost", args.min_cost), ("--max-cost", args.max_cost)] {
        if usd.is_some_and(|usd| !usd.is_finite() || usd < 0.0) {
            bail!("{flag}: expected an amount of dollars, such as 0.50");
        }
    }
    if args.min_cost.zip(args.max_cost).is_some_and(|(min, max)| min > max) {
        bail!("--min-cost is above --max-cost: no run can be between them");
    }
    Ok(RunQuery {
        limit,
        offset: 0,
        workflow: args.workflow.clone(),
        statuses,
        since,
        until,
        min_cost: args.min_cost,
        max_cost: args.max_cost,
        project: args.here.then(|| world.project.display().to_string()),
        words: args.matching.clone(),
        origin_run: None,
    })
}

pub(super) struct RunSearchArgs {
    pub(super) words: String,
    pub(super) run: Option<String>,
    pub(super) workflow: Option<String>,
    pub(super) limit: usize,
    pub(super) json: bool,
}

pub(super) fn search_runs(world: &CliContext, args: RunSearchArgs) -> Result<u8> {
    let RunSearchArgs { words, run, workflow, limit, json } = args;
    if !words.chars().any(char::is_alphanumeric) {
        bail!("nothing to look for: name a word, as in `synthdev runs search parser`");
    }
    let handle = open_reader(world)?.handle;
    let run = run.map(|id| handle.summary(&id)).transpose().map_err(store_error)?;
    let query = SearchQuery { text: words, limit, run: run.map(|run| run.id), workflow };
    let found = handle.search(&query, search::WIDTH).map_err(store_error)?;
    let stdout = std::io::stdout();
    let shown = SearchOutputOptions { json, is_painted: stdout.is_terminal() && !json, limit };
    search::write_hits(&found, shown, &mut stdout.lock())?;
    Ok(exit::COMPLETED)
}

pub(super) fn diff_runs(world: &CliContext, first: &str, second: &str, json: bool) -> Result<u8> {
    let both = open_reader(world)?.handle.diff_runs(first, second).map_err(store_error)?;
    diff::write_run_diff(&both, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(super) fn export_run(
    world: &CliContext,
    run: &str,
    to: Option<&Path>,
    format: ExportFormat,
) -> Result<u8> {
    let (catalog, _) = load_catalog(world, world.overrides.clone(), None)?;
    let wired = bootstrap::wire_runtime(&world.project, &world.dirs.data, &catalog, None);
    let handle = &wired.handle;
    let lines = match (to, format) {
        (Some(path), ExportFormat::Recording) => {
            recordings::write_recording(world, &catalog, &wired, run, path)?
        }
        (None, ExportFormat::Recording) => {
            bail!("a recording is written to a file: name it with --to FILE")
        }
        (Some(path), _) => export_to(handle, run, path, format)?,
        (None, ExportFormat::Markdown) => {
            let text = as_text(handle, run)?;
            TerminalSafeWriter(&mut std::io::stdout().lock()).write_all(text.as_bytes())?;
            Vec::new()
        }
        (None, ExportFormat::Bundle) => {
            let out = &mut std::io::BufWriter::new(std::io::stdout().lock());
            let done = handle.export(run, env!("CARGO_PKG_VERSION"), out);
            import_export::export_lines(&done.map_err(|error| not_written(error, None))?, None)
        }
    };
    lines.iter().for_each(print_stderr);
    Ok(exit::COMPLETED)
}

/// Writes a run into a new file; returns notes about it, a line each.
///
/// # Errors
/// There is no such run, the file exists or cannot be written.
pub(super) fn export_to(
    handle: &RuntimeHandle,
    run: &str,
    path: &Path,
    format: ExportFormat,
) -> Result<Vec<String>> {
    let place = path.display().to_string();
    if format == ExportFormat::Markdown {
        let text = as_text(handle, run)?;
        let written = file_io::create_large(path, |out| out.write_all(text.as_bytes()));
        written.map_err(|error| not_written(error.into(), Some(path)))?;
        return Ok(vec![format!("written to {}", safe_name(&place))]);
    }
    let done = file_io::create_large(path, |out| handle.export(run, env!("CARGO_PKG_VERSION"), out));
    Ok(import_export::export_lines(&done.map_err(|error| not_written(error, Some(path)))?, Some(&place)))
}

fn as_text(handle: &RuntimeHandle, run: &str) -> Result<String> {
    let mut text = Vec::new();
    markdown::write_run_markdown(&handle.load_record(run).map_err(store_error)?, &mut text)?;
    Ok(handle.without_keys(String::from_utf8_lossy(&text).into_owned()))
}

fn not_written(error: BundleError, to: Option<&Path>) -> anyhow::Error {
    match (error, to) {
        (BundleError::Store(error), _) => store_error(error),
        (BundleError::Io(error), Some(path)) if error.kind() == std::io::ErrorKind::AlreadyExists => anyhow!(
            "{} exists: it was left as it is\nhint: name another file, or remove it first",
            safe_name(&path.display().to_string())
        ),
        (BundleError::Io(error), Some(path)) => {
            anyhow!("{} cannot be written: {error}", safe_name(&path.display().to_string()))
        }
        // a reader that has seen enough is no error
        (BundleError::Io(error), None) => error.into(),
        (BundleError::Refused(reason), _) => anyhow!("{reason}"),
    }
}

pub(super) fn import_run(world: &CliContext, file: &Path) -> Result<u8> {
    let handle = open_reader(world)?.handle;
    let shown = safe_name(&file.display().to_string());
    let refused = |reason: &str| anyhow!("{shown} was not imported: {reason}\nhint: nothing was changed");
    let mut from = file_io::open_large(file, LARGEST).map_err(|error| refused(&error.to_string()))?;
    let done = handle.import(&mut from).map_err(|error| match error {
        BundleError::Store(error) => store_error(error),
        BundleError::Io(error) => refused(&error.to_string()),
        BundleError::Refused(reason) => refused(&reason),
    })?;
    writeln!(TerminalSafeWriter(&mut std::io::stdout().lock()), "{}", import_export::import_line(&done))?;
    Ok(exit::COMPLETED)
}
