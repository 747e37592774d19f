//! What a replay came to, in words and as a diff.

use std::io::{self, Write};

use serde_json::{Value, json};

use crate::json_output;
use crate::output::{TerminalSafeWriter, first_line, time_text};
use synthdev_domain::ids::RunId;
use synthdev_domain::line_diff::diff_json_values;
use synthdev_service::run_events::RunEvent;
use synthdev_service::run_reports::ReplayVerdict;

/// Events of a diverging input that are shown.
const MOST_EVENTS: usize = 5;

/// # Errors
/// stdout cannot be written.
pub fn write_replay_verdict(
    run: &RunId,
    verdict: &ReplayVerdict,
    json: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    if json {
        return json_output::write_pretty_json(&as_data(run, verdict), out);
    }
    let out = &mut TerminalSafeWriter(out);
    match verdict {
        ReplayVerdict::Same { inputs, events } => {
            writeln!(out, "run {run}: the same {events} events from {inputs} inputs")
        }
        ReplayVerdict::Differs {
            input,
            at,
            diverging_input: what,
            recorded,
            recorded_requests: asked,
            replayed_events: now,
        } => {
            let what = serde_json::to_value(what).unwrap_or_default();
            let kind = what["input"].as_str().unwrap_or("input").to_owned();
            writeln!(
                out,
                "run {run}: input {input} ({kind}, {} UTC) now has a different result",
                time_text(*at)
            )?;
            writeln!(out, "  the input: {}", first_line(&what.to_string(), 400))?;
            let asks = request_diff(recorded, asked);
            if asks.is_empty() {
                writeln!(
                    out,
                    "the requested effects are the same, but the events differ; only their fingerprint \
                        was recorded. They are now:"
                )?;
                return write_events(now, out);
            }
            writeln!(out, "requested effects (-: recorded, +: now):")?;
            write!(out, "{asks}")?;
            writeln!(out, "its current events:")?;
            write_events(now, out)
        }
    }
}

/// Lines of JSON that differ; empty if none do.
fn request_diff(recorded: &[String], asked: &[String]) -> String {
    let parsed = |texts: &[String]| texts.iter().map(|text| parse_json_or_text(text)).collect::<Vec<Value>>();
    let (then, now) = (parsed(recorded), parsed(asked));
    if then == now { String::new() } else { diff_json_values(&then.into(), &now.into()) }
}

fn parse_json_or_text(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn write_events(now: &[RunEvent], out: &mut dyn Write) -> io::Result<()> {
    if now.is_empty() {
        return writeln!(out, "  none: nothing waits for this input");
    }
    for event in now.iter().take(MOST_EVENTS) {
        writeln!(out, "  {}", first_line(&serde_json::to_string(event)?, 400))?;
    }
    match now.len().saturating_sub(MOST_EVENTS) {
        0 => Ok(()),
        more => writeln!(out, "  and {more} more"),
    }
}

fn as_data(run: &RunId, verdict: &ReplayVerdict) -> Value {
    match verdict {
        ReplayVerdict::Same { inputs, events } => {
            json!({"run_id": run, "same": true, "inputs": inputs, "events": events})
        }
        ReplayVerdict::Differs {
            input,
            at,
            diverging_input: what,
            recorded,
            recorded_requests: asked,
            replayed_events: now,
        } => json!({
            "run_id": run,
            "same": false,
            "input": input,
            "at": at,
            "what": what,
            "recorded": recorded.iter().map(|text| parse_json_or_text(text)).collect::<Vec<_>>(),
            "asked": asked.iter().map(|text| parse_json_or_text(text)).collect::<Vec<_>>(),
            "diff": request_diff(recorded, asked),
            "now": now,
        }),
    }
}
