//! `execute_terminal`: one shell command in the project's directory.
//!
//! Owns the result for the agent. `process` starts, limits and stops the command.

use std::process::ExitStatus;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::command_preview::TERMINAL;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::path_guard::error_reason;
use super::process::{self, CommandConfinement, JobCommand, ProcessExit, ProcessJob};
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use synthdev_domain::refused_commands::CommandText;

pub(super) const NAME: &str = TERMINAL;

/// Longest time a call may ask for, in seconds.
pub(super) const LONGEST: u64 = 3600;

#[derive(Deserialize)]
pub(super) struct ExecuteTerminalArguments {
    command: String,
    timeout_seconds: Option<u64>,
}

pub(super) fn tool_spec(default: Duration) -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Run a shell command (`sh -c`) in the project's directory and get its output, standard output \
            and errors in the order they were written, and its exit code. There is no input, so it must not ask \
            questions. Processes left in the background are stopped when the command ends."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["command"],
            "properties": {
                "command": {"type": "string", "minLength": 1, "description": "The command line, such as `ls -la`."},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST, "default": default.as_secs(),
                    "description": "Stop the command after this many seconds."}}}),
        risk: ToolRisk::Execute,
        repeat: None,
    }
}

/// Why no setting allows this call.
pub(super) fn command_refusal(
    project: &ToolContext,
    arguments: &ExecuteTerminalArguments,
    network: bool,
) -> Option<String> {
    project.command_refusal(CommandText::Line(&arguments.command), project.path_guard.root(), network)
}

pub(super) async fn run_tool(
    project: &ToolContext,
    arguments: ExecuteTerminalArguments,
    confinement: CommandConfinement<'_>,
) -> ToolAnswer {
    if arguments.command.contains('\0') {
        return ToolAnswer::failure("`command` must not contain NUL");
    }
    let network = confinement.network().is_open();
    let command = CommandText::Line(&arguments.command);
    if let Some(why) = project.command_refusal(command, project.path_guard.root(), network) {
        return ToolAnswer::failure(why);
    }
    let limit = arguments.timeout_seconds.map_or(project.terminal_timeout, Duration::from_secs);
    let job = ProcessJob {
        command: JobCommand::Line(&arguments.command),
        directory: project.path_guard.root(),
        environment: &[],
        separate_stderr: false,
        confinement,
    };
    let ended = match process::run_command(project, &job, limit).await {
        Ok(ended) => ended,
        Err(error) => {
            return ToolAnswer::failure(format!(
                "the command could not be started: {}",
                error_reason(&error)
            ));
        }
    };
    let mut answer =
        answer_for_exit(&ended.exit, limit).with_fact("output_bytes_left_out", ended.output.omitted_bytes);
    if let Some(notice) = ended.leftovers.notice_text() {
        answer = answer.with_fact("notice", notice);
    }
    answer.with_denials(&ended.denials).body(with_denials(ended.output.text, &ended.denials.lines))
}

/// What the command printed, then what the sandbox has to say.
pub(super) fn with_denials(mut printed: String, lines: &[String]) -> String {
    if !printed.is_empty() && !printed.ends_with('\n') && !lines.is_empty() {
        printed.push('\n');
    }
    printed.push_str(&lines.join("\n"));
    printed
}

/// How a command ended, in words and numbers.
pub(super) fn answer_for_exit(exit: &ProcessExit, limit: Duration) -> ToolAnswer {
    match exit {
        ProcessExit::Status(status) => exit_answer(*status),
        ProcessExit::Lost(error) => {
            ToolAnswer::failure(format!("the command was lost: {}", error_reason(error)))
        }
        ProcessExit::TimedOut => {
            let problem = format!(
                "timed out after {} s; the command and its process group were stopped (a process that left the \
                 group, as with `setsid`, may still run)",
                limit.as_secs_f64()
            );
            ToolAnswer::failure(problem).with_fact("timed_out", true)
        }
    }
}

fn exit_answer(status: ExitStatus) -> ToolAnswer {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0), _) => ToolAnswer::success("exit 0").with_fact("exit_code", 0),
        (Some(code), _) => ToolAnswer::success(format!("exit {code}"))
            .with_error(format!("exit code {code}"))
            .with_fact("exit_code", code),
        (None, signal) => ToolAnswer::failure(format!("killed by signal {}", signal.unwrap_or_default())),
    }
}
