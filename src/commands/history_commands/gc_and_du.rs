//! What the history takes, and removing old runs. Nothing is removed unless it is asked for with `--yes`.

use std::path::Path;

use anyhow::{Result, bail};

use crate::read_only::{open_reader, store_error};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, WiredRuntime};
use synthdev_cli::exit;
use synthdev_cli::history::disk_usage;
use synthdev_cli::output::print_stderr;
use synthdev_service::history_cleanup::{CleanupLimits, HistoryCleanup};

pub(crate) fn collect_garbage(
    context: &StartContext,
    limits: CleanupLimits,
    yes: bool,
    json: bool,
) -> Result<u8> {
    if limits.is_empty() && yes {
        bail!("no option says which runs to remove\nhint: add --older-than DAYS or --keep NUMBER");
    }
    if limits.is_empty() && !json {
        print_stderr("nothing is removed without a limit: --older-than DAYS, --keep NUMBER");
        return show_disk_usage(context, false);
    }
    let wired = open_reader(context)?;
    let old = cleanup(&wired).remove_old_runs(limits, wired.handle.now(), yes).map_err(store_error)?;
    disk_usage::write_gc_report(&old, json, &mut std::io::stdout().lock())?;
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
