//! The recording of a run inside its project: neither its file nor its parts exist for file tools and snapshots, so that
//! a replay sees the files that the recorded run saw. A part that a run has left is hidden from the file tools of every
//! run: the one that made it may be resumed without recording the rest. Refuses nothing: a recording elsewhere needs no
//! hiding.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// The end of the name under which a recording grows: `FILE.4711.part`, where 4711 is the process.
pub(crate) const PART_ENDING: &str = ".part";

/// How the header of each recording begins.
const HEADER_START: [u8; 12] = *br#"{"cassette":"#;

/// Where a recording is, relative to the project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HiddenRecording {
    /// At least one; a link to a recording and the recording are two.
    paths: Vec<PathBuf>,
}

impl HiddenRecording {
    /// One that is made. `file`: as the user named it. `None`: it is outside of the project, or its name is not UTF-8.
    pub fn inside_project(project: &Path, file: &Path) -> Option<Self> {
        Some(Self { paths: vec![Self::path_inside(project, file)?] })
    }

    /// One that is played: what was hidden when it was made, and the link that leads to it. `file`: as the user named
    /// it. `None`: all of that is outside of the project, or its name is not UTF-8.
    pub fn of_played(project: &Path, file: &Path) -> Option<Self> {
        let target = file.canonicalize().ok();
        let found = [Some(file), target.as_deref()].into_iter().flatten();
        let mut paths: Vec<PathBuf> =
            found.filter_map(|file| Self::path_inside(project, file)).map(whole_recording).collect();
        paths.dedup();
        (!paths.is_empty()).then_some(Self { paths })
    }

    fn path_inside(project: &Path, file: &Path) -> Option<PathBuf> {
        let root = project.canonicalize().ok()?;
        let absolute = std::path::absolute(file).ok()?;
        // the file itself may be missing, and a link in its place is replaced
        let directory = absolute.parent()?.canonicalize().ok()?;
        let path = directory.join(absolute.file_name()?).strip_prefix(root).ok()?.to_owned();
        path.to_str()?;
        Some(path)
    }

    /// Whether a path, relative to the project and free of links, is the recording or a part of it.
    pub fn covers(&self, relative: &Path) -> bool {
        self.paths.iter().any(|path| {
            relative == path
                || relative.parent() == path.parent()
                    && process_of_part(file_name(relative), file_name(path)).is_some()
        })
    }
}

/// Whether a file is a part of a recording, whatever it is called: its name, and the beginning of its first line.
pub(crate) fn is_unfinished_recording(absolute: &Path) -> bool {
    let name = file_name(absolute);
    let start = name.strip_suffix(PART_ENDING).and_then(|start| Some(start.rsplit_once('.')?.0));
    if start.is_none_or(|recording| recording.is_empty() || process_of_part(name, recording).is_none()) {
        return false;
    }
    let mut begin = [0; HEADER_START.len()];
    let is_file = absolute.symlink_metadata().is_ok_and(|found| found.is_file());
    is_file
        && File::open(absolute).and_then(|mut file| file.read_exact(&mut begin)).is_ok()
        && begin == HEADER_START
}

/// In place of a part the recording that it belongs to.
fn whole_recording(path: PathBuf) -> PathBuf {
    let name = file_name(&path);
    let whole = name.strip_suffix(PART_ENDING).and_then(|start| Some(start.rsplit_once('.')?.0));
    match whole.filter(|whole| !whole.is_empty() && process_of_part(name, whole).is_some()) {
        Some(whole) => path.with_file_name(whole),
        None => path,
    }
}

fn file_name(path: &Path) -> &str {
    path.file_name().and_then(OsStr::to_str).unwrap_or_default()
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
        assert_eq!(HiddenRecording::of_played(root, &root.join("d/it.jsonl")), Some(hidden));
        for outside in [root.join("../it.jsonl"), root.join("missing/it.jsonl"), PathBuf::from("/")] {
            assert_eq!(HiddenRecording::inside_project(root, &outside), None, "{}", outside.display());
            assert_eq!(HiddenRecording::of_played(root, &outside), None, "{}", outside.display());
        }
    }

    #[test]
    fn a_part_is_known_by_its_name_and_its_header() {
        let directory = tempfile::tempdir().unwrap();
        let header = r#"{"cassette":1,"program":"synthdev"}"#;
        for (name, text, expected) in [
            ("it.jsonl.4711.part", header, true),
            ("it.jsonl.4711-2.part", header, true),
            ("it.jsonl.4711.part", "", false),
            ("it.jsonl.4711.part", "{\"cassettes\":1}", false),
            ("it.jsonl", header, false),
            ("it.jsonl.new.part", header, false),
            (".4711.part", header, false),
        ] {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert_eq!(is_unfinished_recording(&path), expected, "{name}: {text}");
        }
        assert!(!is_unfinished_recording(&directory.path().join("none.4711.part")));
    }

    #[test]
    fn a_played_part_covers_its_recording_and_a_link_what_it_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().join("project");
        std::fs::create_dir_all(root.join("d")).unwrap();
        std::fs::write(root.join("d/it.jsonl.4711.part"), "").unwrap();
        std::fs::write(root.join("d/it.jsonl"), "").unwrap();
        for link in [root.join("link"), directory.path().join("link")] {
            std::os::unix::fs::symlink(root.join("d/it.jsonl"), link).unwrap();
        }
        std::os::unix::fs::symlink(root.join("d/it.jsonl.4711.part"), root.join("part")).unwrap();
        let target: &[&str] = &["d/it.jsonl", "d/it.jsonl.12.part", "d/it.jsonl.4711-2.part"];
        let rows: [(&str, &[&str]); 6] = [
            ("d/it.jsonl", &[]),
            ("d/it.jsonl.4711.part", &[]),
            ("d/it.jsonl.4711-2.part", &[]),
            ("link", &["link", "link.12.part"]),
            ("../link", &[]),
            ("part", &["part"]),
        ];
        for (played, more) in rows {
            let hidden = HiddenRecording::of_played(&root, &root.join(played)).unwrap();
            for path in target.iter().chain(more) {
                assert!(hidden.covers(Path::new(path)), "{played}: {path}");
            }
            assert!(!hidden.covers(Path::new("d/other.jsonl")), "{played}");
            assert_eq!(hidden.covers(Path::new("link")), played == "link", "{played}");
        }
        let nameless = HiddenRecording::of_played(&root, &root.join("d/.4711.part")).unwrap();
        assert!(nameless.covers(Path::new("d/.4711.part")) && !nameless.covers(Path::new("d")));
    }
}
