//! Plays a workflow's text without models, for the editor: its tests, or one walk with generated answers.
//!
//! No side effects: calls no model and no tool, and changes no file, whatever the text contains.

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::{WorkflowProgram, plain_text};
use synthdev_language::render::compact_line;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file;
use synthdev_language::test_file::TestScenario;
use synthdev_ports::simulation::SimulationPorts;
use synthdev_settings::catalog::ConfigCatalog;

use super::SimulationVerdict;
use super::scripted_run::ScriptedRun;
use super::test_plan::{lacks_own_tests, overridden_text, tested_workflow_name};
use crate::definition_check::{UnknownWorkflow, find_workflow};
use crate::session::EditorSimulatedRun;

/// Most characters of an output or problem that are shown.
const SHOWN: usize = 2_000;

/// Why nothing is played.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum DryRunError {
    #[error(transparent)]
    UnknownWorkflow(#[from] UnknownWorkflow),
    /// A line for each error.
    #[error("{}", error_lines(.0))]
    Invalid(Vec<Diagnostic>),
    #[error("there is no workflow in this file")]
    NoWorkflow,
}

/// Workflows of a configuration with what they are played with.
pub struct DryRun<'a> {
    pub ports: &'a dyn SimulationPorts,
    pub catalog: &'a ConfigCatalog,
    /// Test files of all layers.
    pub tests: &'a [SourceFile],
}

impl DryRun<'_> {
    /// Plays every workflow of the file, as it is in `source`: with its tests, else once with made-up answers.
    ///
    /// # Errors
    /// The text has errors; it has no workflow.
    pub async fn play_file(&self, source: &SourceFile) -> Result<Vec<EditorSimulatedRun>, DryRunError> {
        let (programs, _) = self.catalog.check_file(source).map_err(DryRunError::Invalid)?;
        let mut all = Vec::new();
        for program in &programs {
            all.extend(self.play_program(program, source.layer).await);
        }
        if all.is_empty() { Err(DryRunError::NoWorkflow) } else { Ok(all) }
    }

    /// The same for a workflow of the catalogue.
    ///
    /// # Errors
    /// There is none of that name, or it has errors.
    pub async fn play_workflow(&self, name: &str) -> Result<Vec<EditorSimulatedRun>, DryRunError> {
        let layer = find_workflow(self.catalog, name)?.layer;
        let (program, _) = self.catalog.check_workflow(name).map_err(DryRunError::Invalid)?;
        Ok(self.play_program(&program, layer).await)
    }

    async fn play_program(&self, program: &WorkflowProgram, layer: ConfigLayer) -> Vec<EditorSimulatedRun> {
        let Some(name) = program.workflows.first().map(|root| root.name.clone()) else { return Vec::new() };
        let inherits_tests = lacks_own_tests(self.tests, &name, layer);
        let mut all = Vec::new();
        for file in self.tests {
            let (scenarios, found) = test_file::parse_test_file(file);
            let is_own = test_file::tested_workflow(&file.name) == Some(name.as_str());
            if is_own && found.iter().any(is_error) {
                let lines = error_lines(&found);
                all.push(unplayed_run(&name, None, "its test file has errors", vec![lines]));
            }
            for scenario in scenarios.iter().filter(|scenario| tested_workflow_name(file, scenario) == name) {
                all.push(if layer > file.layer && !inherits_tests {
                    skipped_run(&name, Some(scenario.name.clone()), &overridden_text(layer))
                } else {
                    self.play_scenario(file, scenario, program).await
                });
            }
        }
        if all.is_empty() {
            let run = ScriptedRun::with_improvised_answers(self.ports, self.catalog, program);
            all.push(to_editor_run(&name, None, run.play_to_end(self.ports).await));
        }
        all
    }

    async fn play_scenario(
        &self,
        file: &SourceFile,
        scenario: &TestScenario,
        program: &WorkflowProgram,
    ) -> EditorSimulatedRun {
        let name = tested_workflow_name(file, scenario);
        let test = Some(scenario.name.clone());
        if scenario.cassette.is_some() {
            return skipped_run(&name, test, "it plays a recording; use synthdev test");
        }
        match ScriptedRun::new(self.ports, self.catalog, file, scenario, program, None, None) {
            Ok(run) => to_editor_run(&name, test, run.play_to_end(self.ports).await),
            Err(found) => {
                let lines = found.iter().map(compact_line).collect();
                unplayed_run(&name, test, "the test does not fit the workflow", lines)
            }
        }
    }
}

fn is_error(finding: &Diagnostic) -> bool {
    finding.severity == DiagnosticSeverity::Error
}

fn error_lines(found: &[Diagnostic]) -> String {
    let mut lines: Vec<String> = found.iter().filter(|one| is_error(one)).map(compact_line).collect();
    lines.dedup();
    lines.join("\n")
}

fn skipped_run(name: &str, test: Option<String>, why: &str) -> EditorSimulatedRun {
    let why = format!("skipped: {why}");
    EditorSimulatedRun { is_skipped: true, ..unplayed_run(name, test, &why, Vec::new()) }
}

fn unplayed_run(name: &str, test: Option<String>, why: &str, problems: Vec<String>) -> EditorSimulatedRun {
    EditorSimulatedRun {
        workflow: name.to_owned(),
        test_name: test,
        status: why.to_owned(),
        problems,
        ..EditorSimulatedRun::default()
    }
}

fn to_editor_run(name: &str, test: Option<String>, judged: SimulationVerdict) -> EditorSimulatedRun {
    let SimulationVerdict { facts, problems } = judged;
    let output =
        facts.output.as_ref().map(|output| format!("output: {}", truncate_text(&plain_text(output))));
    let error = facts.error.as_ref().filter(|_| problems.is_empty());
    let error = error.map(|error| format!("error: {}: {} {}", error.code, error.title, error.detail));
    let warnings = facts.warnings.iter().map(|(code, text)| format!("warning: {code}: {text}"));
    let logs = facts.logs.iter().map(|(state, text)| format!("log of {state}: {text}"));
    EditorSimulatedRun {
        workflow: name.to_owned(),
        test_name: test,
        status: facts.status.as_str().to_owned(),
        is_skipped: false,
        problems: problems.iter().map(|problem| truncate_text(&problem.text)).collect(),
        notes: output.into_iter().chain(error).chain(warnings).chain(logs).collect(),
        path: facts.path,
        visits: facts.visits,
        calls: facts.calls,
    }
}

fn truncate_text(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text.to_owned(),
    }
}
