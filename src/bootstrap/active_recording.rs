//! The recorder between a run and its models, or the recording that replaces them.

use std::sync::Arc;

pub use synthdev_adapters::providers::recording::{
    FORMAT, ModelCallPlayer, ModelCallRecorder, ModelRecording, PlayedRecording, RecordedAgent,
    RecordedModelSettings, RecordedOutcome, RecordingError, RecordingHeader, RedactValueFn,
    RequestNormalizer, RolesByAgent, UnfinishedRecording,
};
use synthdev_ports::model::ModelPort;

#[derive(Clone)]
pub enum ActiveRecording {
    Recorder(Arc<ModelCallRecorder>),
    Player(Arc<ModelCallPlayer>),
}

impl ActiveRecording {
    /// What the runtime asks.
    pub fn port(&self) -> Arc<dyn ModelPort> {
        match self {
            Self::Recorder(recorder) => recorder.clone(),
            Self::Player(player) => player.clone(),
        }
    }
}
