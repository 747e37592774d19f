//! How the process of a command is started: held back until its limits are set and its watcher knows it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, PipeReader, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};

use futures_util::future::BoxFuture;
use process_wrap::tokio::{ChildWrapper, CommandWrap, KillOnDrop, ProcessSession};
use tokio::io::{AsyncWrite, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::pipe::{Receiver, Sender};
use uuid::Uuid;

use super::job::{JobCommand, ProcessJob};
use crate::sandbox::{PortForwarder, ReadySandbox};
use crate::tools::environment::secret_names;
use synthdev_domain::sandbox::{NetworkReach, ProcessLimits};

/// The watcher waits on a pipe that only we hold open: when it closes, we are gone, and the group that was named to it
/// has to go as well. It has a session of its own, so that no signal of the terminal ends it first.
const WATCHER: &str = "read -r group && { read -r _; kill -s KILL -- \"-$group\"; }";

/// Not looked for in `PATH`: a command may have put a program of this name there, and this one runs outside of the sandbox.
const SHELL: &str = "/bin/sh";

/// Holds the command back until the watcher knows its group; ends if we do not live to say so.
const LINE_GATE: &str = "read -r _ && exec sh -c \"$0\" </dev/null";

/// The same for a program with its arguments, which no shell reads.
const PROGRAM_GATE: &str = "read -r _ && exec \"$@\" </dev/null";

/// The same for the sandbox, whose shell reads the command from the pipe.
const SANDBOX_GATE: &str = "read -r _ && exec \"$@\"";

/// A program that is asked over its standard input for as long as it runs.
pub(crate) struct ServerCommand<'a> {
    pub(crate) program: &'a str,
    pub(crate) arguments: &'a [String],
    /// Set on top of what it inherits.
    pub(crate) environment: &'a [(String, String)],
    pub(crate) directory: &'a Path,
    pub(crate) project: &'a Path,
    pub(crate) strip_env: &'a [String],
}

/// What is started, without a command if it is started in a sandbox.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StartPlan {
    arguments: Vec<OsString>,
    directory: PathBuf,
    environment: Vec<(String, String)>,
    hidden_variables: Vec<OsString>,
    /// Errors are kept apart from the output.
    separate_stderr: bool,
    limits: Option<ProcessLimits>,
    project: PathBuf,
    /// What the sandbox has made a part of itself.
    pub(super) mounted_paths: Vec<PathBuf>,
    /// The file descriptor at which the sandbox reports its last process, and the path of the file behind it.
    last_process: Option<(u32, PathBuf)>,
    /// Ports for which the sandbox sends us listening sockets.
    forwarded_ports: BTreeSet<u16>,
}

impl StartPlan {
    /// # Errors
    /// A file of the sandbox cannot be written.
    pub(super) fn for_job(
        project: &Path,
        strip_env: &[String],
        job: &ProcessJob<'_>,
        sandbox: Option<&ReadySandbox>,
    ) -> io::Result<Self> {
        let mut plan = Self {
            arguments: Vec::new(),
            directory: job.directory.to_owned(),
            environment: Vec::new(),
            hidden_variables: secret_names(strip_env, std::env::vars_os()),
            separate_stderr: job.separate_stderr,
            limits: None,
            project: project.to_owned(),
            mounted_paths: Vec::new(),
            last_process: None,
            forwarded_ports: BTreeSet::new(),
        };
        match sandbox {
            Some(sandbox) => {
                let shell = [OsString::from(SHELL)];
                plan.wrap_in_sandbox(sandbox, &shell, job.environment, job.confinement.network())?;
            }
            None => {
                plan.arguments = unsandboxed_arguments(job.command);
                plan.environment = job.environment.to_vec();
            }
        }
        Ok(plan)
    }

