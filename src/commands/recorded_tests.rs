//! Tests that are answered from a recording, and how such a recording is made.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::recordings;
use synthdev_bootstrap::active_recording::{
    ModelCallPlayer, ModelCallRecorder, ModelRecording, RecordingError,
};
use synthdev_bootstrap::config_sources;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels};
use synthdev_domain::diagnostic::DiagnosticSeverity;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::companion_files;
use synthdev_language::fields::SpannedField;
use synthdev_language::source::SourceFile;
use synthdev_language::test_file::TestScenario;
use synthdev_ports::simulation::ScriptedModelPort;
use synthdev_service::workflow_tests::test_plan::{TestRecordings, UnplayableTest};
use synthdev_session::recorded_program::{local_place, recording_header, roles_by_agent};
use synthdev_settings::catalog::ConfigCatalog;

/// Where recordings are played, or made.
pub(crate) struct RecordedTests<'a> {
    pub(crate) context: &'a StartContext,
    /// While something is recorded: with real models.
    pub(crate) catalog: &'a ConfigCatalog,
    /// The same without models.
    pub(crate) plain_catalog: LazyCell<ConfigCatalog, Box<dyn FnOnce() -> ConfigCatalog + 'a>>,
    pub(crate) record: bool,
    pub(crate) recorded_paths: BTreeSet<PathBuf>,
}

impl TestRecordings for RecordedTests<'_> {
    fn recorded_models(
        &mut self,
        file: &SourceFile,
        test: &TestScenario,
        path: &SpannedField<String>,
        workflow: &str,
    ) -> Result<(WorkflowProgram, Arc<dyn ScriptedModelPort>), UnplayableTest> {
        let problem = |message: String, hint: Option<String>| {
            UnplayableTest::Found(vec![test.recording_problem(file, message, hint)])
        };
        let of_file = |bad: RecordingError| match bad.0.split_once("\nhint: ") {
            Some((message, hint)) => problem(message.to_owned(), Some(hint.to_owned())),
            None => problem(bad.0, None),
        };
        let name = companion_files::companion_path(file, &path.value)
            .map_err(|(message, hint)| problem(message, hint))?;
        let program = checked_program(&self.plain_catalog, workflow)?;
        let target = if file.layer == ConfigLayer::CommandLine { file.name.as_str() } else { workflow };
        let again = format!("synthdev test --record {target}");
        let Some(place) = self.recording_path(file, &name) else {
            if self.record {
                return Err(UnplayableTest::Skipped(
                    "a shipped test is recorded from its own file".to_owned(),
                ));
            }
            let shipped =
                name.strip_prefix("built-in:workflows/").and_then(config_sources::shipped_recording);
            let text = shipped.ok_or_else(|| problem(format!("there is no {name}"), None))?;
            let cassette = ModelRecording::from_reader(text, &name).map_err(of_file)?;
            return Ok(self.play_recording(cassette, name, again, &program));
        };
        if !self.record {
            if !place.exists() {
                return Err(problem(
                    format!("there is no {}", place.display()),
                    Some(format!("record it: {again}")),
                ));
            }
            let cassette = ModelRecording::open_file(&place).map_err(of_file)?;
            return Ok(self.play_recording(cassette, path.value.clone(), again, &program));
        }
        if !self.recorded_paths.insert(place.clone()) {
            return Err(problem("another test is recorded in this file, too".to_owned(), None));
        }
        let asking = checked_program(self.catalog, workflow)?;
        let models = wiring::wire_runtime(
            &self.context.project,
            &self.context.dirs.data,
            self.catalog,
            RunModels::default(),
        )
        .providers;
        let here = local_place(self.catalog, &[&self.context.project]);
        let header = recording_header(&program, &asking);
        let recorder =
            ModelCallRecorder::create_file(&place, &header, roles_by_agent(&asking), here, models as Arc<_>);
        Ok((asking, Arc::new(recorder.map_err(of_file)?.with_retry_delays())))
    }
}

impl RecordedTests<'_> {
    fn play_recording(
        &self,
        cassette: ModelRecording,
        name: String,
        again: String,
        program: &WorkflowProgram,
    ) -> (WorkflowProgram, Arc<dyn ScriptedModelPort>) {
        let (program, playing) = recordings::program_with_recording(&cassette.header, name, again, program);
        let here = local_place(&self.plain_catalog, &[&self.context.project]);
        let player = ModelCallPlayer::new(cassette, playing, roles_by_agent(&program), here);
        (program, Arc::new(player.without_delays()))
    }

    /// `None`: among what is shipped.
    fn recording_path(&self, file: &SourceFile, name: &str) -> Option<PathBuf> {
        match file.layer {
            ConfigLayer::BuiltIn => None,
            ConfigLayer::User => {
                Some(self.context.dirs.config.join(name.strip_prefix("user:").unwrap_or(name)))
            }
            ConfigLayer::Project => Some(self.context.project.join(name)),
            _ => Some(Path::new(name).to_owned()),
        }
    }
}

fn checked_program(catalog: &ConfigCatalog, workflow: &str) -> Result<WorkflowProgram, UnplayableTest> {
    match catalog.check_workflow(workflow) {
        Ok((program, _)) => Ok(program),
        Err(found) => {
            let errors = found.into_iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
            Err(UnplayableTest::Found(errors.collect()))
        }
    }
}
