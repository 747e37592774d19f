//! `graph`: finds the workflow, or the run with the workflow as it was then, and has it drawn.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::read_only::store_error;
use super::run_command::load_catalog;
use super::terminal_size::terminal_columns;
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels};
use synthdev_cli::args::GraphArgs;
use synthdev_cli::exit;
use synthdev_cli::graph::{GraphTerminalOptions, program_graphs, write_graphs};
use synthdev_cli::output::{print_stderr, safe_name};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::source::SourceFile;
use synthdev_service::definition_check::find_workflow;
use synthdev_service::run_reports::RunRecord;

/// Columns if the width of the output is unknown.
const USUAL_WIDTH: usize = 80;
/// A wider drawing is harder to read, not easier.
const WIDEST: usize = 140;

pub(crate) fn show_graph(context: &StartContext, args: &GraphArgs) -> Result<u8> {
    let (program, at, run) = match &args.run {
        Some(id) => {
            let record = load_run_record(context, id)?;
            let at = select_workflow(&record.program, args.workflow.as_deref(), id)?;
            (record.program.clone(), at, Some(record))
        }
        None => match find_program(context, args.workflow.as_deref().unwrap_or_default())? {
            Some(program) => (program, 0, None),
            None => return Ok(exit::USAGE),
        },
    };
    let drawn = program_graphs(&program, at, args.children, run.as_ref());
    let mut out = std::io::stdout().lock();
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let look = GraphTerminalOptions {
        width: graph_width(args.width),
        colour: out.is_terminal() && !plain,
        names_only: args.names,
    };
    write_graphs(&drawn, run.as_ref(), args.format, look, &mut out)?;
    Ok(exit::COMPLETED)
}

fn graph_width(asked: Option<usize>) -> usize {
    asked.or_else(|| terminal_columns().map(|columns| columns.min(WIDEST))).unwrap_or(USUAL_WIDTH)
}

fn load_run_record(context: &StartContext, id: &str) -> Result<RunRecord> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, RunModels::default());
    wired.handle.load_record(id).map_err(store_error)
}

/// Which workflow of a run is meant: the one that was started, or one that it called.
fn select_workflow(program: &WorkflowProgram, wanted: Option<&str>, run: &str) -> Result<usize> {
    let Some(wanted) = wanted else { return Ok(0) };
    let names: Vec<String> = program.workflows.iter().map(|workflow| safe_name(&workflow.name)).collect();
    program.workflows.iter().position(|workflow| workflow.name == wanted).with_context(|| {
        format!(
            "run {run} did not use a workflow `{}`\nhint: it used {}",
            safe_name(wanted),
            names.join(", ")
        )
    })
}

/// The first workflow of a file, or a configured one; `None` if it has errors, which were printed.
fn find_program(context: &StartContext, wanted: &str) -> Result<Option<WorkflowProgram>> {
    // What a workflow looks like does not depend on the models of this machine.
    let overrides = context.scripted_overrides("graph");
    let path = Path::new(wanted);
    let file = path.is_file().then(|| read_source(path)).transpose()?;
    let (catalog, _) = load_catalog(context, overrides, file.clone())?;
    let checked = match (find_workflow(&catalog, wanted), file) {
        (Ok(_), _) => catalog.check_workflow(wanted).map(|(program, _)| vec![program]),
        (Err(_), Some(file)) => catalog.check_file(&file).map(|(programs, _)| programs),
        (Err(unknown), None) => {
            bail!("{}\nhint: {}", unknown.name_or_file_text(), unknown.hint())
        }
    };
    let mut programs = match checked {
        Ok(programs) => programs.into_iter(),
        Err(found) => {
            super::diagnostics::print_diagnostics(&catalog, &found);
            return Ok(None);
        }
    };
    let first = programs.next();
    let more: Vec<String> =
        programs.filter_map(|other| other.workflows.first().map(|root| safe_name(&root.name))).collect();
    if !more.is_empty() {
        print_stderr(format_args!(
            "note: the file also holds {}; only its first workflow is drawn",
            more.join(", ")
        ));
    }
    Ok(first)
}

fn read_source(path: &Path) -> Result<SourceFile> {
    let text = file_io::read_text_file(path).with_context(|| format!("{} cannot be read", path.display()))?;
    Ok(SourceFile::new(ConfigLayer::CommandLine, path.display().to_string(), text))
}