    /// A server keeps its standard input, and its errors apart. `sandbox`: what holds it, with its network.
    ///
    /// # Errors
    /// A file of the sandbox cannot be written.
    pub(crate) fn for_server(
        command: &ServerCommand<'_>,
        sandbox: Option<(&ReadySandbox, NetworkReach<'_>)>,
    ) -> io::Result<Self> {
        let program = std::iter::once(OsString::from(command.program));
        let words: Vec<OsString> = program.chain(command.arguments.iter().map(OsString::from)).collect();
        let mut plan = Self {
            arguments: ["-c", SANDBOX_GATE, "sh"].map(OsString::from).to_vec(),
            directory: command.directory.to_owned(),
            environment: Vec::new(),
            hidden_variables: secret_names(command.strip_env, std::env::vars_os()),
            separate_stderr: true,
            limits: None,
            project: command.project.to_owned(),
            mounted_paths: Vec::new(),
            last_process: None,
            forwarded_ports: BTreeSet::new(),
        };
        match sandbox {
            Some((sandbox, reach)) => {
                plan.wrap_in_sandbox(sandbox, &words, command.environment, reach)?;
            }
            None => {
                plan.arguments.extend(words);
                plan.environment = command.environment.to_vec();
            }
        }
        Ok(plan)
    }

    fn wrap_in_sandbox(
        &mut self,
        sandbox: &ReadySandbox,
        words: &[OsString],
        environment: &[(String, String)],
        reach: NetworkReach<'_>,
    ) -> io::Result<()> {
        let wrapped = sandbox.wrap_command(words, &self.directory, environment, reach)?;
        let mut gate = SANDBOX_GATE.to_owned();
        for (number, file) in wrapped.files {
            gate.push_str(&format!(" {number}<{}", quote_word(&file.to_string_lossy())));
        }
        self.arguments = ["-c", &gate, "sh"].map(OsString::from).to_vec();
        self.arguments.extend(wrapped.arguments);
        self.limits = Some(sandbox.policy().limits);
        self.mounted_paths = wrapped.mounted_paths;
        self.forwarded_ports = wrapped.forwarded_ports;
        self.last_process = wrapped.last_process.map(|number| (number, sandbox.layer_directory()));
        Ok(())
    }

    /// Starts the command, or the sandbox that waits for one.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start_process(&self) -> io::Result<StartedProcess> {
        let (watched, lifeline) = io::pipe()?;
        let watcher = self.start_watcher(watched)?;
        let (gate, opener) = self.gated_stdin()?;
        let last_process = self.last_process.as_ref().map(|(number, directory)| LastProcess {
            number: *number,
            file: directory.join(Uuid::new_v4().simple().to_string()),
        });
        let (leader, output, errors) = self.start_leader(gate, last_process.as_ref())?;
        let group = leader.id().ok_or(io::ErrorKind::NotFound)?;
        // from here on it is killed if something fails
        let mut started = ProcessGroup {
            leader,
            was_killed: false,
            last_process,
            port_forwarder: None,
            _watcher_process: watcher,
            lifeline,
        };
        if let Some(limits) = self.limits {
            // it waits at the gate: what it starts inherits them
            limit_process(group, limits)?;
        }
        writeln!(started.lifeline, "{group}")?;
        writeln!(&opener)?;
        let commands = self.commands(opener.into(), &mut started)?;
        Ok(StartedProcess { group: started, commands, output, errors })
    }

    /// The standard input that holds the command back, and our end of it. Sockets can be sent through a socket only.
    fn gated_stdin(&self) -> io::Result<(OwnedFd, File)> {
        if self.forwarded_ports.is_empty() {
            let (gate, opener) = io::pipe()?;
            return Ok((gate.into(), OwnedFd::from(opener).into()));
        }
        let (gate, opener) = StdUnixStream::pair()?;
        Ok((gate.into(), OwnedFd::from(opener).into()))
    }

    fn commands(&self, opener: OwnedFd, group: &mut ProcessGroup) -> io::Result<CommandPipe> {
        if self.forwarded_ports.is_empty() {
            return Ok(Box::new(Sender::from_owned_fd(opener)?));
        }
        let opener = StdUnixStream::from(opener);
        group.port_forwarder = Some(PortForwarder::start(opener.try_clone()?, self.forwarded_ports.clone())?);
        opener.set_nonblocking(true)?;
        Ok(Box::new(UnixStream::from_std(opener)?))
    }

