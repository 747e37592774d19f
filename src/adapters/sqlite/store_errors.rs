//! What went wrong with the store, in words that say what to do next.

use std::path::Path;

use rusqlite::ErrorCode;

use super::write_refusal::StoreRefusal;
use synthdev_domain::ids::RunId;
use synthdev_ports::run_store::{StoreError, remote_run_error};

/// `action` completes "cannot … the run history FILE".
pub(super) fn explain_error(path: &Path, action: &str, error: &rusqlite::Error) -> StoreError {
    let file = path.display();
    if let rusqlite::Error::FromSqlConversionFailure(..) | rusqlite::Error::InvalidColumnType(..) = error {
        return damaged_error(path, &error.to_string());
    }
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => damaged_error(path, &error.to_string()),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError {
            message: format!("cannot {action} the run history {file}: another process has held it for 5 s"),
            hint: Some("try again; if it stays so, look for a stopped synthdev process".to_owned()),
        },
        Some(ErrorCode::DiskFull) => StoreError {
            message: format!("cannot {action} the run history {file}: the disk is full"),
            hint: Some("free some space; what was written before is kept".to_owned()),
        },
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => StoreError {
            message: format!("cannot {action} the run history {file}: {error}"),
            hint: Some(format!(
                "the file and its directory must be writable: check `ls -ld {}`",
                path.parent().unwrap_or(path).display()
            )),
        },
        Some(ErrorCode::SystemIoFailure) => StoreError {
            message: format!("cannot {action} the run history {file}: the disk refused ({error})"),
            hint: Some(format!(
                "what was written before is kept; check the room left: `df -h {}`",
                path.parent().unwrap_or(path).display()
            )),
        },
        _ => StoreError { message: format!("cannot {action} the run history {file}: {error}"), hint: None },
    }
}

/// The file itself is not sound: nothing may be written to it.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    let damaged =
        matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase));
    damaged && !is_index_damage(error)
}

/// Only the search index is not sound: it can be made again.
pub(super) fn is_index_damage(error: &rusqlite::Error) -> bool {
    error.sqlite_error().is_some_and(|error| error.extended_code == rusqlite::ffi::SQLITE_CORRUPT_VTAB)
}

pub(super) fn damaged_error(path: &Path, detail: &str) -> StoreError {
    let file = path.display();
    StoreError {
        message: format!("the run history {file} is damaged: {detail}"),
        hint: Some(
            "it was left as it is; `synthdev runs salvage` saves what can be read of it into a new one"
                .to_owned(),
        ),
    }
}

pub(super) fn io_error(path: &Path, action: &str, error: &std::io::Error) -> StoreError {
    StoreError {
        message: format!("cannot {action} {}: {error}", path.display()),
        hint: Some("the run history needs a directory it may write to".to_owned()),
    }
}

/// `run` is what the call was about; a token is never shown.
pub(super) fn refused_error(path: &Path, run: &RunId, refusal: StoreRefusal) -> StoreError {
    let words = |message: String, hint: &str| StoreError { message, hint: Some(hint.to_owned()) };
    let own = |pid: u32| if pid == std::process::id() { ", this process" } else { "" };
    match refusal {
        StoreRefusal::Exists => words(
            format!("run {run} is already in the run history {}", path.display()),
            "start again: a new run draws a new id",
        ),
        StoreRefusal::Unknown => unknown_run(run.as_str()),
        StoreRefusal::UnknownOf { run } => unknown_run(run.as_str()),
        StoreRefusal::Lost { pid } => words(
            format!("run {run} is now driven by process {pid}{}", own(pid)),
            "it goes on there; nothing more is written from here",
        ),
        StoreRefusal::NotClaimed => words(
            format!("run {run} is not driven by this process, so nothing was written to it"),
            "resume the run first",
        ),
        StoreRefusal::Driven { pid } => words(
            format!("run {run} is running in process {pid}{}", own(pid)),
            "pause it there (`synthdev runs pause`), then take it up here",
        ),
        StoreRefusal::Ending { pid } => words(
            format!("process {pid}, which drove run {run}, has ended, and commands of the run have not yet"),
            "try again in some seconds",
        ),
        StoreRefusal::Remote { server, action } => remote_run_error(run, &server, action),
        StoreRefusal::StillRunning { run, pid } => words(
            format!("run {run} is running in process {pid}{} and was not removed", own(pid)),
            "wait until it ends or cancel it, or leave it out",
        ),
        StoreRefusal::UnknownToken => words(
            "the resume token is not known: it was mistyped, belongs to another machine, or its run has ended".to_owned(),
            "`synthdev runs list` shows the runs that wait; a paused one gives a new token",
        ),
        StoreRefusal::ExpiredToken => words(
            "the resume token has expired; its run is still paused".to_owned(),
            "ask for a new token of the same run",
        ),
        StoreRefusal::TokenExists => words(
            "this resume token is already in use".to_owned(),
            "draw another one",
        ),
    }
}

pub(super) fn unknown_run(id: &str) -> StoreError {
    StoreError {
        message: format!("there is no run `{id}`"),
        hint: Some("`synthdev runs list` shows the runs that are stored".to_owned()),
    }
}

/// `shown` are the newest candidates, `total` how many there are.
pub(super) fn ambiguous_error(id: &str, shown: &[String], total: usize) -> StoreError {
    let more = total.saturating_sub(shown.len());
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    StoreError {
        message: format!("`{id}` could be any of {total} runs: {}{rest}", shown.join(", ")),
        hint: Some("type more characters of the id".to_owned()),
    }
}
