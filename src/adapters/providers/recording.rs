//! Records and plays model calls: recorded while a run calls real models, played later without any.
//!
//! A recording is a text file with one JSON object a line: a header (`format.rs`), then one line for each call, in the
//! order in which the calls finished. It holds what the port sees, whatever protocol is behind it: the request as the
//! agent made it, and the whole reply or the error. Keys are redacted as in the journal; the project's directory,
//! dates of the environment and measured times are replaced by names (`normalize.rs`), so that a recording can be
//! played elsewhere and later.
//!
//! Playing looks up each request (`matcher.rs`): the same agent, role, level, parameters, tools and messages. It
//! answers nothing else: a request without a match is shown as a difference (`mismatch.rs`). Refuses: guessing.

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