    fn start_watcher(&self, watched: PipeReader) -> io::Result<Box<dyn ChildWrapper>> {
        let mut watcher = CommandWrap::with_new(SHELL, |command| {
            command.args(["-c", WATCHER]).current_dir(&self.project).env_clear();
            command.stdin(Stdio::from(watched)).stdout(Stdio::null()).stderr(Stdio::null());
        });
        watcher.wrap(ProcessSession).wrap(KillOnDrop).spawn()
    }

    fn start_leader(&self, gate: OwnedFd, last_process: Option<&LastProcess>) -> io::Result<LeaderProcess> {
        let mut arguments = self.arguments.clone();
        if let Some((last_process, script)) = last_process.zip(arguments.get_mut(1)) {
            let file = last_process.file.to_string_lossy();
            script.push(format!(" {}>{}", last_process.number, quote_word(&file)));
        }
        let (output, writer) = io::pipe()?;
        let (errors, errors_writer) = if self.separate_stderr {
            let (errors, writer) = io::pipe()?;
            (Some(errors), writer)
        } else {
            (None, writer.try_clone()?)
        };
        let mut shell = CommandWrap::with_new(SHELL, |command| {
            command.args(&arguments).current_dir(&self.directory);
            command.stdin(Stdio::from(gate)).stdout(Stdio::from(writer)).stderr(Stdio::from(errors_writer));
            // nothing may wait for the user, who cannot see it
            command.envs([("PAGER", "cat"), ("GIT_PAGER", "cat"), ("GIT_TERMINAL_PROMPT", "0")]);
            for name in &self.hidden_variables {
                command.env_remove(name);
            }
            command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        });
        // `shell` holds our copies of the write ends; with them the output would never end, so it goes before we read
        let started = shell.wrap(ProcessSession).wrap(KillOnDrop).spawn();
        drop(shell);
        let errors = errors.map(|errors| Receiver::from_owned_fd(errors.into())).transpose()?;
        Ok((started?, Receiver::from_owned_fd(output.into())?, errors))
    }
}

/// Our end of what the shell in the sandbox reads.
pub(crate) type CommandPipe = Box<dyn AsyncWrite + Send + Unpin>;

type LeaderProcess = (Box<dyn ChildWrapper>, Receiver, Option<Receiver>);

/// A started process, with our ends of its pipes.
pub(crate) struct StartedProcess {
    pub(crate) group: ProcessGroup,
    pub(crate) commands: CommandPipe,
    pub(crate) output: Receiver,
    pub(crate) errors: Option<Receiver>,
}

/// The processes of one command. Dropping it kills them and the watcher.
pub(crate) struct ProcessGroup {
    /// Leader of its session and group.
    leader: Box<dyn ChildWrapper>,
    /// The group was killed. Its id may belong to another one by now: it is never used again.
    was_killed: bool,
    /// Of a namespace.
    last_process: Option<LastProcess>,
    /// Ends with the group.
    port_forwarder: Option<PortForwarder>,
    _watcher_process: Box<dyn ChildWrapper>,
    /// Closes with us, whatever ends us; the watcher waits for that. Declared after it: it is stopped first.
    lifeline: io::PipeWriter,
}

impl ProcessGroup {
    /// Whether it had not been killed before.
    pub(super) fn kill_group(&mut self) -> bool {
        let first = !std::mem::replace(&mut self.was_killed, true);
        if first {
            // an error means that nothing is left to be killed
            let _ = self.leader.start_kill();
        }
        first
    }

    /// Until the leader has ended; the others may live on.
    pub(super) fn wait_leader(&mut self) -> BoxFuture<'_, io::Result<ExitStatus>> {
        self.leader.inner_mut().wait()
    }

    /// After `kill`: waits until none of its processes can change anything any more. That takes a moment only, and nothing
    /// may be put back before. `false`: it is not known which process is the last one.
    pub(super) fn wait_for_end(&mut self) -> bool {
        let last_process = self.last_process.take();
        last_process.is_some_and(|last_process| last_process.wait_for_end())
    }

    /// After the command: one line for declared ports at which nothing has answered. Its connections end.
    pub(super) fn close_ports(&mut self) -> Option<String> {
        self.port_forwarder.take()?.unanswered_line()
    }

    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.leader.inner_mut().try_wait(), Ok(None))
    }
}

