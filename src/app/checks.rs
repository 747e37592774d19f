//! `check`: every finding of what is configured, or of the files and workflows named, and what a run can cost.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Result, bail};
use serde::Serialize;
use serde_json::json;

use super::briefing;
use super::runs::load;
use super::world::World;
use crate::adapters::disk;
use crate::cli::args::CheckArgs;
use crate::cli::envelope::write;
use crate::cli::exit;
use crate::cli::words::{name, tell};
use crate::config::catalog::Catalog;
use crate::config::envelope::envelope;
use crate::config::file_kind::FileKind;
use crate::config::render::{Paint, data, render, summary};
use crate::config::settings::rules::LEVELS;
use crate::config::source::{Findings, SourceFile};
use crate::config::test_file::{self, ENDING};
use crate::config::workflow_file::index;
use crate::domain::brief::Brief;
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::place::Layer;
use crate::domain::workflow::Program;

/// What is checked.
enum Subject {
    /// A workflow of the catalogue, by name.
    Known(String),
    File(SourceFile),
    /// Tests of a workflow.
    Test(SourceFile),
    /// Settings, models or roles.
    Other(SourceFile, FileKind),
    /// A file that cannot be read as text: name and reason.
    Unreadable(String, String),
    /// A file of a directory that is none of ours, as far as it can be told.
    Foreign,
}

/// What a workflow was read as.
#[derive(Serialize)]
struct Read {
    workflow: String,
    file: String,
    dialect: &'static str,
}

#[derive(Default)]
struct Checked {
    found: Vec<Diagnostic>,
    read: Vec<Read>,
    programs: Vec<Program>,
    files: Vec<SourceFile>,
    /// Files that are none of ours.
    skipped: usize,
}

pub(super) fn check(world: &World, args: &CheckArgs) -> Result<u8> {
    let (settings, _) = load(world, world.overrides.clone(), None)?;
    // A workflow is right or wrong whatever models this machine has: missing ones are told apart.
    let (catalog, gathered) = super::runs::load_quietly(world, world.scripted("check"))?;
    let mut subjects = subjects(&catalog, &args.paths)?;
    let costs = args.cost || matches!(args.paths.as_slice(), [one] if !one.is_dir());
    let mut checked = Checked::default();
    if args.paths.is_empty() {
        subjects.extend(gathered.tests.into_iter().map(Subject::Test));
        // what is configured and could not be read is not in use: that is an error here, and was told above
        subjects.extend(gathered.unreadable.into_iter().map(|(file, why)| Subject::Unreadable(file, why)));
        checked.found.extend(settings.diagnostics().iter().cloned());
    }
    for subject in subjects {
        checked.judge(subject, &catalog, costs.then_some(&settings));
    }
    let brief = if costs { briefing::brief(&settings, &world.project) } else { Brief::default() };
    checked.show(&catalog, args, costs.then_some(&brief))?;
    if args.paths.is_empty() {
        briefing::lines(&settings).for_each(|line| tell(format_args!("note: {line}")));
    }
    for level in LEVELS {
        if let Err(missing) = settings.choice(level) {
            tell(format_args!("note: {}: workflows that need it cannot run yet", missing.message));
        }
    }
    let errors = checked.found.iter().any(|finding| finding.severity == Severity::Error);
    Ok(if errors { exit::FAILED } else { exit::COMPLETED })
}

impl Checked {
    /// `priced`: the settings as they are, whose models have prices.
    fn judge(&mut self, subject: Subject, catalog: &Catalog, priced: Option<&Catalog>) {
        self.read.extend(read_as(&subject, catalog));
        let (found, programs) = match &subject {
            Subject::Known(name) => {
                sorted(catalog.check(name).map(|(program, found)| (vec![program], found)))
            }
            Subject::File(file) => sorted(catalog.check_file(file)),
            Subject::Test(file) => (test_file::read(file).1, Vec::new()),
            Subject::Other(file, kind) => (catalog.judge(file, *kind), Vec::new()),
            Subject::Unreadable(name, why) => (vec![unreadable(name, why)], Vec::new()),
            Subject::Foreign => {
                self.skipped += 1;
                return;
            }
        };
        for finding in found {
            if !self.found.contains(&finding) {
                self.found.push(finding);
            }
        }
        let real = priced.and_then(|settings| match &subject {
            Subject::Known(name) => settings.check(name).ok().map(|(program, _)| vec![program]),
            Subject::File(file) => settings.check_file(file).ok().map(|(programs, _)| programs),
            Subject::Test(_) | Subject::Other(..) | Subject::Unreadable(..) | Subject::Foreign => None,
        });
        self.programs.extend(real.unwrap_or_else(|| programs.into_iter().map(without_models).collect()));
        if let Subject::File(file) | Subject::Test(file) | Subject::Other(file, _) = subject {
            self.files.push(file);
        }
    }

