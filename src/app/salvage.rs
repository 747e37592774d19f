//! `runs salvage`: a damaged history becomes a new one with all that can be read.

use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::json;

use super::reading::of_store;
use super::wiring;
use super::world::World;
use crate::adapters::sqlite::salvage;
use crate::adapters::system::SystemClock;
use crate::cli::exit;
use crate::cli::words::{Clean, name};
use crate::ports::clock::Clock;

/// Lines of what was lost that people are shown; JSON has all.
const SHOWN: usize = 20;

pub(super) fn salvage(world: &World, replace: bool, json: bool) -> Result<u8> {
    let history = wiring::history(&world.dirs.data);
    let stamp = stamp();
    let fresh = history.with_file_name(format!("runs-salvaged-{stamp}.sqlite"));
    let saved = salvage::salvage(&history, &fresh).map_err(of_store)?;
    let whole = saved.lost.is_empty() && !replace;
    let mut away = None;
    if replace {
        let kept = history.with_file_name(format!("runs.sqlite.damaged-{stamp}"));
        salvage::replace(&history, &fresh, &kept).map_err(of_store)?;
        away = Some(kept);
    }
    let mut out = std::io::stdout().lock();
    if json {
        let file = if away.is_some() { &history } else { &fresh };
        let told = json!({
            "runs": saved.runs, "rows": saved.rows, "lost": saved.lost, "file": file, "damaged": away,
        });
        writeln!(out, "{told:#}")?;
        return Ok(exit::COMPLETED);
    }
    let mut out = Clean(&mut out);
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
    Ok(exit::COMPLETED)
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
