//! `test`: finds the tests of all layers, plays them at once, and reports them in the order of their files.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io::stdout;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use tokio::sync::Semaphore;

use super::cli_context::CliContext;
use super::config_sources::{self, GatheredSources};
use super::recorded_tests::{TestRecordings, UnplayableTest};
use super::run_command::runtime_with_threads;
use super::scripted_run::ScriptedRun;
use super::simulate::{file_text, read_file, report_unusable};
use super::{bootstrap, diagnostics, recordings, trust};
use synthdev_adapters::file_io;
use synthdev_adapters::javascript::ScriptWorkerPool;
use synthdev_cli::args::TestArgs;
use synthdev_cli::output::print_stderr;
use synthdev_cli::simulate::report::{SimulationVerdict, TestCaseReport, TestResult, write_test_report};
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::render::diagnostic_records;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file;
use synthdev_language::test_file::{ENDING, TestScenario};
use synthdev_service::definition_check::find_workflow;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::catalog::programs::ProgramCheckResult;

/// Threads; more would only wait for each other.
const MOST_JOBS: usize = 32;

/// The selected tests: whole files, or every test of these workflows.
#[derive(Default)]
struct TestSelection {
    names: Vec<String>,
    tests: Vec<SourceFile>,
    workflows: Vec<SourceFile>,
}

/// One test before it is played.
struct PlannedTest {
    file: String,
    workflow: String,
    name: String,
    scripted_run: Result<Box<ScriptedRun>, String>,
}

/// What the files came to.
#[derive(Default)]
struct TestPlan {
    entries: Vec<PlannedTest>,
    diagnostics: Vec<Diagnostic>,
    unusable_count: usize,
}

pub(super) fn run_test_command(world: &CliContext, args: &TestArgs) -> Result<u8> {
    let TestArgs { targets, json, jobs, record } = args;
    let wanted = parse_test_selection(targets)?;
    let overrides = if *record { world.overrides.clone() } else { world.scripted_overrides("test") };
    let mut gathered = config_sources::gather_sources(world, overrides, world.trust)?;
    print_unread_files(&gathered);
    gathered.sources.workflows.extend(wanted.workflows);
    let specs = bootstrap::tool_specs(&world.project);
    let catalog = ConfigCatalog::load(gathered.sources.clone(), specs);
    let plain = || recordings::catalog_without_models(world, gathered.sources);
    diagnostics::ensure_sound(&catalog)?;
    let mut files = wanted.tests;
    if targets.is_empty() || !wanted.names.is_empty() {
        files.extend(gathered.tests);
    }
    let mut studio = TestRecordings {
        context: world,
        catalog: &catalog,
        plain_catalog: LazyCell::new(Box::new(plain)),
        record: *record,
        recorded_paths: BTreeSet::new(),
    };
    let plan = plan_tests(&mut studio, &files, &wanted.names);
    something_to_play(&catalog, &wanted.names, &plan, *record)?;
    if !plan.diagnostics.is_empty() {
        drop(report_unusable(&catalog, &files, &plan.diagnostics));
    }
    let jobs = if *jobs == 0 { std::thread::available_parallelism().map_or(1, usize::from) } else { *jobs };
    let tests = run_tests(plan.entries, jobs.min(MOST_JOBS))?;
    let found = serde_json::to_value(diagnostic_records(&plan.diagnostics, &file_text(&catalog, &files)))?;
    Ok(write_test_report(&tests, &found, plan.unusable_count, *json, &mut stdout().lock())?)
}