/// The first process of a namespace ends after all others in it.
struct LastProcess {
    number: u32,
    /// Written by the sandbox, removed with this value.
    file: PathBuf,
}

impl LastProcess {
    #[cfg(target_os = "linux")]
    fn wait_for_end(&self) -> bool {
        use rustix::event::{PollFd, PollFlags, Timespec, poll};
        use rustix::process::{Pid, PidfdFlags, pidfd_open};
        // longer only where the kernel waits for a disk
        const LONGEST_END: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
        let Ok(told) = std::fs::read(&self.file) else { return false };
        let told: Option<serde_json::Value> = serde_json::from_slice(&told).ok();
        // without a report, no part of the command has run
        let process = told.and_then(|told| told.get("child-pid")?.as_i64());
        let process = process.and_then(|process| Pid::from_raw(i32::try_from(process).ok()?));
        if let Some(handle) = process.and_then(|process| pidfd_open(process, PidfdFlags::empty()).ok()) {
            let _ = poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&LONGEST_END));
        }
        true
    }

    #[cfg(not(target_os = "linux"))]
    fn wait_for_end(&self) -> bool {
        false
    }
}

impl Drop for LastProcess {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.kill_group();
    }
}

/// Sends the command to the shell in the sandbox. A sandbox that has ended cannot read it; its exit status says why.
pub(super) async fn send_command(mut commands: CommandPipe, what: JobCommand<'_>) {
    let _ = commands.write_all(start_script(what).as_bytes()).await;
    // what else has this socket does not keep it open
    let _ = commands.shutdown().await;
}

/// One line that replaces the shell in the sandbox by the command.
fn start_script(what: JobCommand<'_>) -> String {
    let words: Vec<String> = match what {
        JobCommand::Line(line) => ["sh", "-c", line].map(quote_word).to_vec(),
        JobCommand::Program(program, arguments) => {
            std::iter::once(program).chain(arguments.iter().map(String::as_str)).map(quote_word).collect()
        }
    };
    format!("exec {} </dev/null\n", words.join(" "))
}

fn quote_word(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn unsandboxed_arguments(what: JobCommand<'_>) -> Vec<OsString> {
    match what {
        JobCommand::Line(line) => ["-c", LINE_GATE, line].map(OsString::from).to_vec(),
        JobCommand::Program(program, arguments) => {
            let gate = ["-c", PROGRAM_GATE, "sh", program].map(OsString::from);
            gate.into_iter().chain(arguments.iter().map(OsString::from)).collect()
        }
    }
}

#[cfg(target_os = "linux")]
fn limit_process(process: u32, limits: ProcessLimits) -> io::Result<()> {
    use rustix::process::{Pid, Resource, Rlimit, getrlimit, prlimit};
    const MIB: u64 = 1 << 20;
    let pid = i32::try_from(process).ok().and_then(Pid::from_raw);
    let processes = if limits.processes > 0 { limits.processes.saturating_add(running_tasks()) } else { 0 };
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
fn running_tasks() -> u64 {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let tasks = load.split_whitespace().nth(3).and_then(|tasks| tasks.split_once('/')?.1.parse().ok());
    tasks.unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
fn limit_process(_process: u32, _limits: ProcessLimits) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
impl StartPlan {
    /// A shell that reads its command, without a sandbox around it.
    pub(super) fn for_test(mounted: &[PathBuf]) -> Self {
        Self {
            arguments: ["-c", SANDBOX_GATE, "sh", SHELL].map(OsString::from).to_vec(),
            directory: PathBuf::from("/"),
            environment: Vec::new(),
            hidden_variables: Vec::new(),
            separate_stderr: false,
            limits: None,
            project: PathBuf::from("/"),
            mounted_paths: mounted.to_vec(),
            last_process: None,
            forwarded_ports: BTreeSet::new(),
        }
    }
}
