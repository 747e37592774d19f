//! Restoring files: a mark is written before the first of them changes, and another when all are restored.
//!
//! A process that dies in between leaves a run with an open mark: resuming it completes the restore first, or is
//! refused. No run continues with files that are half restored.

use serde::{Deserialize, Serialize};

use super::handle::RuntimeHandle;
use synthdev_domain::ids::{RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{JournalRow, JournalRowKind, RunSummary};
use synthdev_domain::project_lock::LockMode;
use synthdev_domain::snapshot::SnapshotRestoreResult;
use synthdev_engine::event::RunEvent;
use synthdev_ports::lock::{LockError, ProjectLockGuard};
use synthdev_ports::run_store::StoreError;
use synthdev_ports::snapshot::{SnapshotError, SnapshotPort};

/// Files that are to be those of a snapshot, and may be so in part.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct PendingRestore {
    pub to: SnapshotId,
    /// The files as they were before.
    pub safety: SnapshotId,
    /// An undo: the files as before the run, which itself stays unchanged.
    #[serde(default)]
    pub undo: bool,
}

/// The body of a row that begins something and names no call.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "files")]
pub(super) enum RestoreMark {
    Returning(PendingRestore),
    /// They are restored, or are to stay as they are.
    Settled,
}

/// The pending restore of the last mark, if any.
pub(super) fn pending_restore(mark: RestoreMark) -> Option<PendingRestore> {
    match mark {
        RestoreMark::Returning(restoring) => Some(restoring),
        RestoreMark::Settled => None,
    }
}

pub(super) fn restored_row(at: Timestamp) -> Result<JournalRow, StoreError> {
    restore_row(at, &RestoreMark::Settled)
}

/// Why the files did not come back, and whether the first of them may have.
pub(super) struct RestoreFailure {
    pub(super) error: StoreError,
    pub(super) has_begun: bool,
}

impl RuntimeHandle {
    /// Restores the project's files as they were before the run; the run itself stays unchanged.
    ///
    /// # Errors
    /// Another run works in the project or on this run; the files cannot be restored. The message says whether any of
    /// them changed; if so, repeating the undo completes it.
    pub fn undo(
        &self,
        run: &RunId,
        to: &SnapshotId,
        snapshots: &dyn SnapshotPort,
    ) -> Result<SnapshotRestoreResult, StoreError> {
        let store = &self.ports().store;
        store.wait_for_commands(run)?;
        let seen = store.find(run.as_str())?;
        let _held = self.lock_files(run, &seen.workflow)?;
        let write = &mut |mark: JournalRow| {
            self.claim_as_seen(&seen)?;
            let written = store.append(run, &[mark], Some(&seen.progress));
            if written.is_err() {
                self.give_back(run, seen.progress.clone());
            }
            written
        };
        let done = self.restore_run_files(snapshots, run, to, true, write);
        let restored =
            done.map_err(|stopped| restore_failure_error(stopped, &format!("synthdev runs undo {run}")))?;
        self.record_restored(run, &restored)?;
        Ok(restored)
    }

    /// Keeps all runs, sharing ones too, from working in the project while its files are restored or merged.
    ///
    /// # Errors
    /// A run works there.
    pub fn lock_files(&self, run: &RunId, workflow: &str) -> Result<Option<ProjectLockGuard>, StoreError> {
        let Some(lock) = &self.ports().lock else { return Ok(None) };
        lock.try_lock(&self.lock_holder(run, workflow, LockMode::Files)).map(Some).map_err(
            |error| match error {
                LockError::Held(_) => StoreError {
                    message: format!("{error}: its files cannot be changed under its hands"),
                    hint: Some(
                        "wait for it to end, or cancel it; /clear leaves a conversation on the screen"
                            .to_owned(),
                    ),
                },
                LockError::Io { message, hint } => StoreError { message, hint },
            },
        )
    }

    /// Makes this process the run's driver, if the run is unchanged since `seen`. A process that dies before it writes
    /// what it claimed the run for leaves it `interrupted`; so the claim comes right before the write.
    ///
    /// # Errors
    /// Another process drives it, or it changed meanwhile.
    pub(super) fn claim_as_seen(&self, seen: &RunSummary) -> Result<(), StoreError> {
        let before = self.ports().store.claim(&seen.id)?;
        if before.progress == seen.progress {
            return Ok(());
        }
        self.give_back(&seen.id, before.progress);
        Err(StoreError {
            message: format!("run {} has gone on meanwhile: nothing was changed", seen.id),
            hint: Some(format!("look where it stands: synthdev runs show {}", seen.id)),
        })
    }

    /// Restores the files for a run. `write` gets the mark before the first of them changes. Settles a restore of
    /// another run that was interrupted.
    pub(super) fn restore_run_files(
        &self,
        snapshots: &dyn SnapshotPort,
        run: &RunId,
        to: &SnapshotId,
        undo: bool,
        write: &mut dyn FnMut(JournalRow) -> Result<(), StoreError>,
    ) -> Result<SnapshotRestoreResult, RestoreFailure> {
        let (at, mut begun) = (self.ports().clock.now(), false);
        let cut_off = self.interrupted_restore();
        let mut note = |safety: Option<&SnapshotId>| {
            let mark = match safety.cloned() {
                Some(safety) => RestoreMark::Returning(PendingRestore { to: to.clone(), safety, undo }),
                None => RestoreMark::Settled,
            };
            write(restore_row(at, &mark)?)?;
            begun = true;
            // the mark must survive a power cut if any restored file does; if the disk fails, the restore itself
            // reports it
            let _ = self.ports().store.sync();
            Ok(())
        };
        let done = snapshots.restore_with_hook(to, &mut |safety| note(safety).map_err(in_snapshots));
        let done = done.map_err(|SnapshotError { message, hint }| RestoreFailure {
            error: StoreError { message, hint },
            has_begun: begun,
        })?;
        if let Some((found, _)) = cut_off {
            let settled = self.settle_other_run_restore(&found, Some(run));
            settled.map_err(|error| RestoreFailure { error, has_begun: true })?;
        }
        Ok(done)
    }

