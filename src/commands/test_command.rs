//! `test`: finds the tests of all layers, plays them at once, and reports them in the order of their files.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::io::stdout;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};

use super::diagnostics;
use super::recorded_tests::RecordedTests;
use super::run_command::runtime_with_threads;
use super::simulate::{file_text, read_file, report_unusable};
use super::trust_command::untrusted_notice;
use synthdev_bootstrap::config_sources::{self, GatheredSources};
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::simulation_ports::LocalSimulationPorts;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_cli::args::TestArgs;
use synthdev_cli::output::print_stderr;
use synthdev_cli::simulation_report::write_test_report;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::render::diagnostic_records;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file::ENDING;
use synthdev_service::workflow_tests::test_plan::{TestRequest, plan_tests, play_tests};
use synthdev_session::recorded_program::catalog_without_models;

/// Threads; more would only wait for each other.
const MOST_JOBS: usize = 32;

/// The selected tests: whole files, or every test of these workflows.
#[derive(Default)]
struct TestSelection {
    names: Vec<String>,
    tests: Vec<SourceFile>,
    workflows: Vec<SourceFile>,
    /// A file may be named, and be in a directory that is named, too.
    read_paths: BTreeSet<PathBuf>,
}

pub(crate) fn run_test_command(context: &StartContext, args: &TestArgs) -> Result<u8> {
    let TestArgs { targets, json, jobs, record } = args;
    let wanted = parse_test_selection(targets)?;
    let overrides = if *record { context.overrides.clone() } else { context.scripted_overrides("test") };
    let mut gathered = config_sources::gather_sources(context, overrides, context.trust)?;
    print_unread_files(&gathered);
    gathered.sources.workflows.extend(wanted.workflows);
    let catalog = wiring::load_catalog(context, gathered.sources.clone());
    let plain = || catalog_without_models(context, gathered.sources);
    diagnostics::ensure_sound(&catalog)?;
    let mut files = wanted.tests;
    if targets.is_empty() || !wanted.names.is_empty() {
        files.extend(gathered.tests);
    }
    let mut recordings = RecordedTests {
        context,
        catalog: &catalog,
        plain_catalog: LazyCell::new(Box::new(plain)),
        record: *record,
        recorded_paths: BTreeSet::new(),
    };
    let ports = Arc::new(LocalSimulationPorts::default());
    let request = TestRequest {
        ports: ports.as_ref(),
        catalog: &catalog,
        files: &files,
        names: &wanted.names,
        record: *record,
    };
    let plan = plan_tests(&request, &mut recordings)
        .map_err(|nothing| anyhow!("{nothing}\nhint: {}", nothing.hint()))?;
    if !plan.diagnostics.is_empty() {
        drop(report_unusable(&catalog, &files, &plan.diagnostics));
    }
    let (unusable, diagnostics) = (plan.unusable_count, plan.diagnostics.clone());
    let jobs = if *jobs == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { *jobs };
    let jobs = jobs.min(MOST_JOBS);
    let tests = runtime_with_threads(jobs)?.block_on(play_tests(plan, ports, jobs));
    let found = serde_json::to_value(diagnostic_records(&diagnostics, &file_text(&catalog, &files)))?;
    Ok(write_test_report(&tests, &found, unusable, *json, &mut stdout().lock())?)
}

fn print_unread_files(gathered: &GatheredSources) {
    for line in gathered.not_read() {
        print_stderr(format_args!("warning: not read: {line}"));
    }
    if let Some(notice) = untrusted_notice(&gathered.trust) {
        print_stderr(format_args!("warning: {notice}"));
    }
}

/// A path is read at once; any other target is the name of a workflow.
fn parse_test_selection(targets: &[String]) -> Result<TestSelection> {
    let mut wanted = TestSelection::default();
    for target in targets {
        let path = Path::new(target);
        if path.is_dir() {
            wanted.add_directory(path)?;
        } else if path.extension().is_some_and(|ending| ending == "json") {
            wanted.add_file(path)?;
        } else {
            wanted.names.push(target.clone());
        }
    }
    Ok(wanted)
}

impl TestSelection {
    fn add_directory(&mut self, path: &Path) -> Result<()> {
        for read in file_io::read_tree(path) {
            let name = path.join(&read.name).display().to_string();
            let text = read.text.with_context(|| format!("{name} cannot be read"))?;
            self.add_source(SourceFile::new(ConfigLayer::CommandLine, name, text));
        }
        Ok(())
    }

    /// A test file, with the workflow file beside it if there is one; or the workflow file, with its tests.
    fn add_file(&mut self, path: &Path) -> Result<()> {
        let shown = path.display().to_string();
        let stem = shown.strip_suffix(ENDING).or_else(|| shown.strip_suffix(".json")).unwrap_or(&shown);
        let (workflow, tests) = (format!("{stem}.json"), format!("{stem}{ENDING}"));
        self.add_source(read_file(Path::new(&tests), "test")?);
        if let Some(text) = file_io::read_file_if_exists(Path::new(&workflow))
            .with_context(|| format!("{workflow} cannot be read"))?
        {
            self.add_source(SourceFile::new(ConfigLayer::CommandLine, workflow, text));
        }
        Ok(())
    }

    /// Once, however often it is named.
    fn add_source(&mut self, file: SourceFile) {
        let path = Path::new(&file.name);
        if self.read_paths.insert(path.canonicalize().unwrap_or_else(|_| path.to_owned())) {
            let into = if file.name.ends_with(ENDING) { &mut self.tests } else { &mut self.workflows };
            into.push(file);
        }
    }
}
