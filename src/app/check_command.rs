//! `check`: every finding of what is configured, or of the files and workflows named, and what a run can cost.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::cli_context::CliContext;
use super::run_command::load_catalog;
use super::system_context;
use synthdev_adapters::file_io;
use synthdev_cli::args::CheckArgs;
use synthdev_cli::cost_estimate::write_cost_estimate;
use synthdev_cli::exit;
use synthdev_cli::output::{print_stderr, safe_name};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::system_context::SystemContext;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::cost_estimate::estimate_cost;
use synthdev_language::model_selector::LEVELS;
use synthdev_language::render::{DiagnosticStyle, count_summary, diagnostic_records, render_diagnostics};
use synthdev_language::source::{FileDiagnostics, SourceFile};
use synthdev_language::test_file;
use synthdev_language::test_file::ENDING;
use synthdev_language::workflow_file::read_heads;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::file_kind::FileKind;

/// What is checked.
enum CheckSubject {
    /// A workflow of the catalogue, by name.
    Known(String),
    File(SourceFile),
    /// Tests of a workflow.
    Test(SourceFile),
    /// Settings, models or roles.
    Other(SourceFile, FileKind),
    /// A file that cannot be read as text: name and reason.
    Unreadable(String, String),
    /// A file of a directory that, by its content and path, is not one of ours.
    Foreign,
}

/// What a workflow was read as.
#[derive(Serialize)]
struct DialectReport {
    workflow: String,
    file: String,
    dialect: &'static str,
}

#[derive(Default)]
struct CheckOutcome {
    diagnostics: Vec<Diagnostic>,
    dialect_reports: Vec<DialectReport>,
    programs: Vec<WorkflowProgram>,
    files: Vec<SourceFile>,
    /// Files that are none of ours.
    skipped_count: usize,
}

pub(super) fn run_check_command(world: &CliContext, args: &CheckArgs) -> Result<u8> {
    let (settings, _) = load_catalog(world, world.overrides.clone(), None)?;
    // Whether a workflow is correct does not depend on the models of this machine: missing ones are reported apart.
    let (catalog, gathered) = super::run_command::load_quietly(world, world.scripted_overrides("check"))?;
    let mut subjects = check_subjects(&catalog, &args.paths)?;
    let costs = args.cost || matches!(args.paths.as_slice(), [one] if !one.is_dir());
    let mut checked = CheckOutcome::default();
    if args.paths.is_empty() {
        subjects.extend(gathered.tests.into_iter().map(CheckSubject::Test));
        // a configured file that cannot be read is not in use: that is an error here, and was reported above
        subjects.extend(
            gathered.unreadable_files.into_iter().map(|(file, why)| CheckSubject::Unreadable(file, why)),
        );
        checked.diagnostics.extend(settings.diagnostics().iter().cloned());
    }
    for subject in subjects {
        checked.check_subject(subject, &catalog, costs.then_some(&settings));
    }
    let brief = if costs {
        system_context::build_system_context(&settings, &world.project)
    } else {
        SystemContext::default()
    };
    checked.print_outcome(&catalog, args, costs.then_some(&brief))?;
    if args.paths.is_empty() {
        system_context::guidance_lines(&settings).for_each(|line| print_stderr(format_args!("note: {line}")));
    }
    for level in LEVELS {
        if let Err(missing) = settings.model_for_level(level) {
            print_stderr(format_args!("note: {}: workflows that need it cannot run yet", missing.message));
        }
    }
    let errors = checked.diagnostics.iter().any(|finding| finding.severity == DiagnosticSeverity::Error);
    Ok(if errors { exit::FAILED } else { exit::COMPLETED })
}

