//! `runs show`.

use std::io::{self, Write};

use super::moments;
use super::words::{Clean, cost, name, names, one_line, time, tokens};
use crate::domain::journal::RunSummary;
use crate::domain::workflow::plain_text;
use crate::engine::event::RunEvent;
use crate::runtime::history::RunRecord;

/// # Errors
/// stdout cannot be written.
pub fn show(record: &RunRecord, json: bool, out: &mut dyn Write) -> io::Result<()> {
    if json {
        for (at, event) in &record.events {
            let line = crate::engine::event::Published {
                run: record.summary.id.clone(),
                at: *at,
                event: event.clone(),
            };
            serde_json::to_writer(&mut *out, &line)?;
            writeln!(out)?;
        }
        return Ok(());
    }
    let out = &mut Clean(out);
    head(&record.summary, out)?;
    writeln!(out)?;
    for (at, event) in &record.events {
        if let Some(line) = line(event) {
            writeln!(out, "{}  {line}", &time(*at)[11..])?;
        }
    }
    costs(record, out)?;
    if !record.open.is_empty() {
        writeln!(out, "\nthis run stopped in the middle; begun and never answered:")?;
        for intent in &record.open {
            writeln!(out, "  {}", one_line(intent, 160))?;
        }
    }
    Ok(())
}

fn head(run: &RunSummary, out: &mut dyn Write) -> io::Result<()> {
    let progress = &run.progress;
    writeln!(out, "run        {}", run.id)?;
    writeln!(
        out,
        "workflow   {} ({})",
        name(&run.workflow),
        run.definition_hash.get(..12).unwrap_or_default()
    )?;
    writeln!(out, "project    {}", name(&run.project))?;
    writeln!(out, "started    {} UTC", time(run.started))?;
    writeln!(out, "status     {}", progress.status.as_str())?;
    writeln!(out, "input      {}", one_line(&run.input, 200))?;
    writeln!(out, "path       {}", names(&progress.path, " > "))?;
    writeln!(out, "usage      {}, cost {}", tokens(&progress.usage), cost(progress.cost_usd))?;
    if let Some(snapshot) = &progress.snapshot {
        writeln!(out, "snapshot   {snapshot}   (undo: synthdev snapshot restore {snapshot})")?;
    }
    if let Some(error) = &progress.error {
        writeln!(out, "error      {}: {} {}", error.code, error.title, error.detail)?;
    }
    if let Some(output) = &progress.output {
        writeln!(out, "output     {}", plain_text(output))?;
    }
    Ok(())
}

fn costs(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    type Key = fn(&crate::domain::cost::CostEntry) -> &str;
    let keys: [(&str, Key); 3] =
        [("agent", |entry| &entry.agent), ("state", |entry| &entry.state), ("model", |entry| &entry.model)];
    if record.ledger.entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "\ncost")?;
    for (title, key) in keys {
        for (group, usage, usd) in record.ledger.grouped(key) {
            let group = name(&group);
            writeln!(out, "  {title:<6} {group:<28} {:>9} tokens  {}", usage.total(), cost(usd))?;
        }
    }
    Ok(())
}

/// One line of the timeline; `None` for what only a machine wants.
fn line(event: &RunEvent) -> Option<String> {
    Some(match event {
        RunEvent::StateEntered { state, visit, agent, .. } => {
            let agent = agent.as_ref().map(|agent| format!(" ({})", name(agent))).unwrap_or_default();
            format!("● {} #{visit}{agent}", name(state))
        }
        RunEvent::Transitioned { from, to, .. } => format!("  {} → {}", name(from), name(to)),
        RunEvent::MessageAdded { author, text, private, .. } => {
            let kind = if *private { " (private)" } else { "" };
            format!("  {author:?}{kind}: {}", one_line(text, 120))
        }
        RunEvent::ToolStarted { tool, arguments, .. } => {
            format!("  tool {} {}", name(tool), one_line(&arguments.to_string(), 100))
        }
        RunEvent::ToolFinished { tool, ok, summary, .. } => {
            format!("  {} {}: {}", if *ok { "✓" } else { "✗" }, name(tool), one_line(summary, 100))
        }
        RunEvent::ToolRefused { tool, reason, .. } => {
            format!("  ✗ {} refused: {}", name(tool), one_line(reason, 100))
        }
        RunEvent::Decided { agent, tool, arguments } => {
            format!("  {} decided {} {}", name(agent), name(tool), one_line(&arguments.to_string(), 120))
        }
        RunEvent::DataChanged { set, removed, .. } => {
            let mut changed: Vec<String> = set.keys().cloned().collect();
            changed.extend(removed.iter().map(|gone| format!("-{gone}")));
            format!("  common_data: {}", names(&changed, ", "))
        }
        RunEvent::Replied { agent, model, usage, duration_ms, .. } => {
            format!(
                "  {} answered ({}, {} tokens, {duration_ms} ms)",
                name(agent),
                name(model),
                usage.total()
            )
        }
        RunEvent::ModelFailed { code, reason, .. } => {
            format!("  model failed [{code}]: {}", one_line(reason, 120))
        }
        RunEvent::Warning { text, .. } => format!("  warning: {}", one_line(text, 140)),
        RunEvent::SnapshotTaken { id, label, .. } => format!("  snapshot {id}: {}", one_line(label, 80)),
        RunEvent::SnapshotFailed { reason } => format!("  no snapshot: {}", one_line(reason, 120)),
        RunEvent::ChildStarted { workflow, .. } => format!("  child {} started", name(workflow)),
        RunEvent::ChildFinished { workflow, .. } => format!("  child {} finished", name(workflow)),
        RunEvent::Finished { status, .. } => format!("■ {}", status.as_str()),
        other => return moments::line(other).map(|line| format!("  {line}")),
    })
}
