//! `runs gc` and `runs du`: what the history takes, and what would be gone.

use std::io::{self, Write};

use serde_json::json;

use super::columns::{bytes_text, count_text, cut_to_columns};
use crate::json_output;
use crate::output::{TerminalSafeWriter, safe_name, time_text};
use synthdev_domain::journal::ReclaimedSpace;
use synthdev_service::history_cleanup::{DiskUsageReport, RunDeletionPlan, RunsGcReport};

/// # Errors
/// stdout cannot be written.
pub fn write_disk_usage(taken: &DiskUsageReport, json: bool, out: &mut dyn Write) -> io::Result<()> {
    let DiskUsageReport { file, space, snapshots, worktrees } = taken;
    if json {
        let mut all = serde_json::to_value(space)?;
        all["file"] = json!(file);
        all["snapshots"] = json!(snapshots);
        all["worktrees"] = json!(worktrees);
        return json_output::write_pretty_json(&all, out);
    }
    let out = &mut TerminalSafeWriter(out);
    writeln!(out, "history    {}", safe_name(file))?;
    writeln!(out, "file       {:>10}", bytes_text(space.file_bytes))?;
    writeln!(out, "free       {:>10}   filled first by later runs", bytes_text(space.free_bytes))?;
    writeln!(
        out,
        "texts      {:>10}   definitions and long texts, each once",
        bytes_text(space.blobs_bytes)
    )?;
    writeln!(out, "index      {:>10}   for the search", bytes_text(space.index_bytes))?;
    writeln!(out, "previews   {:>10}   to show long runs at once", bytes_text(space.glances_bytes))?;
    writeln!(out, "states     {:>10}   to resume long runs at once", bytes_text(space.states_bytes))?;
    writeln!(out, "runs       {:>10}", space.runs)?;
    writeln!(out, "rows       {:>10}", space.rows)?;
    if let Some(oldest) = space.oldest {
        writeln!(out, "oldest     {} UTC", time_text(oldest))?;
    }
    match snapshots {
        Some(number) => writeln!(out, "snapshots  {number:>10}   of this project")?,
        None => writeln!(out, "snapshots     unknown   they cannot be listed here")?,
    }
    writeln!(out, "worktrees  {:>10}", worktrees.len())?;
    worktrees.iter().try_for_each(|path| writeln!(out, "  {}", safe_name(path)))
}

/// What is asked about before one run is removed.
pub fn deletion_plan_text(plan: &RunDeletionPlan) -> String {
    let RunDeletionPlan { run, freed, .. } = plan;
    let kept = kept_run_text(plan).map_or_else(String::new, |text| format!("\n{text}"));
    format!(
        "run {} of {} ({}, {} UTC): {}\nits messages, events and costs go, {}; files and snapshots of the project stay{kept}",
        run.id,
        safe_name(&run.workflow),
        run.progress.status_word(),
        time_text(run.started),
        cut_to_columns(&run.input, 60),
        bytes_text(freed.bytes)
    )
}

/// Of a run that a server goes on with.
fn kept_run_text(plan: &RunDeletionPlan) -> Option<String> {
    let (server, run) = (safe_name(plan.keeper.as_ref()?), &plan.run.id);
    Some(format!(
        "only the copy here goes: as long as the Restate server at {server} has the run, its worker copies it here again \
         when it goes on; to end it there: synthdev runs cancel {run} --backend restate"
    ))
}

/// # Errors
/// stdout cannot be written.
pub fn write_deleted_run(
    plan: &RunDeletionPlan,
    freed: &ReclaimedSpace,
    out: &mut dyn Write,
) -> io::Result<()> {
    let out = &mut TerminalSafeWriter(out);
    writeln!(out, "removed run {}: {} are free for later runs", plan.run.id, bytes_text(freed.bytes))?;
    kept_run_text(plan).map_or(Ok(()), |text| writeln!(out, "{text}"))
}

/// Runs that are named before they are removed.
const SHOWN: usize = 20;

/// # Errors
/// stdout cannot be written.
pub fn write_gc_report(old: &RunsGcReport, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        let value = json!({
            "removed": old.is_removed, "runs": old.runs, "count": old.runs.len(), "bytes": old.freed.bytes,
            "oldest": old.span.map(|span| span.0), "newest": old.span.map(|span| span.1),
            "kept_open": old.open_count, "kept_worktrees": old.isolated_count,
            "snapshots": old.snapshot_count, "bytes_left": old.bytes_left,
        });
        return json_output::write_pretty_json(&value, out);
    }
    let out = &mut TerminalSafeWriter(out);
    let count = count_text(old.runs.len(), "run");
    match (old.span, old.is_removed) {
        (None, _) => writeln!(out, "nothing to remove")?,
        (Some((oldest, newest)), true) => {
            let (oldest, newest) = (time_text(oldest), time_text(newest));
            let size = bytes_text(old.freed.bytes);
            writeln!(out, "removed {count} from {oldest} to {newest} UTC: {size} are free for later runs")?;
            if let Some(number) = old.snapshot_count {
                writeln!(out, "with {} of this project", count_text(number, "snapshot"))?;
            }
        }
        (Some((oldest, newest)), false) => {
            let (oldest, newest) = (time_text(oldest), time_text(newest));
            let size = bytes_text(old.freed.bytes);
            writeln!(out, "would remove {count} from {oldest} to {newest} UTC: {size}")?;
            old.runs.iter().take(SHOWN).try_for_each(|run| writeln!(out, "  {run}"))?;
            if old.runs.len() > SHOWN {
                writeln!(out, "  … and {} more (--json names all)", old.runs.len() - SHOWN)?;
            }
            match old.snapshot_count {
                Some(number) => writeln!(out, "with {} of this project", count_text(number, "snapshot"))?,
                None => writeln!(out, "their snapshots stay in the project: --snapshots removes them, too")?,
            }
            writeln!(out, "nothing was removed: add --yes")?;
        }
    }
    if let Some(left) = old.bytes_left {
        writeln!(out, "the other runs take {} with their part of the search index", bytes_text(left))?;
    }
    if old.open_count > 0 {
        writeln!(
            out,
            "kept: {} that wait or were interrupted (`runs cancel` ends one)",
            count_text(old.open_count, "run")
        )?;
    }
    if old.isolated_count > 0 {
        writeln!(
            out,
            "kept: {} with a worktree of its own (`runs merge` or `runs discard` first)",
            count_text(old.isolated_count, "run")
        )?;
    }
    Ok(())
}
