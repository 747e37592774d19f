//! Restoring the project's files: preview, confirmation, restore.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, anyhow, bail};

use crate::bootstrap;
use crate::cli_context::CliContext;
use crate::files_changed_by_run;
use crate::isolation;
use crate::read_only::{snapshot_error, store_error};
use crate::run_command::load_quietly;
use synthdev_cli::output::{TerminalSafeWriter, join_names, print_stderr as tell_line, safe_name};
use synthdev_cli::snapshots::{self, RunChangedFiles};
use synthdev_domain::ids::{RunId, SnapshotId};
use synthdev_domain::journal::{RunOrigin, RunSummary};
use synthdev_domain::snapshot::{ChangedFile, SnapshotRestoreResult, UnrestoredChanges};
use synthdev_ports::snapshot::SnapshotPort;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::time_travel::RunStep;

/// A snapshot to restore.
pub(super) struct FileRestorePlan {
    pub(super) store: Arc<dyn SnapshotPort>,
    pub(super) snapshot: SnapshotId,
    pub(super) changes: Vec<ChangedFile>,
    /// A notice that the user should see first.
    note: Option<String>,
    /// `before step 3 (review)`
    moment: String,
    run_changes: Option<RunChangedFiles>,
    /// What does not come back.
    pub(super) unrestored: UnrestoredChanges,
}

impl FileRestorePlan {
    /// The files as they were when a step began. `command` does the same in the right project; `without` is how to go
    /// on without the files.
    ///
    /// # Errors
    /// The run worked elsewhere, or its files were not stored or are gone.
    pub(super) fn at_step(
        world: &CliContext,
        handle: &RuntimeHandle,
        run: &RunSummary,
        place: &RunStep,
        command: &str,
        without: &str,
    ) -> Result<Self> {
        let store = snapshots_of_run(world, run, command)?;
        let Some(snapshot) = place.files.clone() else {
            return Err(unstored_step_error(place, run, "none were stored by then", without));
        };
        if let Err(error) = store.find(snapshot.as_str()) {
            return Err(unstored_step_error(place, run, &error.message, without));
        }
        let note = (!place.exact).then(|| {
            format!(
                "the snapshot of step {} could not be taken: the files go back to an earlier one",
                place.step
            )
        });
        let what = format!("before step {} ({})", place.step, safe_name(&place.state));
        Self::new(handle, store, run, snapshot, what, note)
    }

    /// The files as they were before the run, or before an imported run was resumed in this project.
    ///
    /// # Errors
    /// As `at_step`.
    pub(super) fn before_run(world: &CliContext, handle: &RuntimeHandle, run: &RunSummary) -> Result<Self> {
        let store = snapshots_of_run(world, run, &format!("runs undo {}", run.id))?;
        let foreign = run.origin.as_ref().is_some_and(RunOrigin::is_imported);
        let snapshot =
            files_changed_by_run::undo_snapshot(handle, &*store, run).map_err(|why| anyhow!(why))?;
        let what = if foreign {
            format!("before run {} began to work here", run.id)
        } else {
            format!("before run {}", run.id)
        };
        Self::new(handle, store, run, snapshot, what, None)
    }

    fn new(
        handle: &RuntimeHandle,
        store: Arc<dyn SnapshotPort>,
        run: &RunSummary,
        snapshot: SnapshotId,
        what: String,
        note: Option<String>,
    ) -> Result<Self> {
        let changes = store.changes(&snapshot, None).map_err(snapshot_error)?;
        let own =
            if changes.is_empty() { None } else { files_changed_by_run::changed_files(handle, &*store, run) };
        let beyond = store.unrestored_changes(&snapshot).map_err(snapshot_error)?;
        Ok(Self { store, snapshot, changes, note, moment: what, run_changes: own, unrestored: beyond })
    }

    /// Prints which changes the restore does not revert.
    pub(super) fn print_unrestored(&self) {
        snapshots::unrestored_text(&self.unrestored)
            .lines()
            .for_each(|line| tell_line(format_args!("note: {line}")));
    }

    /// Shows the files first; asks at a terminal, elsewhere `--yes` is needed.
    ///
    /// # Errors
    /// There is no user to ask.
    pub(super) fn confirm_restore(&self, yes: bool, refused: &str) -> Result<bool> {
        if let Some(note) = &self.note {
            tell_line(format_args!("note: {note}"));
        }
        let question = if self.changes.is_empty() {
            tell_line(format_args!("the files are as in snapshot {} already", self.snapshot));
            format!("go back {}?", self.moment)
        } else {
            tell_line(format_args!(
                "to go back {} (snapshot {}):\n{}",
                self.moment,
                self.snapshot,
                snapshots::run_changes_text(&self.changes, self.run_changes.as_ref())
            ));
            format!("go back {}, with {}?", self.moment, snapshots::file_count_text(self.changes.len()))
        };
        self.print_unrestored();
        ask_confirmation(yes, refused, &question)
    }
}

