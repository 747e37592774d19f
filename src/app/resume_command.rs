//! `resume` and `runs retry`: resuming a run from its present state.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::{Result, anyhow, bail};
use serde_json::{Value, json};

use super::bootstrap::{self, WiredRuntime, WorktreeLocation};
use super::cli_context::CliContext;
use super::load_config::load_catalog;
use super::read_only::store_error;
use super::run_command::{read_script, read_workflow};
use super::run_to_end::{follow_run, follow_run_if};
use super::{diagnostics, imported_runs, isolation, recordings, windows};
use synthdev_adapters::providers::scripted::ScriptedModel;
use synthdev_cli::args::ResumeArgs;
use synthdev_cli::headless::{self, HeadlessOutput, resume_command};
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, question_rows, safe_name};
use synthdev_cli::{exit, json_output};
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{OpenPause, PauseReason, RunProgress, RunStatus, RunSummary};
use synthdev_domain::workflow::{WorkflowProgram, plain_text};
use synthdev_engine::event::RunEvent;
use synthdev_engine::input::UserAnswer;
use synthdev_engine::steering::BreakpointSet;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::resume::{ResumeError, ResumeRequest};
use synthdev_runtime::resume_tokens::{TokenError, answer_to};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::catalog::windows::copy_known_windows;

pub(super) fn retry_run(world: &CliContext, args: &ResumeArgs) -> Result<u8> {
    let summary = super::read_only::open_reader(world)?.handle.summary(&args.run).map_err(store_error)?;
    if summary.progress.status != RunStatus::Failed {
        let (run, status) = (&summary.id, summary.progress.status.as_str());
        let hint = match summary.progress.status {
            RunStatus::Completed | RunStatus::Cancelled | RunStatus::Failed => {
                format!("go back: synthdev runs rewind {run} --to STEP, or runs fork {run} --at STEP")
            }
            RunStatus::Running => format!("look at it: synthdev runs show {run}"),
            RunStatus::Paused | RunStatus::Interrupted => format!("synthdev resume {run}"),
        };
        bail!("run {run} has not failed: it is {status}\nhint: {hint}");
    }
    resume_run(world, args)
}

pub(super) fn resume_run(world: &CliContext, args: &ResumeArgs) -> Result<u8> {
    let show = HeadlessOutput { json: args.json, events: args.events, progress: !args.json && !args.events };
    let script = args.replies.as_deref().map(read_script).transpose()?;
    let played = recordings::open_replayed(args.replay.as_deref())?;
    let overrides = match (&script, &played) {
        (Some(_), _) => world.scripted_overrides("--replies"),
        (None, Some(_)) => world.scripted_overrides("--replay"),
        (None, None) => world.overrides.clone(),
    };
    let file = args.workflow_file.as_deref().map(read_workflow).transpose()?;
    let (catalog, gathered) = load_catalog(world, overrides, file)?;
    diagnostics::ensure_sound(&catalog)?;
    super::logs::start_logging(&world.dirs.data, catalog.settings().verbosity());
    let results = args.results.as_deref().map(parse_results).transpose()?;
    let more = args.budget.map(|budget| json!({"budget": budget}));
    let reader = bootstrap::wire_runtime(&world.project, &world.dirs.data, &catalog, None);
    let token = is_token(&args.run).then(|| args.run.clone());
    let id = match &token {
        Some(token) => reader.handle.run_for_token(token).map_err(token_error)?,
        None => RunId(args.run.clone()),
    };
    let summary = reader.handle.summary(id.as_str()).map_err(store_error)?;
    let wired = wired_for(world, &catalog, &summary, script)?;
    let wired = if args.share { wired.with_shared_project() } else { wired };
    skip_used_replies(&wired, &summary.id)?;
    let wired =
        recordings::attach_to_resumed(world, args, &catalog, gathered.sources, played, wired, &summary)?;
    let stored = || Ok(wired.handle.load_record(summary.id.as_str()).map_err(store_error)?.program);
    let program = upgraded_program(&catalog, &summary, args, stored)?;
    let approvals = catalog.settings().approval_policy();
    let approvals = args.yes.then(|| approvals.approving_all());
    let going = ResumeRequest { approvals, program, ..ResumeRequest::default() };
    let windows = |program: &mut WorkflowProgram| windows::ask_windows_before_recording(&catalog, program);
    let going = imported_runs::adapt_imported_run(&catalog, &summary, stored, windows, going)?;
    let going =
        ResumeRequest { breakpoints: resolve_breakpoints(args, going.program.as_ref(), stored)?, ..going };
    print_upgrade_notes(&wired.handle, &summary.id, going.program.as_ref())?;
    let run = summary.id.clone();
    let report = if let Some(token) = token {
        let results = results.or(more).unwrap_or(Value::Null);
        match follow_run_if(&wired, show, async |handle| redeem_token(handle, &token, results, going).await)?
        {
            ControlFlow::Continue(report) => report,
            ControlFlow::Break(repetition) => {
                return report_repeated_answer(&wired.handle, &repetition, show);
            }
        }
    } else {
        let going = match place_typed_answer(&wired.handle, &summary, args, results, more, going)? {
            Ok(going) => going,
            Err(open) => return report_open_questions(&run, &open, show),
        };
        headless::print_retried_states(&summary.progress.pauses, show);
        follow_run(&wired, show, async |handle| {
            handle.resume(&run, going).await.map_err(|error| token_error(error.into()))?;
            Ok(run)
        })?
    };
    Ok(headless::print_result(&report, show)?)
}

