//! A run as a file: whole, to be imported elsewhere, or for reading.
//!
//! Owns which kind of file is meant, its usual name, and which runs become a recording. Refuses keys: none that this process knows gets into one.

use std::io::{BufRead, ErrorKind, Write};
use std::path::Path;

use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunStatus;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

pub use synthdev_runtime::export_import::{BundleError, ExportedRun, ImportedRun, LARGEST};
use synthdev_runtime::history::RunRecord;

/// How the name of a recording ends.
const RECORDING: &str = ".cassette.jsonl";

/// What a run is written as.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum RunFileFormat {
    /// One self-contained file: journal, definition, roles. What is written where the user says nothing else.
    #[default]
    Bundle,
    /// For reading.
    Markdown,
    /// The model calls alone.
    Recording,
}

impl RunFileFormat {
    /// By the end of its name, where nothing else says what is to be written.
    pub fn of_file(path: &Path) -> Self {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_lowercase();
        if name.ends_with(RECORDING) {
            Self::Recording
        } else if name.ends_with(".md") {
            Self::Markdown
        } else {
            Self::Bundle
        }
    }
}

/// Why a run is not written.
#[derive(Debug, thiserror::Error)]
pub enum RunExportError {
    #[error("{0} exists: it was left as it is")]
    FileExists(String),
    #[error("{file} cannot be written: {error}")]
    NotWritten { file: String, error: std::io::Error },
    #[error("{}", .0.message)]
    Store(StoreError),
    #[error("{0}")]
    Refused(String),
    #[error("run {run} is {}: only one that is completed can be played to its end", .status.as_str())]
    NotCompleted { run: RunId, status: RunStatus },
    #[error("run {0} is a conversation: only runs of workflows can be played")]
    Conversation(RunId),
}

impl RunExportError {
    /// `file` is its name as it is shown.
    pub fn of_file(error: BundleError, file: &str) -> Self {
        match error {
            BundleError::Store(error) => Self::Store(error),
            BundleError::Refused(reason) => Self::Refused(reason),
            BundleError::Io(error) if error.kind() == ErrorKind::AlreadyExists => {
                Self::FileExists(file.to_owned())
            }
            BundleError::Io(error) => Self::NotWritten { file: file.to_owned(), error },
        }
    }

    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::FileExists(_) => Some("name another file, or remove it first".to_owned()),
            Self::Store(error) => error.hint.clone(),
            Self::NotCompleted { run, .. } => Some(format!("synthdev runs show {run}")),
            Self::NotWritten { error, .. } => Some(unwritten_hint(error.kind()).to_owned()),
            Self::Conversation(_) => Some("export it for reading: name a file that ends in .md".to_owned()),
            Self::Refused(_) => None,
        }
    }
}

fn unwritten_hint(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::NotFound | ErrorKind::NotADirectory => "make its directory first, or name another file",
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            "name a file in a directory that you may write to"
        }
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space, or name a file on another disk"
        }
        _ => "name another file; the history has the run as before",
    }
}

/// The name of the file where the user names none: that of the usual format.
pub fn default_file_name(run: &RunId) -> String {
    format!("run-{run}.json")
}

/// Whether a run can become a recording.
///
/// # Errors
/// Played, it would not come to its end, or it needs the messages of a user.
pub fn check_recordable(run: &RunId, status: RunStatus, is_conversation: bool) -> Result<(), RunExportError> {
    if status != RunStatus::Completed {
        return Err(RunExportError::NotCompleted { run: run.clone(), status });
    }
    if is_conversation { Err(RunExportError::Conversation(run.clone())) } else { Ok(()) }
}

/// Writes the run as one file that can be imported. `program` is this program's version.
///
/// # Errors
/// Unknown or unreadable, or `out` cannot be written.
pub fn export_bundle(
    handle: &RuntimeHandle,
    run: &str,
    program: &str,
    out: &mut dyn Write,
) -> Result<ExportedRun, BundleError> {
    handle.export(run, program, out)
}

/// The run for reading, as `render` shows it.
///
/// # Errors
/// Unknown or unreadable.
pub fn export_text(
    handle: &RuntimeHandle,
    run: &str,
    render: impl FnOnce(&RunRecord, &mut dyn Write) -> std::io::Result<()>,
) -> Result<String, BundleError> {
    let mut text = Vec::new();
    render(&handle.load_record(run)?, &mut text)?;
    Ok(handle.without_keys(String::from_utf8_lossy(&text).into_owned()))
}

/// Takes in a run that was exported elsewhere.
///
/// # Errors
/// The file is invalid, or a run with its id exists already: nothing was changed. Or the store cannot be written.
pub fn import_bundle(handle: &RuntimeHandle, from: &mut dyn BufRead) -> Result<ImportedRun, BundleError> {
    handle.import(from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_completed_run_of_a_workflow_becomes_a_recording() {
        let run = RunId::from("r1");
        let rows = [
            (RunStatus::Completed, false, None),
            (RunStatus::Failed, false, Some("run r1 is failed: only one that is completed")),
            (RunStatus::Running, true, Some("run r1 is running: only one that is completed")),
            (RunStatus::Completed, true, Some("run r1 is a conversation: only runs of workflows")),
        ];
        for (status, is_conversation, expected) in rows {
            let told = check_recordable(&run, status, is_conversation).err().map(|error| error.to_string());
            match (&told, expected) {
                (Some(told), Some(expected)) => assert!(told.starts_with(expected), "{told}"),
                _ => assert_eq!(told.as_deref(), expected, "{status:?}"),
            }
        }
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_with_what_to_do() {
        let rows = [
            (
                ErrorKind::AlreadyExists,
                "f.json exists: it was left as it is",
                "name another file, or remove it",
            ),
            (ErrorKind::NotFound, "f.json cannot be written: ", "make its directory first"),
            (ErrorKind::PermissionDenied, "f.json cannot be written: ", "a directory that you may write to"),
            (ErrorKind::StorageFull, "f.json cannot be written: ", "free some space"),
            (ErrorKind::Other, "f.json cannot be written: ", "name another file"),
        ];
        for (kind, text, hint) in rows {
            let error = RunExportError::of_file(BundleError::Io(kind.into()), "f.json");
            assert!(error.to_string().starts_with(text), "{error}");
            assert!(error.hint().is_some_and(|told| told.contains(hint)), "{kind:?}: {:?}", error.hint());
        }
    }

    #[test]
    fn the_usual_name_is_that_of_the_usual_format() {
        let name = default_file_name(&RunId::from("r1"));
        assert_eq!(RunFileFormat::of_file(Path::new(&name)), RunFileFormat::default(), "{name}");
    }

    #[test]
    fn the_end_of_a_name_says_what_is_written() {
        let rows = [
            ("run.json", RunFileFormat::Bundle),
            ("run", RunFileFormat::Bundle),
            ("pages/run.MD", RunFileFormat::Markdown),
            ("md", RunFileFormat::Bundle),
            ("it.cassette.jsonl", RunFileFormat::Recording),
            ("IT.CASSETTE.JSONL", RunFileFormat::Recording),
            ("cassette.jsonl", RunFileFormat::Bundle),
        ];
        for (name, expected) in rows {
            assert_eq!(RunFileFormat::of_file(Path::new(name)), expected, "{name}");
        }
    }
}
