//! Runs in a git worktree on a branch of their own, and what becomes of it (SNAP-13).

use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::cassettes::Tape;
use super::driving::stay;
use super::loading::load;
use super::reading::{of_snapshot, of_store, reader};
use super::world::World;
use super::{briefing, wiring};
use crate::adapters::providers::scripted::ScriptedModel;
use crate::adapters::worktree::GitWorktrees;
use crate::cli::headless::{FinalReport, Show};
use crate::cli::words::{name, tell};
use crate::cli::{exit, snapshots};
use crate::config::catalog::Catalog;
use crate::domain::journal::{RunStatus, RunSummary};
use crate::domain::snapshot::{Skipped, Worktree};
use crate::engine::spec::RunSpec;
use crate::ports::snapshot::SnapshotError;
use crate::ports::worktree::{MergeError, WorktreePort};
use crate::runtime::handle::Handle;

/// Runs a spec in a new worktree. Without one nothing is started.
pub(super) fn run(
    world: &World,
    catalog: &Catalog,
    spec: RunSpec,
    (script, tape): (Option<ScriptedModel>, Tape),
    show: Show,
) -> Result<FinalReport> {
    let data = &world.dirs.data;
    let trees = wiring::worktrees(&world.project, data, catalog);
    let id = wiring::wire(&world.project, data, catalog, None).handle.draw_run_id();
    let workflow = spec.program.workflows.first().map(|root| root.name.clone()).unwrap_or_default();
    let tree = trees.create(&id, &workflow).map_err(of_snapshot)?;
    let spec = match spec.brief.is_empty() {
        true => spec,
        false => RunSpec { brief: briefing::brief(catalog, Path::new(&tree.path)), ..spec },
    };
    for line in missing(&trees, &tree).map_err(of_snapshot)? {
        tell(format_args!("warning: {line}"));
    }
    if show.progress {
        tell(format_args!("isolated in {} on branch {}", name(&tree.path), name(&tree.branch)));
    }
    let inside = wiring::wire_worktree((&world.project, Path::new(&tree.path)), data, catalog, script);
    let inside = match tape.around(inside, catalog, &[Path::new(&tree.path), &world.project]) {
        Ok(inside) => inside,
        Err(error) => {
            drop(trees.discard(&tree, false));
            return Err(error);
        }
    };
    let begun = tree.clone();
    let report = stay(&inside, show, async |handle| handle.start_as(id, spec, Some(begun)).map_err(of_store));
    if report.is_err() {
        // nothing was started
        drop(trees.discard(&tree, false));
    }
    report
}

/// What could not be copied, a line each.
pub(super) fn missing(trees: &GitWorktrees, tree: &Worktree) -> Result<Vec<String>, SnapshotError> {
    let skipped = trees.skipped(tree)?;
    let line = |file: &Skipped| format!("not in the worktree: {} ({})", name(&file.path), file.reason);
    Ok(skipped.iter().map(line).collect())
}

pub(super) fn merge(world: &World, id: &str, (dry_run, yes): (bool, bool)) -> Result<u8> {
    let Isolated { summary, tree, trees, handle } = isolated(world, id)?;
    if summary.progress.status == RunStatus::Running {
        bail!("run {} is still running: what it has so far is no result\nhint: stop it first", summary.id);
    }
    let changes = trees.unmerged(&tree).map_err(of_snapshot)?;
    let Some(changes) = changes else {
        bail!("worktree and branch {} of run {} are gone", name(&tree.branch), summary.id);
    };
    if changes.is_empty() {
        tell("nothing to do: the project has everything that the run changed");
        return Ok(exit::COMPLETED);
    }
    tell(format_args!(
        "to bring what run {} changed into {}:\n{}",
        summary.id,
        name(&summary.project),
        snapshots::incoming(&changes)
    ));
    if dry_run {
        return Ok(exit::COMPLETED);
    }
    if !yes && !confirmed(&format!("bring these {} files into {}?", changes.len(), name(&summary.project)))? {
        tell("nothing was changed");
        return Ok(exit::CANCELLED);
    }
    let _held = handle.hold_files(&summary.id, &summary.workflow).map_err(of_store)?;
    match trees.merge(&tree) {
        Ok(merged) => {
            let undo = merged
                .safety
                .map_or_else(String::new, |id| format!("; undo: synthdev snapshot restore {id}"));
            tell(format_args!("{} files merged{undo}", merged.files.len()));
            tell(format_args!("the worktree stays until: synthdev runs discard {}", summary.id));
            Ok(exit::COMPLETED)
        }
        Err(error @ MergeError::Conflicts(_)) => {
            bail!("{error}\nhint: nothing was changed; merge by hand: git merge {}", tree.branch)
        }
        Err(MergeError::Failed(error)) => Err(of_snapshot(error)),
    }
}

