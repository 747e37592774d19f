//! Which tests of which files are played, and playing them.

use std::collections::BTreeMap;
use std::sync::Arc;

use tokio::sync::Semaphore;

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::fields::SpannedField;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file;
use synthdev_language::test_file::{ENDING, TestScenario};
use synthdev_ports::simulation::{ScriptedModelPort, SimulationPorts};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::catalog::programs::ProgramCheckResult;

use super::scripted_run::ScriptedRun;
use super::{SimulationVerdict, TestCaseReport, TestResult};
use crate::definition_check::{UnknownWorkflow, find_workflow};

/// What is to be tested.
pub struct TestRequest<'a> {
    pub ports: &'a dyn SimulationPorts,
    pub catalog: &'a ConfigCatalog,
    pub files: &'a [SourceFile],
    /// Workflows whose tests are played; none of them: every test of `files`. A file that the user named is played
    /// whole.
    pub names: &'a [String],
    /// Only tests that name a recording, which is made anew.
    pub record: bool,
}

/// Models for tests that are answered from a recording.
pub trait TestRecordings {
    /// The program with its recorded models, and those models. `path`: the recording, as the test names it.
    ///
    /// # Errors
    /// Why the test cannot be played.
    fn recorded_models(
        &mut self,
        file: &SourceFile,
        test: &TestScenario,
        path: &SpannedField<String>,
        workflow: &str,
    ) -> Result<(WorkflowProgram, Arc<dyn ScriptedModelPort>), UnplayableTest>;
}

/// Why a test is not played.
pub enum UnplayableTest {
    Found(Vec<Diagnostic>),
    Skipped(String),
}

/// There is nothing to play.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum TestSelectionError {
    #[error(transparent)]
    UnknownWorkflow(#[from] UnknownWorkflow),
    #[error("the workflow `{0}` has no tests")]
    WithoutTests(String),
    #[error("no test names a cassette: there is nothing to record")]
    NothingToRecord,
}

impl TestSelectionError {
    /// What to do instead.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownWorkflow(unknown) => unknown.hint(),
            Self::WithoutTests(name) => format!("write them beside it, into {name}{ENDING}"),
            Self::NothingToRecord => "\"cassette\": \"NAME.cassette.jsonl\" in place of `replies`".to_owned(),
        }
    }
}

/// One test before it is played.
struct PlannedTest {
    file: String,
    workflow: String,
    name: String,
    scripted_run: Result<Box<ScriptedRun>, String>,
}

/// The tests that are played, and what cannot be.
#[derive(Default)]
pub struct TestPlan {
    entries: Vec<PlannedTest>,
    pub diagnostics: Vec<Diagnostic>,
    /// Files that cannot be used.
    pub unusable_count: usize,
}

/// Reads the files and chooses their tests; plays nothing.
///
/// # Errors
/// A named workflow is unknown or has no tests, or there is nothing to record.
pub fn plan_tests(
    request: &TestRequest<'_>,
    recordings: &mut dyn TestRecordings,
) -> Result<TestPlan, TestSelectionError> {
    let names = request.names;
    let mut plan = TestPlan::default();
    let mut programs: BTreeMap<String, ProgramCheckResult> = BTreeMap::new();
    for file in request.files {
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
            plan.add_test(request, recordings, file, test, &mut programs);
        }
        plan.unusable_count += usize::from(plan.diagnostics.len() > before);
    }
    ensure_something_to_play(request, &plan)?;
    Ok(plan)
}

/// The workflow that a test is for; empty if neither the test nor the file names one.
pub fn tested_workflow_name(file: &SourceFile, test: &TestScenario) -> String {
    let named = test.workflow.as_ref().map(|name| name.value.clone());
    named.or_else(|| test_file::tested_workflow(&file.name).map(str::to_owned)).unwrap_or_default()
}

impl TestPlan {
    fn add_test(
        &mut self,
        request: &TestRequest<'_>,
        recordings: &mut dyn TestRecordings,
        file: &SourceFile,
        test: &TestScenario,
        programs: &mut BTreeMap<String, ProgramCheckResult>,
    ) {
        if request.record && test.cassette.is_none() {
            return;
        }
        let catalog = request.catalog;
        let workflow = tested_workflow_name(file, test);
        let Some(known) = catalog.workflow(&workflow) else {
            return self.add_unknown_workflow(catalog, file, test, &workflow);
        };
        let named = request.names.contains(&workflow);
        let (program, models) = if known.layer > file.layer
            && !(named && lacks_own_tests(request.files, &workflow, known.layer))
        {
            let why = overridden_text(known.layer);
            return self.entries.push(PlannedTest::new(file, &workflow, test, Err(why)));
        } else if let Some(path) = &test.cassette {
            match recordings.recorded_models(file, test, path, &workflow) {
                Ok((program, models)) => (program, Some(models)),
                Err(UnplayableTest::Found(found)) => return self.new_errors(found),
                Err(UnplayableTest::Skipped(why)) => {
                    return self.entries.push(PlannedTest::new(file, &workflow, test, Err(why)));
                }
            }
        } else {
            match programs.entry(workflow.clone()).or_insert_with(|| catalog.check_workflow(&workflow)) {
                Ok((program, _)) => (program.clone(), None),
                Err(found) => return self.new_errors(found.clone()),
            }
        };
        match ScriptedRun::new(request.ports, catalog, file, test, &program, None, models) {
            Ok(run) => self.entries.push(PlannedTest::new(file, &workflow, test, Ok(Box::new(run)))),
            Err(found) => self.diagnostics.extend(found),
        }
    }

