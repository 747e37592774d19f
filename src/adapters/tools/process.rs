//! One command with its whole process group: it is killed when the command ends, when its time is up, when the future
//! is dropped, and, through a small watcher, when this program itself is killed (ERR-11).
//!
//! The command leads a session of its own: it has no terminal, so that it can neither read the person's keys from
//! `/dev/tty` nor write across the screen.
//! Refuses input (there is none), secrets in the environment, and output without end.
//! A process that leaves the group on purpose (`setsid`) is not followed.

use std::ffi::OsString;
use std::io::{self, PipeReader, PipeWriter, Write};
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

use crate::adapters::sandbox::{Denials, ReadySandbox};
use crate::domain::sandbox::{NetworkAccess, ProcessLimits};

use super::capped::Capped;
use super::environment::secrets;
use super::project::Project;

/// How long a process that escaped the group may keep the output open after the command's end.
const DRAIN: Duration = Duration::from_millis(200);

/// How long the end of a namespace may take before what runs there counts as left behind.
const NAMESPACE_END: Duration = Duration::from_millis(50);

/// The watcher waits on a pipe that only we hold open: when it closes, we are gone, and the group that was named to it
/// has to go as well. It has a session of its own, so that no signal of the terminal ends it first.
const WATCHER: &str = "read -r group && { read -r _; kill -s KILL -- \"-$group\"; }";

/// Not looked for in `PATH`: a command may have put a program of this name there, and this one runs outside of the sandbox.
const SHELL: &str = "/bin/sh";

/// Holds the command back until the watcher knows its group; ends if we do not live to say so.
const LINE_GATE: &str = "read -r _ && exec sh -c \"$0\" </dev/null";

/// The same for a program with its arguments, which no shell reads.
const PROGRAM_GATE: &str = "read -r _ && exec \"$@\" </dev/null";

/// What is started, and where.
pub(super) struct Job<'a> {
    pub(super) what: What<'a>,
    /// Inside the project.
    pub(super) directory: &'a Path,
    /// Set on top of what the command inherits.
    pub(super) environment: &'a [(String, String)],
    /// Errors are kept apart from the output; else both are in the order in which they were written.
    pub(super) apart: bool,
    pub(super) confinement: Confinement,
}

/// What a command can reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Confinement {
    /// What the sandbox allows, with this network.
    Policy(NetworkAccess),
    /// The same with the network: the user has allowed it for this call.
    WithNetwork,
    /// All that the user reaches, who typed it, or has allowed it where no sandbox works.
    Nothing,
}

impl Confinement {
    pub(super) fn network(self) -> NetworkAccess {
        match self {
            Self::Policy(network) => network,
            Self::WithNetwork | Self::Nothing => NetworkAccess::On,
        }
    }
}

#[derive(Clone, Copy)]
pub(super) enum What<'a> {
    /// Read by `sh`.
    Line(&'a str),
    Program(&'a str, &'a [String]),
}

/// What came of it.
pub(super) struct Ended {
    pub(super) exit: Exit,
    /// Kept within the project's cap.
    pub(super) output: Text,
    /// Only where it is kept apart.
    pub(super) errors: Text,
    pub(super) left_over: LeftOver,
    pub(super) denials: Denials,
}

pub(super) enum Exit {
    Status(ExitStatus),
    TimedOut,
    Lost(io::Error),
}

#[derive(Default)]
pub(super) struct Text {
    pub(super) text: String,
    /// Bytes that the cap left out.
    pub(super) omitted: usize,
}

/// What held the output open when the command had ended. Processes that wrote elsewhere are stopped unseen.
#[derive(Clone, Copy)]
pub(super) enum LeftOver {
    Nothing,
    Stopped,
    /// It outlived its group's end.
    Escaped,
}

