//! A recording of a run that is over, made from its journal: also of one that began without `--record`, on the screen.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Result, anyhow, bail};

use crate::hinted_error::{export_error, store_error};
use crate::recorded_program::{
    catalog_without_models, local_place, recorded_outcome, recording_error, recording_header, roles_by_agent,
    root_workflow,
};
use synthdev_bootstrap::active_recording::ModelCallRecorder;
use synthdev_bootstrap::config_sources;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_domain::model::{ModelChoice, ModelRequest};
use synthdev_domain::workflow::{Workflow, WorkflowProgram};
use synthdev_language::lower;
use synthdev_service::run_export::check_recordable;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::read_layers::SettingOverrides;

/// Writes the model calls of a run with their answers, as `run --record` would have; returns notes about it, a line
/// each.
///
/// # Errors
/// The run cannot be played, the file is there, or it cannot be written.
pub(crate) fn write_recording(
    context: &StartContext,
    catalog: &ConfigCatalog,
    wired: &WiredRuntime,
    run: &str,
    path: &Path,
) -> Result<Vec<String>> {
    let handle = &wired.handle;
    let summary = handle.summary(run).map_err(store_error)?;
    let (run, file, status) = (&summary.id, path.display().to_string(), summary.progress.status);
    if path.exists() {
        bail!("{file} exists: it was left as it is\nhint: name another file, or remove it first");
    }
    let program = handle.definition(run).map_err(store_error)?.program.clone();
    let workflow = root_workflow(&program).ok_or_else(|| anyhow!("run {run} has no workflow"))?;
    check_recordable(run, status, workflow.conversational).map_err(export_error)?;
    let name = &workflow.name;
    let gathered = config_sources::gather_sources(context, SettingOverrides::default(), context.trust)?;
    let Ok((plain, _)) = catalog_without_models(context, gathered.sources).check_workflow(name) else {
        bail!(
            "the workflow `{name}` of run {run} is not among those of this project now, or has errors\n\
             hint: synthdev check; or record a new run: synthdev run --workflow-file … --record {file}"
        );
    };
    // a run of a different definition keeps that definition's hash, so that playing the recording reports the
    // difference
    let present = catalog.check_workflow(name).is_ok_and(|(present, _)| present.hash == program.hash)
        || hash_with_models(&plain, &program) == plain.hash;
    let mut header = recording_header(&plain, &program);
    if !present {
        header.definition.clone_from(&program.hash);
    }
    let tree = summary.worktree.as_ref().map(|tree| Path::new(&tree.path));
    let project: Vec<&Path> = tree.into_iter().chain([context.project.as_path()]).collect();
    let models = Arc::clone(&wired.ports.models);
    let recorder = ModelCallRecorder::create_file(
        path,
        &header,
        roles_by_agent(&program),
        local_place(catalog, &project),
        models,
    );
    let recorder = recorder.map_err(recording_error)?;
    let tell = &mut |request: ModelRequest, over, used| {
        recorder.record_earlier_call(&request, recorded_outcome(over), used)
    };
    if !handle.visit_portable_model_calls(run, tell).map_err(store_error)? {
        // what was written until here goes with the recorder
        bail!(
            "run {run} depends on prompts that describe this machine, so a recording of it could not be \
                played\nhint: record a new run: synthdev run {name} … --record {file}"
        );
    }
    let calls = recorder.finish_recording().map_err(recording_error)?;
    let plural = if calls == 1 { "" } else { "s" };
    Ok(vec![
        format!("{calls} model call{plural} of run {run} written to {file}"),
        format!("play it: synthdev run {name} … --replay {file}; or name it as `cassette` in a test"),
    ])
}

/// What pins the program if its agents had the models of another one, at their own levels and with their own parameters, as far
/// as both have them: which models are chosen, and what those take, is of this machine and day.
fn hash_with_models(plain: &WorkflowProgram, program: &WorkflowProgram) -> String {
    let lent = |own: &mut ModelChoice, plain: &ModelChoice| {
        let parameters = plain.parameters.overridden_by(&own.parameters);
        *own = ModelChoice { level: std::mem::take(&mut own.level), parameters, ..plain.clone() };
    };
    let mut workflows: Vec<Workflow> =
        program.workflows.iter().map(|workflow| (**workflow).clone()).collect();
    for workflow in &mut workflows {
        let Some(other) = plain.workflows.iter().find(|one| one.name == workflow.name) else { continue };
        for agent in &mut workflow.agents {
            let found = other.agents.iter().find(|one| one.id == agent.id);
            found.into_iter().for_each(|one| lent(&mut agent.choice, &one.choice));
        }
        for context in &mut workflow.contexts {
            let found = other.contexts.iter().find(|one| one.name == context.name);
            let summaries = context.summary.as_deref_mut().zip(found.and_then(|one| one.summary.as_deref()));
            summaries.into_iter().for_each(|(own, plain)| lent(own, plain));
        }
    }
    lower::hash_workflows(&workflows)
}