fn print_unread_files(gathered: &GatheredSources) {
    for line in gathered.not_read() {
        print_stderr(format_args!("warning: not read: {line}"));
    }
    if let Some(notice) = trust::untrusted_notice(&gathered.trust) {
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
            let into = if name.ends_with(ENDING) { &mut self.tests } else { &mut self.workflows };
            into.push(SourceFile::new(ConfigLayer::CommandLine, name, text));
        }
        Ok(())
    }

    /// A test file, with the workflow file beside it if there is one; or the workflow file, with its tests.
    fn add_file(&mut self, path: &Path) -> Result<()> {
        let shown = path.display().to_string();
        let stem = shown.strip_suffix(ENDING).or_else(|| shown.strip_suffix(".json")).unwrap_or(&shown);
        let (workflow, tests) = (format!("{stem}.json"), format!("{stem}{ENDING}"));
        self.tests.push(read_file(Path::new(&tests), "test")?);
        if let Some(text) = file_io::read_file_if_exists(Path::new(&workflow))
            .with_context(|| format!("{workflow} cannot be read"))?
        {
            self.workflows.push(SourceFile::new(ConfigLayer::CommandLine, workflow, text));
        }
        Ok(())
    }
}

/// Tests of the named workflows only, if names were given; files named themselves are taken whole.
fn plan_tests(studio: &mut TestRecordings<'_>, files: &[SourceFile], names: &[String]) -> TestPlan {
    let mut plan = TestPlan::default();
    let mut programs: BTreeMap<String, ProgramCheckResult> = BTreeMap::new();
    for file in files {
        let (tests, mut found) = test_file::parse_test_file(file);
        let broken = found.iter().any(|finding| finding.severity == DiagnosticSeverity::Error);
        let whole = names.is_empty() || file.layer == ConfigLayer::CommandLine;
        let is_wanted = |test: &TestScenario| whole || names.contains(&tested_workflow_name(file, test));
        let own =
            test_file::tested_workflow(&file.name).is_some_and(|name| names.iter().any(|one| one == name));
        if broken {
            // its tests may be among the selected ones, which cannot be known
            if whole || own {
                plan.diagnostics.append(&mut found);
                plan.unusable_count += 1;
            }
            continue;
        }
        let before = plan.diagnostics.len();
        for test in tests.iter().filter(|test| is_wanted(test)) {
            plan.add_test(studio, file, test, &mut programs);
        }
        plan.unusable_count += usize::from(plan.diagnostics.len() > before);
    }
    plan
}

/// The workflow that a test is for; empty if neither the test nor the file names one.
pub(super) fn tested_workflow_name(file: &SourceFile, test: &TestScenario) -> String {
    let named = test.workflow.as_ref().map(|name| name.value.clone());
    named.or_else(|| test_file::tested_workflow(&file.name).map(str::to_owned)).unwrap_or_default()
}

impl TestPlan {
    fn add_test(
        &mut self,
        studio: &mut TestRecordings<'_>,
        file: &SourceFile,
        test: &TestScenario,
        programs: &mut BTreeMap<String, ProgramCheckResult>,
    ) {
        if studio.record && test.cassette.is_none() {
            return;
        }
        let catalog = studio.catalog;
        let workflow = tested_workflow_name(file, test);
        let Some(known) = catalog.workflow(&workflow) else {
            let beside =
                file.name.strip_suffix(ENDING).map(|stem| format!("{stem}.json")).unwrap_or_default();
            let broken: Vec<Diagnostic> =
                catalog.diagnostics().iter().filter(|one| one.place.file == beside).cloned().collect();
            if broken.iter().any(|one| one.severity == DiagnosticSeverity::Error) {
                self.diagnostics.push(test.broken_workflow(file, &workflow, &beside));
                return self.new_errors(broken);
            }
            let names: Vec<&str> = catalog.workflows().iter().map(|entry| entry.name.as_str()).collect();
            return self.diagnostics.push(test.unknown_workflow(file, &workflow, &names));
        };
        let scripted_run = if known.layer > file.layer {
            Err(format!(
                "the {} layer has a workflow of this name that overrides the tested one",
                known.layer
            ))
        } else if let Some(path) = &test.cassette {
            match studio.recorded_models(file, test, path, &workflow) {
                Ok((program, words)) => {
                    match ScriptedRun::new(catalog, file, test, &program, None, Some(words)) {
                        Ok(scripted_run) => Ok(Box::new(scripted_run)),
                        Err(found) => return self.diagnostics.extend(found),
                    }
                }
                Err(UnplayableTest::Skipped(why)) => Err(why),
                Err(UnplayableTest::Found(found)) => return self.new_errors(found),
            }
        } else {
            match programs.entry(workflow.clone()).or_insert_with(|| catalog.check_workflow(&workflow)) {
                Ok((program, _)) => match ScriptedRun::new(catalog, file, test, program, None, None) {
                    Ok(scripted_run) => Ok(Box::new(scripted_run)),
                    Err(found) => return self.diagnostics.extend(found),
                },
                Err(found) => return self.new_errors(found.clone()),
            }
        };
        self.entries.push(PlannedTest {
            file: file.name.clone(),
            workflow,
            name: test.name.clone(),
            scripted_run,
        });
    }
}

