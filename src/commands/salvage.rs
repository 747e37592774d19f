//! `runs salvage`: a damaged history becomes a new one with all that can be read.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use super::read_only::store_error;
use synthdev_bootstrap::history_salvage::{self as salvage, SalvageReport};
use synthdev_bootstrap::machine_facts::current_time;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_cli::output::{TerminalSafeWriter, safe_name};
use synthdev_cli::{exit, json_output};

/// Lines about losses that are shown; JSON has all.
const SHOWN: usize = 20;

pub(crate) fn run_salvage_command(context: &StartContext, replace: bool, json: bool) -> Result<u8> {
    let history = wiring::history_path(&context.dirs.data);
    if replace && let Some(away) = salvage::finish_replacement(&history).map_err(store_error)? {
        return report_salvage(&history, &away, json);
    }
    let (fresh, kept) = free_names(&history);
    let saved = salvage::salvage_store(&history, &fresh).map_err(store_error)?;
    let code = if saved.lost_items.is_empty() { exit::COMPLETED } else { exit::FAILED };
    let mut away = None;
    if replace {
        salvage::replace_store(&history, &fresh, &kept).map_err(store_error)?;
        away = Some(kept);
    }
    let mut out = std::io::stdout().lock();
    if json {
        let file = if away.is_some() { &history } else { &fresh };
        let told = json!({
            "runs": saved.runs, "rows": saved.rows, "lost": saved.lost_items, "damage": saved.damage, "file": file,
            "damaged": away,
        });
        json_output::write_pretty_json(&told, &mut out)?;
        return Ok(code);
    }
    let mut out = TerminalSafeWriter(&mut out);
    let file = display_path(if away.is_some() { &history } else { &fresh });
    writeln!(out, "saved {} and {} in {file}", count_of(saved.runs, "run"), count_of(saved.rows, "row"))?;
    list_losses(&saved, &mut out)?;
    match &away {
        Some(away) => writeln!(out, "the damaged history is kept as {}", display_path(away))?,
        None if saved.lost_items.is_empty() && saved.damage.is_empty() => {
            writeln!(out, "nothing was lost; {} was left as it is", display_path(&history))?
        }
        None => writeln!(out, "the damaged history {} was left as it is", display_path(&history))?,
    }
    if saved.runs == 0 && code == exit::FAILED {
        let place = display_path(&history);
        writeln!(
            out,
            "no run could be read: if you kept a copy of the history, put it in the place of {place}"
        )?;
    }
    if !replace {
        writeln!(out, "to use what was saved: synthdev runs salvage --replace")?;
    }
    Ok(code)
}

fn list_losses(saved: &SalvageReport, out: &mut impl Write) -> Result<()> {
    if let Some(first) = saved.damage.first() {
        let more = match saved.damage.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more, shown by --json)"),
        };
        writeln!(out, "SQLite says: {}{more}", safe_name(first))?;
    }
    if !saved.lost_items.is_empty() {
        writeln!(out, "lost:")?;
    }
    for line in saved.lost_items.iter().take(SHOWN) {
        writeln!(out, "  {}", safe_name(line))?;
    }
    if saved.lost_items.len() > SHOWN {
        writeln!(out, "  and {} more (--json shows all)", saved.lost_items.len() - SHOWN)?;
    }
    Ok(())
}

/// A report without losses: the salvage that was cut off has reported them already.
fn report_salvage(history: &Path, away: &Path, json: bool) -> Result<u8> {
    let mut out = std::io::stdout().lock();
    if json {
        json_output::write_pretty_json(
            &json!({"finished": true, "file": history, "damaged": away}),
            &mut out,
        )?;
        return Ok(exit::COMPLETED);
    }
    let mut out = TerminalSafeWriter(&mut out);
    writeln!(
        out,
        "the interrupted replacement is finished: {} is the salvaged history",
        display_path(history)
    )?;
    writeln!(out, "the damaged history is kept as {}", display_path(away))?;
    Ok(exit::COMPLETED)
}

/// For the new history and for the damaged one; two calls in one second get two.
fn free_names(history: &Path) -> (PathBuf, PathBuf) {
    let stamp = timestamp_for_name();
    let named = |count: usize| {
        let number = if count == 1 { String::new() } else { format!("-{count}") };
        let fresh = history.with_file_name(format!("runs-salvaged-{stamp}{number}.sqlite"));
        (fresh, history.with_file_name(format!("runs.sqlite.damaged-{stamp}{number}")))
    };
    let taken = |path: &Path| std::fs::symlink_metadata(path).is_ok();
    let mut counted = (1..).map(named).skip_while(|(fresh, kept)| taken(fresh) || taken(kept));
    counted.next().unwrap_or_else(|| named(1))
}

/// UTC, so that names sort.
fn timestamp_for_name() -> String {
    let now = jiff::Timestamp::from_millisecond(current_time().0).unwrap_or_default();
    now.strftime("%Y%m%d-%H%M%S").to_string()
}

fn display_path(path: &Path) -> String {
    safe_name(&path.display().to_string())
}

fn count_of(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
