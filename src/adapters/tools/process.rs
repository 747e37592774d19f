//! One command with its whole process group: it is killed when the command ends, when its time is up, when the future
//! is dropped, and, through a small watcher, when this program itself is killed.
//!
//! The command leads a session of its own: it has no terminal, so that it can neither read the user's keys from
//! `/dev/tty` nor write across the screen. Refuses input (there is none), secrets in the environment, and output
//! without end. A process that leaves the group on purpose (`setsid`) is not followed.

mod background;
mod job;
mod output_progress;
mod prestart;
mod process_limits;
mod pseudo_terminal;
mod start;
mod watcher_script;

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

use crate::sandbox::{CommandOutcome, ProtectedCommand, ReadySandbox, SandboxDenials};

use super::background_commands::{CommandEnd, END_OF_INPUT};
use super::path_guard::error_reason;
use super::retained_output::retain_output;
use super::tool_context::ToolContext;
use super::truncated_output::HeadTailBuffer;
pub(super) use background::{BackgroundProcess, FinishedProcess, ProcessEvent, start_background};
pub(super) use job::{CommandConfinement, JobCommand, ProcessJob};
use output_progress::OutputProgress;
pub(super) use prestart::PrestartedSandboxes;
use start::{CommandPipe, send_command};
pub(crate) use start::{ProcessGroup, ServerCommand, StartPlan, StartedProcess};

/// How long a process that escaped the group may keep the output open after the command's end.
const DRAIN: Duration = Duration::from_millis(200);

/// Reads of what a pipe holds when its command has ended: a pipe takes 64 KiB, in pieces of a page at least.
const MOST_READY: usize = 16;

/// How long a command's output may stay open after it before what holds it counts as left behind.
const OUTPUT_END: Duration = Duration::from_millis(50);

/// What runs on after its group was killed is ended by another process, where there is no namespace.
const STRAGGLERS_END: Duration = Duration::from_millis(20);

/// The result of a process.
pub(super) struct EndedProcess {
    pub(super) exit: ProcessExit,
    /// Kept within the job's cap.
    pub(super) output: CapturedText,
    /// Only where it is kept apart.
    pub(super) errors: CapturedText,
    pub(super) leftovers: LeftoverProcesses,
    pub(super) denials: SandboxDenials,
}

pub(super) enum ProcessExit {
    Status(ExitStatus),
    TimedOut,
    Lost(io::Error),
}

impl ProcessExit {
    /// In a few words, for a list.
    pub(super) fn description(&self) -> String {
        match self {
            Self::Status(status) => match status.code() {
                Some(code) => format!("exit {code}"),
                None => format!("killed by signal {}", status.signal().unwrap_or_default()),
            },
            Self::Lost(error) => format!("the command was lost: {}", error_reason(error)),
            Self::TimedOut => "stopped".to_owned(),
        }
    }
}

#[derive(Default)]
pub(super) struct CapturedText {
    pub(super) text: String,
    /// Bytes that the cap left out.
    pub(super) omitted_bytes: usize,
    /// What `read_output` calls all of it.
    pub(super) output_id: Option<String>,
}

/// What held the output open when the command had ended. Processes that wrote elsewhere are stopped unseen.
#[derive(Clone, Copy)]
pub(super) enum LeftoverProcesses {
    Nothing,
    Stopped,
    /// It outlived its group's end.
    Escaped,
}

impl LeftoverProcesses {
    pub(super) fn notice_text(self) -> Option<&'static str> {
        match self {
            Self::Nothing => None,
            Self::Stopped => Some("processes were still running in the background and have been stopped"),
            Self::Escaped => {
                Some("a process left the command's process group (as with `setsid`) and may still be running")
            }
        }
    }
}

