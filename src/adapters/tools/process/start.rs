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
use tokio::process::{Child, Command};
use uuid::Uuid;

use super::job::{JobCommand, ProcessJob};
use super::process_limits::limit_process;
use super::pseudo_terminal::PseudoTerminal;
use super::watcher_script::watcher_script;
use crate::liveness_handle::LivenessLockHandle;
use crate::sandbox::{PortForwarder, ReadySandbox, TERMINAL_COMMAND};
use crate::tools::environment::secret_names;
use synthdev_domain::sandbox::{NetworkReach, ProcessLimits};

/// Not looked for in `PATH`: a command may have put a program of this name there, and this one runs outside of the sandbox.
const SHELL: &str = "/bin/sh";

/// Holds the command back until the watcher knows its group; ends if we do not live to say so.
const LINE_GATE: &str = "read -r _ && exec sh -c \"$0\" </dev/null";

/// The same for a program with its arguments, which no shell reads.
const PROGRAM_GATE: &str = "read -r _ && exec \"$@\" </dev/null";

/// The same for the sandbox, whose shell reads the command from the pipe.
const SANDBOX_GATE: &str = "read -r _ && exec \"$@\"";

/// What a terminal of ours understands, for programs that ask.
const TERMINAL_TYPE: &str = "xterm-256color";

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
    /// Input and output are a terminal of its own.
    terminal: bool,
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
    /// Without anything to start yet.
    fn bare(directory: &Path, project: &Path, strip_env: &[String]) -> Self {
        Self {
            arguments: Vec::new(),
            directory: directory.to_owned(),
            environment: Vec::new(),
            hidden_variables: secret_names(strip_env, std::env::vars_os()),
            separate_stderr: false,
            terminal: false,
            limits: None,
            project: project.to_owned(),
            mounted_paths: Vec::new(),
            last_process: None,
            forwarded_ports: BTreeSet::new(),
        }
    }

    /// # Errors
    /// A file of the sandbox cannot be written.
    pub(super) fn for_job(
        project: &Path,
        strip_env: &[String],
        job: &ProcessJob<'_>,
        sandbox: Option<&ReadySandbox>,
    ) -> io::Result<Self> {
        let mut plan = Self::bare(job.directory, project, strip_env);
        plan.separate_stderr = job.separate_stderr;
        match sandbox {
            Some(sandbox) => {
                let shell = [OsString::from(SHELL)];
                let reach = job.confinement.network();
                plan.wrap_in_sandbox(sandbox, &shell, job.environment, reach)?;
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
        let mut plan = Self::bare(command.directory, command.project, command.strip_env);
        plan.arguments = ["-c", SANDBOX_GATE, "sh"].map(OsString::from).to_vec();
        plan.separate_stderr = true;
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

    /// A command that keeps its standard input, which is a terminal if the job wants one. `helper`: this program.
    ///
    /// # Errors
    /// A file of the sandbox cannot be written, or there is no terminal for it.
    pub(super) fn for_interactive(
        project: &Path,
        strip_env: &[String],
        job: &ProcessJob<'_>,
        sandbox: Option<&ReadySandbox>,
        helper: &Path,
    ) -> io::Result<Self> {
        let mut plan = Self::bare(job.directory, project, strip_env);
        plan.terminal = job.terminal;
        if job.terminal && !helper.is_file() {
            return Err(io::Error::other(
                "a terminal needs the file of this program, which is gone or was replaced: start synthdev again",
            ));
        }
        let terminal_type = ("TERM".to_owned(), TERMINAL_TYPE.to_owned());
        let environment: Vec<(String, String)> =
            job.environment.iter().cloned().chain(job.terminal.then_some(terminal_type)).collect();
        let words = command_words(job.command);
        match sandbox {
            Some(sandbox) => {
                plan.wrap_in_sandbox(sandbox, &words, &environment, job.confinement.network())?;
            }
            None => {
                plan.arguments = ["-c", SANDBOX_GATE, "sh"].map(OsString::from).to_vec();
                if job.terminal {
                    plan.arguments.extend([helper.into(), OsString::from(TERMINAL_COMMAND)]);
                }
                plan.arguments.extend(words);
                plan.environment = environment;
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
        let wrapped = sandbox.wrap_command(words, &self.directory, environment, reach, self.terminal)?;
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

    /// Starts the command, or the sandbox that waits for one. If this process is killed, the lock is held until the
    /// command is ended as well.
    ///
    /// # Errors
    /// It cannot be started.
    pub(crate) fn start_process(&self, liveness: &LivenessLockHandle) -> io::Result<StartedProcess> {
        let (watched, lifeline) = io::pipe()?;
        let watcher = self.start_watcher(watched, liveness)?;
        let (gate, opener) = self.gated_stdin()?;
        let terminal = self.terminal.then(PseudoTerminal::open).transpose()?;
        let last_process = self.last_process.as_ref().map(|(number, directory)| LastProcess {
            number: *number,
            file: directory.join(Uuid::new_v4().simple().to_string()),
        });
        let (leader, output, errors) = self.start_leader(gate, last_process.as_ref(), terminal.as_ref())?;
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
        let mut commands = self.commands(opener.into(), &mut started)?;
        if let Some(terminal) = terminal {
            commands = Box::new(terminal.into_input()?);
        }
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

    fn start_watcher(&self, watched: PipeReader, liveness: &LivenessLockHandle) -> io::Result<Child> {
        let lock = liveness.another_holder();
        // a session of its own would need a copy of this process
        Command::new(SHELL)
            .args(["-c", &watcher_script()])
            .current_dir(&self.project)
            .env_clear()
            .process_group(0)
            .stdin(Stdio::from(watched))
            .stdout(lock.map_or_else(Stdio::null, Stdio::from))
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
    }

    fn start_leader(
        &self,
        gate: OwnedFd,
        last_process: Option<&LastProcess>,
        terminal: Option<&PseudoTerminal>,
    ) -> io::Result<LeaderProcess> {
        let mut arguments = self.arguments.clone();
        if let Some((last_process, script)) = last_process.zip(arguments.get_mut(1)) {
            let file = last_process.file.to_string_lossy();
            script.push(format!(" {}>{}", last_process.number, quote_word(&file)));
        }
        let OutputStreams { output, errors, stdout, stderr } = self.output_streams(terminal)?;
        let mut shell = CommandWrap::with_new(SHELL, |command| {
            command.args(&arguments).current_dir(&self.directory);
            command.stdin(Stdio::from(gate)).stdout(Stdio::from(stdout)).stderr(Stdio::from(stderr));
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
        Ok((started?, output, errors))
    }

    fn output_streams(&self, terminal: Option<&PseudoTerminal>) -> io::Result<OutputStreams> {
        if let Some(terminal) = terminal {
            let (output, stdout) = (terminal.output()?, terminal.command_end()?);
            return Ok(OutputStreams { output, errors: None, stderr: stdout.try_clone()?, stdout });
        }
        let (output, stdout) = io::pipe()?;
        let output = Receiver::from_owned_fd(output.into())?;
        let (errors, stderr) = if self.separate_stderr {
            let (errors, writer) = io::pipe()?;
            (Some(Receiver::from_owned_fd(errors.into())?), writer)
        } else {
            (None, stdout.try_clone()?)
        };
        Ok(OutputStreams { output, errors, stdout: stdout.into(), stderr: stderr.into() })
    }
}

/// Both ends of what a command prints to.
struct OutputStreams {
    output: Receiver,
    errors: Option<Receiver>,
    stdout: OwnedFd,
    stderr: OwnedFd,
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
    _watcher_process: Child,
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

/// A command as a program with its arguments.
fn command_words(what: JobCommand<'_>) -> Vec<OsString> {
    match what {
        JobCommand::Line(line) => ["sh", "-c", line].map(OsString::from).to_vec(),
        JobCommand::Program(program, arguments) => {
            std::iter::once(program).chain(arguments.iter().map(String::as_str)).map(OsString::from).collect()
        }
    }
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
            terminal: false,
            limits: None,
            project: PathBuf::from("/"),
            mounted_paths: mounted.to_vec(),
            last_process: None,
            forwarded_ports: BTreeSet::new(),
        }
    }
}
