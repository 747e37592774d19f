//! Tests that are answered from a recording, and how such a recording is made.

use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::bootstrap;
use super::cli_context::CliContext;
use super::config_sources;
use super::recordings::{self, header, local_place, roles};
use super::scripted_run::SimulationModel;
use synthdev_adapters::providers::recording::{
    ModelCallPlayer, ModelCallRecorder, ModelRecording, RecordingError,
};
use synthdev_config::catalog::ConfigCatalog;
use synthdev_config::companion_files;
use synthdev_config::fields::SpannedField;
use synthdev_config::source::SourceFile;
use synthdev_config::test_file::TestScenario;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::workflow::WorkflowProgram;

/// Where recordings are played, or made.
pub(super) struct TestRecordings<'a> {
    pub(super) world: &'a CliContext,
    /// While something is recorded: with real models.
    pub(super) catalog: &'a ConfigCatalog,
    /// The same without models.
    pub(super) plain: LazyCell<ConfigCatalog, Box<dyn FnOnce() -> ConfigCatalog + 'a>>,
    pub(super) record: bool,
    pub(super) made: BTreeSet<PathBuf>,
}

/// Why a test is not played.
pub(super) enum UnplayableTest {
    Found(Vec<Diagnostic>),
    Skipped(String),
}

impl TestRecordings<'_> {
    /// The program of a test with a recording, and what its models say.
    pub(super) fn words(
        &mut self,
        file: &SourceFile,
        test: &TestScenario,
        path: &SpannedField<String>,
        workflow: &str,
    ) -> Result<(WorkflowProgram, SimulationModel), UnplayableTest> {
        let problem = |message: String, hint: Option<String>| {
            UnplayableTest::Found(vec![test.cassette_problem(file, message, hint)])
        };
        let of_file = |bad: RecordingError| match bad.0.split_once("\nhint: ") {
            Some((message, hint)) => problem(message.to_owned(), Some(hint.to_owned())),
            None => problem(bad.0, None),
        };
        let name = companion_files::companion_path(file, &path.value)
            .map_err(|(message, hint)| problem(message, hint))?;
        let program = checked(&self.plain, workflow)?;
        let target = if file.layer == ConfigLayer::CommandLine { file.name.as_str() } else { workflow };
        let again = format!("synthdev test --record {target}");
        let Some(place) = self.place(file, &name) else {
            if self.record {
                return Err(UnplayableTest::Skipped(
                    "a shipped test is recorded from its own file".to_owned(),
                ));
            }
            let shipped =
                name.strip_prefix("built-in:workflows/").and_then(config_sources::shipped_recording);
            let text = shipped.ok_or_else(|| problem(format!("there is no {name}"), None))?;
            let cassette = ModelRecording::read(text, &name).map_err(of_file)?;
            return Ok(self.played(cassette, name, again, &program));
        };
        if !self.record {
            if !place.exists() {
                return Err(problem(
                    format!("there is no {}", place.display()),
                    Some(format!("record it: {again}")),
                ));
            }
            let cassette = ModelRecording::open(&place).map_err(of_file)?;
            return Ok(self.played(cassette, path.value.clone(), again, &program));
        }
        if !self.made.insert(place.clone()) {
            return Err(problem("another test is recorded in this file, too".to_owned(), None));
        }
        let asking = checked(self.catalog, workflow)?;
        let models =
            bootstrap::wire(&self.world.project, &self.world.dirs.data, self.catalog, None).providers;
        let here = local_place(self.catalog, &[&self.world.project]);
        let header = header(&program, &asking);
        let recorder = ModelCallRecorder::create(&place, &header, roles(&asking), here, models as Arc<_>);
        Ok((asking, SimulationModel::Recorded(recorder.map_err(of_file)?.waiting())))
    }

    fn played(
        &self,
        cassette: ModelRecording,
        name: String,
        again: String,
        program: &WorkflowProgram,
    ) -> (WorkflowProgram, SimulationModel) {
        let (program, playing) = recordings::playing(&cassette.header, name, again, program);
        let here = local_place(&self.plain, &[&self.world.project]);
        let player = ModelCallPlayer::new(cassette, playing, roles(&program), here);
        (program, SimulationModel::Played(player.instantly()))
    }

    /// `None`: among what is shipped.
    fn place(&self, file: &SourceFile, name: &str) -> Option<PathBuf> {
        match file.layer {
            ConfigLayer::BuiltIn => None,
            ConfigLayer::User => {
                Some(self.world.dirs.config.join(name.strip_prefix("user:").unwrap_or(name)))
            }
            ConfigLayer::Project => Some(self.world.project.join(name)),
            _ => Some(Path::new(name).to_owned()),
        }
    }
}

fn checked(catalog: &ConfigCatalog, workflow: &str) -> Result<WorkflowProgram, UnplayableTest> {
    match catalog.check(workflow) {
        Ok((program, _)) => Ok(program),
        Err(found) => {
            let errors = found.into_iter().filter(|finding| finding.severity == DiagnosticSeverity::Error);
            Err(UnplayableTest::Found(errors.collect()))
        }
    }
}