/// Runs a command to its end, or for `limit`.
///
/// # Errors
/// It could not be started.
pub(super) async fn run_command(
    project: &ToolContext,
    job: &ProcessJob<'_>,
    limit: Duration,
) -> io::Result<EndedProcess> {
    // what is protected is dropped after the command's processes, if the command is stopped
    let (sandbox, protected) = begin_confined(project, job)?.unzip();
    let plan = if job.terminal {
        interactive_plan(project, job, sandbox.as_deref())?
    } else {
        StartPlan::for_job(project.path_guard.root(), &project.strip_env, job, sandbox.as_deref())?
    };
    let may_wait = !job.terminal && job.own_sandbox.is_none();
    let prestarted = if may_wait { project.prestarted_sandboxes.take_matching(&plan).await } else { None };
    let started = prestarted.map_or_else(|| plan.start_process(&project.liveness), Ok)?;
    let (mut commands, mut running) = RunningProcess::new(started, sandbox.is_some(), project.cap);
    running.output.buffer = HeadTailBuffer::new(job.output_cap);
    if job.output_owner.is_some() {
        running.output.keep_whole(job.output_cap);
    }
    let command_and_exit = async {
        if job.terminal {
            let _ = commands.write_all(END_OF_INPUT).await;
        } else if sandbox.is_some() {
            send_command(commands, job.command).await;
        }
        running.until_exit(OutputProgress::new(job.progress)).await
    };
    let ended = timeout(limit, command_and_exit).await;
    let left_over = running.finish_process().await;
    let exit = match ended {
        Ok(Ok(status)) => ProcessExit::Status(status),
        Ok(Err(error)) => ProcessExit::Lost(error),
        Err(_) => ProcessExit::TimedOut,
    };
    let output_id = retain_whole_output(project, job, &mut running.output, &exit).await;
    let (mut output, errors) = (running.output.take_text(), running.errors.take_text());
    output.output_id = output_id;
    if job.terminal {
        output.text = output.text.replace("\r\n", "\n");
    }
    let mut denials = SandboxDenials::default();
    if let Some((sandbox, protected)) = sandbox.zip(protected) {
        let failed = !matches!(&exit, ProcessExit::Status(status) if status.success());
        let code = if let ProcessExit::Status(status) = &exit { status.code() } else { None };
        let outcome = CommandOutcome {
            printed: [output.text.as_str(), errors.text.as_str()].join("\n"),
            failed,
            server_unreached: code.is_some_and(|code| job.command.exit_means_no_network(code)),
        };
        denials = sandbox.denial_lines(&outcome, job.directory, job.confinement.network());
        denials.lines.extend(running.group.close_ports().filter(|_| failed));
        denials.lines.extend(protected.finish_command());
        if matches!(job.confinement, CommandConfinement::Policy(_)) && may_wait {
            project.prestarted_sandboxes.prepare_next(&plan, &project.liveness);
        }
    }
    Ok(EndedProcess { exit, output, errors, leftovers: left_over, denials })
}

/// What `read_output` calls the output, if the answer does not hold all of it.
async fn retain_whole_output(
    project: &ToolContext,
    job: &ProcessJob<'_>,
    output: &mut ProcessStream,
    exit: &ProcessExit,
) -> Option<String> {
    let whole = output.buffer.take_whole_copy()?;
    let code = if let ProcessExit::Status(status) = exit { status.code() } else { None };
    let end = CommandEnd::new(exit.description(), code);
    retain_output(
        &project.background_commands,
        job.output_owner.as_ref()?,
        whole,
        job.output_cap as u64 / 2,
        end,
    )
    .await
}

/// What holds the command, and what it must not change.
///
/// # Errors
/// No layer works here, or the command cannot be written down.
fn begin_confined(
    project: &ToolContext,
    job: &ProcessJob<'_>,
) -> io::Result<Option<(Arc<ReadySandbox>, ProtectedCommand)>> {
    if job.command.has_nul() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a command must not contain NUL"));
    }
    match job.confinement {
        CommandConfinement::Nothing => Ok(None),
        CommandConfinement::Policy(_) | CommandConfinement::WithNetwork => {
            job.own_sandbox.unwrap_or(&project.sandbox).begin_command().map_err(io::Error::other)
        }
    }
}

/// # Errors
/// A file of the sandbox cannot be written, or there is no terminal.
fn interactive_plan(
    project: &ToolContext,
    job: &ProcessJob<'_>,
    sandbox: Option<&ReadySandbox>,
) -> io::Result<StartPlan> {
    let root = project.path_guard.root();
    StartPlan::for_interactive(root, &project.strip_env, job, sandbox, project.sandbox.helper())
}

/// A running command. Dropping it kills the group.
struct RunningProcess {
    group: ProcessGroup,
    sandboxed: bool,
    output: ProcessStream,
    errors: ProcessStream,
}

/// One of the command's streams, with its output so far.
struct ProcessStream {
    /// `None` once it is closed.
    receiver: Option<Receiver>,
    buffer: HeadTailBuffer,
}

