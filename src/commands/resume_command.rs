//! `resume` and `runs retry`: resuming a run from its present state.

use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Result, anyhow};
use serde_json::{Value, json};

use super::load_config::load_catalog;
use super::read_only::{error_with_hint, store_error};
use super::run_command::{read_script, read_workflow};
use super::run_servers::{report_of_server, with_run_server};
use super::run_to_end::{build_runtime, follow_run, follow_run_if};
use super::{diagnostics, recordings};
use synthdev_bootstrap::scripted_models::ScriptedModel;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime, WorktreeLocation};
use synthdev_cli::args::ResumeArgs;
use synthdev_cli::headless::{self, HeadlessOutput};
use synthdev_cli::output::print_stderr;
use synthdev_cli::resume::{is_token, report_open_questions, report_repeated_answer};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_engine::steering::BreakpointSet;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::data_assignments::json_or_words;
use synthdev_service::run_place::{RunOperation, RunPlace, RunPlaceError};
use synthdev_service::run_resume::{
    self, AnswerPlan, LimitIncrease, ResumeDefinition, ResumeOptions, ResumeRequest, ResumeService,
    RunResumeError, TokenError, TypedAnswers,
};
use synthdev_service::run_start::FileSharingMode;
use synthdev_session::context_windows::ServerWindowLookup;
use synthdev_session::past_runs::skip_used_replies;
use synthdev_settings::catalog::ConfigCatalog;

pub(crate) fn retry_run(context: &StartContext, args: &ResumeArgs) -> Result<u8> {
    take_up_run(context, args, RunOperation::Retry)
}

pub(crate) fn resume_run(context: &StartContext, args: &ResumeArgs) -> Result<u8> {
    #[cfg(feature = "restate")]
    if args.backend.is_some() {
        super::server_runs::fetch_run(context, &args.run)?;
    }
    take_up_run(context, args, RunOperation::Resume)
}

fn take_up_run(context: &StartContext, args: &ResumeArgs, operation: RunOperation) -> Result<u8> {
    let show = HeadlessOutput { json: args.json, events: args.events, progress: !args.json && !args.events };
    let script = args.replies.as_deref().map(read_script).transpose()?;
    let played = recordings::open_replayed(args.replay.as_deref())?;
    let overrides = match (&script, &played) {
        (Some(_), _) => context.scripted_overrides("--replies"),
        (None, Some(_)) => context.scripted_overrides("--replay"),
        (None, None) => context.overrides.clone(),
    };
    let file = args.workflow_file.as_deref().map(read_workflow).transpose()?;
    let (catalog, gathered) = load_catalog(context, overrides, file)?;
    diagnostics::ensure_sound(&catalog)?;
    synthdev_bootstrap::logs::start_logging(&context.dirs.data, catalog.settings().verbosity());
    let results = args.results.as_deref().map(parse_results).transpose()?;
    let increase = typed_increase(args);
    let reader = wire_project(context, &catalog, RunModels::default());
    // a token answers a question, and a retry answers none
    let is_answer = operation == RunOperation::Resume && is_token(&args.run);
    let token = is_answer.then(|| args.run.clone());
    let run = match &token {
        Some(token) => find_run_of_token(context, &reader.handle, token)?,
        None => find_resumable_run(context, &reader.handle, &args.run, operation)?,
    };
    let wired = wired_for(context, &catalog, &run, run_models(context, args, script))?;
    let sharing = if args.share { FileSharingMode::Shares } else { FileSharingMode::Refused };
    let wired = wired.with_file_sharing(sharing);
    skip_used_replies(&wired, &run.id)?;
    let wired =
        recordings::attach_to_resumed(context, args, &catalog, gathered.sources, played, wired, &run)?;
    let refused = |error| not_started(Some(&catalog), error);
    let windows = ServerWindowLookup(&catalog);
    let service = ResumeService::new(&wired.handle, &catalog, &windows);
    let request = service.prepare(&run, resume_options(args)).map_err(refused)?;
    let breakpoints = resolve_breakpoints(args, &request, &wired.handle, &run)?;
    let request = ResumeRequest { breakpoints, ..request };
    print_decision_note(&run, args, results.as_ref());
    print_upgrade_notes(&service, &run.id, &request).map_err(refused)?;
    let report = if let Some(token) = token {
        let set_going =
            async |handle: &RuntimeHandle| redeem(handle, &token, results, &increase, request).await;
        match follow_run_if(&wired, show, set_going)? {
            ControlFlow::Continue(report) => report,
            ControlFlow::Break(answer) => {
                let run = wired.handle.summary(run.id.as_str()).map_err(store_error)?;
                return report_repeated_answer(&run, &answer, show);
            }
        }
    } else {
        let state = args.state.as_deref();
        let typed = TypedAnswers { state, approves_all: args.yes, results, increase };
        let request = match service.place_answers(&run, typed, request).map_err(refused)? {
            AnswerPlan::Ready(request) => *request,
            AnswerPlan::Open(open) => return report_open_questions(&run.id, &open, show),
        };
        headless::print_retried_states(&run.progress.pauses, show);
        follow_run(&wired, show, async |handle| {
            run_resume::resume_run(handle, &run.id, request).await.map_err(refused)?;
            Ok(run.id.clone())
        })?
    };
    Ok(headless::print_result(&report_of_server(&wired.handle, report), show)?)
}

