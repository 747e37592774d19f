//! `execute_terminal`: one shell command in the project's directory (TOOL-9).
//!
//! Owns the command's whole process group: it is killed when the command ends, when its time is up, when the future is
//! dropped, and, through a small watcher, when this program itself is killed (ERR-11).
//! The command leads a session of its own: it has no terminal, so that it can neither read the person's keys from
//! `/dev/tty` nor write across the screen.
//! Refuses input (there is none), secrets in the environment, and output without end.
//! A process that leaves the group on purpose (`setsid`) is not followed.

use std::io::{self, PipeReader, PipeWriter, Write};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use serde::Deserialize;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

use crate::domain::tool::{ToolPreview, ToolRisk, ToolSpec};

use super::answer::Answer;
use super::capped::Capped;
use super::environment::secrets;
use super::fence::reason;
use super::project::Project;
use super::risky;

pub(super) const NAME: &str = "execute_terminal";

/// Longest time a call may ask for, in seconds.
const LONGEST: u64 = 3600;

/// How long a process that escaped the group may keep the output open after the command's end.
const DRAIN: Duration = Duration::from_millis(200);

/// The watcher waits on a pipe that only we hold open: when it closes, we are gone, and the group that was named to it
/// has to go as well. It has a session of its own, so that no signal of the terminal ends it first.
const WATCHER: &str = "read -r group && { read -r _; kill -s KILL -- \"-$group\"; }";

/// Holds the command back until the watcher knows its group; ends if we do not live to say so.
const GATE: &str = "read -r _ && exec sh -c \"$0\" </dev/null";

#[derive(Deserialize)]
pub(super) struct Arguments {
    command: String,
    timeout_seconds: Option<u64>,
}

pub(super) fn spec(default: Duration) -> ToolSpec {
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
    }
}

pub(super) fn preview(arguments: Arguments) -> ToolPreview {
    let warning = risky::warning(&arguments.command);
    ToolPreview::Command { command: arguments.command, cwd: ".".to_owned(), warning }
}

/// A running command. Dropping it kills the group and the watcher.
struct Running {
    /// Leader of its session and group.
    shell: Box<dyn ChildWrapper>,
    /// The group was killed. Its id may belong to somebody else by now: it is never used again.
    killed: bool,
    _watcher: Box<dyn ChildWrapper>,
    /// Closes with us, whatever ends us; the watcher waits for that. Declared after it: it is stopped first.
    lifeline: PipeWriter,
    output: Receiver,
    text: Capped,
}

/// What held the output open when the command had ended. Processes that wrote elsewhere are stopped unseen.
#[derive(Clone, Copy)]
enum LeftOver {
    Nothing,
    Stopped,
    /// It outlived its group's end.
    Escaped,
}

impl LeftOver {
    fn notice(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Stopped => Some("processes were still running in the background and have been stopped"),
            Self::Escaped => {
                Some("a process left the command's process group (as with `setsid`) and may still be running")
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
    }
}

pub(super) async fn run(project: &Project, arguments: Arguments) -> Answer {
    if arguments.command.contains('\0') {
        return Answer::failed("`command` must not contain NUL");
    }
    let limit = arguments.timeout_seconds.map_or(project.terminal_timeout, Duration::from_secs);
    let mut running = match Running::start(project, &arguments.command) {
        Ok(running) => running,
        Err(error) => return Answer::failed(format!("the command could not be started: {}", reason(&error))),
    };
    let ended = timeout(limit, running.until_exit()).await;
    let left_over = running.finish().await.notice();
    let omitted = running.text.omitted();
    let text = std::mem::replace(&mut running.text, Capped::new(0)).into_text();
    let answer = match ended {
        Ok(Ok(status)) => exited(status),
        Ok(Err(error)) => Answer::failed(format!("the command was lost: {}", reason(&error))),
        Err(_) => {
            let problem = format!(
                "timed out after {} s; the command and its process group were stopped (a process that left the \
                 group, as with `setsid`, may still run)",
                limit.as_secs_f64()
            );
            Answer::failed(problem).fact("timed_out", true)
        }
    };
    let mut answer = answer.fact("output_bytes_left_out", omitted);
    if let Some(notice) = left_over {
        answer = answer.fact("notice", notice);
    }
    answer.body(without_root(&text, &project.fence.root().to_string_lossy()))
}

fn exited(status: ExitStatus) -> Answer {
    use std::os::unix::process::ExitStatusExt;
    match (status.code(), status.signal()) {
        (Some(0), _) => Answer::succeeded("exit 0").fact("exit_code", 0),
        (Some(code), _) => Answer::succeeded(format!("exit {code}"))
            .with_error(format!("exit code {code}"))
            .fact("exit_code", code),
        (None, signal) => Answer::failed(format!("killed by signal {}", signal.unwrap_or_default())),
    }
}

impl Running {
    fn start(project: &Project, line: &str) -> io::Result<Self> {
        let (watched, lifeline) = io::pipe()?;
        let watcher = start_watcher(project, watched)?;
        let (gate, mut opener) = io::pipe()?;
        let (shell, output) = start_shell(project, line, gate)?;
        let group = shell.id();
        let mut running = Self {
            shell,
            killed: false,
            _watcher: watcher,
            lifeline,
            output,
            text: Capped::new(project.cap),
        };
        let group = group.ok_or(io::ErrorKind::NotFound)?;
        writeln!(running.lifeline, "{group}")?;
        writeln!(opener)?;
        Ok(running)
    }

