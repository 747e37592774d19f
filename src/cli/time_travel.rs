//! Output of `runs steps`, `fork`, `rewind` and `replay`.

mod replay_verdict;

use std::io::{self, Write};

use serde_json::{Value, json};

use super::json_output;
use super::output::{TerminalSafeWriter, safe_name, time_text};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunStatus, RunSummary};
use synthdev_domain::snapshot::SnapshotRestoreResult;
use synthdev_service::run_reports::RunStep;

pub use replay_verdict::write_replay_verdict;

/// A fork that was made.
pub struct ForkReport<'a> {
    pub run: &'a RunId,
    pub forked_from: &'a RunId,
    pub step: &'a RunStep,
    pub restored: Option<&'a SnapshotRestoreResult>,
    /// Notes for the user.
    pub notes: &'a [String],
    /// What resumes it.
    pub resume_command: &'a str,
}

/// Every step, with a mark for the run's position.
///
/// # Errors
/// stdout cannot be written.
pub fn write_steps(run: &RunSummary, steps: &[RunStep], json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        let rows: Vec<Value> = steps.iter().map(|step| step_json(run, steps, step)).collect();
        return json_output::write_pretty_json(&rows, out);
    }
    let out = &mut TerminalSafeWriter(out);
    if steps.is_empty() {
        return writeln!(out, "run {} has no steps yet", run.id);
    }
    let width = steps.iter().map(|step| step_title(step).chars().count()).max().unwrap_or(0).min(60);
    for step in steps {
        let mark = position_mark(run, steps, step);
        let arrow = if mark.is_some() { "→" } else { " " };
        let mark = mark.map(|mark| format!("  {mark}")).unwrap_or_default();
        let (clock, title, files) = (&time_text(step.at)[11..], step_title(step), step_files(step));
        let line = format!("{arrow} {:>4}  {clock}  {title:<width$}  {files}{mark}", step.step);
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// `review #2 (reviewer)`
fn step_title(step: &RunStep) -> String {
    let agent = step.agent.as_ref().map(|agent| format!(" ({})", safe_name(agent))).unwrap_or_default();
    let visit = if step.visit == 0 { String::new() } else { format!(" #{}", step.visit) };
    format!("{}{visit}{agent}", safe_name(&step.state))
}

fn step_files(step: &RunStep) -> String {
    match (&step.files, &step.within) {
        (None, _) => "-".to_owned(),
        (Some(id), Some(owner)) => format!("{id} (before {})", safe_name(owner)),
        (Some(id), None) if !step.exact => format!("{id} (older)"),
        (Some(id), None) => id.to_string(),
    }
}

fn step_json(run: &RunSummary, steps: &[RunStep], step: &RunStep) -> Value {
    let mut row = serde_json::to_value(step).unwrap_or_default();
    row["mark"] = position_mark(run, steps, step).into();
    row
}

/// The run's position: `next` before the step, else its status in it.
fn position_mark(run: &RunSummary, steps: &[RunStep], step: &RunStep) -> Option<&'static str> {
    if step.visit == 0 {
        return Some(if run.progress.status == RunStatus::Cancelled { "cancelled" } else { "next" });
    }
    let status = run.progress.status;
    if matches!(status, RunStatus::Completed | RunStatus::Cancelled)
        || steps.last().is_some_and(|last| last.visit == 0)
    {
        return None;
    }
    let waiting = run.progress.pauses.iter().map(|pause| pause.state.as_str());
    let failed = run.progress.error.as_ref().and_then(|error| error.state.as_deref());
    let places: Vec<&str> =
        if run.progress.pauses.is_empty() { failed.into_iter().collect() } else { waiting.collect() };
    let here = |place: &&str| steps.iter().rev().find(|one| one.state == **place).map(|one| one.step);
    let stands: Vec<u32> = places.iter().filter_map(here).collect();
    let last = stands.is_empty() && steps.last().map(|one| one.step) == Some(step.step);
    (last || stands.contains(&step.step)).then(|| status.as_str())
}

/// # Errors
/// stdout cannot be written.
pub fn write_fork(fork: &ForkReport<'_>, json: bool, out: &mut dyn Write) -> io::Result<()> {
    let ForkReport { run, forked_from: of, step: place, restored, notes, resume_command } = fork;
    if json {
        let told = json!({
            "run_id": run,
            "origin": {"run": of, "kind": "fork", "step": place.step},
            "step": place.step,
            "state": place.state,
            "files": place.files.as_ref().filter(|_| restored.is_some()),
            "restored": restored,
            "notes": notes,
        });
        return json_output::write_pretty_json(&told, out);
    }
    let out = &mut TerminalSafeWriter(out);
    writeln!(
        out,
        "run {run} is a fork of {of}: it starts before step {} ({})",
        place.step,
        safe_name(&place.state)
    )?;
    for note in *notes {
        writeln!(out, "note: {note}")?;
    }
    writeln!(out, "go on: {resume_command}")
}

/// # Errors
/// stdout cannot be written.
pub fn write_rewind(
    run: &RunId,
    place: &RunStep,
    resume_command: &str,
    out: &mut dyn Write,
) -> io::Result<()> {
    let out = &mut TerminalSafeWriter(out);
    writeln!(out, "run {run} is back before step {} ({})", place.step, safe_name(&place.state))?;
    writeln!(out, "go on: {resume_command}")
}
