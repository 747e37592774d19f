//! The steps of a run: a heading each, below it the messages, calls, decisions and stored values.

use std::io::{self, Write};

use serde_json::Value;

use super::escape::{escape_code, escape_text, fenced_block};
use crate::event_lines::event_mark;
use crate::output::time_text;
use synthdev_domain::ids::Timestamp;
use synthdev_service::event_description::{EventContent, EventDescription, EventKind, describe_event};
use synthdev_service::run_events::StepEvent;

pub(super) fn write_all_steps(events: &[(Timestamp, StepEvent)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## Steps\n")?;
    let mut step = 0;
    for (at, event) in events {
        let words = describe_event(*at, event);
        match words.kind {
            EventKind::State => {
                step += 1;
                writeln!(out, "### {step}. {}\n\n{} UTC\n", escape_text(&words.title), time_text(*at))?;
            }
            EventKind::ModelCall | EventKind::Stream | EventKind::NextMessage => {}
            _ => write_event(&words, out)?,
        }
    }
    Ok(())
}

fn write_event(words: &EventDescription<'_>, out: &mut dyn Write) -> io::Result<()> {
    // the detail is the content in short, but for what a tool says of its result; a reply's text is a message
    let shows_detail = match words.kind {
        EventKind::Reply => false,
        EventKind::ToolResult => true,
        _ => words.content == EventContent::None,
    };
    let detail = if shows_detail { words.detail.as_ref() } else { "" };
    let title = match words.title.as_str() {
        "" => String::new(),
        title => format!("**{}**", escape_text(title)),
    };
    let between = match (detail, words.content) {
        ("", EventContent::None) => "",
        ("", _) => ":",
        _ => words.separator(),
    };
    writeln!(out, "{}{title}{between}{}\n", event_mark(words), escape_text(detail))?;
    for note in words.notes {
        writeln!(out, "- {}\n", escape_text(note))?;
    }
    match words.content {
        EventContent::None => Ok(()),
        EventContent::Text(text) => writeln!(out, "{}", fenced_block(text, "")),
        EventContent::Json(value) => writeln!(out, "{}", json_text(value)),
        EventContent::Values(set, removed) => {
            for (name, value) in set {
                writeln!(out, "{}:\n\n{}", escape_code(name), json_text(value))?;
            }
            removed.iter().try_for_each(|name| writeln!(out, "{} removed\n", escape_code(name)))
        }
    }
}

/// Texts as they are, the rest as JSON.
fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) => fenced_block(text, ""),
        other => fenced_block(&serde_json::to_string_pretty(other).unwrap_or_default(), "json"),
    }
}
