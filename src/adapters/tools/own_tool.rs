//! A tool that a user or a project defines: its command, with the arguments as JSON on its standard input.
//!
//! Runs as `execute_terminal`'s commands do, in the sandbox. Refuses arguments that its schema does not take.

use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use synthdev_domain::command_preview::quote_for_shell;
use synthdev_domain::ids::RunId;
use synthdev_domain::own_tool::OwnTool;
use synthdev_domain::refused_commands::{self, CommandText};
use synthdev_domain::sandbox::{NetworkAccess, SandboxMode};
use synthdev_domain::tool::{CommandReach, ToolInvocation, ToolPreview};
use synthdev_ports::tool::ToolProgressSink;

use super::background_commands::{CommandRecord, OutputOwner};
use super::confined_tool::ConfinedTool;
use super::execute_terminal::answer_for_process;
use super::path_guard::error_reason;
use super::process::{self, CommandConfinement, JobCommand, ProcessJob};
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;

/// Most bytes of the arguments: they reach the command through a shell, whose words have a limit.
const ARGUMENT_BYTES: usize = 100 * 1024;

/// Why no setting allows its command.
pub(super) fn command_refusal(
    project: &ToolContext,
    confined: &ConfinedTool,
    network: bool,
) -> Option<String> {
    let (program, arguments) = confined.definition().command.split_first()?;
    project.command_refusal(CommandText::Program(program, arguments), project.path_guard.root(), network)
}

pub(super) fn preview_call(
    project: &ToolContext,
    confined: &ConfinedTool,
    call: &ToolInvocation,
) -> ToolPreview {
    let tool = confined.definition();
    let words: Vec<String> = tool.command.iter().map(|word| quote_for_shell(word)).collect();
    let warning = tool.command.split_first().and_then(|(program, arguments)| {
        refused_commands::risk_warning(CommandText::Program(program, arguments))
    });
    ToolPreview::Command {
        command: format!("{} <<< {}", words.join(" "), quote_for_shell(&call.arguments.to_string())),
        cwd: ".".to_owned(),
        warning,
        ports: project.ports_for(&project.with_tool_ports(call)),
        background: false,
        reach: opened_reach(project, tool, call),
    }
}

/// What its definition opens, as far as the policy lets it.
fn opened_reach(project: &ToolContext, tool: &OwnTool, call: &ToolInvocation) -> CommandReach {
    let settings = project.sandbox.settings();
    if project.sandbox.is_disabled() {
        return CommandReach::default();
    }
    let writes = settings.mode != SandboxMode::ReadOnly;
    CommandReach {
        network: tool.network == Some(NetworkAccess::On) && project.network_for(call).is_open(),
        writable: if writes { tool.writable.clone() } else { Vec::new() },
        readable: tool.readable.clone(),
    }
}

pub(super) async fn run_tool(
    project: &ToolContext,
    confined: &ConfinedTool,
    arguments: &Value,
    run: Option<&RunId>,
    confinement: CommandConfinement<'_>,
    progress: &dyn ToolProgressSink,
) -> ToolAnswer {
    let tool = confined.definition();
    if let Err(problem) = check_arguments(tool, arguments) {
        return ToolAnswer::failure(problem);
    }
    if let Some(why) = command_refusal(project, confined, confinement.network().is_open()) {
        return ToolAnswer::failure(why);
    }
    let line = match command_line(tool, arguments) {
        Ok(line) => line,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    let limit = tool.timeout_seconds.map_or(project.terminal_timeout, Duration::from_secs);
    let job = ProcessJob {
        command: JobCommand::Line(&line),
        directory: project.path_guard.root(),
        environment: &[],
        separate_stderr: false,
        output_cap: project.cap,
        terminal: false,
        confinement,
        own_sandbox: confined.own_sandbox(),
        output_owner: run
            .map(|run| OutputOwner { run, record: CommandRecord::new(&tool.spec.name, ".", false) }),
        progress,
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
    answer_for_process(ended, limit)
}

/// Why the call is refused before its command is started.
pub(super) fn call_problem(confined: &ConfinedTool, arguments: &Value) -> Option<String> {
    let tool = confined.definition();
    check_arguments(tool, arguments).and_then(|()| command_line(tool, arguments)).err()
}

/// All that does not fit the tool's schema.
fn check_arguments(tool: &OwnTool, arguments: &Value) -> Result<(), String> {
    let validator = jsonschema::validator_for(&tool.spec.parameters)
        .map_err(|error| format!("the `parameters` of {} are no JSON Schema: {error}", tool.file))?;
    check_schema(&validator, arguments)
}

/// # Errors
/// All that does not fit, in one line.
pub(super) fn check_schema(validator: &jsonschema::Validator, arguments: &Value) -> Result<(), String> {
    let problems: Vec<String> = validator
        .iter_errors(arguments)
        .map(|error| match error.instance_path().to_string() {
            path if path.is_empty() => error.to_string(),
            path => format!("{path}: {error}"),
        })
        .collect();
    if problems.is_empty() { Ok(()) } else { Err(format!("invalid arguments: {}", problems.join("; "))) }
}

/// The command behind which the arguments stand, as its standard input. The mark is new each time, so that no argument
/// can end the input.
fn command_line(tool: &OwnTool, arguments: &Value) -> Result<String, String> {
    let text = arguments.to_string();
    if text.len() > ARGUMENT_BYTES {
        return Err(format!(
            "the arguments have {} bytes and the limit is {ARGUMENT_BYTES}; write what is large into a file and pass its path",
            text.len()
        ));
    }
    if text.contains('\0') {
        return Err("the arguments must not contain NUL".to_owned());
    }
    let words: Vec<String> =
        tool.command.iter().map(|word| format!("'{}'", word.replace('\'', "'\\''"))).collect();
    let mark = format!("END_{}", Uuid::new_v4().simple());
    Ok(format!("exec {} <<'{mark}'\n{text}\n{mark}\n", words.join(" ")))
}
