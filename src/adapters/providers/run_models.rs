//! What stands between a run and its models: a script in their place, or a recording that is made or played. Refuses to
//! read either: the caller has opened them.

use std::path::Path;

use super::scripted::ScriptedModel;
use crate::hidden_recording::HiddenRecording;

/// Without either the models themselves answer.
#[derive(Default)]
pub struct RunModels {
    /// Answers in their place.
    pub script: Option<ScriptedModel>,
    /// Made or played by the run, which does not see it.
    pub recording: Option<HiddenRecording>,
}

impl RunModels {
    /// `made`, `played`: the file of the recording as the user named it; a run has one of them at most.
    pub fn new(
        script: Option<ScriptedModel>,
        project: &Path,
        made: Option<&Path>,
        played: Option<&Path>,
    ) -> Self {
        let made = made.and_then(|file| HiddenRecording::inside_project(project, file));
        let played = played.and_then(|file| HiddenRecording::of_played(project, file));
        Self { script, recording: made.or(played) }
    }

    /// Without a recording.
    pub fn scripted(script: ScriptedModel) -> Self {
        Self { script: Some(script), recording: None }
    }
}
