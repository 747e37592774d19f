//! `run`: finds the workflow, checks it and its inputs, then stays with the run to its end.

use std::io::Read;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Map, Value};

use super::recordings::{self, RecordingMode};
use super::{diagnostics, isolation, mcp_command};
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::scripted_models::{RepliesFileProblem, ScriptedModel};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels};
use synthdev_cli::args::RunArgs;
use synthdev_cli::headless::{self, FinalReport, HeadlessOutput};
use synthdev_domain::journal::RunStatus;
use synthdev_domain::run_error::RunError;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::workflow::{WorkflowParameter, WorkflowProgram};
use synthdev_engine::run_spec::RunSpec;
use synthdev_language::inputs;
use synthdev_language::json::JsonNode;
use synthdev_language::source::{FileDiagnostics, SourceFile};
use synthdev_service::run_start::{FileSharingMode, RunStartRequest};
use synthdev_service::start_check::{StartableProgram, find_program};
use synthdev_session::context_windows;
use synthdev_session::recorded_program::catalog_without_models;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::file_kind::FileKind;

pub(crate) use super::load_config::{load_catalog, load_quietly};
pub(crate) use super::run_to_end::{build_runtime, drive_spec, runtime_with_threads};
pub(crate) use synthdev_session::system_context::run_spec;

pub(crate) fn run_workflow_command(context: &StartContext, args: RunArgs) -> Result<u8> {
    let show = HeadlessOutput { json: args.json, events: args.events, progress: !args.json && !args.events };
    let script = args.replies.as_deref().map(read_script).transpose()?;
    let played = recordings::open_replayed(args.replay.as_deref())?;
    let overrides = match (&script, &played) {
        (Some(_), _) => context.scripted_overrides("--replies"),
        (None, Some(_)) => context.scripted_overrides("--replay"),
        (None, None) => context.overrides.clone(),
    };
    let file = args.workflow_file.as_deref().map(read_workflow).transpose()?;
    let (catalog, gathered) = load_catalog(context, overrides, file.clone())?;
    diagnostics::ensure_sound(&catalog)?;
    let (name, text) = name_and_input(&catalog, &args, file.as_ref())?;
    let catalog = match &played {
        Some(_) => catalog_without_models(context, gathered.sources.clone()),
        None => catalog,
    };
    let program =
        find_program(&catalog, &name).map_err(|refused| diagnostics::lookup_error(&catalog, refused))?;
    let stops = super::breakpoints::parse_breakpoints(&args.stops, &program)?;
    let read = read_inputs(&program, text.as_deref(), &args.inputs, args.input_file.as_deref())?;
    let startable = match StartableProgram::with_inputs(program, |_| read) {
        Ok(startable) => startable,
        Err(error) if error.is_missing() => {
            return Ok(headless::print_result(&input_required(&name, error), show)?);
        }
        Err(error) => bail!("{}\nhint: {}", error.message, error.hint),
    };
    let (catalog, startable) = match &played {
        Some(_) => (catalog, startable),
        None => mcp_command::with_listed_tools(context, catalog, startable, gathered.sources)?,
    };
    let StartableProgram { mut program, inputs: values } = startable;
    context_windows::ask_windows_before_recording(&catalog, &mut program)?;
    let (program, tape) = recordings::prepare_recording(context, &args, file.as_ref(), played, program)?;
    let beside = typed_sharing(&args).for_program(&program);
    let request =
        RunStartRequest { program, inputs: values, approves_all: args.yes, interactive: false, stops };
    let spec = run_spec(&catalog, context, request);
    let spec = match tape {
        RecordingMode::None => spec,
        // a recording is the same in every directory and on every day
        RecordingMode::Record { .. } | RecordingMode::Play { .. } => {
            RunSpec { brief: SystemContext::default(), ..spec }
        }
    };
    synthdev_bootstrap::logs::start_logging(&context.dirs.data, catalog.settings().verbosity());
    #[cfg(feature = "restate")]
    if args.backend.is_some() {
        return super::restate_runs::run_workflow(context, &catalog, &args, spec, show);
    }
    let models = RunModels::new(script, &context.project, args.record.as_deref(), args.replay.as_deref());
    let report = if beside == FileSharingMode::Isolated {
        isolation::run_in_worktree(context, &catalog, spec, models, tape, show)?
    } else {
        let wired = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, models);
        let wired = wired.with_file_sharing(beside);
        let wired = tape.wrap_models(wired, &catalog, &[&context.project])?;
        drive_spec(&wired, spec, show)?
    };
    Ok(headless::print_result(&report, show)?)
}

fn typed_sharing(args: &RunArgs) -> FileSharingMode {
    match (args.isolate, args.share) {
        (true, _) => FileSharingMode::Isolated,
        (false, true) => FileSharingMode::Shares,
        (false, false) => FileSharingMode::Refused,
    }
}

