//! Runs in a git worktree on a branch of their own, and what becomes of it (SNAP-13).

use std::io::IsTerminal;
use std::path::Path;

use anyhow::{Result, anyhow, bail};

use super::driving::stay;
use super::loading::load;
use super::reading::{of_snapshot, of_store, reader};
use super::wiring;
use super::world::World;
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

/// Runs a spec in a new worktree. Without one nothing is started.
pub(super) fn run(
    world: &World,
    catalog: &Catalog,
    spec: RunSpec,
    script: Option<ScriptedModel>,
    show: Show,
) -> Result<FinalReport> {
    let data = &world.dirs.data;
    let trees = wiring::worktrees(&world.project, data, catalog);
    let id = wiring::wire(&world.project, data, catalog, None).handle.draw_run_id();
    let workflow = spec.program.workflows.first().map(|root| root.name.clone()).unwrap_or_default();
    let tree = trees.create(&id, &workflow).map_err(of_snapshot)?;
    for line in missing(&trees, &tree).map_err(of_snapshot)? {
        tell(format_args!("warning: {line}"));
    }
    if show.progress {
        tell(format_args!("isolated in {} on branch {}", name(&tree.path), name(&tree.branch)));
    }
    let inside = wiring::wire_worktree((&world.project, Path::new(&tree.path)), data, catalog, script);
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
    let (summary, tree, trees) = isolated(world, id)?;
    let changes = trees.changes(&tree).map_err(of_snapshot)?;
    if changes.is_empty() {
        tell("nothing to do: the run changed no file");
        return Ok(exit::COMPLETED);
    }
    tell(format_args!("run {} changed, seen from its start:\n{}", summary.id, snapshots::files(&changes)));
    if dry_run {
        return Ok(exit::COMPLETED);
    }
    if !yes && !confirmed(&format!("bring these {} files into {}?", changes.len(), name(&summary.project)))? {
        tell("nothing was changed");
        return Ok(exit::CANCELLED);
    }
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

pub(super) fn discard(world: &World, id: &str, force: bool) -> Result<u8> {
    let (summary, tree, trees) = isolated(world, id)?;
    if summary.progress.status == RunStatus::Running {
        bail!("run {} is still running\nhint: stop it first", summary.id);
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

fn isolated(world: &World, id: &str) -> Result<(RunSummary, Worktree, GitWorktrees)> {
    let summary = reader(world)?.handle.summary(id).map_err(of_store)?;
    let Some(tree) = summary.worktree.clone() else {
        bail!("run {} has no worktree: it worked in {}", summary.id, name(&summary.project));
    };
    let (catalog, _) = load(world, world.overrides.clone(), None)?;
    let trees = wiring::worktrees(Path::new(&summary.project), &world.dirs.data, &catalog);
    Ok((summary, tree, trees))
}