fn typed_increase(args: &ResumeArgs) -> LimitIncrease {
    let budget = args.budget.map(|budget| json!({"budget": budget}));
    LimitIncrease { budget, passes_limits: args.past_limits }
}

/// Whether the token still counts, and what a repetition is answered, is found out with it.
fn find_run_of_token(context: &StartContext, handle: &RuntimeHandle, token: &str) -> Result<RunSummary> {
    let id = handle.run_for_token(token).map_err(token_error)?;
    let run = find_workflow_run(context, handle, &id)?;
    let place = RunPlace::of_run(&run, &context.project.display().to_string());
    let place = place.on_disk(|path| Path::new(path).is_dir());
    place.check_project(&run.id, RunOperation::Resume).map_err(place_error)?;
    Ok(run)
}

fn find_resumable_run(
    context: &StartContext,
    handle: &RuntimeHandle,
    run: &str,
    operation: RunOperation,
) -> Result<RunSummary> {
    let run = find_workflow_run(context, handle, &RunId::from(run))?;
    let here = context.project.display().to_string();
    let is_directory = |path: &str| Path::new(path).is_dir();
    run_resume::check_resumable(handle, &run, &here, operation, is_directory)
        .map_err(|error| not_started(None, error))?;
    Ok(run)
}

fn find_workflow_run(context: &StartContext, handle: &RuntimeHandle, id: &RunId) -> Result<RunSummary> {
    if handle.reaches_run_server() {
        build_runtime()?.block_on(handle.refresh_from_server(id.as_str()));
    }
    let run = handle.summary(id.as_str()).map_err(store_error)?;
    let here = context.project.display().to_string();
    run_resume::check_no_conversation(handle, &run, &here).map_err(|error| not_started(None, error))?;
    Ok(run)
}

fn resume_options(args: &ResumeArgs) -> ResumeOptions {
    let present = ResumeDefinition::Present { from_file: args.workflow_file.is_some() };
    ResumeOptions {
        approves_all: args.yes,
        definition: if args.upgrade { present } else { ResumeDefinition::Stored },
        ..ResumeOptions::default()
    }
}

/// The breakpoints, checked against the definition that the run will use.
fn resolve_breakpoints(
    args: &ResumeArgs,
    request: &ResumeRequest,
    handle: &RuntimeHandle,
    run: &RunSummary,
) -> Result<Option<BreakpointSet>> {
    if !args.stops.step && args.stops.breaks.is_empty() {
        return Ok(None);
    }
    match &request.program {
        Some(program) => super::breakpoints::parse_breakpoints(&args.stops, program).map(Some),
        None => {
            let stored = handle.load_record(run.id.as_str()).map_err(store_error)?.program;
            super::breakpoints::parse_breakpoints(&args.stops, &stored).map(Some)
        }
    }
}