impl CheckOutcome {
    /// `priced`: the settings as they are, whose models have prices.
    fn check_subject(
        &mut self,
        subject: CheckSubject,
        catalog: &ConfigCatalog,
        priced: Option<&ConfigCatalog>,
    ) {
        self.dialect_reports.extend(read_as(&subject, catalog));
        let (found, programs) = match &subject {
            CheckSubject::Known(name) => {
                sort_results(catalog.check_workflow(name).map(|(program, found)| (vec![program], found)))
            }
            CheckSubject::File(file) => sort_results(catalog.check_file(file)),
            CheckSubject::Test(file) => (test_file::parse_test_file(file).1, Vec::new()),
            CheckSubject::Other(file, kind) => (catalog.check_unloaded_file(file, *kind), Vec::new()),
            CheckSubject::Unreadable(name, why) => (vec![unreadable_diagnostic(name, why)], Vec::new()),
            CheckSubject::Foreign => {
                self.skipped_count += 1;
                return;
            }
        };
        for finding in found {
            if !self.diagnostics.contains(&finding) {
                self.diagnostics.push(finding);
            }
        }
        let real = priced.and_then(|settings| match &subject {
            CheckSubject::Known(name) => settings.check_workflow(name).ok().map(|(program, _)| vec![program]),
            CheckSubject::File(file) => settings.check_file(file).ok().map(|(programs, _)| programs),
            CheckSubject::Test(_)
            | CheckSubject::Other(..)
            | CheckSubject::Unreadable(..)
            | CheckSubject::Foreign => None,
        });
        self.programs.extend(real.unwrap_or_else(|| programs.into_iter().map(without_models).collect()));
        if let CheckSubject::File(file) | CheckSubject::Test(file) | CheckSubject::Other(file, _) = subject {
            self.files.push(file);
        }
    }

