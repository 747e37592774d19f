//! Runs in a git worktree on a branch of their own, and what becomes of it.

use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::bootstrap::{self, WiredRuntime, WorktreeLocation};
use super::cli_context::CliContext;
use super::load_config::load_catalog;
use super::read_only::{open_reader, snapshot_error, store_error};
use super::recordings::RecordingMode;
use super::run_to_end::follow_run;
use super::{interrupted_restore, system_context};
use synthdev_adapters::providers::scripted::ScriptedModel;
use synthdev_adapters::worktree::GitWorktrees;
use synthdev_cli::headless::{FinalReport, HeadlessOutput};
use synthdev_cli::output::{print_stderr, safe_name, time_text};
use synthdev_cli::show_run::RunFilesStatus;
use synthdev_cli::{exit, snapshots};
use synthdev_domain::ids::{RunId, SnapshotId};
use synthdev_domain::journal::{RunOrigin, RunStatus, RunSummary};
use synthdev_domain::snapshot::{RestoreTarget, RunWorktree, SkippedPath, WorktreeSource};
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::snapshot::SnapshotError;
use synthdev_ports::worktree::{MergeError, WorktreePort};
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::time_travel::TimeTravelError;
use synthdev_settings::catalog::ConfigCatalog;

/// Runs a spec in a new worktree. Without one nothing is started.
pub(super) fn run_in_worktree(
    world: &CliContext,
    catalog: &ConfigCatalog,
    spec: RunSpec,
    script: Option<ScriptedModel>,
    tape: RecordingMode,
    show: HeadlessOutput,
) -> Result<FinalReport> {
    let data = &world.dirs.data;
    let trees = bootstrap::git_worktrees(&world.project, data, catalog);
    let handle = bootstrap::wire_runtime(&world.project, data, catalog, None).handle;
    // its files would begin as they are
    handle.ensure_files_consistent().map_err(store_error)?;
    let id = handle.draw_run_id();
    let workflow = spec.program.workflows.first().map(|root| root.name.clone()).unwrap_or_default();
    let tree = trees.create(&id, &workflow).map_err(snapshot_error)?;
    let spec = match spec.brief.is_empty() {
        true => spec,
        false => {
            RunSpec { brief: system_context::build_system_context(catalog, Path::new(&tree.path)), ..spec }
        }
    };
    for line in missing_file_lines(&trees, &tree).map_err(snapshot_error)? {
        print_stderr(format_args!("warning: {line}"));
    }
    if show.progress {
        print_stderr(format_args!(
            "isolated in {} on branch {}",
            safe_name(&tree.path),
            safe_name(&tree.branch)
        ));
    }
    let place = WorktreeLocation { project: &world.project, worktree: Path::new(&tree.path) };
    let inside = bootstrap::wire_worktree(place, data, catalog, script);
    let inside = match tape.wrap_models(inside, catalog, &[Path::new(&tree.path), &world.project]) {
        Ok(inside) => inside,
        Err(error) => {
            drop(trees.discard(&tree, false));
            return Err(error);
        }
    };
    let begun = tree.clone();
    let report =
        follow_run(&inside, show, async |handle| handle.start_as(id, spec, Some(begun)).map_err(store_error));
    if report.is_err() {
        // nothing was started
        drop(trees.discard(&tree, false));
    }
    report
}

/// What could not be copied, a line each.
pub(super) fn missing_file_lines(
    trees: &GitWorktrees,
    tree: &RunWorktree,
) -> Result<Vec<String>, SnapshotError> {
    let skipped = trees.skipped(tree)?;
    let line =
        |file: &SkippedPath| format!("not in the worktree: {} ({})", safe_name(&file.path), file.reason);
    Ok(skipped.iter().map(line).collect())
}