/// The breakpoints, checked against the definition that the run will use.
fn resolve_breakpoints(
    args: &ResumeArgs,
    program: Option<&WorkflowProgram>,
    stored: impl Fn() -> Result<WorkflowProgram>,
) -> Result<Option<BreakpointSet>> {
    if !args.stops.step && args.stops.breaks.is_empty() {
        return Ok(None);
    }
    match program {
        Some(program) => super::breakpoints::parse_breakpoints(&args.stops, program).map(Some),
        None => super::breakpoints::parse_breakpoints(&args.stops, &stored()?).map(Some),
    }
}

/// A run resumes where its files are.
fn wired_for(
    world: &CliContext,
    catalog: &ConfigCatalog,
    summary: &RunSummary,
    script: Option<ScriptedModel>,
) -> Result<WiredRuntime> {
    let data = &world.dirs.data;
    if Path::new(&summary.project) != world.project {
        let (run, project) = (&summary.id, safe_name(&summary.project));
        bail!("run {run} belongs to {project}\nhint: synthdev -C {project} resume {run}");
    }
    Ok(match &summary.worktree {
        Some(tree) if !Path::new(&tree.path).is_dir() => {
            return Err(isolation::worktree_gone_error(summary, tree));
        }
        Some(tree) => {
            let place = WorktreeLocation { project: &world.project, worktree: Path::new(&tree.path) };
            bootstrap::wire_worktree(place, data, catalog, script)
        }
        None => bootstrap::wire_runtime(&world.project, data, catalog, script),
    })
}

/// Scripted replies that the run has had are not given again.
pub(super) fn skip_used_replies(wired: &WiredRuntime, run: &RunId) -> Result<()> {
    let Some(script) = wired.providers.scripted_model() else { return Ok(()) };
    let record = wired.handle.load_record(run.as_str()).map_err(store_error)?;
    let mut had = std::collections::BTreeMap::<&str, usize>::new();
    for (_, event) in &record.events {
        let (agent, replies) = match &event.event {
            RunEvent::Replied { agent, .. } | RunEvent::ContextSummarized { agent, .. } => (agent, 1),
            RunEvent::ModelFailed { agent, attempts, .. } => (agent, *attempts as usize),
            _ => continue,
        };
        *had.entry(agent.as_str()).or_default() += replies;
    }
    let later = wired.handle.agents_answered_before_rewind(run).map_err(store_error)?;
    for agent in &later {
        *had.entry(agent.as_str()).or_default() += 1;
    }
    had.into_iter().for_each(|(agent, replies)| script.skip_replies(agent, replies));
    Ok(())
}

/// The present definition of the workflow.
fn upgraded_program(
    catalog: &ConfigCatalog,
    summary: &RunSummary,
    args: &ResumeArgs,
    stored: impl FnOnce() -> Result<WorkflowProgram>,
) -> Result<Option<WorkflowProgram>> {
    if !args.upgrade {
        return Ok(None);
    }
    match catalog.check_workflow(&summary.workflow) {
        Ok((mut program, _)) => {
            windows::ask_windows_before_recording(catalog, &mut program)?;
            copy_known_windows(&mut program, &stored()?);
            Ok(Some(program))
        }
        Err(_) if args.workflow_file.is_none() && catalog.workflow(&summary.workflow).is_none() => {
            let known = safe_name(&summary.workflow);
            bail!(
                "there is no workflow `{known}` here to continue with\nhint: if it is in another file, \
                    use --workflow-file FILE"
            )
        }
        Err(found) => Err(diagnostics::definition_error(catalog, &found)),
    }
}