    /// Of a workflow that does not exist, or whose file beside the test has errors.
    fn add_unknown_workflow(
        &mut self,
        catalog: &ConfigCatalog,
        file: &SourceFile,
        test: &TestScenario,
        workflow: &str,
    ) {
        let beside = file.name.strip_suffix(ENDING).map(|stem| format!("{stem}.json")).unwrap_or_default();
        let broken: Vec<Diagnostic> =
            catalog.diagnostics().iter().filter(|one| one.place.file == beside).cloned().collect();
        if broken.iter().any(|one| one.severity == DiagnosticSeverity::Error) {
            self.diagnostics.push(test.broken_workflow(file, workflow, &beside));
            return self.new_errors(broken);
        }
        let names: Vec<&str> = catalog.workflows().iter().map(|entry| entry.name.as_str()).collect();
        self.diagnostics.push(test.unknown_workflow(file, workflow, &names));
    }

    /// Errors that were not found before.
    fn new_errors(&mut self, found: Vec<Diagnostic>) {
        let errors = found.into_iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
        let news: Vec<_> = errors.filter(|finding| !self.diagnostics.contains(finding)).collect();
        self.diagnostics.extend(news);
    }
}

impl PlannedTest {
    fn new(
        file: &SourceFile,
        workflow: &str,
        test: &TestScenario,
        scripted_run: Result<Box<ScriptedRun>, String>,
    ) -> Self {
        Self { file: file.name.clone(), workflow: workflow.to_owned(), name: test.name.clone(), scripted_run }
    }
}

/// Whether no test of a workflow is of its own layer. Those of the workflow that it overrides then test it, for a user
/// who asks for this workflow: a copy mostly changes little.
pub(super) fn lacks_own_tests(files: &[SourceFile], workflow: &str, layer: ConfigLayer) -> bool {
    !files.iter().filter(|file| file.layer >= layer).any(|file| {
        let (tests, _) = test_file::parse_test_file(file);
        test_file::tested_workflow(&file.name) == Some(workflow)
            || tests.iter().any(|test| tested_workflow_name(file, test) == workflow)
    })
}

/// Why a test is not played on a workflow of a higher layer than its own.
pub(super) fn overridden_text(layer: ConfigLayer) -> String {
    format!("the {layer} layer has a workflow of this name that overrides the tested one")
}

/// A name without any test is a typo, or a workflow without tests: neither has passed. Of those that are recorded, not
/// every workflow has one.
fn ensure_something_to_play(request: &TestRequest<'_>, plan: &TestPlan) -> Result<(), TestSelectionError> {
    for name in request.names {
        if plan.entries.iter().any(|entry| entry.workflow == *name) || plan.unusable_count > 0 {
            continue;
        }
        find_workflow(request.catalog, name)?;
        if !request.record {
            return Err(TestSelectionError::WithoutTests(name.clone()));
        }
    }
    if request.record && plan.entries.is_empty() && plan.unusable_count == 0 {
        return Err(TestSelectionError::NothingToRecord);
    }
    Ok(())
}

/// Plays the tests, `jobs` at a time. The reports keep the order of the plan.
pub async fn play_tests(plan: TestPlan, ports: Arc<dyn SimulationPorts>, jobs: usize) -> Vec<TestCaseReport> {
    let turns = Arc::new(Semaphore::new(jobs));
    let mut tasks = Vec::with_capacity(plan.entries.len());
    for PlannedTest { file, workflow, name, scripted_run } in plan.entries {
        let (turns, ports) = (Arc::clone(&turns), Arc::clone(&ports));
        let task = tokio::spawn(async move {
            let _turn = turns.acquire().await;
            match scripted_run {
                Ok(scripted_run) => TestResult::Ran(Box::new(scripted_run.play_to_end(ports.as_ref()).await)),
                Err(why) => TestResult::Skipped(why),
            }
        });
        tasks.push((file, workflow, name, task));
    }
    let mut reports = Vec::with_capacity(tasks.len());
    for (file, workflow, name, task) in tasks {
        // A bug in one run fails that test only.
        let broken =
            |_| TestResult::Ran(Box::new(SimulationVerdict::broken_run("this run hit a bug in the program")));
        reports.push(TestCaseReport { file, workflow, name, result: task.await.unwrap_or_else(broken) });
    }
    reports
}
