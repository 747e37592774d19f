//! `check`: every finding of what is configured, or of the files and workflows named, and what a run can cost.

use std::io::{ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::run_command::{load_catalog, load_quietly};
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::CheckArgs;
use synthdev_cli::check::{CheckOutputOptions, write_check_report};
use synthdev_cli::exit;
use synthdev_cli::output::print_stderr;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::system_context::SystemContext;
use synthdev_language::model_selector::LEVELS;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file::ENDING;
use synthdev_service::definition_check::{CheckReport, CheckSubject, unknown_workflow};
use synthdev_session::system_context::{self, StartPlace};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::file_kind::FileKind;

pub(crate) fn run_check_command(context: &StartContext, args: &CheckArgs) -> Result<u8> {
    let (settings, _) = load_catalog(context, context.overrides.clone(), None)?;
    // Whether a workflow is correct does not depend on the models of this machine: missing ones are reported apart.
    let (catalog, gathered) = load_quietly(context, context.scripted_overrides("check"))?;
    let mut subjects = check_subjects(&catalog, &args.paths)?;
    let costs = args.cost || matches!(args.paths.as_slice(), [one] if !one.is_dir());
    let mut checked = CheckReport::default();
    if args.paths.is_empty() {
        subjects.extend(gathered.tests.into_iter().map(|file| CheckSubject::File(file, FileKind::Test)));
        // a configured file that cannot be read is not in use: that is an error here, and was reported above
        let unreadable = gathered.unreadable_files.into_iter();
        subjects.extend(unreadable.map(|(name, reason)| CheckSubject::Unreadable { name, reason }));
        checked.diagnostics.extend(settings.diagnostics().iter().cloned());
    }
    for subject in subjects {
        checked.check_subject(subject, &catalog, costs.then_some(&settings));
    }
    let brief = if costs {
        system_context::build_system_context(&settings, StartPlace::in_project(context))
    } else {
        SystemContext::default()
    };
    let options = CheckOutputOptions {
        json: args.json,
        is_painted: std::io::stdout().is_terminal(),
        shows_dialects: !args.paths.is_empty(),
        brief: costs.then_some(&brief),
        text_of: &|name| catalog.printable_text(name),
    };
    // a line for each of many states is not written by a call of its own
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    write_check_report(&checked, &options, &mut out)?;
    out.flush()?;
    if args.paths.is_empty() {
        system_context::guidance_lines(&settings).for_each(|line| print_stderr(format_args!("note: {line}")));
    }
    let mut noted: Vec<String> = checked.diagnostics.iter().map(|finding| finding.message.clone()).collect();
    for level in LEVELS {
        // levels that lack the same have the same message
        if let Err(missing) = settings.model_for_level(level)
            && !noted.contains(&missing.message)
        {
            print_stderr(format_args!("note: {}: workflows that need it cannot run yet", missing.message));
            noted.push(missing.message.clone());
        }
    }
    Ok(if checked.has_errors() { exit::FAILED } else { exit::COMPLETED })
}

/// Without a path, every workflow that is configured. The name of one is no path, as everywhere: `./NAME` is the file.
fn check_subjects(catalog: &ConfigCatalog, paths: &[PathBuf]) -> Result<Vec<CheckSubject>> {
    let named = |name: &str| CheckSubject::Workflow(name.to_owned());
    if paths.is_empty() {
        return Ok(catalog.workflows().iter().map(|entry| named(&entry.name)).collect());
    }
    let mut all = Vec::new();
    for path in paths {
        match path.to_str().filter(|name| catalog.workflow(name).is_some()) {
            Some(name) => all.push(named(name)),
            None => all.extend(subjects_in_path(catalog, path)?),
        }
    }
    Ok(all)
}

fn subjects_in_path(catalog: &ConfigCatalog, path: &Path) -> Result<Vec<CheckSubject>> {
    if path.is_dir() {
        let read = file_io::read_project_tree(path);
        return Ok(read.into_iter().map(|file| found_below(path, file)).collect());
    }
    let name = path.display().to_string();
    match file_io::read_text_file(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let unknown = unknown_workflow(catalog, &name);
            bail!("{}\nhint: {}", unknown.name_or_file_text(), unknown.hint())
        }
        Err(error) => Ok(vec![CheckSubject::Unreadable { name, reason: error.to_string() }]),
        Ok(text) => {
            let file = SourceFile::new(ConfigLayer::CommandLine, name, text);
            // a file that was named is meant to be one of ours
            let kind = FileKind::from_file(&file).unwrap_or(match file.name.ends_with(ENDING) {
                true => FileKind::Test,
                false => FileKind::Workflow,
            });
            Ok(vec![CheckSubject::File(file, kind)])
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
                Some(kind) => CheckSubject::File(file, kind),
                None => CheckSubject::Foreign,
            }
        }
        Err(error) if file_io::is_outside_link(&error) => CheckSubject::Foreign,
        Err(error) if FileKind::is_ours(&name) || read.name.ends_with('.') => {
            CheckSubject::Unreadable { name, reason: error.to_string() }
        }
        Err(_) => CheckSubject::Foreign,
    }
}
