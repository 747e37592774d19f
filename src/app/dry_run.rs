//! Plays a workflow's text without models, for the editor: its tests, or one walk with generated answers.
//!
//! No side effects: calls no model and no tool, and changes no file, whatever the text contains.

use super::scripted_run::ScriptedRun;
use super::test_command::tested_workflow_name;
use synthdev_adapters::javascript::ScriptWorkerPool;
use synthdev_cli::simulate::report::SimulationVerdict;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::workflow::{WorkflowProgram, plain_text};
use synthdev_language::render::compact_line;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file;
use synthdev_language::test_file::TestScenario;
use synthdev_service::definition_check::{UnknownWorkflow, find_workflow};
use synthdev_service::session::EditorSimulatedRun;
use synthdev_settings::catalog::ConfigCatalog;

/// Most characters of an output or problem that are shown.
const SHOWN: usize = 2_000;

/// Every workflow of the file, as it is in `source`: with its tests, else once with generated answers.
///
/// # Errors
/// The text has errors; it has no workflow.
pub(super) async fn dry_run_file(
    catalog: &ConfigCatalog,
    tests: &[SourceFile],
    source: &SourceFile,
) -> Result<Vec<EditorSimulatedRun>, String> {
    let (programs, _) = catalog.check_file(source).map_err(|found| diagnostics_text(&found))?;
    let mut all = Vec::new();
    for program in &programs {
        all.extend(rehearse_program(catalog, tests, program).await);
    }
    if all.is_empty() { Err("there is no workflow in this file".to_owned()) } else { Ok(all) }
}

/// The same for a workflow of the catalogue.
///
/// # Errors
/// There is none of that name, or it has errors.
pub(super) async fn dry_run_workflow(
    catalog: &ConfigCatalog,
    tests: &[SourceFile],
    name: &str,
) -> Result<Vec<EditorSimulatedRun>, String> {
    find_workflow(catalog, name).map_err(|unknown| unknown_workflow_text(&unknown))?;
    let (program, _) = catalog.check_workflow(name).map_err(|found| diagnostics_text(&found))?;
    Ok(rehearse_program(catalog, tests, &program).await)
}

/// In one line, for the screen.
pub(super) fn unknown_workflow_text(unknown: &UnknownWorkflow) -> String {
    let hint = unknown.suggestion.as_deref().unwrap_or("/workflows lists them");
    format!("{unknown} — {hint}")
}

fn diagnostics_text(found: &[Diagnostic]) -> String {
    let errors = found.iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
    let mut lines: Vec<String> = errors.map(compact_line).collect();
    lines.dedup();
    lines.join("\n")
}

async fn rehearse_program(
    catalog: &ConfigCatalog,
    tests: &[SourceFile],
    program: &WorkflowProgram,
) -> Vec<EditorSimulatedRun> {
    let Some(name) = program.workflows.first().map(|root| root.name.clone()) else { return Vec::new() };
    let mut all = Vec::new();
    for file in tests {
        let (scenarios, _) = test_file::parse_test_file(file);
        for scenario in scenarios.iter().filter(|scenario| tested_workflow_name(file, scenario) == name) {
            all.push(run_test_scenario(catalog, file, scenario, program, &name).await);
        }
    }
    if all.is_empty() {
        let judged = ScriptedRun::with_improvised_answers(catalog, program)
            .play_to_end(&ScriptWorkerPool::default())
            .await;
        all.push(to_editor_run(&name, None, judged));
    }
    all
}

async fn run_test_scenario(
    catalog: &ConfigCatalog,
    file: &SourceFile,
    scenario: &TestScenario,
    program: &WorkflowProgram,
    name: &str,
) -> EditorSimulatedRun {
    let test = Some(scenario.name.clone());
    let unplayed = |status: &str, problems: Vec<String>| EditorSimulatedRun {
        workflow: name.to_owned(),
        test_name: Some(scenario.name.clone()),
        status: status.to_owned(),
        problems,
        ..EditorSimulatedRun::default()
    };
    if scenario.cassette.is_some() {
        return unplayed("skipped: it plays a recording; use synthdev test", Vec::new());
    }
    match ScriptedRun::new(catalog, file, scenario, program, None, None) {
        Ok(scripted_run) => {
            to_editor_run(name, test, scripted_run.play_to_end(&ScriptWorkerPool::default()).await)
        }
        Err(found) => {
            unplayed("the test does not fit the workflow", found.iter().map(compact_line).collect())
        }
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cli_context::CliContext;
    use crate::load_config::load_quietly;
    use crate::templates::{WORKFLOWS, fill_template};
    use synthdev_adapters::file_io::UserDirs;
    use synthdev_domain::source_location::ConfigLayer;
    use synthdev_settings::layers::read_layers::SettingOverrides;

    fn shipped_catalog() -> (ConfigCatalog, Vec<SourceFile>) {
        let nowhere = std::path::PathBuf::from("/nowhere");
        let world = CliContext {
            project: nowhere.clone(),
            dirs: UserDirs { config: nowhere.clone(), data: nowhere.clone(), state: nowhere },
            environment: BTreeMap::new(),
            overrides: SettingOverrides::default(),
            extra_settings: None,
            trust: false,
            line_mode: false,
            shipped_only: true,
        };
        let (catalog, gathered) = load_quietly(&world, world.scripted_overrides("test")).unwrap();
        (catalog, gathered.tests)
    }

    #[tokio::test]
    async fn every_shipped_workflow_and_pattern_is_walked_through_with_made_up_answers() {
        let (catalog, _) = shipped_catalog();
        let patterns = WORKFLOWS.iter().map(|pattern| {
            let text =
                fill_template(pattern.text, "workflow", pattern.name, std::path::Path::new("/nowhere/x"));
            SourceFile::new(ConfigLayer::User, format!("user:workflows/{}.json", pattern.name), text)
        });
        let files: Vec<SourceFile> = catalog.workflow_files().iter().cloned().chain(patterns).collect();
        for file in &files {
            for one in dry_run_file(&catalog, &[], file).await.unwrap() {
                assert!(one.path.len() > 1 && one.test_name.is_none(), "{one:#?}");
                // where every command goes well, a test that has to fail first never does
                if one.workflow == "test_first" {
                    assert!(one.problems[0].contains("tests_do_not_pass"), "{one:#?}");
                } else {
                    assert_eq!((one.status.as_str(), one.problems.len()), ("completed", 0), "{one:#?}");
                }
            }
        }
    }

    #[tokio::test]
    async fn tests_are_played_where_there_are_some_and_a_changed_text_is_told() {
        let (catalog, tests) = shipped_catalog();
        let file = catalog.workflow_files().iter().find(|file| file.name.contains("coder_reviewer")).unwrap();
        let all = dry_run_file(&catalog, &tests, file).await.unwrap();
        assert!(all.iter().all(|one| one.test_name.is_some() && one.problems.is_empty()), "{all:#?}");
        let text = file.text.replace("improvement_needed === true", "improvement_needed === false");
        let changed = SourceFile::new(file.layer, file.name.as_str(), text);
        let all = dry_run_file(&catalog, &tests, &changed).await.unwrap();
        assert!(all.iter().any(|one| !one.problems.is_empty()), "{all:#?}");
        let broken = SourceFile::new(file.layer, file.name.as_str(), "{");
        assert!(dry_run_file(&catalog, &tests, &broken).await.unwrap_err().contains("C01"));
        let unknown = dry_run_workflow(&catalog, &tests, "coder_reviwer").await.unwrap_err();
        assert!(unknown.ends_with("did you mean `coder_reviewer`?"), "{unknown}");
    }
}
