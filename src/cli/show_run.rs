//! `runs show`.

mod timeline;

use std::io::{self, Write};

use self::timeline::TimelineFormatter;
use super::json_output;
use super::output::{
    TerminalSafeWriter, cost_text, first_line, join_names, question_rows, safe_name, time_text, tokens_text,
};
use synthdev_domain::journal::{NEXT_MESSAGE, RunOriginKind, RunStatus, RunSummary};
use synthdev_domain::terminal_safe::escape_invisible;
use synthdev_domain::workflow::plain_text;
use synthdev_service::run_files::RunFilesStatus;
use synthdev_service::run_place::{RunOperation, RunPlace};
use synthdev_service::run_reports::RunRecord;

/// # Errors
/// stdout cannot be written.
pub fn write_run(
    record: &RunRecord,
    ground: &RunFilesStatus,
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if json {
        for (at, event) in &record.events {
            let line = synthdev_service::run_events::PublishedEvent {
                run: record.summary.id.clone(),
                at: *at,
                at_step: event.at_step,
                event: event.event.clone(),
            };
            json_output::write_json_line(&line, out)?;
        }
        return Ok(());
    }
    let out = &mut TerminalSafeWriter(out);
    write_heading(&record.summary, ground, out)?;
    if record.program.is_replay() {
        writeln!(
            out,
            "replay     replies come from a recording: the cost is that of the recorded run, $0 \
            spent now"
        )?;
    }
    writeln!(out)?;
    let mut timeline = TimelineFormatter::default();
    for (at, event) in &record.events {
        for line in timeline.lines(*at, event) {
            writeln!(out, "{}  {line}", &time_text(*at)[11..])?;
        }
    }
    write_costs(record, out)?;
    if let Some(files) = &record.pending_restore {
        writeln!(
            out,
            "\na restore of the files to snapshot {} was interrupted; snapshot {} has the files from \
                before it",
            files.to, files.safety
        )?;
    }
    if ground.merge_interrupted {
        writeln!(
            out,
            "\na merge of this run was interrupted; finish it with: synthdev runs merge {}",
            record.summary.id
        )?;
    }
    let operation =
        if record.program.is_conversation() { RunOperation::Reopen } else { RunOperation::Resume };
    write_next_commands(&record.summary, &ground.place, operation, out)?;
    if !record.unanswered_intents.is_empty() {
        let running = record.summary.progress.status == RunStatus::Running;
        let what = if running { "under way" } else { "this run was interrupted; calls that never finished" };
        writeln!(out, "\n{what}:")?;
        for intent in &record.unanswered_intents {
            writeln!(out, "  {}", first_line(intent, 160))?;
        }
    }
    Ok(())
}

fn write_heading(run: &RunSummary, ground: &RunFilesStatus, out: &mut dyn Write) -> io::Result<()> {
    let progress = &run.progress;
    writeln!(out, "run        {}", run.id)?;
    writeln!(
        out,
        "workflow   {} ({})",
        safe_name(&run.workflow),
        run.definition_hash.get(..12).unwrap_or_default()
    )?;
    writeln!(out, "project    {}", safe_name(&run.project))?;
    match &run.worktree {
        Some(tree) if tree.is_known() => {
            let gone = if ground.worktree_gone { "gone; it was " } else { "" };
            writeln!(out, "worktree   {gone}{} (branch {})", safe_name(&tree.path), safe_name(&tree.branch))?;
        }
        Some(_) => writeln!(out, "worktree   unknown: it was lost when the history was salvaged")?,
        None => {}
    }
    if let Some(origin) = &run.origin {
        let step = origin.step.map(|step| format!(" before step {step}")).unwrap_or_default();
        let from = match origin.kind {
            RunOriginKind::Fork | RunOriginKind::ForkOfImport => format!("fork of run {}{step}", origin.run),
            RunOriginKind::Import => format!("imported; there it was run {}", origin.run),
            RunOriginKind::Child => format!("child of run {}", origin.run),
        };
        writeln!(out, "from       {from}")?;
    }
    writeln!(out, "started    {} UTC", time_text(run.started))?;
    writeln!(out, "status     {}", progress.status_word())?;
    writeln!(out, "input      {}", first_line(&run.input, 200))?;
    writeln!(out, "path       {}", join_names(&progress.path, " > "))?;
    writeln!(out, "usage      {}, cost {}", tokens_text(&progress.usage), cost_text(progress.cost_usd))?;
    if let Some(snapshot) = &progress.snapshot {
        let undo = match &run.worktree {
            Some(tree) if tree.is_known() && !ground.worktree_gone => {
                format!("   (discard its files: synthdev runs discard {})", run.id)
            }
            Some(_) => String::new(),
            None if ground.undo => {
                format!("   (undo: {})", ground.place.command_line(&run.id, RunOperation::Undo))
            }
            None => String::new(),
        };
        writeln!(out, "snapshot   {snapshot}{undo}")?;
    }
    // what a conversation waits for is said below
    if let Some(error) = progress.error.as_ref().filter(|error| error.detail != NEXT_MESSAGE) {
        // it may quote what an agent wanted to execute
        writeln!(out, "error      {}: {} {}", error.code, error.title, escape_invisible(&error.detail))?;
    }
    if let Some(output) = &progress.output {
        writeln!(out, "output     {}", plain_text(output))?;
    }
    Ok(())
}

