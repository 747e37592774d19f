//! `read_output`: what a background command has printed and whether it still runs, and the whole text of an answer that
//! was too long (`output_id`).

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::ids::RunId;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::background_commands::BackgroundCommand;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use super::truncated_output::shorten_line;
use crate::sandbox::SandboxDenials;

pub(super) const NAME: &str = "read_output";

/// Bytes of one answer, unless the call says otherwise.
pub(super) const USUAL_BYTES: usize = 16 * 1024;
const MOST_BYTES: usize = 64 * 1024;

/// Longest time that a call waits, in seconds.
pub(super) const LONGEST_WAIT: u64 = 600;

/// What is printed in one go arrives in several pieces: the answer waits until nothing follows for so long.
const PAUSE: Duration = Duration::from_millis(100);
const MOST_PAUSES: u32 = 10;

#[derive(Deserialize)]
pub(super) struct ReadOutputArguments {
    id: Option<String>,
    from: Option<i64>,
    max_bytes: Option<usize>,
    wait_seconds: Option<u64>,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Read what a background command (execute_terminal with `background: true`) has printed, and whether \
            it still runs. Each call goes on where the last one ended, unless `from` says otherwise. Without `id`: a list \
            of the background commands."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "properties": {
            "id": {"type": "string", "minLength": 1, "description": "The command, such as `c1`."},
            "from": {"type": "integer",
                "description": "First byte to read, counted from 0; a negative number counts from the end (-2000: the last 2000 bytes)."},
            "max_bytes": {"type": "integer", "minimum": 1, "maximum": MOST_BYTES, "default": USUAL_BYTES,
                "description": "Most bytes to read."},
            "wait_seconds": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "default": 0,
                "description": "Wait at most this long for something new, or for the end of the command."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

pub(super) async fn run_tool(
    project: &ToolContext,
    arguments: ReadOutputArguments,
    run: Option<&RunId>,
) -> ToolAnswer {
    let Some(id) = &arguments.id else { return list_commands(project, run) };
    let command = match project.background_commands.find(run, id) {
        Ok(command) => command,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    let printed = command.progress().printed;
    let from = match arguments.from {
        None => command.read_position(),
        Some(from) if from < 0 => printed.saturating_sub(from.unsigned_abs()),
        Some(from) => from.unsigned_abs().min(printed),
    };
    let wait = Duration::from_secs(arguments.wait_seconds.unwrap_or(0));
    answer_with_output(project, &command, from, arguments.max_bytes.unwrap_or(USUAL_BYTES), wait).await
}

fn list_commands(project: &ToolContext, run: Option<&RunId>) -> ToolAnswer {
    let all = match project.background_commands.list(run) {
        Ok(all) => all,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    let line = |command: &BackgroundCommand| {
        let (record, progress) = (command.record(), command.progress());
        let place =
            if record.directory == "." { String::new() } else { format!(" (in {})", record.directory) };
        let status = progress.end.map_or_else(|| "running".to_owned(), |end| end.description);
        let line = shorten_line(&record.command, 200);
        format!("{}: {status}, {} bytes printed: {line}{place}\n", command.id(), progress.printed)
    };
    let body: String = all.iter().map(|command| line(command)).collect();
    ToolAnswer::success(format!("{} background commands", all.len()))
        .with_fact("commands", all.len())
        .body(body)
}

/// What was printed from there on, and the state of the command. Waits at most so long for something to be printed.
pub(super) async fn answer_with_output(
    project: &ToolContext,
    command: &BackgroundCommand,
    from: u64,
    most: usize,
    wait: Duration,
) -> ToolAnswer {
    command.wait_until(wait, |progress| progress.printed > from || progress.end.is_some()).await;
    for _ in 0..MOST_PAUSES {
        let seen = command.progress();
        let is_enough = seen.end.is_some() || seen.printed <= from || seen.printed - from >= most as u64;
        if wait.is_zero()
            || is_enough
            || !command
                .wait_until(PAUSE, |progress| progress.printed > seen.printed || progress.end.is_some())
                .await
        {
            break;
        }
    }
    let end = command.progress().end;
    // an answer has room for its first line
    let piece = match command.read(from, most.min(project.cap.saturating_sub(1024).max(256))) {
        Ok(piece) => piece,
        Err(error) => {
            return ToolAnswer::failure(format!("the output of {} cannot be read: {error}", command.id()));
        }
    };
    let (status, code) = match &end {
        None => ("running".to_owned(), None),
        Some(end) => (end.description.clone(), end.exit_code),
    };
    let mut answer = ToolAnswer::success(format!("{} {status}, {} bytes", command.id(), piece.text.len()))
        .with_fact("id", command.id())
        .with_fact("running", end.is_none())
        .with_fact("status", status);
    if let Some(code) = code {
        answer = answer.with_fact("exit_code", code);
    }
    answer =
        answer.with_fact("from", piece.start).with_fact("to", piece.end()).with_fact("printed", piece.total);
    if piece.start > from.saturating_add(3) {
        answer = answer
            .with_fact("notice", format!("{} bytes from {from} on are no longer kept", piece.start - from));
    }
    if let Some(end) = end {
        answer =
            answer.with_denials(&SandboxDenials { network: end.network_denied, ..SandboxDenials::default() });
    }
    answer.body(piece.text)
}