impl LeftOver {
    pub(super) fn notice(self) -> Option<&'static str> {
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
pub(super) async fn run(project: &Project, job: &Job<'_>, limit: Duration) -> io::Result<Ended> {
    let sandbox = match job.confinement {
        Confinement::Nothing => None,
        Confinement::Policy(_) | Confinement::WithNetwork => {
            project.sandbox.ready().map_err(io::Error::other)?
        }
    };
    let network = job.confinement.network();
    let before = sandbox.as_ref().map(|sandbox| sandbox.protected().state());
    let mut running = Running::start(
        project,
        job,
        sandbox.as_deref().map(|sandbox| (sandbox, network == NetworkAccess::On)),
    )?;
    let ended = timeout(limit, running.until_exit()).await;
    let left_over = running.finish().await;
    let exit = match ended {
        Ok(Ok(status)) => Exit::Status(status),
        Ok(Err(error)) => Exit::Lost(error),
        Err(_) => Exit::TimedOut,
    };
    let (output, errors) = (running.output.take(), running.errors.take());
    let mut denials = Denials::default();
    if let Some((sandbox, before)) = sandbox.zip(before) {
        let failed = !matches!(&exit, Exit::Status(status) if status.success());
        let printed = [output.text.as_str(), errors.text.as_str()].join("\n");
        denials = sandbox.denials(&printed, job.directory, failed, network);
        denials.lines.extend(sandbox.protected().restore(&before));
    }
    Ok(Ended { exit, output, errors, left_over, denials })
}

/// A running command. Dropping it kills the group and the watcher.
struct Running {
    /// Leader of its session and group.
    leader: Box<dyn ChildWrapper>,
    /// The group was killed. Its id may belong to somebody else by now: it is never used again.
    killed: bool,
    in_namespace: bool,
    _watcher: Box<dyn ChildWrapper>,
    /// Closes with us, whatever ends us; the watcher waits for that. Declared after it: it is stopped first.
    lifeline: PipeWriter,
    output: Stream,
    errors: Stream,
}

/// One of the command's streams, and what came of it so far.
struct Stream {
    /// `None` once it is closed.
    from: Option<Receiver>,
    kept: Capped,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill_group();
    }
}

impl Running {
    fn start(project: &Project, job: &Job<'_>, sandbox: Option<(&ReadySandbox, bool)>) -> io::Result<Self> {
        let (watched, lifeline) = io::pipe()?;
        let watcher = start_watcher(project, watched)?;
        let (gate, mut opener) = io::pipe()?;
        let (leader, output, errors) = start_leader(project, job, gate, sandbox)?;
        let group = leader.id();
        let stream = |from| Stream { from, kept: Capped::new(project.cap) };
        let mut running = Self {
            leader,
            killed: false,
            in_namespace: sandbox.is_some(),
            _watcher: watcher,
            lifeline,
            output: stream(Some(output)),
            errors: stream(errors),
        };
        let group = group.ok_or(io::ErrorKind::NotFound)?;
        if let Some((sandbox, _)) = sandbox {
            // it waits at the gate: what it starts inherits them
            limit(group, sandbox.policy().limits)?;
        }
        writeln!(running.lifeline, "{group}")?;
        writeln!(opener)?;
        Ok(running)
    }

    fn kill_group(&mut self) {
        if !std::mem::replace(&mut self.killed, true) {
            // an error means that nobody is left to be killed
            let _ = self.leader.start_kill();
        }
    }

    /// Collects output until the command itself has ended.
    async fn until_exit(&mut self) -> io::Result<ExitStatus> {
        // the command, not its group: a server left in the background must not keep us waiting
        let mut exit = self.leader.inner_mut().wait();
        loop {
            tokio::select! {
                status = &mut exit => return status,
                () = self.output.read(), if self.output.from.is_some() => {}
                () = self.errors.read(), if self.errors.from.is_some() => {}
            }
        }
    }

    /// Kills what is left of the group and collects the last output; tells what was left.
    async fn finish(&mut self) -> LeftOver {
        if self.in_namespace {
            // the first process of a namespace ends a little after the command, and holds its output until then
            let rest = async { tokio::join!(self.output.read_all(), self.errors.read_all()) };
            let _ = timeout(NAMESPACE_END, rest).await;
        }
        let open = [self.output.read_ready(), self.errors.read_ready()];
        self.kill_group();
        let rest = async { tokio::join!(self.output.read_all(), self.errors.read_all()) };
        let escaped = timeout(DRAIN, rest).await.is_err();
        // reap a command that timed out
        let _ = timeout(DRAIN, self.leader.inner_mut().wait()).await;
        match (open.contains(&true), escaped) {
            (_, true) => LeftOver::Escaped,
            (true, false) => LeftOver::Stopped,
            (false, false) => LeftOver::Nothing,
        }
    }
}

impl Stream {
    async fn read(&mut self) {
        let Some(from) = self.from.as_mut() else { return };
        let mut chunk = Vec::with_capacity(64 * 1024);
        match from.read_buf(&mut chunk).await {
            Ok(0) | Err(_) => self.from = None,
            Ok(_) => self.kept.push(&chunk),
        }
    }

    async fn read_all(&mut self) {
        while self.from.is_some() {
            self.read().await;
        }
    }