/// What the run waits for, and the commands that continue it. `operation` takes it up.
fn write_next_commands(
    run: &RunSummary,
    place: &RunPlace,
    operation: RunOperation,
    out: &mut dyn Write,
) -> io::Result<()> {
    let pauses = &run.progress.pauses;
    if !pauses.is_empty() {
        writeln!(out, "\nwaits for")?;
    }
    for pause in pauses {
        let kind = pause
            .kind
            .as_ref()
            .filter(|_| !pause.needs_no_answer())
            .map(|kind| format!(" ({})", safe_name(kind)))
            .unwrap_or_default();
        let (state, reason) = (safe_name(&pause.state), pause.reason.as_str());
        writeln!(out, "{}", question_rows(&format!("  {state}: {reason}{kind}"), pause).join("\n"))?;
        if !pause.choices.is_empty() {
            writeln!(out, "    one of: {}", join_names(&pause.choices, ", "))?;
        }
        if !pause.required_outputs.is_empty() {
            writeln!(out, "    needs: {}", join_names(&pause.required_outputs, ", "))?;
        }
    }
    let id = &run.id;
    match run.progress.status {
        RunStatus::Paused | RunStatus::Interrupted => {
            writeln!(out, "\ngo on: {}", place.command_line(id, operation))
        }
        RunStatus::Failed if !pauses.is_empty() => {
            writeln!(out, "\ntry the state again: {}", place.command_line(id, RunOperation::Retry))
        }
        RunStatus::Failed | RunStatus::Cancelled => {
            let rewind = place.command_line(id, RunOperation::Rewind { step: None });
            let fork = place.command_line(id, RunOperation::Fork { step: None, restores_files: false });
            writeln!(out, "\ngo back: {rewind}, or {fork}")
        }
        RunStatus::Running if !pauses.is_empty() => {
            writeln!(
                out,
                "\nthe process that drives the run asks the user; to answer here: synthdev runs pause \
                    {id}, then {}",
                place.command_line(id, operation)
            )
        }
        RunStatus::Running | RunStatus::Completed => Ok(()),
    }
}

fn write_costs(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    type Key = fn(&synthdev_domain::cost::CostEntry) -> &str;
    let keys: [(&str, Key); 3] =
        [("agent", |entry| &entry.agent), ("state", |entry| &entry.state), ("model", |entry| &entry.model)];
    if record.ledger.entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "\ncost")?;
    for (title, key) in keys {
        for (group, usage, usd) in record.ledger.group_costs_by(key) {
            let group = safe_name(&group);
            writeln!(out, "  {title:<6} {group:<28} {:>9} tokens  {}", usage.total(), cost_text(usd))?;
        }
    }
    Ok(())
}
