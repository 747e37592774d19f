//! What the history takes, and removing old runs. Nothing is removed unless it is asked for with `--yes`.

use std::path::Path;

use anyhow::{Result, bail};

use crate::cli_context::CliContext;
use crate::read_only::{open_reader, store_error};
use synthdev_cli::exit;
use synthdev_cli::history::disk_usage::{self, DiskUsageReport, RunsGcReport};
use synthdev_cli::output::print_stderr;
use synthdev_domain::journal::RunOutline;

const MS_OF_DAY: i64 = 86_400_000;

pub(crate) fn collect_garbage(
    world: &CliContext,
    older: Option<u32>,
    keep: Option<usize>,
    yes: bool,
    json: bool,
) -> Result<u8> {
    if older.is_none() && keep.is_none() {
        if yes {
            bail!("no option says which runs to remove\nhint: add --older-than DAYS or --keep NUMBER");
        }
        if json {
            disk_usage::write_gc_report(&RunsGcReport::default(), true, &mut std::io::stdout().lock())?;
            return Ok(exit::COMPLETED);
        }
        print_stderr("nothing is removed without a limit: --older-than DAYS, --keep NUMBER");
        return show_disk_usage(world, false);
    }
    let wired = open_reader(world)?;
    let store = &wired.ports.store;
    let runs = store.outlines().map_err(store_error)?;
    let before = older.map(|days| wired.handle.now().0 - i64::from(days) * MS_OF_DAY);
    let mut old = RunsGcReport { is_removed: yes, ..RunsGcReport::default() };
    // newest first, so what is behind `keep` is older
    for run in runs.iter().skip(keep.unwrap_or(0)) {
        if before.is_some_and(|before| run.updated.0 >= before) {
            continue;
        }
        if !run.status.is_over() {
            old.open_count += 1;
        } else if remaining_worktree(run).is_some() {
            old.isolated_count += 1;
        } else {
            let (oldest, newest) = old.span.unwrap_or((run.started, run.started));
            old.span = Some((oldest.min(run.started), newest.max(run.started)));
            old.runs.push(run.id.clone());
        }
    }
    old.freed =
        if yes { store.delete(&old.runs) } else { store.measure_deletion(&old.runs) }.map_err(store_error)?;
    disk_usage::write_gc_report(&old, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

/// The worktree of a run if it is still there.
fn remaining_worktree(run: &RunOutline) -> Option<&str> {
    run.worktree.as_ref().map(|tree| tree.path.as_str()).filter(|path| Path::new(path).exists())
}

pub(crate) fn show_disk_usage(world: &CliContext, json: bool) -> Result<u8> {
    let wired = open_reader(world)?;
    let store = &wired.ports.store;
    let runs = store.outlines().map_err(store_error)?;
    let taken = DiskUsageReport {
        file: world.dirs.data.join("runs.sqlite").display().to_string(),
        space: store.storage_usage().map_err(store_error)?,
        snapshots: wired.ports.snapshots.list().ok().map(|list| list.len()),
        worktrees: runs.iter().filter_map(remaining_worktree).map(str::to_owned).collect(),
    };
    disk_usage::write_disk_usage(&taken, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}