/// Says first what would be lost; at a terminal it asks, elsewhere `--yes` is needed.
pub(super) fn discard(world: &World, id: &str, (force, yes): (bool, bool)) -> Result<u8> {
    let Isolated { summary, tree, trees, .. } = isolated(world, id)?;
    if summary.progress.status == RunStatus::Running {
        bail!("run {} is still running\nhint: stop it first", summary.id);
    }
    let lost = match trees.unmerged(&tree) {
        Ok(None) => {
            trees.discard(&tree, force).map_err(of_snapshot)?;
            tell(format_args!("worktree and branch {} are gone already", name(&tree.branch)));
            return Ok(exit::COMPLETED);
        }
        Ok(Some(files)) if files.is_empty() => None,
        Ok(Some(files)) => Some(format!(
            "changes of run {} that are not in the project, and would be lost:\n{}",
            summary.id,
            snapshots::incoming(&files)
        )),
        Err(error) => Some(format!("what would be lost cannot be told: {}", name(&error.message))),
    };
    let status = summary.progress.status;
    let goes_on = matches!(status, RunStatus::Paused | RunStatus::Interrupted | RunStatus::Failed);
    if !force && (lost.is_some() || goes_on) {
        lost.iter().for_each(tell);
        if goes_on {
            tell(format_args!(
                "run {} is {}: without its worktree it cannot go on afterwards",
                summary.id,
                status.as_str()
            ));
        }
        if !yes && !confirmed(&format!("throw away worktree and branch {}?", name(&tree.branch)))? {
            tell("nothing was changed");
            return Ok(exit::CANCELLED);
        }
    }
    trees.discard(&tree, force).map_err(of_snapshot)?;
    tell(format_args!("worktree and branch {} are gone", name(&tree.branch)));
    Ok(exit::COMPLETED)
}

/// At a terminal it asks; elsewhere `--yes` is needed.
pub(super) fn confirmed(question: &str) -> Result<bool> {
    if !std::io::stdin().is_terminal() {
        return Err(anyhow!("nothing was changed: nobody can be asked here\nhint: add --yes"));
    }
    tell(format_args!("{question} [y/N]"));
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// A run with its worktree, and what is needed of its project.
struct Isolated {
    summary: RunSummary,
    tree: Worktree,
    trees: GitWorktrees,
    /// Of the project, not of the directory in which this was started.
    handle: Handle,
}

fn isolated(world: &World, id: &str) -> Result<Isolated> {
    let summary = reader(world)?.handle.summary(id).map_err(of_store)?;
    let Some(tree) = summary.worktree.clone() else {
        bail!("run {} has no worktree: it worked in {}", summary.id, name(&summary.project));
    };
    if !tree.is_known() {
        return Err(gone(&summary, &tree));
    }
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    let (project, data) = (Path::new(&summary.project), &world.dirs.data);
    let trees = wiring::worktrees(project, data, &catalog);
    let handle = wiring::wire(project, data, &catalog, None).handle;
    Ok(Isolated { summary, tree, trees, handle })
}

/// Why a run cannot work where it did.
pub(super) fn gone(run: &RunSummary, tree: &Worktree) -> anyhow::Error {
    let (message, hint) = why_gone(run, tree);
    anyhow!("{message}\nhint: {hint}")
}

/// The same as a message and a hint.
pub(super) fn why_gone(run: &RunSummary, tree: &Worktree) -> (String, String) {
    let id = &run.id;
    let fork = format!("synthdev runs fork {id} --at STEP makes a run of it that works in the project");
    if tree.is_known() {
        let message = format!("the worktree of run {id} is gone: {}", name(&tree.path));
        return (message, format!("its branch {} may still be there; {fork}", name(&tree.branch)));
    }
    let message = format!(
        "where run {id} worked was lost when the history was salvaged: it may have been a worktree of its own, so it \
         does not touch the project's files"
    );
    (message, fork)
}
