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

use synthdev_domain::command_preview::{SHELL, scalar};

use super::execute_terminal::{LONGEST, answer_for_exit, with_denials};
use super::path_guard::reason;
use super::process::{self, CommandConfinement, EndedProcess, JobCommand, ProcessExit, ProcessJob};
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use synthdev_domain::refused_commands::CommandText;

pub(super) const NAME: &str = SHELL;

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

pub(super) fn schema() -> Value {
    json!({"type": "object", "required": ["command"], "properties": {
        "command": {"type": "string", "minLength": 1},
        "args": {"type": "array"},
        "cwd": {"type": "string", "minLength": 1},
        "env": {"type": "object"},
        "timeout_seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST}}})
}

/// Why no setting allows this call. One with wrong arguments is refused where it is run.
pub(super) fn refusal(project: &ToolContext, arguments: &ShellArguments, network: bool) -> Option<String> {
    if let Err(error) = project.fence.readable(working_directory(arguments)) {
        return Some(format!("`cwd`: {error}"));
    }
    let prepared = PreparedShellCommand::from_arguments(project, arguments).ok()?;
    project.refusal(text(arguments, prepared.args.as_deref()), &prepared.directory, network)
}

fn text<'a>(arguments: &'a ShellArguments, args: Option<&'a [String]>) -> CommandText<'a> {
    match args {
        Some(args) => CommandText::Program(&arguments.command, args),
        None => CommandText::Line(&arguments.command),
    }
}

pub(super) async fn run(
    project: &ToolContext,
    arguments: ShellArguments,
    confinement: CommandConfinement<'_>,
) -> ToolAnswer {
    let prepared = match PreparedShellCommand::from_arguments(project, &arguments) {
        Ok(prepared) => prepared,
        Err(problem) => return ToolAnswer::failed(problem),
    };
    let network = confinement.network().is_open();
    let command = text(&arguments, prepared.args.as_deref());
    if let Some(why) = project.refusal(command, &prepared.directory, network) {
        return ToolAnswer::failed(why);
    }
    let limit = arguments.timeout_seconds.map_or(project.terminal_timeout, Duration::from_secs);
    let job = ProcessJob {
        what: match &prepared.args {
            Some(args) => JobCommand::Program(&arguments.command, args),
            None => JobCommand::Line(&arguments.command),
        },
        directory: &prepared.directory,
        environment: &prepared.environment,
        apart: true,
        confinement,
    };
    let started = Instant::now();
    match process::run(project, &job, limit).await {
        Ok(ended) => answer(ended, limit, started.elapsed()),
        Err(error) => ToolAnswer::failed(format!("the command could not be started: {}", reason(&error))),
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
            directory: directory(project, working_directory(arguments))?,
            environment: arguments.env.as_ref().map_or(Ok(Vec::new()), variables)?,
        })
    }
}

fn program_arguments(args: &[Value]) -> Result<Vec<String>, String> {
    let text = |(at, value): (usize, &Value)| {
        scalar(value)
            .filter(|text| !text.contains('\0'))
            .ok_or_else(|| format!("`args`[{at}] must be a text without NUL, a number or a boolean"))
    };
    args.iter().enumerate().map(text).collect()
}

fn working_directory(arguments: &ShellArguments) -> &str {
    arguments.cwd.as_deref().unwrap_or(".")
}

fn directory(project: &ToolContext, cwd: &str) -> Result<PathBuf, String> {
    let spot = project.fence.readable(cwd).map_err(|error| format!("`cwd`: {error}"))?;
    if !spot.absolute.is_dir() {
        return Err(format!("`cwd`: there is no directory `{}`", spot.relative));
    }
    Ok(spot.absolute)
}

fn variables(env: &Map<String, Value>) -> Result<Vec<(String, String)>, String> {
    let pair = |(name, value): (&String, &Value)| {
        let named = !name.is_empty() && !name.contains(['=', '\0']);
        let text = scalar(value).filter(|text| named && !text.contains('\0'));
        text.map(|text| (name.clone(), text)).ok_or_else(|| {
            format!("`env`: `{name}` must be a name without `=`, set to a text, a number or a boolean")
        })
    };
    env.iter().map(pair).collect()
}

fn answer(ended: EndedProcess, limit: Duration, took: Duration) -> ToolAnswer {
    let code = match &ended.exit {
        ProcessExit::Status(status) => {
            status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal))
        }
        ProcessExit::TimedOut | ProcessExit::Lost(_) => None,
    };
    let data = json!({
        "exit_code": code,
        "stdout": ended.output.text,
        "stderr": ended.errors.text,
        "timed_out": matches!(ended.exit, ProcessExit::TimedOut),
        "duration_ms": u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
    });
    let omitted = ended.output.omitted + ended.errors.omitted;
    let mut answer = answer_for_exit(&ended.exit, limit).fact("output_bytes_left_out", omitted).data(data);
    if let Some(notice) = ended.left_over.notice() {
        answer = answer.fact("notice", notice);
    }
    let mut body = ended.output.text;
    if !ended.errors.text.is_empty() {
        let gap = if body.is_empty() || body.ends_with('\n') { "" } else { "\n" };
        body.push_str(&format!("{gap}--- errors ---\n{}", ended.errors.text));
    }
    answer.denials(&ended.denials).body(with_denials(body, &ended.denials.lines))
}