impl Drop for RunningProcess {
    fn drop(&mut self) {
        if self.group.kill_group() && self.sandboxed && !self.group.wait_for_end() {
            std::thread::sleep(STRAGGLERS_END);
        }
    }
}

impl RunningProcess {
    fn new(started: StartedProcess, sandboxed: bool, cap: usize) -> (CommandPipe, Self) {
        let StartedProcess { group, commands, output, errors } = started;
        let stream = |from| ProcessStream { receiver: from, buffer: HeadTailBuffer::new(cap) };
        (commands, Self { group, sandboxed, output: stream(Some(output)), errors: stream(errors) })
    }

    /// Collects output until the command itself has ended.
    async fn until_exit(&mut self, mut progress: OutputProgress<'_>) -> io::Result<ExitStatus> {
        // the command, not its group: a server left in the background must not keep us waiting
        let mut exit = self.group.wait_leader();
        loop {
            tokio::select! {
                status = &mut exit => return status,
                chunk = self.output.next_chunk(), if self.output.receiver.is_some() => {
                    if let Some(chunk) = chunk {
                        progress.note_output(&chunk);
                        self.output.buffer.push(&chunk);
                    }
                }
                () = self.errors.read_available(), if self.errors.receiver.is_some() => {}
                () = progress.wait_until_due(), if progress.is_pending() => progress.report_line(),
            }
        }
    }

    async fn is_open_after_drain(&mut self) -> bool {
        let rest = async { tokio::join!(self.output.read_all(), self.errors.read_all()) };
        timeout(DRAIN, rest).await.is_err()
    }

    /// Kills the remaining processes of the group and collects the last output; returns what remained.
    async fn finish_process(&mut self) -> LeftoverProcesses {
        // the end of the output may arrive a little after that of the command, most of all when a namespace ends with
        // it
        let rest = async { tokio::join!(self.output.read_all(), self.errors.read_all()) };
        let _ = timeout(OUTPUT_END, rest).await;
        let open = [self.output.read_ready(), self.errors.read_ready()];
        self.group.kill_group();
        let mut escaped = self.is_open_after_drain().await;
        // reap a command that timed out
        let _ = timeout(DRAIN, self.group.wait_leader()).await;
        if self.sandboxed {
            self.group.wait_for_end();
            // a busy machine may have ended the namespace only now
            escaped = escaped && self.is_open_after_drain().await;
        }
        match (open.contains(&true), escaped) {
            (_, true) => LeftoverProcesses::Escaped,
            (true, false) => LeftoverProcesses::Stopped,
            (false, false) => LeftoverProcesses::Nothing,
        }
    }
}

impl ProcessStream {
    fn keep_whole(&mut self, cap: usize) {
        self.buffer = HeadTailBuffer::new(cap).with_whole_copy();
    }

    async fn read_available(&mut self) {
        if let Some(chunk) = self.next_chunk().await {
            self.buffer.push(&chunk);
        }
    }

    /// `None`: it has ended, as a terminal does with an error.
    async fn next_chunk(&mut self) -> Option<Vec<u8>> {
        let from = self.receiver.as_mut()?;
        let mut chunk = Vec::with_capacity(64 * 1024);
        match from.read_buf(&mut chunk).await {
            Ok(0) | Err(_) => self.receiver = None,
            Ok(_) => return Some(chunk),
        }
        None
    }

    async fn read_all(&mut self) {
        while self.receiver.is_some() {
            self.read_available().await;
        }
    }

    /// Reads what is available without waiting; returns whether a process still holds the stream open. A process that
    /// prints without end is not read to its end: at most the content of a full pipe is read.
    fn read_ready(&mut self) -> bool {
        let mut chunk = vec![0; 64 * 1024];
        for _ in 0..MOST_READY {
            let Some(from) = self.receiver.as_mut() else { return false };
            match from.try_read(&mut chunk) {
                Ok(0) => self.receiver = None,
                Ok(length) => self.buffer.push(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => self.receiver = None,
            }
        }
        self.receiver.is_some()
    }

    /// What was printed, unchanged: models look for this very text in files.
    fn take_text(&mut self) -> CapturedText {
        let omitted = self.buffer.omitted_bytes();
        CapturedText {
            text: std::mem::replace(&mut self.buffer, HeadTailBuffer::new(0)).into_text(),
            omitted_bytes: omitted,
            output_id: None,
        }
    }
}
