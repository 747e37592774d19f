//! A recording of a run that is over, made from its journal: also of one that began without `--record`, on the screen.
//!
//! Owns which runs can be recorded, in which order that is judged, and which definition a recording names. Refuses to
//! replace a file.

use std::path::Path;

use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::ids::RunId;
use synthdev_domain::model::{ModelChoice, ModelRequest};
use synthdev_domain::workflow::{Workflow, WorkflowProgram};
use synthdev_language::lower;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::model_exchanges::ModelCallEnd;

use crate::run_export::{RunExportError, check_recordable};

/// The file that is written, and the configuration that its program is compared with.
pub trait RecordingFilePort {
    /// Its name as it is shown.
    fn name(&self) -> String;

    fn exists(&self) -> bool;

    /// The program of a workflow as this project has it now, from a catalogue without models. `None`: there is none, or
    /// it has errors.
    ///
    /// # Errors
    /// The files of the project cannot be read.
    fn program_without_models(&self, workflow: &str) -> Result<Option<WorkflowProgram>, String>;

    /// What pins the program of a workflow with the models of this machine.
    fn present_hash(&self, workflow: &str) -> Option<String>;

    /// # Errors
    /// It cannot be made.
    fn begin(&self, recorded: &RecordedRun<'_>) -> Result<Box<dyn RecordedCallSink>, String>;
}

/// What a recording is begun with.
pub struct RecordedRun<'r> {
    /// As it was run.
    pub program: &'r WorkflowProgram,
    /// The same from a catalogue without models.
    pub plain: &'r WorkflowProgram,
    /// The definition that the recording names.
    pub definition: &'r str,
    /// Where it worked, if not in the project itself.
    pub worktree: Option<&'r Path>,
}

/// The calls of a recording, in their order. What was written goes if it is dropped before its end.
pub trait RecordedCallSink {
    fn add_call(&mut self, request: &ModelRequest, over: ModelCallEnd, used: Option<AttemptUsage>);

    /// Puts the file into its place; the number of calls.
    ///
    /// # Errors
    /// It cannot be written.
    fn finish(&mut self) -> Result<u64, String>;
}

/// Nothing was written.
#[derive(Debug, thiserror::Error)]
pub enum RunRecordingError {
    #[error("{0}")]
    Export(RunExportError),
    #[error("run {0} has no workflow")]
    NoWorkflow(RunId),
    #[error("the workflow `{workflow}` of run {run} is not among those of this project now, or has errors")]
    UnknownWorkflow { run: RunId, workflow: String, file: String },
    #[error(
        "run {run} depends on prompts that describe this machine, so a recording of it could not be played"
    )]
    NotPortable { run: RunId, workflow: String, file: String },
    #[error("{0}")]
    Failed(String),
}

impl RunRecordingError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Export(error) => error.hint(),
            Self::UnknownWorkflow { file, .. } => Some(format!(
                "synthdev check; or record a new run: synthdev run --workflow-file … --record {file}"
            )),
            Self::NotPortable { workflow, file, .. } => {
                Some(format!("record a new run: synthdev run {workflow} … --record {file}"))
            }
            Self::NoWorkflow(_) | Self::Failed(_) => None,
        }
    }
}

impl From<StoreError> for RunRecordingError {
    fn from(error: StoreError) -> Self {
        Self::Export(RunExportError::Store(error))
    }
}

/// What was written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WrittenRecording {
    pub run: RunId,
    pub workflow: String,
    pub calls: u64,
}

/// Writes the model calls of a run with their answers, as `run --record` would have.
///
/// # Errors
/// The run cannot be played, the file is there, or it cannot be written.
pub fn record_past_run(
    handle: &RuntimeHandle,
    run: &str,
    file: &dyn RecordingFilePort,
) -> Result<WrittenRecording, RunRecordingError> {
    let summary = handle.summary(run)?;
    let (run, name) = (summary.id.clone(), file.name());
    if file.exists() {
        return Err(RunRecordingError::Export(RunExportError::FileExists(name)));
    }
    let program = handle.definition(&run)?.program.clone();
    let Some(root) = program.workflows.first() else { return Err(RunRecordingError::NoWorkflow(run)) };
    let workflow = root.name.clone();
    check_recordable(&run, summary.progress.status, root.conversational)
        .map_err(RunRecordingError::Export)?;
    let plain = file.program_without_models(&workflow).map_err(RunRecordingError::Failed)?;
    let Some(plain) = plain else {
        return Err(RunRecordingError::UnknownWorkflow { run, workflow, file: name });
    };
    // a run of a different definition keeps that definition's hash, so that playing the recording reports the difference
    let is_present = file.present_hash(&workflow).is_some_and(|present| present == program.hash)
        || hash_with_models(&plain, &program) == plain.hash;
    let mut calls = file
        .begin(&RecordedRun {
            program: &program,
            plain: &plain,
            definition: if is_present { &plain.hash } else { &program.hash },
            worktree: summary.worktree.as_ref().map(|tree| Path::new(&tree.path)),
        })
        .map_err(RunRecordingError::Failed)?;
    let tell = &mut |request: ModelRequest, over, used| calls.add_call(&request, over, used);
    if !handle.visit_portable_model_calls(&run, tell)? {
        // what was written until here goes with the sink
        return Err(RunRecordingError::NotPortable { run, workflow, file: name });
    }
    let calls = calls.finish().map_err(RunRecordingError::Failed)?;
    Ok(WrittenRecording { run, workflow, calls })
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