pub(super) fn merge_worktree(world: &CliContext, id: &str, dry_run: bool, yes: bool) -> Result<u8> {
    let IsolatedRunContext { summary, tree, worktrees: trees, handle } = isolated_run_context(world, id)?;
    if summary.progress.status == RunStatus::Running {
        bail!("run {} is still running: its changes are incomplete\nhint: stop it first", summary.id);
    }
    let Some(left) = trees.unmerged(&tree).map_err(snapshot_error)? else {
        bail!("worktree and branch {} of run {} were removed", safe_name(&tree.branch), summary.id);
    };
    let half = is_half(&handle, &tree);
    if left.files.is_empty() && !half {
        return nothing_to_merge_text(&summary, &tree, &left.kept);
    }
    if let Some(gone) = worktree_source(&summary, &tree, &left.kept) {
        print_stderr(gone);
    }
    if half {
        print_stderr("a merge of this run was interrupted: this finishes it");
    }
    print_stderr(format_args!(
        "to merge the changes of run {} into {}:\n{}",
        summary.id,
        safe_name(&summary.project),
        snapshots::merge_changes_text(&left.files)
    ));
    if !left.conflicts.is_empty() {
        print_stderr(snapshots::conflict_lines(&left.conflicts));
        if dry_run {
            let error = MergeError::Conflicts(left.conflicts);
            bail!("{error}\nhint: nothing was changed, and nothing would be without --dry-run");
        }
    }
    if dry_run {
        return Ok(exit::COMPLETED);
    }
    let question = format!(
        "bring {} into {}?",
        snapshots::file_count_text(left.files.len()),
        safe_name(&summary.project)
    );
    // one that is refused changes nothing, and need not be asked about
    if left.conflicts.is_empty() && !yes && !ask_confirmation(&question)? {
        print_stderr("nothing was changed");
        return Ok(exit::CANCELLED);
    }
    let _held = handle.lock_files(&summary.id, &summary.workflow).map_err(store_error)?;
    merge_changes(&trees, &tree, &left.kept, &summary.id)
}

fn merge_changes(trees: &GitWorktrees, tree: &RunWorktree, kept: &WorktreeSource, run: &RunId) -> Result<u8> {
    match trees.merge(tree) {
        Ok(merged) => {
            let undo = merged
                .safety
                .map_or_else(String::new, |id| format!("; undo: synthdev snapshot restore {id}"));
            print_stderr(format_args!("{} merged{undo}", snapshots::file_count_text(merged.files.len())));
            let stays =
                if *kept == WorktreeSource::Tree { "the worktree stays" } else { "the stored files stay" };
            print_stderr(format_args!("{stays} until: synthdev runs discard {}", run));
            Ok(exit::COMPLETED)
        }
        Err(error @ MergeError::Conflicts(_)) if *kept == WorktreeSource::Tree => {
            bail!("{error}\nhint: nothing was changed; merge manually: git merge {}", tree.branch)
        }
        Err(error @ MergeError::Conflicts(_)) => {
            bail!(
                "{error}\nhint: nothing was changed; move these files of the project away, then merge again"
            )
        }
        Err(MergeError::Failed(error)) => Err(snapshot_error(error)),
    }
}

/// The words for a project that has all there is.
fn nothing_to_merge_text(run: &RunSummary, tree: &RunWorktree, kept: &WorktreeSource) -> Result<u8> {
    match kept {
        WorktreeSource::Tree => {
            print_stderr("nothing to do: the project has everything that the run changed")
        }
        WorktreeSource::Nothing => bail!(
            "the worktree of run {} is gone, and nothing that it changed was kept: {}\n\
             hint: clean up with: synthdev runs discard {}",
            run.id,
            safe_name(&tree.path),
            run.id
        ),
        WorktreeSource::Snapshot { .. } | WorktreeSource::Branch => {
            self::worktree_source(run, tree, kept).iter().for_each(print_stderr);
            print_stderr("nothing to do: the project has everything that was kept");
        }
    }
    Ok(exit::COMPLETED)
}

/// What is looked at in the place of a worktree that is gone.
fn worktree_source(run: &RunSummary, tree: &RunWorktree, kept: &WorktreeSource) -> Option<String> {
    let from = match kept {
        WorktreeSource::Tree => return None,
        WorktreeSource::Snapshot { id, taken } => {
            format!("its last snapshot is there, {id} of {} UTC", time_text(*taken))
        }
        WorktreeSource::Branch => format!("its branch {} is there", safe_name(&tree.branch)),
        WorktreeSource::Nothing => "nothing that it changed was kept".to_owned(),
    };
    let lost = if *kept == WorktreeSource::Nothing { "" } else { "; what it changed after that is lost" };
    Some(format!("the worktree of run {} is gone: {}\n{from}{lost}", run.id, safe_name(&tree.path)))
}

/// Whether a merge of this worktree was cut off.
fn is_half(handle: &RuntimeHandle, tree: &RunWorktree) -> bool {
    handle.interrupted_restore().is_some_and(
        |(found, _)| matches!(found.goal, RestoreTarget::Merge { branch, .. } if branch == tree.branch),
    )
}

