//! From files to a program that can run: finds a workflow and everything it calls, checks it, resolves names to
//! indices. Either everything is sound, or nothing is returned but findings.

mod build;
mod cast;
mod chat;
mod gather;
mod held_back;
mod library;
mod start_warnings;
mod states;
mod steps;
mod surroundings;
mod unpriced;

use sha2::{Digest, Sha256};

use super::source::{Findings, SourceFile};
use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::place::Place;
use crate::domain::workflow::{Program, Workflow};

pub use chat::chat;
pub use surroundings::{Missing, Surroundings, TextOf, ToolsFor};

use gather::Gathered;
use library::Library;
use start_warnings::start_warnings;

/// Lowers the workflow `root` with every workflow that it can reach. Also returns warnings and notes.
///
/// # Errors
/// Every finding of all these workflows, if one of them is an error.
pub fn lower(
    root: &str,
    surroundings: &Surroundings<'_>,
) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    let library = Library::new(surroundings.files, None);
    let Some(at) = library.find(root) else {
        let mut list = library.broken();
        list.push(unknown_root(root, &library));
        return Err(list);
    };
    let gathered = Gathered::new(at, &library, surroundings);
    finish(gathered)
}

/// Lowers every workflow of one file, in the file's order: the first one is what `run --workflow-file` starts.
/// Workflows that they call are looked up in the file first.
///
/// # Errors
/// Every finding, if one of them is an error or the file holds no workflow.
pub fn lower_file(
    file: &SourceFile,
    surroundings: &Surroundings<'_>,
) -> Result<(Vec<Program>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let library = Library::new(surroundings.files, Some(file));
    let mut all = library.findings_of(file);
    let mut programs = Vec::new();
    let mut sound = all.iter().all(|finding| finding.severity < Severity::Error);
    for at in library.in_file(file) {
        let found = match finish(Gathered::new(at, &library, surroundings)) {
            Ok((program, found)) => {
                programs.push(program);
                found
            }
            Err(found) => {
                sound = false;
                found
            }
        };
        // a workflow that several others call is judged with each of them
        for finding in found {
            if !all.contains(&finding) {
                all.push(finding);
            }
        }
    }
    if all.is_empty() && programs.is_empty() {
        let mut findings = Findings::new(file);
        let hint = "a workflow file is one workflow object, or an array of them";
        findings.error("E10", 0..0, "the file holds no workflow", Some(hint.to_owned()));
        all = findings.list;
    }
    if sound && !programs.is_empty() { Ok((programs, all)) } else { Err(all) }
}

fn finish(gathered: Gathered<'_>) -> Result<(Program, Vec<Diagnostic>), Vec<Diagnostic>> {
    let findings = gathered.findings();
    if findings.iter().any(|finding| finding.severity == Severity::Error) {
        return Err(findings);
    }
    let start_warnings = start_warnings(&findings);
    Ok((Program { start_warnings, ..program(gathered.build()) }, findings))
}

fn program(workflows: Vec<Workflow>) -> Program {
    let hash = hash(&workflows);
    Program { workflows: workflows.into_iter().map(Into::into).collect(), hash, start_warnings: Vec::new() }
}

/// Pins a list of workflows by what they say: places, layers and where a model was chosen do not count.
pub fn hash<'a>(workflows: impl IntoIterator<Item = &'a Workflow>) -> String {
    let mut digest = Sha256::new();
    for workflow in workflows {
        let mut bare = workflow.clone();
        bare.place = Place::default();
        bare.layer = crate::domain::place::Layer::default();
        for state in &mut bare.states {
            state.place = Place::default();
        }
        for agent in &mut bare.agents {
            let choice = &mut agent.choice;
            choice.provenance.clear();
            choice.fallback.iter_mut().for_each(|choice| choice.provenance.clear());
        }
        let summaries = bare.contexts.iter_mut().filter_map(|context| context.summary.as_mut());
        summaries.for_each(|choice| {
            choice.provenance.clear();
            choice.fallback.clear();
        });
        let mut scripts = (*bare.scripts).clone();
        for script in &mut scripts {
            script.place = Place::default();
        }
        bare.scripts = scripts.into();
        // plain data without map keys other than text: serialising it cannot fail
        digest.update(serde_json::to_vec(&bare).unwrap_or_default());
        digest.update([0]);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unknown_root(root: &str, library: &Library<'_>) -> Diagnostic {
    let names = library.names();
    let hint = super::suggest::did_you_mean(root, names.iter().map(String::as_str))
        .unwrap_or_else(|| format!("known: {}", super::suggest::listed_names(&names)));
    Diagnostic {
        code: "E08".to_owned(),
        severity: Severity::Error,
        message: format!("there is no workflow `{root}`"),
        place: Place { file: "command line".to_owned(), line: 1, column: 1 },
        span: 0..0,
        hint: Some(hint),
    }
}