/// # Errors
/// There is no user to ask.
pub(super) fn ask_confirmation(yes: bool, refused: &str, question: &str) -> Result<bool> {
    if yes {
        return Ok(true);
    }
    let agreed = isolation::ask_confirmation(question).context(refused.to_owned())?;
    if !agreed {
        tell_line("nothing was changed");
    }
    Ok(agreed)
}

/// The step to which a run is rewound or forked, with a notice for the user.
///
/// # Errors
/// There is no such step.
pub(super) fn travel_target(
    handle: &RuntimeHandle,
    run: &RunId,
    step: u32,
    with_files: bool,
) -> Result<(RunStep, Option<String>)> {
    let place = handle.find_step(run, step).map_err(store_error)?;
    let Some(owner) = place.within.as_deref().map(safe_name) else { return Ok((place, None)) };
    if with_files {
        let whole = handle.step_with_files(run, step).map_err(store_error)?;
        let note = format!(
            "step {step} is in a branch of `{owner}`, whose branches changed the files at the same time: with files \
             the run goes back to before all of them, step {} ({}), and they are done again; without files it goes \
             back to step {step}",
            whole.step,
            safe_name(&whole.state)
        );
        return Ok((whole, Some(note)));
    }
    let beside = handle.concurrent_states_after(run, step).map_err(store_error)?;
    let note = (!beside.is_empty()).then(|| {
        format!(
            "step {step} is in a branch of `{owner}`: what other branches began after it is done again: {}",
            join_names(&beside, ", ")
        )
    });
    Ok((place, note))
}

/// The store of the run's files, if they were on their way back when the program died.
pub(super) fn interrupted_restore_store(
    world: &CliContext,
    handle: &RuntimeHandle,
    run: &RunSummary,
) -> Option<Arc<dyn SnapshotPort>> {
    let restoring = handle.load_record(run.id.as_str()).ok()?.pending_restore?;
    let store = snapshots_of_run(world, run, "").ok()?;
    let found = store.interrupted_restore().ok()??;
    (found.safety == restoring.safety).then_some(store)
}

/// Prints the restored files, and how to undo the restore.
pub(super) fn print_restored(restored: &SnapshotRestoreResult) {
    if restored.files.is_empty() && restored.safety.is_none() {
        return;
    }
    let _ = writeln!(
        TerminalSafeWriter(&mut std::io::stdout().lock()),
        "{}",
        snapshots::restored_as_shown(restored)
    );
}

/// How the files differ from those of the step, as text; for a run in this project.
pub(super) fn file_difference_text(world: &CliContext, run: &RunSummary, place: &RunStep) -> Option<String> {
    let keep = "the fork begins with the files as they are now";
    if run.worktree.is_some() {
        return Some("the run worked in a worktree, the fork works on the project's own files".to_owned());
    }
    let unknown = || Some(format!("{keep}: those of step {} were not stored", place.step));
    let Ok(store) = snapshots_of_run(world, run, "") else { return None };
    let Some(snapshot) = &place.files else { return unknown() };
    match store.changes(snapshot, None) {
        Ok(changes) if changes.is_empty() => None,
        Ok(changes) => Some(format!(
            "not as at step {} (snapshot {snapshot}): {}; {keep} (--restore-files brings them back)",
            place.step,
            snapshots::short_file_list(&changes)
        )),
        Err(_) => unknown(),
    }
}

/// The snapshots of the files that the run worked on: its project's, or its worktree's.
fn snapshots_of_run(world: &CliContext, run: &RunSummary, command: &str) -> Result<Arc<dyn SnapshotPort>> {
    if other_project(world, run).is_some() {
        return Err(foreign_run_error(run, command));
    }
    let place = run.worktree.as_ref().map_or(world.project.clone(), |worktree| PathBuf::from(&worktree.path));
    if let Some(tree) = run.worktree.as_ref().filter(|_| !place.is_dir()) {
        let (message, _) = isolation::worktree_gone_reason(run, tree);
        bail!("{message}\nhint: its conversations and data can go back without the files");
    }
    let (catalog, _) = load_quietly(world, world.overrides.clone())?;
    Ok(bootstrap::wire_runtime(&place, &world.dirs.data, &catalog, None).ports.snapshots)
}

/// The project of the run, if it is another one.
pub(super) fn other_project<'a>(world: &CliContext, run: &'a RunSummary) -> Option<&'a str> {
    (world.project.as_path() != Path::new(&run.project)).then_some(run.project.as_str())
}

/// A run's files can be changed only from within its project.
fn foreign_run_error(run: &RunSummary, command: &str) -> anyhow::Error {
    let project = safe_name(&run.project);
    if Path::new(&run.project).is_dir() {
        return anyhow!(
            "run {} worked in {project}, not here: its files are not restored\n\
             hint: synthdev -C {project} {command}",
            run.id
        );
    }
    anyhow!(
        "run {} worked in {project}, which is not on this machine: there are no files to restore\n\
         hint: its conversations and data can go back without them",
        run.id
    )
}

fn unstored_step_error(place: &RunStep, run: &RunSummary, why: &str, hint: &str) -> anyhow::Error {
    anyhow!("the files of step {} of run {} cannot be restored: {why}\nhint: {hint}", place.step, run.id)
}
