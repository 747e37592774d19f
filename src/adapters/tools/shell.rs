//! `shell`: a workflow's own command, for its gates. Not offered to agents.
//!
//! With `args` the command is a program that no shell reads; without, a line for `sh`. Output and errors are kept apart,
//! so that conditions can read both. Started, limited and stopped like `execute_terminal`'s commands.
//! Refuses directories outside of the project.

use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use synthdev_domain::command_preview::{SHELL, scalar_text};
use synthdev_domain::ids::RunId;

use super::background_commands::{CommandRecord, OutputOwner};
use super::execute_terminal::{LONGEST, answer_for_exit, resolve_directory, with_denials};
use super::path_guard::error_reason;
use super::process::{self, CommandConfinement, EndedProcess, JobCommand, ProcessExit, ProcessJob};
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use synthdev_domain::refused_commands::CommandText;
use synthdev_ports::tool::ToolProgressSink;

pub(super) const NAME: &str = SHELL;

/// Bytes of the output that scripts get: conditions must not depend on what a model is shown. More does not fit, because the
/// result is recorded and stays in the run's memory, as that of an MCP server.
const STDOUT_BYTES: usize = 1 << 20;

/// A signal's number is added to this where a program has no exit code of its own, as shells do.
const BY_SIGNAL: i32 = 128;

#[derive(Deserialize)]
pub(super) struct ShellArguments {
    command: String,
    args: Option<Vec<Value>>,
    cwd: Option<String>,
    env: Option<Map<String, Value>>,
    timeout_seconds: Option<u64>,
}

pub(super) fn arguments_schema() -> Value {
    json!({"type": "object", "required": ["command"], "properties": {
        "command": {"type": "string", "minLength": 1},
        "args": {"type": "array"},
        "cwd": {"type": "string", "minLength": 1},
        "env": {"type": "object"},
        "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST}}})
}

/// Why no setting allows this call. One with wrong arguments is refused where it is run.
pub(super) fn command_refusal(
    project: &ToolContext,
    arguments: &ShellArguments,
    network: bool,
) -> Option<String> {
    if let Err(error) = project.path_guard.resolve_readable(working_directory(arguments)) {
        return Some(format!("`cwd`: {error}"));
    }
    let prepared = PreparedShellCommand::from_arguments(project, arguments).ok()?;
    project.command_refusal(command_text(arguments, prepared.args.as_deref()), &prepared.directory, network)
}

fn command_text<'a>(arguments: &'a ShellArguments, args: Option<&'a [String]>) -> CommandText<'a> {
    match args {
        Some(args) => CommandText::Program(&arguments.command, args),
        None => CommandText::Line(&arguments.command),
    }
}

pub(super) async fn run_tool(
    project: &ToolContext,
    arguments: ShellArguments,
    run: Option<&RunId>,
    confinement: CommandConfinement<'_>,
    progress: &dyn ToolProgressSink,
) -> ToolAnswer {
    let prepared = match PreparedShellCommand::from_arguments(project, &arguments) {
        Ok(prepared) => prepared,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    let network = confinement.network().is_open();
    let command = command_text(&arguments, prepared.args.as_deref());
    if let Some(why) = project.command_refusal(command, &prepared.directory, network) {
        return ToolAnswer::failure(why);
    }
    let record = CommandRecord::new(&arguments.command, working_directory(&arguments), false);
    let limit = arguments.timeout_seconds.map_or(project.terminal_timeout, Duration::from_secs);
    let job = ProcessJob {
        command: match &prepared.args {
            Some(args) => JobCommand::Program(&arguments.command, args),
            None => JobCommand::Line(&arguments.command),
        },
        directory: &prepared.directory,
        environment: &prepared.environment,
        separate_stderr: true,
        output_cap: STDOUT_BYTES.max(project.cap),
        terminal: false,
        confinement,
        own_sandbox: None,
        output_owner: run.map(|run| OutputOwner { run, record: record.clone() }),
        progress,
    };
    let started = Instant::now();
    match process::run_command(project, &job, limit).await {
        Ok(ended) => answer_for_process(ended, limit, started.elapsed()),
        Err(error) => {
            ToolAnswer::failure(format!("the command could not be started: {}", error_reason(&error)))
        }
    }
}

/// The arguments, checked.
struct PreparedShellCommand {
    args: Option<Vec<String>>,
    directory: PathBuf,
    environment: Vec<(String, String)>,
}

impl PreparedShellCommand {
    fn from_arguments(project: &ToolContext, arguments: &ShellArguments) -> Result<Self, String> {
        if arguments.command.contains('\0') {
            return Err("`command` must not contain NUL".to_owned());
        }
        if arguments.args.is_some() && arguments.command.starts_with('-') {
            return Err("`command` names a program: it must not begin with `-`".to_owned());
        }
        Ok(Self {
            args: arguments.args.as_deref().map(program_arguments).transpose()?,
            directory: resolve_directory(project, working_directory(arguments), "cwd")?.absolute,
            environment: arguments.env.as_ref().map_or(Ok(Vec::new()), environment_variables)?,
        })
    }
}

fn program_arguments(args: &[Value]) -> Result<Vec<String>, String> {
    let text = |(at, value): (usize, &Value)| {
        scalar_text(value)
            .filter(|text| !text.contains('\0'))
            .ok_or_else(|| format!("`args`[{at}] must be a text without NUL, a number or a boolean"))
    };
    args.iter().enumerate().map(text).collect()
}

fn working_directory(arguments: &ShellArguments) -> &str {
    arguments.cwd.as_deref().unwrap_or(".")
}

fn environment_variables(env: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let pair = |(name, value): (&String, &Value)| {
        let named = !name.is_empty() && !name.contains(['=', '\0']);
        let text = scalar_text(value).filter(|text| named && !text.contains('\0'));
        text.map(|text| (name.clone(), text)).ok_or_else(|| {
            format!("`env`: `{name}` must be a name without `=`, set to a text, a number or a boolean")
        })
    };
    env.iter().map(pair).collect()
}

fn answer_for_process(ended: EndedProcess, limit: Duration, took: Duration) -> ToolAnswer {
    let code = match &ended.exit {
        ProcessExit::Status(status) => {
            status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal))
        }
        ProcessExit::TimedOut | ProcessExit::Lost(_) => None,
    };
    let mut data = json!({
        "exit_code": code,
        "stdout": ended.output.text,
        "stderr": ended.errors.text,
        "timed_out": matches!(ended.exit, ProcessExit::TimedOut),
        "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    });
    // only where something is missing: the usual result is the same as ever
    for (name, stream) in [("stdout_cut", &ended.output), ("stderr_cut", &ended.errors)] {
        if stream.omitted_bytes > 0 {
            data[name] = true.into();
        }
    }
    let omitted = ended.output.omitted_bytes + ended.errors.omitted_bytes;
    let mut answer = answer_for_exit(&ended.exit, limit).with_fact("output_bytes_left_out", omitted);
    if let Some(id) = ended.output.output_id {
        data["output_id"] = id.as_str().into();
        answer = answer.with_output_id(id);
    }
    answer = answer.data(data);
    if let Some(notice) = ended.leftovers.notice_text() {
        answer = answer.with_fact("notice", notice);
    }
    let mut body = ended.output.text;
    if !ended.errors.text.is_empty() {
        let gap = if body.is_empty() || body.ends_with('\n') { "" } else { "\n" };
        body.push_str(&format!("{gap}--- errors ---\n{}", ended.errors.text));
    }
    answer.with_denials(&ended.denials).body(with_denials(body, &ended.denials.lines))
}
