//! A run as Markdown: facts, every step with what was said and done, decisions, cost, result.
//!
//! Everything foreign stands in a fence that it cannot close, or is escaped.

mod escape;
mod steps;

use std::io::{self, Write};

use self::escape::{block, code, text};
use crate::output::{cost, time};
use synthdev_domain::cost::CostEntry;
use synthdev_domain::workflow::plain_text;
use synthdev_runtime::history::RunRecord;

/// # Errors
/// `out` cannot be written.
pub fn run(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let run = &record.summary;
    writeln!(out, "# {}: run {}\n", text(&run.workflow), text(run.id.as_str()))?;
    facts(record, out)?;
    writeln!(out, "\n## Input\n\n{}", block(&run.input, ""))?;
    steps::all(&record.events, out)?;
    if let Some(output) = &run.progress.output {
        let kind = if output.is_string() { "" } else { "json" };
        writeln!(out, "## Output\n\n{}", block(&plain_text(output), kind))?;
    }
    if let Some(error) = &run.progress.error {
        writeln!(out, "## Error\n\n{} {}\n", code(&error.code), text(&error.title))?;
        writeln!(out, "{}", block(&error.detail, ""))?;
        if let Some(hint) = &error.hint {
            writeln!(out, "Hint: {}\n", text(hint))?;
        }
    }
    costs(record, out)
}

fn facts(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    let (run, progress) = (&record.summary, &record.summary.progress);
    let path: Vec<String> = progress.path.iter().map(|state| code(state)).collect();
    let rows = [
        ("Run", code(run.id.as_str())),
        (
            "Workflow",
            format!("{} ({})", text(&run.workflow), code(run.definition_hash.get(..12).unwrap_or_default())),
        ),
        ("Project", code(&run.project)),
        ("Started", format!("{} UTC", time(run.started))),
        ("Last change", format!("{} UTC", time(progress.updated))),
        ("Status", progress.status.as_str().to_owned()),
        ("Tokens", progress.usage.total().to_string()),
        ("Cost", text(&cost(progress.cost_usd))),
        ("Path", path.join(" → ")),
    ];
    for (title, fact) in rows {
        writeln!(out, "- **{title}**: {fact}")?;
    }
    if let Some(origin) = &run.origin {
        writeln!(out, "- **Origin**: {}", text(&super::list::origin_text(origin, &run.id)))?;
    }
    for pause in &progress.pauses {
        writeln!(
            out,
            "- **Waits**: {} in {}: {}",
            pause.reason.as_str(),
            code(&pause.state),
            text(&pause.message)
        )?;
    }
    Ok(())
}

fn costs(record: &RunRecord, out: &mut dyn Write) -> io::Result<()> {
    type Key = fn(&CostEntry) -> &str;
    let keys: [(&str, Key); 3] =
        [("Agent", |entry| &entry.agent), ("State", |entry| &entry.state), ("Model", |entry| &entry.model)];
    if record.ledger.entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "## Cost\n\n| By | Name | In | Out | Cost |\n| --- | --- | ---: | ---: | ---: |")?;
    for (title, key) in keys {
        for (group, usage, usd) in record.ledger.grouped(key) {
            let (group, usd) = (text(&group), text(&cost(usd)));
            writeln!(out, "| {title} | {group} | {} | {} | {usd} |", usage.prompt, usage.completion)?;
        }
    }
    let (usage, usd) = (record.ledger.usage(), text(&cost(record.ledger.cost_usd())));
    writeln!(out, "| **All** | | {} | {} | {usd} |", usage.prompt, usage.completion)
}
