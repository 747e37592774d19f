//! The recording of a run inside its project: neither its file nor its parts exist for file tools and snapshots, so that
//! a replay sees the files that the recorded run saw. Refuses nothing: a recording elsewhere needs no hiding.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::providers::scripted::ScriptedModel;

/// The end of the name under which a recording grows: `FILE.4711.part`, where 4711 is the process.
pub(crate) const PART_ENDING: &str = ".part";

/// Where a recording is, relative to the project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HiddenRecording {
    path: PathBuf,
}

impl HiddenRecording {
    /// `file`: as the user named it. `None`: it is outside of the project, or its name is not UTF-8.
    pub fn inside_project(project: &Path, file: &Path) -> Option<Self> {
        let root = project.canonicalize().ok()?;
        let absolute = std::path::absolute(file).ok()?;
        // the file itself may be missing, and a link in its place is replaced
        let directory = absolute.parent()?.canonicalize().ok()?;
        let path = directory.join(absolute.file_name()?).strip_prefix(root).ok()?.to_owned();
        path.to_str()?;
        Some(Self { path })
    }

    /// Whether a path, relative to the project and free of links, is the recording or a part of it.
    pub fn covers(&self, relative: &Path) -> bool {
        if relative == self.path {
            return true;
        }
        let name = |path: &'_ Path| path.file_name().and_then(OsStr::to_str).unwrap_or_default().to_owned();
        relative.parent() == self.path.parent()
            && process_of_part(&name(relative), &name(&self.path)).is_some()
    }
}

/// What stands between a run and its models.
#[derive(Default)]
pub struct RunModels {
    /// Answers in their place.
    pub script: Option<ScriptedModel>,
    /// Made or played by the run, which does not see it.
    pub recording: Option<HiddenRecording>,
}

impl RunModels {
    /// `recording`: the file as the user named it.
    pub fn new(script: Option<ScriptedModel>, project: &Path, recording: Option<&Path>) -> Self {
        Self { script, recording: recording.and_then(|file| HiddenRecording::inside_project(project, file)) }
    }

    /// Without a recording.
    pub fn scripted(script: ScriptedModel) -> Self {
        Self { script: Some(script), recording: None }
    }
}

/// The number of the process that writes, or wrote, this part of a recording; `None`: the name is none of a part.
pub(crate) fn process_of_part<'n>(name: &'n str, recording: &str) -> Option<&'n str> {
    let number = name.strip_prefix(recording)?.strip_prefix('.')?.strip_suffix(PART_ENDING)?;
    let (process, again) = number.split_once('-').unwrap_or((number, "1"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (is_number(process) && is_number(again)).then_some(process)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_covers_itself_and_its_parts_and_nothing_else() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        std::fs::create_dir(root.join("d")).unwrap();
        let hidden = HiddenRecording::inside_project(root, &root.join("d/../d/it.jsonl")).unwrap();
        for (path, covered) in [
            ("d/it.jsonl", true),
            ("d/it.jsonl.4711.part", true),
            ("d/it.jsonl.4711-12.part", true),
            ("it.jsonl", false),
            ("it.jsonl.4711.part", false),
            ("d/it.jsonl.part", false),
            ("d/it.jsonl..part", false),
            ("d/it.jsonl.new.part", false),
            ("d/it.jsonl.4711.part.bak", false),
            ("d/it.jsonl.bak", false),
            ("d/it.jsonl/inside", false),
            ("d", false),
        ] {
            assert_eq!(hidden.covers(Path::new(path)), covered, "{path}");
        }
        for outside in [root.join("../it.jsonl"), root.join("missing/it.jsonl"), PathBuf::from("/")] {
            assert_eq!(HiddenRecording::inside_project(root, &outside), None, "{}", outside.display());
        }
    }
}