/// Neither the models nor the file tools see the recording.
fn run_models(context: &StartContext, args: &ResumeArgs, script: Option<ScriptedModel>) -> RunModels {
    RunModels::new(script, &context.project, args.record.as_deref(), args.replay.as_deref())
}

fn wire_project(context: &StartContext, catalog: &ConfigCatalog, models: RunModels) -> WiredRuntime {
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, catalog, models);
    with_run_server(context, catalog, wired)
}

/// A run resumes where its files are.
fn wired_for(
    context: &StartContext,
    catalog: &ConfigCatalog,
    run: &RunSummary,
    models: RunModels,
) -> Result<WiredRuntime> {
    let data = &context.dirs.data;
    let place = RunPlace::of_run(run, &context.project.display().to_string());
    let worktree = place.present_worktree(&run.id, |path| Path::new(path).is_dir()).map_err(place_error)?;
    Ok(match worktree {
        Some(tree) => {
            let place = WorktreeLocation { project: &context.project, worktree: Path::new(&tree.path) };
            with_run_server(context, catalog, wiring::wire_worktree(place, data, catalog, models))
        }
        None => wire_project(context, catalog, models),
    })
}

fn print_decision_note(run: &RunSummary, args: &ResumeArgs, results: Option<&Value>) {
    let state = args.state.as_deref();
    if let Some(note) = results.and_then(|results| run_resume::decision_scope_note(run, state, results)) {
        print_stderr(format_args!("note: {note}"));
    }
}

/// What a changed definition means for the run, before it is accepted.
fn print_upgrade_notes(
    service: &ResumeService<'_>,
    run: &RunId,
    request: &ResumeRequest,
) -> Result<(), RunResumeError> {
    let Some(program) = &request.program else { return Ok(()) };
    let notes = service.upgrade_notes(run, program)?;
    if notes.is_empty() {
        print_stderr("the definition is the same");
    } else {
        print_stderr(format_args!("the definition is different now:\n  {}", notes.join("\n  ")));
    }
    Ok(())
}

/// The run; or the recorded answer, if the same was answered before.
async fn redeem(
    handle: &RuntimeHandle,
    token: &str,
    results: Option<Value>,
    increase: &LimitIncrease,
    request: ResumeRequest,
) -> Result<ControlFlow<String, RunId>> {
    let done = if increase.is_none() {
        let results = results.unwrap_or(Value::Null);
        run_resume::redeem_token(handle, token, results, request, &|_| true).await.map_err(token_error)?
    } else {
        let done = run_resume::redeem_increase(handle, token, increase, request).await;
        done.map_err(|error| not_started(None, error))?
    };
    if !done.ignored_names.is_empty() {
        print_stderr(format_args!("warning: not asked for and ignored: {}", done.ignored_names.join(", ")));
    }
    Ok(done.earlier_answer.map_or(ControlFlow::Continue(done.run), ControlFlow::Break))
}

/// JSON, or plain words. What begins like JSON and is none is a mistake, not an answer.
fn parse_results(text: &str) -> Result<Value> {
    json_or_words(text).map_err(|error| {
        anyhow!(
            "--results is not JSON: {error}\nhint: plain words need no quotes; a text that begins \
            like JSON is written as \"…\""
        )
    })
}

/// Errors of the definition are shown in its file, which `catalog` knows.
fn not_started(catalog: Option<&ConfigCatalog>, error: RunResumeError) -> anyhow::Error {
    match (catalog, error) {
        (Some(catalog), RunResumeError::Definition(found)) => diagnostics::definition_error(catalog, &found),
        (_, error) => error_with_hint(&error.to_string(), error.hint().as_deref()),
    }
}

fn place_error(error: RunPlaceError) -> anyhow::Error {
    not_started(None, error.into())
}

fn token_error(error: TokenError) -> anyhow::Error {
    error_with_hint(&error.to_string(), error.hint().as_deref())
}
