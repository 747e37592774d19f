//! A workflow's text played without models, for whoever edits it: its tests, or one walk with answers made up for it.
//!
//! Refuses the world: no model, no tool and no file is touched, whatever the text says.

use super::scenes::Scene;
use super::testing::workflow_of;
use crate::adapters::javascript::Host;
use crate::cli::simulate::report::Judged;
use crate::config::catalog::Catalog;
use crate::config::render::compact;
use crate::config::source::SourceFile;
use crate::config::test_file::{self, Scenario};
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::workflow::{Program, plain_text};
use crate::tui::editor::simulated::Simulated;

/// What is shown of an output or of one problem, in characters.
const SHOWN: usize = 2_000;

/// Every workflow of the file, as it stands in `source`: with its tests, else once with answers made up for it.
///
/// # Errors
/// The text has errors; there is no workflow in it.
pub(super) async fn rehearse(
    catalog: &Catalog,
    tests: &[SourceFile],
    source: &SourceFile,
) -> Result<Vec<Simulated>, String> {
    let (programs, _) = catalog.check_file(source).map_err(|found| refused(&found))?;
    let mut all = Vec::new();
    for program in &programs {
        all.extend(of_one(catalog, tests, program).await);
    }
    if all.is_empty() { Err("there is no workflow in this file".to_owned()) } else { Ok(all) }
}

/// The same for a workflow of the catalogue.
///
/// # Errors
/// There is none of that name, or it has errors.
pub(super) async fn rehearse_known(
    catalog: &Catalog,
    tests: &[SourceFile],
    name: &str,
) -> Result<Vec<Simulated>, String> {
    if catalog.workflow(name).is_none() {
        let near = crate::tui::slash::closest(name, catalog.workflows().iter().map(|one| one.name.as_str()));
        let near =
            near.map_or_else(|| "/workflows lists them".to_owned(), |near| format!("did you mean {near}?"));
        return Err(format!("there is no workflow {name} — {near}"));
    }
    let (program, _) = catalog.check(name).map_err(|found| refused(&found))?;
    Ok(of_one(catalog, tests, &program).await)
}

fn refused(found: &[Diagnostic]) -> String {
    let errors = found.iter().filter(|finding| finding.severity == Severity::Error);
    let mut lines: Vec<String> = errors.map(compact).collect();
    lines.dedup();
    lines.join("\n")
}

async fn of_one(catalog: &Catalog, tests: &[SourceFile], program: &Program) -> Vec<Simulated> {
    let Some(name) = program.workflows.first().map(|root| root.name.clone()) else { return Vec::new() };
    let mut all = Vec::new();
    for file in tests {
        let (scenarios, _) = test_file::read(file);
        for scenario in scenarios.iter().filter(|scenario| workflow_of(file, scenario) == name) {
            all.push(tested(catalog, file, scenario, program, &name).await);
        }
    }
    if all.is_empty() {
        let judged = Scene::improvised(catalog, program).play(&Host::default()).await;
        all.push(simulated(&name, None, judged));
    }
    all
}

async fn tested(
    catalog: &Catalog,
    file: &SourceFile,
    scenario: &Scenario,
    program: &Program,
    name: &str,
) -> Simulated {
    let test = Some(scenario.name.clone());
    let unplayed = |status: &str, problems: Vec<String>| Simulated {
        workflow: name.to_owned(),
        test: Some(scenario.name.clone()),
        status: status.to_owned(),
        problems,
        ..Simulated::default()
    };
    if scenario.cassette.is_some() {
        return unplayed("not played: it plays a recording, synthdev test does that", Vec::new());
    }
    match Scene::new(catalog, file, scenario, program, None, None) {
        Ok(scene) => simulated(name, test, scene.play(&Host::default()).await),
        Err(found) => unplayed("the test does not fit the workflow", found.iter().map(compact).collect()),
    }
}

fn simulated(name: &str, test: Option<String>, judged: Judged) -> Simulated {
    let Judged { facts, problems } = judged;
    let output = facts.output.as_ref().map(|output| format!("output: {}", cut(&plain_text(output))));
    let error = facts.error.as_ref().filter(|_| problems.is_empty());
    let error = error.map(|error| format!("error: {}: {} {}", error.code, error.title, error.detail));
    let warnings = facts.warnings.iter().map(|(code, text)| format!("warning: {code}: {text}"));
    let logs = facts.logs.iter().map(|(state, text)| format!("log of {state}: {text}"));
    Simulated {
        workflow: name.to_owned(),
        test,
        status: facts.status.as_str().to_owned(),
        problems: problems.iter().map(|problem| cut(&problem.text)).collect(),
        notes: output.into_iter().chain(error).chain(warnings).chain(logs).collect(),
        path: facts.path,
        visits: facts.visits,
        calls: facts.calls,
    }
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{} …", &text[..at]),
        None => text.to_owned(),
    }
}