pub(crate) fn read_script(path: &Path) -> Result<ScriptedModel> {
    let text = file_io::read_text_file(path)
        .with_context(|| format!("the replies file {} cannot be read", path.display()))?;
    parse_script(&path.display().to_string(), &text)
}

pub(crate) fn parse_script(name: &str, text: &str) -> Result<ScriptedModel> {
    let file = SourceFile::new(ConfigLayer::CommandLine, name, text);
    let mut findings = FileDiagnostics::new(&file);
    let node = JsonNode::parse(&file, &mut findings);
    if let Some(first) = findings.list.first() {
        bail!("{}: {}", first.place, first.message);
    }
    let Some(node) = node else { bail!("{name} is empty") };
    ScriptedModel::from_value(&node.to_value()).map_err(|bad| {
        let line = |problem: &RepliesFileProblem| {
            let place = file.location_at(node.nearest_node(&problem.value_path.json_pointer).span.start);
            format!("{place}: {problem}")
        };
        let lines: Vec<String> = bad.problems.iter().map(line).collect();
        anyhow::anyhow!("this is not a replies file:\n{}", lines.join("\n"))
    })
}

pub(crate) fn read_workflow(path: &Path) -> Result<SourceFile> {
    let text = file_io::read_text_file(path)
        .with_context(|| format!("the workflow file {} cannot be read", path.display()))?;
    let file = SourceFile::new(ConfigLayer::CommandLine, path.display().to_string(), text);
    match FileKind::reject_as_workflow(&file) {
        Some(found) => {
            let hint = found.hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            bail!("{}: {}{hint}", path.display(), found.message)
        }
        None => Ok(file),
    }
}

/// With a file, its first workflow is meant unless a name of it was typed.
fn name_and_input(
    catalog: &ConfigCatalog,
    args: &RunArgs,
    file: Option<&SourceFile>,
) -> Result<(String, Option<String>)> {
    let Some(file) = file else {
        let Some(name) = args.name.clone() else {
            bail!("which workflow? synthdev run NAME \"task\"; `synthdev workflows` lists them");
        };
        return Ok((name, args.input.clone()));
    };
    let (heads, found) = synthdev_language::workflow_file::read_heads(file);
    let Some(first) = heads.first() else {
        diagnostics::print_diagnostics(catalog, &found);
        bail!("{} holds no workflow", file.name);
    };
    match (&args.name, &args.input) {
        (Some(name), Some(input)) => Ok((name.clone(), Some(input.clone()))),
        (Some(name), None) if heads.iter().any(|head| head.name == *name) => Ok((name.clone(), None)),
        (input, _) => Ok((first.name.clone(), input.clone())),
    }
}

/// Nothing was started: the user, or the caller, has to give the input first.
fn input_required(workflow: &str, missing: inputs::InputError) -> FinalReport {
    let names: Vec<String> = missing.missing.iter().map(|name| format!("`{name}`")).collect();
    let verb = if names.len() == 1 { "has" } else { "have" };
    let detail = format!("{} {verb} no value", names.join(", "));
    let mut error = RunError::new("input_required", missing.message, detail);
    error.hint = Some(missing.hint);
    FinalReport {
        workflow: workflow.to_owned(),
        status: RunStatus::Paused,
        error: Some(error),
        ..FinalReport::default()
    }
}

/// What was given, or why it does not fit; outside, what was typed wrongly.
pub(crate) type RunInputsResult = Result<Map<String, Value>, inputs::InputError>;

/// From what was typed: a text, `--input` pairs, or a file.
pub(crate) fn read_inputs(
    program: &WorkflowProgram,
    text: Option<&str>,
    named: &[String],
    file: Option<&Path>,
) -> Result<RunInputsResult> {
    let parameters: &[WorkflowParameter] =
        program.workflows.first().map(|root| root.inputs.as_slice()).unwrap_or_default();
    let file = file.map(read_input).transpose()?;
    if !named.is_empty() {
        if text.is_some() || file.is_some() {
            bail!("give the input once: as text, with --input, or with --input-file");
        }
        let mut values = Map::new();
        for pair in named {
            let Some((name, value)) = pair.split_once('=') else {
                bail!("--input {pair}: write it as NAME=VALUE");
            };
            values.insert(name.to_owned(), Value::from(value));
        }
        return Ok(inputs::from_values(parameters, &values));
    }
    if text.is_some() && file.is_some() {
        bail!("give the input once: as text, or with --input-file");
    }
    let text = text.map(str::to_owned).or(file).unwrap_or_default();
    Ok(inputs::from_text(parameters, &text))
}

fn read_input(path: &Path) -> Result<String> {
    if path == Path::new("-") {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).context("standard input cannot be read")?;
        return Ok(text);
    }
    file_io::read_text_file(path).with_context(|| format!("the input file {} cannot be read", path.display()))
}
