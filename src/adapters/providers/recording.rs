//! Model traffic on file: recorded while a run asks real models, played later without any.
//!
//! A recording is a text file with one JSON object a line: a header (`format.rs`), then one line for each call, in the
//! order in which the calls were over. What is kept is what the port sees, whatever protocol is spoken behind it: the
//! request as the agent made it, and the whole answer or the error. Keys are taken out as in the journal; the
//! project's directory, dates of the environment and measured times are replaced by names (`normalize.rs`), so that
//! a recording can be played elsewhere and later.
//!
//! Playing looks up each request (`matcher.rs`): the same agent, role, level, parameters, tools and messages. Nothing
//! else is ever answered: what is not there is a difference, and is shown as one (`mismatch.rs`). Refuses: guessing.

mod format;
mod matcher;
mod mismatch;
mod normalize;
mod partial_file;
mod player;
mod recorder;

pub use format::{
    FORMAT, ModelRecording, RecordedAgent, RecordedModelSettings, RecordedOutcome, RecordingError,
    RecordingHeader,
};
pub use mismatch::PlayedRecording;
pub use normalize::{RedactValueFn, RequestNormalizer, RolesByAgent};
pub use player::ModelCallPlayer;
pub use recorder::{ModelCallRecorder, UnfinishedRecording};

#[cfg(test)]
mod tests;
