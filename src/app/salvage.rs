//! `runs salvage`: a damaged history becomes a new one with all that can be read.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use serde_json::json;

use super::bootstrap;
use super::cli_context::CliContext;
use super::read_only::store_error;
use synthdev_adapters::sqlite::salvage;
use synthdev_adapters::system_clock::SystemClock;
use synthdev_cli::output::{TerminalSafeWriter, name};
use synthdev_cli::{exit, json_output};
use synthdev_ports::clock::ClockPort;

/// Lines of what was lost that people are shown; JSON has all.
const SHOWN: usize = 20;

pub(super) fn salvage(world: &CliContext, replace: bool, json: bool) -> Result<u8> {
    let history = bootstrap::history(&world.dirs.data);
    if replace && let Some(away) = salvage::finish(&history).map_err(store_error)? {
        return finished(&history, &away, json);
    }
    let (fresh, kept) = free_names(&history);
    let saved = salvage::salvage(&history, &fresh).map_err(store_error)?;
    let whole = saved.lost.is_empty() && !replace;
    let code = if saved.lost.is_empty() { exit::COMPLETED } else { exit::FAILED };
    let mut away = None;
    if replace {
        salvage::replace(&history, &fresh, &kept).map_err(store_error)?;
        away = Some(kept);
    }
    let mut out = std::io::stdout().lock();
    if json {
        let file = if away.is_some() { &history } else { &fresh };
        let told = json!({
            "runs": saved.runs, "rows": saved.rows, "lost": saved.lost, "file": file, "damaged": away,
        });
        json_output::pretty(&told, &mut out)?;
        return Ok(code);
    }
    let mut out = TerminalSafeWriter(&mut out);
    let file = shown(if away.is_some() { &history } else { &fresh });
    writeln!(out, "saved {} and {} in {file}", count(saved.runs, "run"), count(saved.rows, "row"))?;
    if !saved.lost.is_empty() {
        writeln!(out, "lost:")?;
    }
    for line in saved.lost.iter().take(SHOWN) {
        writeln!(out, "  {}", name(line))?;
    }
    if saved.lost.len() > SHOWN {
        writeln!(out, "  and {} more (--json shows all)", saved.lost.len() - SHOWN)?;
    }
    match away {
        Some(away) => writeln!(out, "the damaged history is kept as {}", shown(&away))?,
        None if whole => writeln!(out, "nothing was lost; {} was left as it is", shown(&history))?,
        None => writeln!(out, "the damaged history was left as it is")?,
    }
    if !replace {
        writeln!(out, "to use what was saved: synthdev runs salvage --replace")?;
    }
    Ok(code)
}

/// What was cut off before had told already what was lost.
fn finished(history: &Path, away: &Path, json: bool) -> Result<u8> {
    let mut out = std::io::stdout().lock();
    if json {
        json_output::pretty(&json!({"finished": true, "file": history, "damaged": away}), &mut out)?;
        return Ok(exit::COMPLETED);
    }
    let mut out = TerminalSafeWriter(&mut out);
    writeln!(out, "the replacement that was cut off is finished: {} is what was salvaged", shown(history))?;
    writeln!(out, "the damaged history is kept as {}", shown(away))?;
    Ok(exit::COMPLETED)
}

/// For the new history and for the damaged one; two calls in one second get two.
fn free_names(history: &Path) -> (PathBuf, PathBuf) {
    let stamp = stamp();
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
fn stamp() -> String {
    let now = jiff::Timestamp::from_millisecond(SystemClock.now().0).unwrap_or_default();
    now.strftime("%Y%m%d-%H%M%S").to_string()
}

fn shown(path: &Path) -> String {
    name(&path.display().to_string())
}

fn count(number: u64, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