/// Says first what would be lost; at a terminal it asks, elsewhere `--yes` is needed.
pub(super) fn discard_worktree(world: &CliContext, id: &str, force: bool, yes: bool) -> Result<u8> {
    let IsolatedRunContext { summary, tree, worktrees: trees, handle } = isolated_run_context(world, id)?;
    if summary.progress.status == RunStatus::Running {
        bail!("run {} is still running\nhint: stop it first", summary.id);
    }
    if let Some(half) =
        interrupted_restore::interrupted_restore_notice(&handle).filter(|_| is_half(&handle, &tree))
    {
        bail!(half);
    }
    let (lost, is_there) = match trees.unmerged(&tree) {
        Ok(None) => {
            trees.discard(&tree, force).map_err(snapshot_error)?;
            print_stderr(format_args!(
                "worktree and branch {} were removed already",
                safe_name(&tree.branch)
            ));
            return Ok(exit::COMPLETED);
        }
        Ok(Some(left)) => {
            let gone = worktree_source(&summary, &tree, &left.kept);
            gone.iter().for_each(print_stderr);
            let lost = format!(
                "changes of run {} that are not in the project, and would be lost:\n{}",
                summary.id,
                snapshots::merge_changes_text(&left.files)
            );
            ((!left.files.is_empty()).then_some(lost), gone.is_none())
        }
        Err(error) => {
            (Some(format!("cannot determine what would be lost: {}", safe_name(&error.message))), true)
        }
    };
    let status = summary.progress.status;
    let goes_on =
        is_there && matches!(status, RunStatus::Paused | RunStatus::Interrupted | RunStatus::Failed);
    if !force && (lost.is_some() || goes_on) {
        lost.iter().for_each(print_stderr);
        if goes_on {
            print_stderr(format_args!(
                "run {} is {}: without its worktree it cannot continue",
                summary.id,
                status.as_str()
            ));
        }
        if !yes && !ask_confirmation(&format!("discard worktree and branch {}?", safe_name(&tree.branch)))? {
            print_stderr("nothing was changed");
            return Ok(exit::CANCELLED);
        }
    }
    trees.discard(&tree, force).map_err(snapshot_error)?;
    print_stderr(format_args!("worktree and branch {} were removed", safe_name(&tree.branch)));
    Ok(exit::COMPLETED)
}

/// At a terminal it asks; elsewhere `--yes` is needed.
pub(super) fn ask_confirmation(question: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(anyhow!(
            "nothing was changed: no terminal is attached for the question\nhint: add --yes"
        ));
    }
    print_stderr(format_args!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// The present state of the run's files, for `runs show`.
pub(super) fn run_files_status(world: &CliContext, wired: &WiredRuntime, run: &RunSummary) -> RunFilesStatus {
    let gone = |tree: &RunWorktree| tree.is_known() && !Path::new(&tree.path).is_dir();
    let foreign = run.origin.as_ref().is_some_and(RunOrigin::is_imported);
    let here = Path::new(&run.project) == world.project;
    let stored = |id: &SnapshotId| wired.ports.snapshots.find(id.as_str()).is_ok();
    let half = run.worktree.as_ref().filter(|_| here).is_some_and(|tree| is_half(&wired.handle, tree));
    RunFilesStatus {
        worktree_gone: run.worktree.as_ref().is_some_and(gone),
        undo: !foreign || (here && run.progress.snapshot.as_ref().is_some_and(stored)),
        merge_interrupted: half,
    }
}

/// A run with its worktree, and what is needed of its project.
struct IsolatedRunContext {
    summary: RunSummary,
    tree: RunWorktree,
    worktrees: GitWorktrees,
    /// Of the project, not of the directory in which this was started.
    handle: RuntimeHandle,
}

fn isolated_run_context(world: &CliContext, id: &str) -> Result<IsolatedRunContext> {
    let summary = open_reader(world)?.handle.summary(id).map_err(store_error)?;
    let Some(tree) = summary.worktree.clone() else {
        bail!("run {} has no worktree: it worked in {}", summary.id, safe_name(&summary.project));
    };
    if !tree.is_known() {
        return Err(worktree_gone_error(&summary, &tree));
    }
    let (catalog, _) = load_catalog(world, world.overrides.clone(), None)?;
    let (project, data) = (Path::new(&summary.project), &world.dirs.data);
    let trees = bootstrap::git_worktrees(project, data, &catalog);
    let handle = bootstrap::wire_runtime(project, data, &catalog, None).handle;
    Ok(IsolatedRunContext { summary, tree, worktrees: trees, handle })
}

/// Why a run cannot work where it did.
pub(super) fn worktree_gone_error(run: &RunSummary, tree: &RunWorktree) -> anyhow::Error {
    let (message, hint) = worktree_gone_reason(run, tree);
    anyhow!("{message}\nhint: {hint}")
}

/// The same as a message and a hint.
pub(super) fn worktree_gone_reason(run: &RunSummary, tree: &RunWorktree) -> (String, String) {
    let gone = TimeTravelError::WorktreeGone { run: run.id.clone(), tree: tree.clone() };
    (gone.to_string(), gone.hint().unwrap_or_default())
}
