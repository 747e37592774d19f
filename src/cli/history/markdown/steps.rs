//! The steps of a run: a heading each, below it the messages, calls, decisions and stored values.

use std::io::{self, Write};

use serde_json::Value;

use super::escape::{escape_code, escape_text, fenced_block};
use crate::event_lines;
use crate::output::time_text;
use synthdev_domain::context::MessageAuthor;
use synthdev_domain::ids::Timestamp;
use synthdev_engine::event::{RunEvent, StepEvent};

pub(super) fn write_all_steps(events: &[(Timestamp, StepEvent)], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "## Steps\n")?;
    let mut step = 0;
    for (at, event) in events {
        if let RunEvent::StateEntered { state, visit, agent, .. } = &event.event {
            step += 1;
            let visit = if *visit > 1 { format!(", visit {visit}") } else { String::new() };
            let agent = agent.as_ref().map(|agent| format!(" ({})", escape_text(agent))).unwrap_or_default();
            writeln!(out, "### {step}. {}{agent}{visit}\n\n{} UTC\n", escape_text(state), time_text(*at))?;
        } else {
            write_event(event, out)?;
        }
    }
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "one match: a case for each kind, a line or two in each")]
fn write_event(event: &RunEvent, out: &mut dyn Write) -> io::Result<()> {
    match event {
        RunEvent::MessageAdded { author, text: said, private, context, .. } => {
            let to = if *private { "privately in" } else { "in" };
            writeln!(
                out,
                "**{}** {to} {}:\n\n{}",
                author_of(author),
                escape_code(context),
                fenced_block(said, "")
            )
        }
        RunEvent::ToolStarted { agent, tool, arguments, .. } => {
            writeln!(
                out,
                "**{}** calls {}:\n\n{}",
                escape_text(agent),
                escape_code(tool),
                json_text(arguments)
            )
        }
        RunEvent::ToolFinished { tool, ok, content, summary, .. } => {
            let mark = if *ok { "✓" } else { "✗" };
            writeln!(
                out,
                "{mark} {}: {}\n\n{}",
                escape_code(tool),
                escape_text(summary),
                fenced_block(content, "")
            )
        }
        RunEvent::ToolRefused { agent, tool, reason } => {
            writeln!(
                out,
                "✗ {} of **{}** refused: {}\n",
                escape_code(tool),
                escape_text(agent),
                escape_text(reason)
            )
        }
        RunEvent::Decided { agent, tool, arguments } => {
            writeln!(
                out,
                "**{}** decides {}:\n\n{}",
                escape_text(agent),
                escape_code(tool),
                json_text(arguments)
            )
        }
        RunEvent::DataChanged { set, removed, .. } => {
            for (key, value) in set {
                writeln!(
                    out,
                    "{} is set:\n\n{}",
                    escape_code(&format!("common_data.{key}")),
                    json_text(value)
                )?;
            }
            removed.iter().try_for_each(|key| {
                writeln!(out, "{} is removed\n", escape_code(&format!("common_data.{key}")))
            })
        }
        RunEvent::Replied { agent, model, usage, text: said, tool_calls, .. } => {
            writeln!(
                out,
                "*{} answered ({}, {} tokens)*\n",
                escape_text(agent),
                escape_text(model),
                usage.total()
            )?;
            // a text beside calls is no message of its own
            if tool_calls.is_empty() || said.trim().is_empty() {
                return Ok(());
            }
            writeln!(out, "**{}**:\n\n{}", escape_text(agent), fenced_block(said, ""))
        }
        RunEvent::ModelFailed { code: error, reason, .. } => {
            writeln!(out, "✗ the model failed ({}):\n\n{}", escape_code(error), fenced_block(reason, ""))
        }
        RunEvent::Transitioned { from, to, .. } => {
            writeln!(out, "→ {} to {}\n", escape_code(from), escape_code(to))
        }
        RunEvent::Warning { text: warning, .. } => writeln!(out, "Warning: {}\n", escape_text(warning)),
        RunEvent::ChildStarted { workflow, .. } => {
            writeln!(out, "Workflow {} begins\n", escape_code(workflow))
        }
        RunEvent::ChildFinished { workflow, .. } => {
            writeln!(out, "Workflow {} ends\n", escape_code(workflow))
        }
        RunEvent::Resumed { .. } => writeln!(out, "*The run is resumed*\n"),
        RunEvent::Returned { step, state, fork_of, .. } => {
            let of = fork_of.as_ref().map(|run| format!(", as a fork of {run}")).unwrap_or_default();
            writeln!(
                out,
                "*The run goes back to before step {step} ({}){}*\n",
                escape_text(state),
                escape_text(&of)
            )
        }
        RunEvent::ApprovalAnswered { tool, decision, .. } => {
            let decision = serde_json::to_value(decision).unwrap_or_default();
            writeln!(out, "Approval of {}: {}\n", escape_code(tool), escape_code(&decision.to_string()))
        }
        other => match event_lines::event_line(other) {
            Some(line) => writeln!(out, "{}\n", escape_text(&line)),
            None => Ok(()),
        },
    }
}

fn author_of(author: &MessageAuthor) -> String {
    match author {
        MessageAuthor::Start => "starting message".to_owned(),
        MessageAuthor::Workflow => "workflow".to_owned(),
        MessageAuthor::Human => "person".to_owned(),
        MessageAuthor::Agent(agent) => escape_text(agent),
        MessageAuthor::Script => "script".to_owned(),
    }
}

/// Texts as they are, the rest as JSON.
fn json_text(value: &Value) -> String {
    match value {
        Value::String(text) => fenced_block(text, ""),
        other => fenced_block(&serde_json::to_string_pretty(other).unwrap_or_default(), "json"),
    }
}
