//! `stop_command`: ends a background command that this run has started. Refuses every other process.

use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::ids::RunId;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::read_output::{USUAL_BYTES, answer_with_output};
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;

pub(super) const NAME: &str = "stop_command";

/// Its processes are killed, so this is enough.
const LONGEST_END: Duration = Duration::from_secs(5);

#[derive(Deserialize)]
pub(super) struct StopCommandArguments {
    id: String,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Stop a background command (execute_terminal with `background: true`) with all of its processes, and \
            get what it has printed since the last reading."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["id"], "properties": {
            "id": {"type": "string", "minLength": 1, "description": "The command, such as `c1`."}}}),
        // it only ends what the same run has started
        risk: ToolRisk::Read,
        repeat: None,
    }
}

pub(super) async fn run_tool(
    project: &ToolContext,
    arguments: StopCommandArguments,
    run: Option<&RunId>,
) -> ToolAnswer {
    let command = match project.background_commands.find(run, &arguments.id) {
        Ok(command) => command,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    command.stop();
    let ended = command.wait_until(LONGEST_END, |progress| progress.end.is_some()).await;
    let answer =
        answer_with_output(project, &command, command.read_position(), USUAL_BYTES, Duration::ZERO).await;
    if ended {
        answer
    } else {
        answer.with_error(format!("{} has not ended yet; read its output later", command.id()))
    }
}
