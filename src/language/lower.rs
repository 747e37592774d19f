//! From files to a program that can run: finds a workflow and everything it calls, checks it, resolves names to
//! indices. Either everything is sound, or nothing is returned but findings.

mod build;
mod chat;
mod concurrency_limits;
mod link;
mod link_context;
mod missing_prices;
mod required_names;
mod resolve_agents;
mod spawnable_roles;
mod start_warnings;
mod states;
mod steps;
mod workflow_library;

use sha2::{Digest, Sha256};

use super::source::{FileDiagnostics, SourceFile};
use synthdev_domain::agent_team::AgentLimits;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::role::Role;
use synthdev_domain::source_location::SourceLocation;
use synthdev_domain::workflow::{Workflow, WorkflowProgram};

pub use chat::chat_program;
pub use link_context::{LinkContext, LookupFailure, RoleToolsLookup, StatedModelLookup, TextFileLookup};

use link::LinkedWorkflows;
use spawnable_roles::{SpawnRequest, link_spawnable_roles};
use start_warnings::start_warnings;
use workflow_library::WorkflowLibrary;

/// Lowers the workflow `root` with every workflow that it can reach. Also returns warnings and notes.
///
/// # Errors
/// Every finding of all these workflows, if one of them is an error.
pub fn lower_workflow(
    root: &str,
    surroundings: &LinkContext<'_>,
) -> Result<(WorkflowProgram, Vec<Diagnostic>), Vec<Diagnostic>> {
    let library = WorkflowLibrary::new(surroundings.files, None);
    let Some(at) = library.find_definition(root) else {
        let mut list = library.syntax_errors();
        list.push(unknown_root(root, &library));
        return Err(list);
    };
    if let Some(error) = (surroundings.unreadable_rival)(root) {
        return Err(vec![error]);
    }
    finish_program(LinkedWorkflows::new(at, &library, surroundings), surroundings)
}

/// Lowers every workflow of one file, in the file's order: the first one is what `run --workflow-file` starts.
/// Workflows that they call are looked up in the file first.
///
/// # Errors
/// Every finding, if one of them is an error or the file holds no workflow.
pub fn lower_file(
    file: &SourceFile,
    surroundings: &LinkContext<'_>,
) -> Result<(Vec<WorkflowProgram>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let library = WorkflowLibrary::new(surroundings.files, Some(file));
    let mut all = library.findings_of(file);
    let mut programs = Vec::new();
    let mut sound = all.iter().all(|finding| finding.severity < DiagnosticSeverity::Error);
    for at in library.in_file(file) {
        let found = match finish_program(LinkedWorkflows::new(at, &library, surroundings), surroundings) {
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
        let mut findings = FileDiagnostics::new(file);
        let hint = "a workflow file is one workflow object, or an array of them";
        findings.add_error("E10", 0..0, "the file holds no workflow", Some(hint.to_owned()));
        all = findings.list;
    }
    if sound && !programs.is_empty() { Ok((programs, all)) } else { Err(all) }
}

fn finish_program(
    mut gathered: LinkedWorkflows<'_>,
    surroundings: &LinkContext<'_>,
) -> Result<(WorkflowProgram, Vec<Diagnostic>), Vec<Diagnostic>> {
    let findings = gathered.all_findings();
    if findings.iter().any(|finding| finding.severity == DiagnosticSeverity::Error) {
        return Err(findings);
    }
    if let Some(stated) = surroundings.stated_model {
        gathered.state_models(stated);
    }
    let mut start_warnings = start_warnings(&findings);
    let mut workflows = gathered.build_workflows();
    start_warnings.extend(link_spawnable_roles(&mut workflows, gathered.spawn_requests(), surroundings));
    Ok((WorkflowProgram { start_warnings, ..assemble_program(workflows) }, findings))
}

/// Adds the roles that the agent of a conversation may start.
pub fn with_spawnable_roles(
    program: WorkflowProgram,
    role: &Role,
    surroundings: &LinkContext<'_>,
) -> WorkflowProgram {
    if role.enabled_agents.is_empty() {
        return program;
    }
    let request = SpawnRequest::of_role(role, 0, 0);
    let mut workflows: Vec<Workflow> =
        program.workflows.into_iter().map(std::sync::Arc::unwrap_or_clone).collect();
    let mut start_warnings = program.start_warnings;
    start_warnings.extend(link_spawnable_roles(&mut workflows, vec![request], surroundings));
    WorkflowProgram { start_warnings, ..assemble_program(workflows) }
}

fn assemble_program(workflows: Vec<Workflow>) -> WorkflowProgram {
    let hash = hash_workflows(&workflows);
    WorkflowProgram {
        workflows: workflows.into_iter().map(Into::into).collect(),
        hash,
        start_warnings: Vec::new(),
    }
}

/// Pins a list of workflows by what they say: places, layers and where a model was chosen do not count.
pub fn hash_workflows<'a>(workflows: impl IntoIterator<Item = &'a Workflow>) -> String {
    let mut digest = Sha256::new();
    for workflow in workflows {
        let mut bare = workflow.clone();
        bare.place = SourceLocation::default();
        bare.layer = synthdev_domain::source_location::ConfigLayer::default();
        for state in &mut bare.states {
            state.place = SourceLocation::default();
        }
        for agent in &mut bare.agents {
            let choice = &mut agent.choice;
            choice.provenance.clear();
            choice.fallback.iter_mut().for_each(|choice| choice.provenance.clear());
            if let Some(rights) = &mut agent.spawns {
                // a setting, not the definition
                rights.limits = AgentLimits::default();
            }
        }
        let summaries = bare.contexts.iter_mut().filter_map(|context| context.summary.as_mut());
        summaries.for_each(|choice| {
            choice.provenance.clear();
            choice.fallback.clear();
        });
        let mut scripts = (*bare.scripts).clone();
        for script in &mut scripts {
            script.place = SourceLocation::default();
        }
        bare.scripts = scripts.into();
        // plain data without map keys other than text: serialising it cannot fail
        digest.update(serde_json::to_vec(&bare).unwrap_or_default());
        digest.update([0]);
    }
    digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unknown_root(root: &str, library: &WorkflowLibrary<'_>) -> Diagnostic {
    let names = library.names();
    let hint = super::did_you_mean::suggestion_hint(root, names.iter().map(String::as_str))
        .unwrap_or_else(|| format!("known: {}", super::did_you_mean::listed_names(&names)));
    Diagnostic {
        code: "E08".to_owned(),
        severity: DiagnosticSeverity::Error,
        message: format!("there is no workflow `{root}`"),
        place: SourceLocation { file: "command line".to_owned(), line: 1, column: 1 },
        span: 0..0,
        hint: Some(hint),
    }
}