/// What a changed definition means for the run, before it is accepted.
fn print_upgrade_notes(handle: &RuntimeHandle, run: &RunId, program: Option<&WorkflowProgram>) -> Result<()> {
    let Some(program) = program else { return Ok(()) };
    match handle.try_upgrade(run, program).map_err(store_error)? {
        Ok(notes) if notes.is_empty() => print_stderr("the definition is the same"),
        Ok(notes) => print_stderr(format_args!("the definition is different now:\n  {}", notes.join("\n  "))),
        Err(problems) => return Err(token_error(ResumeError::Incompatible(problems).into())),
    }
    Ok(())
}

async fn redeem_token(
    handle: &RuntimeHandle,
    token: &str,
    results: Value,
    going: ResumeRequest,
) -> Result<ControlFlow<DuplicateAnswer, RunId>> {
    let done = handle.redeem(token, results, going, &|_| true).await.map_err(token_error)?;
    if !done.ignored_names.is_empty() {
        print_stderr(format_args!("warning: not asked for and ignored: {}", done.ignored_names.join(", ")));
    }
    Ok(match done.earlier_answer {
        Some(answer) => ControlFlow::Break(DuplicateAnswer { run: done.run, answer }),
        None => ControlFlow::Continue(done.run),
    })
}

/// An answer that was given before, in the same way.
struct DuplicateAnswer {
    run: RunId,
    /// The recorded answer.
    answer: String,
}

/// Prints the outcome of an answer that was given before.
fn report_repeated_answer(
    handle: &RuntimeHandle,
    repetition: &DuplicateAnswer,
    show: HeadlessOutput,
) -> Result<u8> {
    let DuplicateAnswer { run, answer } = repetition;
    let RunProgress { status, output, .. } = handle.summary(run.as_str()).map_err(store_error)?.progress;
    print_stderr(format_args!(
        "this was answered before, with the same results; run {run} is {} now: synthdev runs show {run}",
        status.as_str()
    ));
    if show.json {
        let mut said: Value = serde_json::from_str(answer)?;
        said["duplicate"] = true.into();
        said["status"] = status.as_str().into();
        said["output"] = output.unwrap_or_default();
        json_output::write_json_line(&said, &mut io::stdout().lock())?;
    } else if let Some(output) = output.filter(|_| !show.events) {
        writeln!(TerminalSafeWriter(&mut io::stdout().lock()), "{}", plain_text(&output))?;
    }
    Ok(exit::COMPLETED)
}

type AnswersOrPauses = Result<ResumeRequest, Vec<OpenPause>>;

/// Puts the typed answer into the request; the outer error: pauses that need an answer first.
fn place_typed_answer(
    handle: &RuntimeHandle,
    summary: &RunSummary,
    args: &ResumeArgs,
    results: Option<Value>,
    more: Option<Value>,
    mut going: ResumeRequest,
) -> Result<AnswersOrPauses> {
    let run = &summary.id;
    let open = handle.open_pauses(run, going.program.as_ref()).map_err(|error| token_error(error.into()))?;
    let needs = |pause: &&OpenPause| match pause.reason {
        PauseReason::Approval => !args.yes,
        // a budget is raised only if the user says so
        PauseReason::Budget => more.is_none(),
        PauseReason::Input | PauseReason::UncertainEffect => true,
        PauseReason::Error | PauseReason::Limit | PauseReason::User | PauseReason::Delegate => false,
    };
    let mut chosen: Vec<&OpenPause> = open.iter().filter(needs).collect();
    if let Some(state) = &args.state {
        chosen.retain(|pause| pause.state == *state);
        if chosen.is_empty() && more.is_none() {
            bail!("state `{state}` has no open question: {}", waiting_states(&open));
        }
    }
    let spends = |pause: &OpenPause| {
        pause.reason == PauseReason::Budget && args.state.as_ref().is_none_or(|state| pause.state == *state)
    };
    let over = matches!(summary.progress.status, RunStatus::Completed | RunStatus::Cancelled);
    if more.is_some() && !over && !open.iter().any(spends) {
        bail!("run {run} waits for no budget there\nhint: synthdev runs show {run} says what it waits for");
    }
    if more.is_some() {
        one_kind(run, open.iter().filter(|pause| spends(pause)))?;
    }
    for pause in &open {
        match pause.reason {
            PauseReason::Approval if args.yes => going.decisions.push((pause.call, ApprovalDecision::Allow)),
            PauseReason::Error | PauseReason::Limit => {
                going.answers.push((pause.call, UserAnswer::Continue));
            }
            PauseReason::Budget => {
                let more = more.clone().filter(|_| spends(pause));
                going.answers.extend(more.map(|value| (pause.call, UserAnswer::Value { value })));
            }
            PauseReason::Approval
            | PauseReason::Input
            | PauseReason::UncertainEffect
            | PauseReason::User
            | PauseReason::Delegate => {}
        }
    }
    match (chosen.as_slice(), results) {
        ([], None) => {}
        ([], Some(_)) if open.is_empty() && summary.progress.status == RunStatus::Interrupted => bail!(
            "run {run} has no open question: it was interrupted\nhint: resume it without --results; it \
                asks for what it needs"
        ),
        // `resume` itself refuses a run that has ended
        ([], Some(_)) if open.is_empty() => {}
        ([], Some(_)) => bail!("run {run} waits for no answer\nhint: resume it without --results"),
        ([only], Some(results)) => {
            answer_to(only, results, &mut going).map_err(|problem| anyhow!("{problem}"))?;
        }
        // resumes what needs no answer; the other pauses stay open
        (_, None) if !going.answers.is_empty() || !going.decisions.is_empty() => {}
        (several, _) => return Ok(Err(several.iter().map(|pause| (*pause).clone()).collect())),
    }
    Ok(Ok(going))
}

