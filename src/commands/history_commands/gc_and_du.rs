//! What the history takes, and removing runs. Nothing is removed unless it is asked for: by `--yes`, or by an answer.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::isolation::ask_confirmation;
use crate::read_only::{error_with_hint, open_reader, store_error};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, WiredRuntime};
use synthdev_cli::exit;
use synthdev_cli::history::disk_usage;
use synthdev_cli::output::print_stderr;
use synthdev_service::history_cleanup::{CleanupLimits, HistoryCleanup, RunDeletionError};

pub(crate) fn collect_garbage(
    context: &StartContext,
    limits: CleanupLimits,
    yes: bool,
    json: bool,
) -> Result<u8> {
    if limits.is_empty() && yes {
        bail!(
            "no option says which runs to remove\nhint: add --older-than DAYS, --keep NUMBER or --max-size MB"
        );
    }
    if limits.is_empty() && !json {
        print_stderr("nothing is removed without a limit: --older-than DAYS, --keep NUMBER, --max-size MB");
        return show_disk_usage(context, false);
    }
    let wired = open_reader(context)?;
    let old = cleanup(&wired).remove_old_runs(limits, wired.handle.now(), yes).map_err(store_error)?;
    disk_usage::write_gc_report(&old, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

/// At a terminal it asks, elsewhere `--yes` is needed.
pub(crate) fn delete_run(context: &StartContext, id: &str, yes: bool) -> Result<u8> {
    let wired = open_reader(context)?;
    let cleanup = cleanup(&wired);
    let refused = |error: RunDeletionError| error_with_hint(&error.to_string(), error.hint().as_deref());
    let plan = cleanup.plan_run_deletion(id).map_err(refused)?;
    if !yes {
        print_stderr(disk_usage::deletion_plan_text(&plan));
        if !ask_confirmation("remove it for good?").context("not removed")? {
            print_stderr("nothing was removed");
            return Ok(exit::CANCELLED);
        }
    }
    let freed = cleanup.delete_run(&plan).map_err(refused)?;
    disk_usage::write_deleted_run(&plan, &freed, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

pub(crate) fn show_disk_usage(context: &StartContext, json: bool) -> Result<u8> {
    let wired = open_reader(context)?;
    let file = wiring::history_path(&context.dirs.data).display().to_string();
    let taken = cleanup(&wired).measure(file).map_err(store_error)?;
    disk_usage::write_disk_usage(&taken, json, &mut std::io::stdout().lock())?;
    Ok(exit::COMPLETED)
}

fn cleanup(wired: &WiredRuntime) -> HistoryCleanup<'_> {
    HistoryCleanup {
        store: &*wired.ports.store,
        snapshots: &*wired.ports.snapshots,
        is_present: &|path| Path::new(path).exists(),
    }
}
