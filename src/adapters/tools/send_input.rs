//! `send_input`: what a background command reads: lines, an answer, keys of its terminal.
//!
//! It asks as a command does, because a shell or an interpreter executes what it reads. Refuses what no command line may do.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::ids::RunId;
use synthdev_domain::refused_commands::CommandText;
use synthdev_domain::tool::{ToolInvocation, ToolPreview, ToolRisk, ToolSpec};

use super::read_output::{USUAL_BYTES, answer_with_output};
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;

pub(super) const NAME: &str = "send_input";

/// Longest time that a call waits for an answer of the command, in seconds.
const LONGEST_WAIT: u64 = 60;

/// Bytes of one call.
const MOST_BYTES: usize = 64 * 1024;

#[derive(Deserialize)]
pub(super) struct SendInputArguments {
    id: String,
    input: String,
    #[serde(default)]
    end_input: bool,
    wait_seconds: Option<u64>,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Send input to a background command (execute_terminal with `background: true`), and get what it prints \
            then. The input is sent as it is: end a line with a line break. In a terminal (`pty: true`) control characters \
            are keys, such as \\u0003 for Ctrl-C."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["id", "input"], "properties": {
            "id": {"type": "string", "minLength": 1, "description": "The command, such as `c1`."},
            "input": {"type": "string", "description": "What is sent, such as `yes\\n`."},
            "end_input": {"type": "boolean", "default": false,
                "description": "Nothing follows: the command reads the end of its input (Ctrl-D in a terminal)."},
            "wait_seconds": {"type": "integer", "minimum": 0, "maximum": LONGEST_WAIT, "default": 2,
                "description": "Wait at most this long until the command prints something."}}}),
        risk: ToolRisk::Execute,
        repeat: None,
    }
}

/// Why no setting allows this call: a shell would execute the input.
pub(super) fn refusal(
    project: &ToolContext,
    arguments: &SendInputArguments,
    network: bool,
) -> Option<String> {
    project.command_refusal(CommandText::Line(&arguments.input), project.path_guard.root(), network)
}

/// Why nothing can be sent.
pub(super) fn call_problem(
    project: &ToolContext,
    call: &ToolInvocation,
    arguments: &SendInputArguments,
) -> Option<String> {
    project.background_commands.find(call.run.as_ref(), &arguments.id).err()
}

/// The input, with the command that reads it.
pub(super) fn preview_call(
    project: &ToolContext,
    call: &ToolInvocation,
    arguments: &SendInputArguments,
) -> ToolPreview {
    let text = match project.background_commands.find(call.run.as_ref(), &arguments.id) {
        Ok(command) => format!(
            "input for {}, which runs: {}\n{}",
            command.id(),
            command.record().command,
            arguments.input
        ),
        Err(problem) => format!("This call would fail: {problem}"),
    };
    ToolPreview::Text { text }
}

pub(super) async fn run_tool(
    project: &ToolContext,
    arguments: SendInputArguments,
    run: Option<&RunId>,
    network: bool,
) -> ToolAnswer {
    if let Some(why) = refusal(project, &arguments, network) {
        return ToolAnswer::failure(why);
    }
    if arguments.input.len() > MOST_BYTES {
        return ToolAnswer::failure(format!(
            "`input` has {} bytes and the limit is {MOST_BYTES}; write what is large into a file and let the command read it",
            arguments.input.len()
        ));
    }
    let command = match project.background_commands.find(run, &arguments.id) {
        Ok(command) => command,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    let before = command.progress().printed;
    if let Err(problem) = command.send(arguments.input.as_bytes(), arguments.end_input).await {
        return ToolAnswer::failure(problem);
    }
    let wait = Duration::from_secs(arguments.wait_seconds.unwrap_or(2));
    command.wait_until(wait, |progress| progress.printed > before || progress.end.is_some()).await;
    answer_with_output(project, &command, command.read_position(), USUAL_BYTES, wait).await
}