/// An amount is of one kind: so many tokens are not as many dollars.
fn one_kind<'a>(run: &RunId, spent: impl Iterator<Item = &'a OpenPause>) -> Result<()> {
    let mut kinds: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for pause in spent {
        let kind = match pause.kind.as_deref().unwrap_or_default() {
            "cost_usd" => "dollars",
            "duration" => "seconds",
            other => other,
        };
        kinds.entry(kind).or_default().insert(format!("`{}`", safe_name(&pause.state)));
    }
    if kinds.len() < 2 {
        return Ok(());
    }
    let each = kinds.iter().map(|(kind, states)| {
        format!("{kind} in {}", states.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
    });
    bail!(
        "run {run} waits for several kinds of budget: {}\nhint: choose one with --state; where a state \
            waits for both, \
         answer with the resume token of each",
        each.collect::<Vec<_>>().join("; ")
    )
}

fn waiting_states(open: &[OpenPause]) -> String {
    open.iter().map(|pause| format!("`{}`", safe_name(&pause.state))).collect::<Vec<_>>().join(", ")
}

/// Nothing was started: the run waits for an answer of the user.
fn report_open_questions(run: &RunId, open: &[OpenPause], show: HeadlessOutput) -> Result<u8> {
    let spent = open.iter().all(|pause| pause.reason == PauseReason::Budget);
    let code = if spent { exit::LIMIT } else { exit::PAUSED };
    if show.json {
        let told = json!({"run_id": run, "status": "paused", "pauses": open});
        json_output::write_json_line(&told, &mut io::stdout().lock())?;
        return Ok(code);
    }
    print_stderr(format_args!(
        "run {run} waits for {} answer{}:",
        open.len(),
        if open.len() == 1 { "" } else { "s" }
    ));
    let several = open.len() > 1;
    for pause in open {
        let lead = format!("  {} ({})", safe_name(&pause.state), pause.reason.as_str());
        print_stderr(question_rows(&lead, pause).join("\n"));
        if let Some(command) = resume_command(run, pause, several) {
            print_stderr(format_args!("    {command}"));
        }
        if pause.reason == PauseReason::Budget {
            print_stderr(
                "    the amount is added to what it has used; to add the original budget again: --results \
                    '\"continue\"'",
            );
        }
    }
    Ok(code)
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

/// # Errors
/// It begins like an object, a list or a text of JSON, and is none.
pub(super) fn json_or_words(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        let meant = text.trim_start().starts_with(['{', '[', '"']);
        if meant { Err(error) } else { Ok(Value::String(text.to_owned())) }
    })
}

/// `name-` and 48 hexadecimal digits.
fn is_token(text: &str) -> bool {
    text.rsplit_once('-')
        .is_some_and(|(_, luck)| luck.len() == 48 && luck.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

fn token_error(error: TokenError) -> anyhow::Error {
    match error.hint() {
        Some(hint) => anyhow!("{error}\nhint: {hint}"),
        None => anyhow!("{error}"),
    }
}
