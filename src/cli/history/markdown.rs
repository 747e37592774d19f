//! A run as Markdown: facts, every step with its messages and actions, decisions, cost, result.
//!
//! All foreign text is in a fence that it cannot close, or is escaped.

mod escape;
mod steps;

use std::io::{self, Write};

use self::escape::{escape_code, escape_text, fenced_block};
use crate::output::{cost_text, time_text};
use synthdev_domain::cost::CostEntry;
use synthdev_domain::workflow::plain_text;
use synthdev_service::run_reports::RunRecord;

/// # Errors
/// `out` cannot be written.
pub fn write_run_markdown(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let run = &record.summary;
    writeln!(out, "# {}: run {}\n", escape_text(&run.workflow), escape_text(run.id.as_str()))?;
    write_facts(record, out)?;
    writeln!(out, "\n## Input\n\n{}", fenced_block(&run.input, ""))?;
    steps::write_all_steps(&record.events, out)?;
    if let Some(output) = &run.progress.output {
        let kind = if output.is_string() { "" } else { "json" };
        writeln!(out, "## Output\n\n{}", fenced_block(&plain_text(output), kind))?;
    }
    if let Some(error) = &run.progress.error {
        writeln!(out, "## Error\n\n{} {}\n", escape_code(&error.code), escape_text(&error.title))?;
        writeln!(out, "{}", fenced_block(&error.detail, ""))?;
        if let Some(hint) = &error.hint {
            writeln!(out, "Hint: {}\n", escape_text(hint))?;
        }
    }
    write_costs(record, out)
}

fn write_facts(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let (run, progress) = (&record.summary, &record.summary.progress);
    let path: Vec<String> = progress.path.iter().map(|state| escape_code(state)).collect();
    let rows = [
        ("Run", escape_code(run.id.as_str())),
        (
            "Workflow",
            format!(
                "{} ({})",
                escape_text(&run.workflow),
                escape_code(run.definition_hash.get(..12).unwrap_or_default())
            ),
        ),
        ("Project", escape_code(&run.project)),
        ("Started", format!("{} UTC", time_text(run.started))),
        ("Last change", format!("{} UTC", time_text(progress.updated))),
        ("Status", progress.status.as_str().to_owned()),
        ("Tokens", progress.usage.total().to_string()),
        ("Cost", escape_text(&cost_text(progress.cost_usd))),
        ("Path", path.join(" → ")),
    ];
    for (title, fact) in rows {
        writeln!(out, "- **{title}**: {fact}")?;
    }
    if let Some(origin) = &run.origin {
        writeln!(out, "- **Origin**: {}", escape_text(&super::list::origin_text(origin, &run.id)))?;
    }
    for pause in &progress.pauses {
        writeln!(
            out,
            "- **Waits**: {} in {}: {}",
            pause.reason.as_str(),
            escape_code(&pause.state),
            escape_text(&pause.message)
        )?;
    }
    Ok(())
}

fn write_costs(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    type Key = fn(&CostEntry) -> &str;
    let keys: [(&str, Key); 3] =
        [("Agent", |entry| &entry.agent), ("State", |entry| &entry.state), ("Model", |entry| &entry.model)];
    if record.ledger.entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Cost\n\n| By | Name | In | Out | Cost |\n| --- | --- | ---: | ---: | ---: |")?;
    for (title, key) in keys {
        for (group, usage, usd) in record.ledger.group_costs_by(key) {
            let (group, usd) = (escape_text(&group), escape_text(&cost_text(usd)));
            writeln!(out, "| {title} | {group} | {} | {} | {usd} |", usage.prompt, usage.completion)?;
        }
    }
    let (usage, usd) = (record.ledger.usage(), escape_text(&cost_text(record.ledger.cost_usd())));
    writeln!(out, "| **All** | | {} | {} | {usd} |", usage.prompt, usage.completion)
}
