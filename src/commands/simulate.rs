//! `simulate`: one scripted run of a workflow, and what it did.

use std::io::{IsTerminal, stdout};
use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};

use super::diagnostics;
use super::read_only::error_with_hint;
use super::run_command::{build_runtime, load_catalog, read_inputs, read_workflow};
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::simulation_ports::LocalSimulationPorts;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::SimulateArgs;
use synthdev_cli::output::print_stderr_styled;
use synthdev_cli::simulation_report::{write_simulated_runs, write_simulation};
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::render::{DiagnosticStyle, render_diagnostics};
use synthdev_language::source::SourceFile;
use synthdev_language::test_file::TestScenario;
use synthdev_language::workflow_file;
use synthdev_service::start_check::{WorkflowLookupError, find_program};
use synthdev_service::workflow_tests::dry_run::{DryRun, DryRunError};
use synthdev_service::workflow_tests::replies_file::{ReplyScriptError, only_scenario};
use synthdev_service::workflow_tests::scripted_run::ScriptedRun;
use synthdev_session::reports::simulated_runs_text;
use synthdev_settings::catalog::ConfigCatalog;

pub(crate) fn run_simulate_command(context: &StartContext, args: SimulateArgs) -> Result<u8> {
    let Some(replies) = &args.replies else { return simulate_without_replies(context, &args) };
    let script = read_file(replies, "replies")?;
    let workflow = Path::new(&args.workflow);
    let is_file = workflow.extension().is_some_and(|ending| ending == "json");
    let file = is_file.then(|| read_workflow(workflow)).transpose()?;
    let (catalog, _) = load_catalog(context, context.scripted_overrides("simulate"), file.clone())?;
    diagnostics::ensure_sound(&catalog)?;
    let scenario = only_scenario(&script).map_err(|error| match error {
        ReplyScriptError::Unusable(found) => report_unusable(&catalog, std::slice::from_ref(&script), &found),
        other => error_with_hint(&other.to_string(), other.hint().as_deref()),
    })?;
    let name = match &file {
        None => args.workflow.clone(),
        Some(file) => match tested_workflow(file, &scenario) {
            Some(name) => name,
            None => bail!("{} holds no workflow", file.name),
        },
    };
    let program =
        find_program(&catalog, &name).map_err(|refused| diagnostics::lookup_error(&catalog, refused))?;
    let inputs = typed_inputs(&program, &args)?;
    let ports = LocalSimulationPorts::default();
    let scripted_run = match ScriptedRun::new(&ports, &catalog, &script, &scenario, &program, inputs, None) {
        Ok(scripted_run) => scripted_run,
        Err(found) => return Err(report_unusable(&catalog, std::slice::from_ref(&script), &found)),
    };
    let judged = build_runtime()?.block_on(scripted_run.play_to_end(&ports));
    Ok(write_simulation(&judged, args.json, &mut stdout().lock())?)
}

/// As `/simulate` of the screen: its tests, else one run with made-up answers.
fn simulate_without_replies(context: &StartContext, args: &SimulateArgs) -> Result<u8> {
    let workflow = Path::new(&args.workflow);
    let is_file = workflow.extension().is_some_and(|ending| ending == "json");
    let file = is_file.then(|| read_workflow(workflow)).transpose()?;
    let (catalog, gathered) = load_catalog(context, context.scripted_overrides("simulate"), file.clone())?;
    diagnostics::ensure_sound(&catalog)?;
    let ports = LocalSimulationPorts::default();
    let dry_run = DryRun { ports: &ports, catalog: &catalog, tests: &gathered.tests };
    let runtime = build_runtime()?;
    let played = match &file {
        Some(file) => runtime.block_on(dry_run.play_file(file)),
        None => runtime.block_on(dry_run.play_workflow(&args.workflow)),
    };
    let all = played.map_err(|error| match error {
        DryRunError::UnknownWorkflow(unknown) => {
            diagnostics::lookup_error(&catalog, WorkflowLookupError::Unknown(unknown))
        }
        DryRunError::Invalid(found) => diagnostics::definition_error(&catalog, &found),
        DryRunError::NoWorkflow => anyhow!("{} holds no workflow", args.workflow),
    })?;
    let text = if args.json { None } else { Some(simulated_runs_text(&all)) };
    Ok(write_simulated_runs(&all, text, &mut stdout().lock())?)
}

/// The one that the script names, if the file has it; else its first.
fn tested_workflow(file: &SourceFile, scenario: &TestScenario) -> Option<String> {
    let mut names: Vec<String> =
        workflow_file::read_heads(file).0.into_iter().map(|head| head.name).collect();
    let wanted =
        scenario.workflow.as_ref().and_then(|wanted| names.iter().position(|name| *name == wanted.value));
    (!names.is_empty()).then(|| names.swap_remove(wanted.unwrap_or(0)))
}

/// Findings on stderr, and as the error of a file that cannot be used. `files`: those that the catalogue does not know.
pub(crate) fn report_unusable(
    catalog: &ConfigCatalog,
    files: &[SourceFile],
    found: &[Diagnostic],
) -> anyhow::Error {
    let paint = if std::io::stderr().is_terminal() { DiagnosticStyle::Ansi } else { DiagnosticStyle::Plain };
    print_stderr_styled(&render_diagnostics(found, &file_text(catalog, files), paint));
    diagnostics::diagnostics_error(found)
}

/// A file's text by its name, of these files or the catalogue's.
pub(crate) fn file_text<'a>(
    catalog: &'a ConfigCatalog,
    files: &'a [SourceFile],
) -> impl Fn(&str) -> Option<String> + 'a {
    |name| {
        let own = files.iter().find(|file| file.name == name).map(|file| file.text.to_string());
        own.or_else(|| catalog.printable_text(name))
    }
}

pub(crate) fn read_file(path: &Path, what: &str) -> Result<SourceFile> {
    let shown = path.display().to_string();
    let text =
        file_io::read_text_file(path).with_context(|| format!("the {what} file {shown} cannot be read"))?;
    Ok(SourceFile::new(ConfigLayer::CommandLine, shown, text))
}

/// What was typed; `None` leaves it to the file.
fn typed_inputs(
    program: &WorkflowProgram,
    args: &SimulateArgs,
) -> Result<Option<serde_json::Map<String, serde_json::Value>>> {
    if args.input.is_none() && args.inputs.is_empty() && args.input_file.is_none() {
        return Ok(None);
    }
    match read_inputs(program, args.input.as_deref(), &args.inputs, args.input_file.as_deref())? {
        Ok(values) => Ok(Some(values)),
        Err(error) => bail!("{}\nhint: {}", error.message, error.hint),
    }
}