    /// Takes what is there without waiting; tells whether somebody still holds the stream open.
    fn read_ready(&mut self) -> bool {
        let mut chunk = vec![0; 64 * 1024];
        while let Some(from) = self.from.as_mut() {
            match from.try_read(&mut chunk) {
                Ok(0) => self.from = None,
                Ok(length) => self.kept.push(&chunk[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return true,
                Err(_) => self.from = None,
            }
        }
        false
    }

    /// What was printed, unchanged: models look for this very text in files.
    fn take(&mut self) -> Text {
        let omitted = self.kept.omitted();
        Text { text: std::mem::replace(&mut self.kept, Capped::new(0)).into_text(), omitted }
    }
}

fn start_watcher(project: &Project, watched: PipeReader) -> io::Result<Box<dyn ChildWrapper>> {
    let mut watcher = CommandWrap::with_new(SHELL, |command| {
        command.args(["-c", WATCHER]).current_dir(project.fence.root()).env_clear();
        command.stdin(Stdio::from(watched)).stdout(Stdio::null()).stderr(Stdio::null());
    });
    watcher.wrap(ProcessSession).wrap(KillOnDrop).spawn()
}

type Leader = (Box<dyn ChildWrapper>, Receiver, Option<Receiver>);

fn start_leader(
    project: &Project,
    job: &Job<'_>,
    gate: PipeReader,
    sandbox: Option<(&ReadySandbox, bool)>,
) -> io::Result<Leader> {
    let confined = sandbox.map(|(sandbox, network)| confined(job, sandbox, network)).transpose()?;
    let (output, writer) = io::pipe()?;
    let (errors, errors_writer) = if job.apart {
        let (errors, writer) = io::pipe()?;
        (Some(errors), writer)
    } else {
        (None, writer.try_clone()?)
    };
    let mut shell = CommandWrap::with_new(SHELL, |command| {
        match (&confined, job.what) {
            (Some((gate, arguments)), _) => command.args(["-c", gate, "sh"]).args(arguments),
            (None, What::Line(line)) => command.args(["-c", LINE_GATE, line]),
            (None, What::Program(program, arguments)) => {
                command.args(["-c", PROGRAM_GATE, "sh", program]).args(arguments)
            }
        };
        command.current_dir(job.directory);
        command.stdin(Stdio::from(gate)).stdout(Stdio::from(writer)).stderr(Stdio::from(errors_writer));
        // nothing may wait for a person, who cannot see it
        command.envs([("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")]);
        for name in secrets(&project.strip_env, std::env::vars_os().map(|(name, _)| name)) {
            command.env_remove(name);
        }
        if confined.is_none() {
            command.envs(job.environment.iter().map(|(name, value)| (name, value)));
        }
    });
    // `shell` holds our copies of the write ends; with them the output would never end, so it goes before we read
    let started = shell.wrap(ProcessSession).wrap(KillOnDrop).spawn();
    drop(shell);
    let errors = errors.map(|errors| Receiver::from_owned_fd(errors.into())).transpose()?;
    Ok((started?, Receiver::from_owned_fd(output.into())?, errors))
}

/// What opens the gate and the files that the layer reads, and the command within the layer.
fn confined(job: &Job<'_>, sandbox: &ReadySandbox, network: bool) -> io::Result<(String, Vec<OsString>)> {
    let arguments: Vec<OsString> = match job.what {
        What::Line(line) => ["sh", "-c", line].map(OsString::from).to_vec(),
        What::Program(program, arguments) => {
            std::iter::once(program).chain(arguments.iter().map(String::as_str)).map(OsString::from).collect()
        }
    };
    let wrapped = sandbox.wrap(&arguments, job.directory, job.environment, network)?;
    let mut gate = PROGRAM_GATE.to_owned();
    for (number, file) in wrapped.files {
        let file = file.to_string_lossy().replace('\'', "'\\''");
        gate.push_str(&format!(" {number}<'{file}'"));
    }
    Ok((gate, wrapped.arguments))
}

#[cfg(target_os = "linux")]
fn limit(process: u32, limits: ProcessLimits) -> io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    const MIB: u64 = 1 << 20;
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let processes = if limits.processes > 0 { limits.processes.saturating_add(tasks()) } else { 0 };
    let rows = [
        (Resource::Nproc, processes, 1),
        (Resource::As, limits.memory_mb, MIB),
        (Resource::Fsize, limits.file_mb, MIB),
    ];
    for (resource, most, unit) in rows.into_iter().filter(|(_, most, _)| *most > 0) {
        // the user's own limit may be lower already, and only root may raise it
        let own = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        let most = Some(most.saturating_mul(unit).min(own));
        prlimit(pid, resource, Rlimit { current: most, maximum: most })?;
    }
    prlimit(pid, Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
    Ok(())
}

/// Processes and threads that are there already: the kernel counts those of the user, not those of a command.
#[cfg(target_os = "linux")]
fn tasks() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = load.split_whitespace().nth(3).and_then(|tasks| tasks.split_once('/')?.1.parse().ok());
    tasks.unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn limit(_process: u32, _limits: ProcessLimits) -> io::Result<()> {
    Ok(())
}