    /// Records that all files are restored.
    ///
    /// # Errors
    /// The store cannot be written. The files will be restored once more, which changes nothing.
    pub(super) fn record_restored(
        &self,
        run: &RunId,
        restored: &SnapshotRestoreResult,
    ) -> Result<(), StoreError> {
        if restored.safety.is_none() {
            return Ok(());
        }
        self.ports()
            .store
            .append(run, &[restored_row(self.ports().clock.now())?], None)
            .map_err(unrecorded_restore_error)
    }

    /// Completes a restore that an earlier process began, before the run continues. `foreign`: the mark comes from an
    /// imported journal.
    ///
    /// # Errors
    /// The files cannot be restored now.
    pub(super) async fn finish_files(
        &self,
        run: &RunId,
        files: &PendingRestore,
        foreign: bool,
    ) -> Result<(), StoreError> {
        if foreign {
            return Err(StoreError {
                message: format!("files of run {run} were on their way back where it came from"),
                hint: Some(format!("go back to a step of it here: synthdev runs rewind {run} --to STEP")),
            });
        }
        let (snapshots, to) = (self.ports().snapshots.clone(), files.to.clone());
        let done = tokio::task::spawn_blocking(move || snapshots.restore(&to)).await;
        let done = done.map_err(|error| SnapshotError { message: error.to_string(), hint: None });
        let restored =
            done.and_then(|done| done).map_err(|error| unfinished_restore_error(run, files, &error))?;
        let at = self.ports().clock.now();
        self.ports().store.append(run, &[restored_row(at)?], None).map_err(unrecorded_restore_error)?;
        // what was there before is named below
        let safety = restored.safety.filter(|safety| *safety != files.safety);
        let undo = safety.map(|safety| format!("; undo this: synthdev snapshot restore {safety}"));
        let halfway = restored.halfway.map(|id| format!("; what was there just now is snapshot {id}"));
        let stays: String = restored.beyond.notes().iter().map(|line| format!(". Note: {line}")).collect();
        let text = format!(
            "bringing files back to snapshot {} had been cut off: {} more {} back now{}{}. Before all that, they were \
             those of snapshot {}{stays}",
            files.to,
            restored.files.len(),
            if restored.files.len() == 1 { "is" } else { "are" },
            undo.unwrap_or_default(),
            halfway.unwrap_or_default(),
            files.safety
        );
        self.context.bus.publish(run, at, RunEvent::Warning { code: "files".to_owned(), text });
        Ok(())
    }
}

fn unfinished_restore_error(run: &RunId, files: &PendingRestore, error: &SnapshotError) -> StoreError {
    let cause = error.hint.as_deref().unwrap_or_default();
    // the cause may name it already
    let before = if cause.contains(files.safety.as_str()) {
        String::new()
    } else {
        format!(" Before, they were those of snapshot {}.", files.safety)
    };
    let hint = format!(
        "{cause} Mend the cause and resume it again; or keep the files as they are: synthdev runs rewind {run} --to STEP \
         --keep-files.{before}"
    );
    StoreError {
        message: format!(
            "bringing the files of run {run} back to snapshot {} was cut off, and the rest cannot be brought back now: \
             {}",
            files.to, error.message
        ),
        hint: Some(hint.trim_start().to_owned()),
    }
}

/// Nothing begins with files that are of two moments.
///
/// # Errors
/// They are.
pub(super) fn ensure_files_restored(
    run: &RunId,
    restoring: Option<&PendingRestore>,
) -> Result<(), StoreError> {
    let Some(files) = restoring else { return Ok(()) };
    let or = if files.undo { "" } else { ", which then goes on; or fork with --restore-files" };
    let finish = format!("{}{or}", restore_command_text(run, files));
    Err(StoreError {
        message: format!(
            "bringing the files of run {run} back to snapshot {} was cut off: they are of two moments",
            files.to
        ),
        hint: Some(format!("bring the rest back: {finish}")),
    })
}

/// The command that brings back the rest.
pub(super) fn restore_command_text(run: &RunId, files: &PendingRestore) -> String {
    if files.undo { format!("synthdev runs undo {run}") } else { format!("synthdev resume {run}") }
}

/// The message for the user; `finish` is the command that completes the restore.
pub(super) fn restore_failure_error(
    RestoreFailure { error, has_begun: begun }: RestoreFailure,
    finish: &str,
) -> StoreError {
    if !begun {
        return error;
    }
    let hint = error.hint.map(|hint| format!("{hint} ")).unwrap_or_default();
    StoreError {
        message: format!("{}: only a part of the files is back", error.message),
        hint: Some(format!("{hint}The rest comes back with: {finish}")),
    }
}

pub(super) fn unrecorded_restore_error(error: StoreError) -> StoreError {
    StoreError { message: format!("the files are back, but this could not be noted: {error}"), ..error }
}

fn in_snapshots(StoreError { message, hint }: StoreError) -> SnapshotError {
    SnapshotError { message, hint }
}

fn restore_row(at: Timestamp, mark: &RestoreMark) -> Result<JournalRow, StoreError> {
    let body = serde_json::to_string(mark)
        .map_err(|error| StoreError { message: format!("a mark cannot be written: {error}"), hint: None })?;
    Ok(JournalRow::new(JournalRowKind::Begun, at, None, body))
}