impl TestPlan {
    /// Errors that were not found before.
    fn new_errors(&mut self, found: Vec<Diagnostic>) {
        let errors = found.into_iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
        let news: Vec<_> = errors.filter(|finding| !self.diagnostics.contains(finding)).collect();
        self.diagnostics.extend(news);
    }
}

/// Only tests that name a recording can be recorded, and not every workflow has one.
fn something_to_play(catalog: &ConfigCatalog, names: &[String], plan: &TestPlan, record: bool) -> Result<()> {
    if !record {
        return unknown_names(catalog, names, plan);
    }
    let unknown = names.iter().filter(|name| catalog.workflow(name).is_none());
    unknown_names(catalog, &unknown.cloned().collect::<Vec<_>>(), plan)?;
    if plan.entries.is_empty() && plan.unusable_count == 0 {
        bail!(
            "no test names a cassette: there is nothing to record\nhint: \"cassette\": \"NAME.cassette.jsonl\" in \
             place of `replies`"
        );
    }
    Ok(())
}

/// A name without any test is a typo, or a workflow without tests: neither has passed.
fn unknown_names(catalog: &ConfigCatalog, names: &[String], plan: &TestPlan) -> Result<()> {
    for name in names {
        if plan.entries.iter().any(|entry| entry.workflow == *name) || plan.unusable_count > 0 {
            continue;
        }
        if let Err(unknown) = find_workflow(catalog, name) {
            bail!("{unknown}\nhint: {}", unknown.hint());
        }
        bail!("the workflow `{name}` has no tests\nhint: write them beside it, into {name}{ENDING}");
    }
    Ok(())
}

/// All at once, `jobs` at a time; the results keep their order.
fn run_tests(entries: Vec<PlannedTest>, jobs: usize) -> Result<Vec<TestCaseReport>> {
    let turns = Arc::new(Semaphore::new(jobs));
    let scripts = Arc::new(ScriptWorkerPool::default());
    runtime_with_threads(jobs)?.block_on(async {
        let mut tasks = Vec::with_capacity(entries.len());
        for PlannedTest { file, workflow, name, scripted_run } in entries {
            let (turns, scripts) = (Arc::clone(&turns), Arc::clone(&scripts));
            let task = tokio::spawn(async move {
                let _turn = turns.acquire().await;
                match scripted_run {
                    Ok(scripted_run) => TestResult::Ran(Box::new(scripted_run.play_to_end(&scripts).await)),
                    Err(why) => TestResult::Skipped(why),
                }
            });
            tasks.push((file, workflow, name, task));
        }
        let mut tests = Vec::with_capacity(tasks.len());
        for (file, workflow, name, task) in tasks {
            // A bug in one run fails that test only.
            let broken = |_| {
                TestResult::Ran(Box::new(SimulationVerdict::broken_run("this run hit a bug in the program")))
            };
            tests.push(TestCaseReport { file, workflow, name, result: task.await.unwrap_or_else(broken) });
        }
        Ok(tests)
    })
}