    /// `brief`: what agents are told here; without it no costs are shown.
    fn show(&self, catalog: &Catalog, args: &CheckArgs, brief: Option<&Brief>) -> Result<()> {
        // a line for each of many states is not written by a call of its own
        let mut out = std::io::BufWriter::new(std::io::stdout().lock());
        let text_of = |name: &str| {
            let own = self.files.iter().find(|file| file.name == name).map(|file| file.text.to_string());
            own.or_else(|| catalog.printable(name))
        };
        let cost = |brief: &Brief| self.programs.iter().map(|one| envelope(one, brief)).collect();
        let envelopes: Vec<_> = brief.map_or_else(Vec::new, cost);
        if args.json {
            let shown = json!({
                "findings": data(&self.found, &text_of),
                "workflows": self.read,
                "skipped": self.skipped,
                "envelope": envelopes,
            });
            crate::cli::data::pretty(&shown, &mut out)?;
            return Ok(out.flush()?);
        }
        let paint = if std::io::stdout().is_terminal() { Paint::Ansi } else { Paint::Plain };
        if !self.found.is_empty() {
            writeln!(out, "{}\n", render(&self.found, &text_of, paint))?;
        }
        writeln!(out, "{}", summary(&self.found))?;
        for read in self.read.iter().filter(|_| !args.paths.is_empty()) {
            writeln!(out, "`{}` was read as {}", name(&read.workflow), read.dialect)?;
        }
        if self.skipped > 0 {
            let (files, are) = if self.skipped == 1 { ("file", "is") } else { ("files", "are") };
            writeln!(
                out,
                "skipped {} JSON {files} that {are} no workflow, role, settings, models or test file",
                self.skipped
            )?;
        }
        for envelope in &envelopes {
            writeln!(out)?;
            write(envelope, &mut out)?;
        }
        Ok(out.flush()?)
    }
}

/// The models that stood in while checking cost nothing: that must not be taken for a price.
fn without_models(mut program: Program) -> Program {
    for workflow in &mut program.workflows {
        for agent in &mut Arc::make_mut(workflow).agents {
            agent.choice.model = format!("the level `{}`, which has no model", agent.choice.level);
            agent.choice.price = None;
        }
    }
    program
}

fn read_as(subject: &Subject, catalog: &Catalog) -> Vec<Read> {
    let (file, only) = match subject {
        Subject::File(file) => (Some(file), None),
        Subject::Known(name) => {
            let place = catalog.workflow(name).map(|entry| entry.place.file.as_str());
            (catalog.workflow_files().iter().find(|file| Some(file.name.as_str()) == place), Some(name))
        }
        Subject::Test(_) | Subject::Other(..) | Subject::Unreadable(..) | Subject::Foreign => (None, None),
    };
    let Some(file) = file else { return Vec::new() };
    let heads = index(file).0.into_iter().filter(|head| only.is_none_or(|only| head.name == *only));
    heads
        .map(|head| Read { workflow: head.name, file: file.name.clone(), dialect: head.dialect.word() })
        .collect()
}

fn sorted(
    checked: Result<(Vec<Program>, Vec<Diagnostic>), Vec<Diagnostic>>,
) -> (Vec<Diagnostic>, Vec<Program>) {
    match checked {
        Ok((programs, found)) => (found, programs),
        Err(found) => (found, Vec::new()),
    }
}

/// Without a path, every workflow that is configured. A path that does not exist may be a workflow's name.
fn subjects(catalog: &Catalog, paths: &[PathBuf]) -> Result<Vec<Subject>> {
    if paths.is_empty() {
        return Ok(catalog.workflows().iter().map(|entry| Subject::Known(entry.name.clone())).collect());
    }
    let mut all = Vec::new();
    for path in paths {
        match path.to_str().filter(|name| !path.exists() && catalog.workflow(name).is_some()) {
            Some(name) => all.push(Subject::Known(name.to_owned())),
            None => all.extend(files_of(path)?),
        }
    }
    Ok(all)
}

fn files_of(path: &Path) -> Result<Vec<Subject>> {
    if path.is_dir() {
        let read = disk::read_project_tree(path);
        return Ok(read.into_iter().map(|file| found_below(path, file)).collect());
    }
    let name = path.display().to_string();
    match disk::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("there is no file and no workflow `{name}`\nhint: `synthdev workflows` lists the workflows")
        }
        Err(error) => Ok(vec![Subject::Unreadable(name, error.to_string())]),
        Ok(text) => {
            let file = SourceFile::new(Layer::CommandLine, name, text);
            // a file that was named is meant to be one of ours
            let kind = FileKind::of(&file).unwrap_or(match file.name.ends_with(ENDING) {
                true => FileKind::Test,
                false => FileKind::Workflow,
            });
            Ok(vec![subject(file, kind)])
        }
    }
}

/// A file that was met in a directory.
fn found_below(directory: &Path, read: disk::Read) -> Subject {
    let name = directory.join(&read.name).display().to_string();
    match read.text {
        Ok(text) => {
            let file = SourceFile::new(Layer::CommandLine, name, text);
            match FileKind::of(&file) {
                Some(kind) => subject(file, kind),
                None => Subject::Foreign,
            }
        }
        Err(error) if disk::is_link_out(&error) => Subject::Foreign,
        Err(error) if FileKind::is_ours(&name) || read.name.ends_with('.') => {
            Subject::Unreadable(name, error.to_string())
        }
        Err(_) => Subject::Foreign,
    }
}

fn subject(file: SourceFile, kind: FileKind) -> Subject {
    match kind {
        FileKind::Workflow => Subject::File(file),
        FileKind::Test => Subject::Test(file),
        FileKind::Roles | FileKind::Settings | FileKind::Models => Subject::Other(file, kind),
    }
}

fn unreadable(name: &str, why: &str) -> Diagnostic {
    let file = SourceFile::new(Layer::CommandLine, name, "");
    let mut findings = Findings::new(&file);
    let what = if name.ends_with(".json") { "JSON" } else { "text" };
    let hint = format!("it is to be {what} of at most 4 MiB, stored as UTF-8");
    findings.error("C01", 0..0, format!("the file cannot be read: {why}"), Some(hint));
    findings.list.remove(0)
}