    fn kill_group(&mut self) {
        if !std::mem::replace(&mut self.killed, true) {
            // an error means that nobody is left to be killed
            let _ = self.shell.start_kill();
        }
    }

    /// Collects output until the shell itself has ended.
    async fn until_exit(&mut self) -> io::Result<ExitStatus> {
        let mut chunk = vec![0; 64 * 1024];
        let mut open = true;
        // the shell, not the group: a server left in the background must not keep us waiting
        let mut exit = self.shell.inner_mut().wait();
        loop {
            tokio::select! {
                status = &mut exit => return status,
                read = self.output.read(&mut chunk), if open => match read {
                    Ok(0) | Err(_) => open = false,
                    Ok(length) => self.text.push(&chunk[..length]),
                },
            }
        }
    }

    /// Kills what is left of the group and collects the last output; tells what was left.
    async fn finish(&mut self) -> LeftOver {
        let mut chunk = vec![0; 64 * 1024];
        let still_open = self.drain_ready(&mut chunk);
        self.kill_group();
        let rest = async {
            while let Ok(length @ 1..) = self.output.read(&mut chunk).await {
                self.text.push(&chunk[..length]);
            }
        };
        let escaped = timeout(DRAIN, rest).await.is_err();
        // reap the shell of a command that timed out
        let _ = timeout(DRAIN, self.shell.inner_mut().wait()).await;
        match (still_open, escaped) {
            (_, true) => LeftOver::Escaped,
            (true, false) => LeftOver::Stopped,
            (false, false) => LeftOver::Nothing,
        }
    }

    /// Takes what is there without waiting; tells whether somebody still holds the output open.
    fn drain_ready(&mut self, chunk: &mut [u8]) -> bool {
        loop {
            match self.output.try_read(chunk) {
                Ok(0) => return false,
                Ok(length) => self.text.push(&chunk[..length]),
                Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }
}

fn start_watcher(project: &Project, watched: PipeReader) -> io::Result<Box<dyn ChildWrapper>> {
    let mut watcher = CommandWrap::with_new("sh", |command| {
        command.args(["-c", WATCHER]).current_dir(project.fence.root()).env_clear();
        command.stdin(Stdio::from(watched)).stdout(Stdio::null()).stderr(Stdio::null());
    });
    watcher.wrap(ProcessSession).wrap(KillOnDrop).spawn()
}

fn start_shell(
    project: &Project,
    line: &str,
    gate: PipeReader,
) -> io::Result<(Box<dyn ChildWrapper>, Receiver)> {
    let (output, writer) = io::pipe()?;
    let errors = writer.try_clone()?;
    let mut shell = CommandWrap::with_new("sh", |command| {
        command.args(["-c", GATE, line]).current_dir(project.fence.root());
        command.stdin(Stdio::from(gate)).stdout(Stdio::from(writer)).stderr(Stdio::from(errors));
        // nothing may wait for a person, who cannot see it
        command.envs([("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")]);
        for name in secrets(&project.strip_env, std::env::vars_os().map(|(name, _)| name)) {
            command.env_remove(name);
        }
    });
    // `shell` holds our copies of the write end; with them the output would never end, so it goes before we read
    let started = shell.wrap(ProcessSession).wrap(KillOnDrop).spawn();
    drop(shell);
    Ok((started?, Receiver::from_owned_fd(output.into())?))
}

/// The project's own place on this machine is nobody's business: `/home/x/project/src` becomes `./src`.
fn without_root(text: &str, root: &str) -> String {
    let inside_a_name = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(root).filter(|_| root.len() > 1) {
        let (before, found) = rest.split_at(at);
        let after = &found[root.len()..];
        let longer = after.starts_with(inside_a_name) || before.ends_with(inside_a_name);
        shown.push_str(before);
        shown.push_str(if longer { root } else { "." });
        rest = after;
    }
    shown.push_str(rest);
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_root_is_not_shown() {
        for (text, expected) in [
            ("/home/x/p/src/a.rs:1", "./src/a.rs:1"),
            ("/home/x/p", "."),
            ("in /home/x/p\n", "in .\n"),
            ("/home/x/pretty", "/home/x/pretty"),
            ("/mnt/home/x/p", "/mnt/home/x/p"),
            ("/home/x/p /home/x/p/b", ". ./b"),
        ] {
            assert_eq!(without_root(text, "/home/x/p"), expected);
        }
    }
}
