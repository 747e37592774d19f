//! `execute_terminal`: one shell command in the project, waited for or in the background.
//!
//! Owns the result for the agent. `process` starts, limits and stops the command, `background_commands` keeps what runs on.
//! Refuses directories outside of the project.

use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Duration;

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::command_preview::TERMINAL;
use synthdev_domain::ids::RunId;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::background_commands::{CommandRecord, OutputOwner};
use super::background_supervisor::start_command;
use super::path_guard::{ProjectPath, error_reason};
use super::process::{self, CommandConfinement, EndedProcess, JobCommand, ProcessExit, ProcessJob};
use super::read_output::{USUAL_BYTES, answer_with_output};
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use synthdev_domain::refused_commands::CommandText;
use synthdev_ports::tool::ToolProgressSink;

pub(super) const NAME: &str = TERMINAL;

/// Longest time a call may ask for, in seconds.
pub(super) const LONGEST: u64 = 3600;

/// How long a call waits whether a background command fails at once, and for its first words.
const FIRST_MOMENT: Duration = Duration::from_millis(300);

#[derive(Deserialize)]
pub(super) struct ExecuteTerminalArguments {
    command: String,
    timeout_seconds: Option<u64>,
    directory: Option<String>,
    #[serde(default)]
    background: bool,
    #[serde(default)]
    pty: bool,
}

pub(super) fn tool_spec(default: Duration) -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Run a shell command (`sh -c`) in the project's directory and get its output, standard output \
            and errors in the order they were written, and its exit code. There is no input, so it must not ask \
            questions. Processes left in the background are stopped when the command ends. For a server, a watcher or a \
            program that asks, set `background`: the call returns at once with an id, for read_output, send_input and \
            stop_command; the command ends at the latest when your work does."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["command"],
            "properties": {
                "command": {"type": "string", "minLength": 1, "description": "The command line, such as `ls -la`."},
                "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST, "default": default.as_secs(),
                    "description": "Stop the command after this many seconds. A background command has no limit by default."},
                "directory": {"type": "string", "minLength": 1, "default": ".",
                    "description": "Where it runs, relative to the project's directory."},
                "background": {"type": "boolean", "default": false,
                    "description": "Return at once and let the command run on."},
                "pty": {"type": "boolean", "default": false,
                    "description": "Give it a terminal of 80x24 characters, for programs that need one."}}}),
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
    match project.path_guard.resolve_readable(working_directory(arguments)) {
        Err(error) => Some(format!("`directory`: {error}")),
        Ok(place) => project.command_refusal(CommandText::Line(&arguments.command), &place.absolute, network),
    }
}

/// Why the command cannot be started.
pub(super) fn call_problem(project: &ToolContext, arguments: &ExecuteTerminalArguments) -> Option<String> {
    if arguments.command.contains('\0') {
        return Some("`command` must not contain NUL".to_owned());
    }
    resolve_directory(project, working_directory(arguments), "directory").err()
}

fn working_directory(arguments: &ExecuteTerminalArguments) -> &str {
    arguments.directory.as_deref().unwrap_or(".")
}

pub(super) async fn run_tool(
    project: &ToolContext,
    arguments: ExecuteTerminalArguments,
    run: Option<&RunId>,
    confinement: CommandConfinement<'_>,
    progress: &dyn ToolProgressSink,
) -> ToolAnswer {
    if arguments.command.contains('\0') {
        return ToolAnswer::failure("`command` must not contain NUL");
    }
    let directory = match resolve_directory(project, working_directory(&arguments), "directory") {
        Ok(directory) => directory,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    let network = confinement.network().is_open();
    let command = CommandText::Line(&arguments.command);
    if let Some(why) = project.command_refusal(command, &directory.absolute, network) {
        return ToolAnswer::failure(why);
    }
    let record = CommandRecord::new(&arguments.command, &directory.relative, arguments.pty);
    let job = ProcessJob {
        command: JobCommand::Line(&arguments.command),
        directory: &directory.absolute,
        environment: &[],
        separate_stderr: false,
        output_cap: project.cap,
        terminal: arguments.pty,
        confinement,
        own_sandbox: None,
        output_owner: run.map(|run| OutputOwner { run, record: record.clone() }),
        progress,
    };
    if arguments.background {
        return start_in_background(project, &job, record, arguments.timeout_seconds, run).await;
    }
    let limit = arguments.timeout_seconds.map_or(project.terminal_timeout, Duration::from_secs);
    let ended = match process::run_command(project, &job, limit).await {
        Ok(ended) => ended,
        Err(error) => {
            return ToolAnswer::failure(format!(
                "the command could not be started: {}",
                error_reason(&error)
            ));
        }
    };
    answer_for_process(ended, limit)
}

/// What a command that was waited for has printed, and how it ended.
pub(super) fn answer_for_process(ended: EndedProcess, limit: Duration) -> ToolAnswer {
    let mut answer =
        answer_for_exit(&ended.exit, limit).with_fact("output_bytes_left_out", ended.output.omitted_bytes);
    if let Some(id) = ended.output.output_id {
        answer = answer.with_output_id(id);
    }
    if let Some(notice) = ended.leftovers.notice_text() {
        answer = answer.with_fact("notice", notice);
    }
    answer.with_denials(&ended.denials).body(with_denials(ended.output.text, &ended.denials.lines))
}

/// A directory of the project, given as this argument.
///
/// # Errors
/// Why no command runs there.
pub(super) fn resolve_directory(
    project: &ToolContext,
    path: &str,
    argument: &str,
) -> Result<ProjectPath, String> {
    let place =
        project.path_guard.resolve_readable(path).map_err(|error| format!("`{argument}`: {error}"))?;
    if !place.absolute.is_dir() {
        return Err(format!("`{argument}`: there is no directory `{}`", place.relative));
    }
    Ok(place)
}

async fn start_in_background(
    project: &ToolContext,
    job: &ProcessJob<'_>,
    record: CommandRecord,
    timeout_seconds: Option<u64>,
    run: Option<&RunId>,
) -> ToolAnswer {
    let limit = timeout_seconds.map(Duration::from_secs);
    let command = match start_command(project, run, job, record, limit) {
        Ok(command) => command,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    command.wait_until(FIRST_MOMENT, |progress| progress.end.is_some()).await;
    let answer = answer_with_output(project, &command, 0, USUAL_BYTES, Duration::ZERO).await;
    match command.progress().end {
        Some(end) if end.exit_code != Some(0) => {
            answer.with_error(format!("it has ended already: {}", end.description))
        }
        _ => answer,
    }
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
    match (status.code(), status.signal()) {
        (Some(0), _) => ToolAnswer::success("exit 0").with_fact("exit_code", 0),
        (Some(code), _) => ToolAnswer::success(format!("exit {code}"))
            .with_error(format!("exit code {code}"))
            .with_fact("exit_code", code),
        (None, signal) => ToolAnswer::failure(format!("killed by signal {}", signal.unwrap_or_default())),
    }
}
