//! The file of a recording that is made of a past run, with the catalogues of this project.

use std::path::Path;
use std::sync::Arc;

use anyhow::Result;

use crate::hinted_error::error_with_hint;
use crate::recorded_program::{
    catalog_without_models, local_place, recorded_outcome, recording_header, roles_by_agent,
};
use synthdev_bootstrap::active_recording::ModelCallRecorder;
use synthdev_bootstrap::config_sources;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::model::ModelRequest;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_runtime::model_exchanges::ModelCallEnd;
use synthdev_service::run_recording::{
    RecordedCallSink, RecordedRun, RecordingFilePort, WrittenRecording, record_past_run,
};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::read_layers::SettingOverrides;

/// Writes the model calls of a run with their answers; returns notes about it, a line each.
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
    let file = PastRunFile { context, catalog, wired, path };
    let WrittenRecording { run, workflow, calls } = record_past_run(&wired.handle, run, &file)
        .map_err(|error| error_with_hint(&error.to_string(), error.hint().as_deref()))?;
    let (plural, file) = (if calls == 1 { "" } else { "s" }, file.name());
    Ok(vec![
        format!("{calls} model call{plural} of run {run} written to {file}"),
        format!("play it: synthdev run {workflow} … --replay {file}; or name it as `cassette` in a test"),
    ])
}

struct PastRunFile<'w> {
    context: &'w StartContext,
    catalog: &'w ConfigCatalog,
    wired: &'w WiredRuntime,
    path: &'w Path,
}

impl RecordingFilePort for PastRunFile<'_> {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn exists(&self) -> bool {
        self.path.exists()
    }

    fn program_without_models(&self, workflow: &str) -> Result<Option<WorkflowProgram>, String> {
        let context = self.context;
        let gathered = config_sources::gather_sources(context, SettingOverrides::default(), context.trust)
            .map_err(|error| format!("{error:#}"))?;
        let checked = catalog_without_models(context, gathered.sources).check_workflow(workflow);
        Ok(checked.ok().map(|(plain, _)| plain))
    }

    fn present_hash(&self, workflow: &str) -> Option<String> {
        self.catalog.check_workflow(workflow).ok().map(|(present, _)| present.hash)
    }

    fn begin(&self, recorded: &RecordedRun<'_>) -> Result<Box<dyn RecordedCallSink>, String> {
        let mut header = recording_header(recorded.plain, recorded.program);
        recorded.definition.clone_into(&mut header.definition);
        let project: Vec<&Path> =
            recorded.worktree.into_iter().chain([self.context.project.as_path()]).collect();
        let recorder = ModelCallRecorder::create_file(
            self.path,
            &header,
            roles_by_agent(recorded.program),
            local_place(self.catalog, &project),
            Arc::clone(&self.wired.ports.models),
        );
        Ok(Box::new(PastCallRecorder(recorder.map_err(|error| error.0)?)))
    }
}

struct PastCallRecorder(ModelCallRecorder);

impl RecordedCallSink for PastCallRecorder {
    fn add_call(&mut self, request: &ModelRequest, over: ModelCallEnd, used: Option<AttemptUsage>) {
        self.0.record_earlier_call(request, recorded_outcome(over), used);
    }

    fn finish(&mut self) -> Result<u64, String> {
        self.0.finish_recording().map_err(|error| error.0)
    }
}