    /// `brief`: the system context of agents here; without it no costs are shown.
    fn print_outcome(
        &self,
        catalog: &ConfigCatalog,
        args: &CheckArgs,
        brief: Option<&SystemContext>,
    ) -> Result<()> {
        // a line for each of many states is not written by a call of its own
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let text_of = |name: &str| {
            let own = self.files.iter().find(|file| file.name == name).map(|file| file.text.to_string());
            own.or_else(|| catalog.printable_text(name))
        };
        let cost =
            |brief: &SystemContext| self.programs.iter().map(|one| estimate_cost(one, brief)).collect();
        let envelopes: Vec<_> = brief.map_or_else(Vec::new, cost);
        if args.json {
            let shown = json!({
                "findings": diagnostic_records(&self.diagnostics, &text_of),
                "workflows": self.dialect_reports,
                "skipped": self.skipped_count,
                "envelope": envelopes,
            });
            synthdev_cli::json_output::write_pretty_json(&shown, &mut out)?;
            return Ok(out.flush()?);
        }
        let paint =
            if std::io::stdout().is_terminal() { DiagnosticStyle::Ansi } else { DiagnosticStyle::Plain };
        if !self.diagnostics.is_empty() {
            writeln!(out, "{}\n", render_diagnostics(&self.diagnostics, &text_of, paint))?;
        }
        writeln!(out, "{}", count_summary(&self.diagnostics))?;
        for read in self.dialect_reports.iter().filter(|_| !args.paths.is_empty()) {
            writeln!(out, "`{}` was read as {}", safe_name(&read.workflow), read.dialect)?;
        }
        if self.skipped_count > 0 {
            let (files, are) = if self.skipped_count == 1 { ("file", "is") } else { ("files", "are") };
            writeln!(
                out,
                "skipped {} JSON {files} that {are} no workflow, role, settings, models or test file",
                self.skipped_count
            )?;
        }
        for envelope in &envelopes {
            writeln!(out)?;
            write_cost_estimate(envelope, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

/// The scripted models of `check` cost nothing: that must not be taken for a price.
fn without_models(mut program: WorkflowProgram) -> WorkflowProgram {
    for workflow in &mut program.workflows {
        for agent in &mut Arc::make_mut(workflow).agents {
            agent.choice.model = format!("the level `{}`, which has no model", agent.choice.level);
            agent.choice.price = None;
        }
    }
    program
}

fn read_as(subject: &CheckSubject, catalog: &ConfigCatalog) -> Vec<DialectReport> {
    let (file, only) = match subject {
        CheckSubject::File(file) => (Some(file), None),
        CheckSubject::Known(name) => {
            let place = catalog.workflow(name).map(|entry| entry.place.file.as_str());
            (catalog.workflow_files().iter().find(|file| Some(file.name.as_str()) == place), Some(name))
        }
        CheckSubject::Test(_)
        | CheckSubject::Other(..)
        | CheckSubject::Unreadable(..)
        | CheckSubject::Foreign => (None, None),
    };
    let Some(file) = file else { return Vec::new() };
    let heads = read_heads(file).0.into_iter().filter(|head| only.is_none_or(|only| head.name == *only));
    heads
        .map(|head| DialectReport {
            workflow: head.name,
            file: file.name.clone(),
            dialect: head.dialect.word(),
        })
        .collect()
}

fn sort_results(
    checked: Result<(Vec<WorkflowProgram>, Vec<Diagnostic>), Vec<Diagnostic>>,
) -> (Vec<Diagnostic>, Vec<WorkflowProgram>) {
    match checked {
        Ok((programs, found)) => (found, programs),
        Err(found) => (found, Vec::new()),
    }
}

/// Without a path, every workflow that is configured. A path that does not exist may be a workflow's name.
fn check_subjects(catalog: &ConfigCatalog, paths: &[PathBuf]) -> Result<Vec<CheckSubject>> {
    if paths.is_empty() {
        return Ok(catalog.workflows().iter().map(|entry| CheckSubject::Known(entry.name.clone())).collect());
    }
    let mut all = Vec::new();
    for path in paths {
        match path.to_str().filter(|name| !path.exists() && catalog.workflow(name).is_some()) {
            Some(name) => all.push(CheckSubject::Known(name.to_owned())),
            None => all.extend(subjects_in_path(path)?),
        }
    }
    Ok(all)
}

fn subjects_in_path(path: &Path) -> Result<Vec<CheckSubject>> {
    if path.is_dir() {
        let read = file_io::read_project_tree(path);
        return Ok(read.into_iter().map(|file| found_below(path, file)).collect());
    }
    let name = path.display().to_string();
    match file_io::read_text_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("there is no file and no workflow `{name}`\nhint: `synthdev workflows` lists the workflows")
        }
        Err(error) => Ok(vec![CheckSubject::Unreadable(name, error.to_string())]),
        Ok(text) => {
            let file = SourceFile::new(ConfigLayer::CommandLine, name, text);
            // a file that was named is meant to be one of ours
            let kind = FileKind::from_file(&file).unwrap_or(match file.name.ends_with(ENDING) {
                true => FileKind::Test,
                false => FileKind::Workflow,
            });
            Ok(vec![check_subject_of(file, kind)])
        }
    }
}

/// A file that was met in a directory.
fn found_below(directory: &Path, read: file_io::FileReadResult) -> CheckSubject {
    let name = directory.join(&read.name).display().to_string();
    match read.text {
        Ok(text) => {
            let file = SourceFile::new(ConfigLayer::CommandLine, name, text);
            match FileKind::from_file(&file) {
                Some(kind) => check_subject_of(file, kind),
                None => CheckSubject::Foreign,
            }
        }
        Err(error) if file_io::is_outside_link(&error) => CheckSubject::Foreign,
        Err(error) if FileKind::is_ours(&name) || read.name.ends_with('.') => {
            CheckSubject::Unreadable(name, error.to_string())
        }
        Err(_) => CheckSubject::Foreign,
    }
}

fn check_subject_of(file: SourceFile, kind: FileKind) -> CheckSubject {
    match kind {
        FileKind::Workflow => CheckSubject::File(file),
        FileKind::Test => CheckSubject::Test(file),
        FileKind::Roles | FileKind::Settings | FileKind::Models => CheckSubject::Other(file, kind),
    }
}

fn unreadable_diagnostic(name: &str, why: &str) -> Diagnostic {
    let file = SourceFile::new(ConfigLayer::CommandLine, name, "");
    let mut findings = FileDiagnostics::new(&file);
    let what = if name.ends_with(".json") { "JSON" } else { "text" };
    let hint = format!("it must be {what} of at most 4 MiB, stored as UTF-8");
    findings.add_error("C01", 0..0, format!("the file cannot be read: {why}"), Some(hint));
    findings.list.remove(0)
}
