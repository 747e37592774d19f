//! A command that runs on while other calls are made. It keeps its input, and is asked for what happens to it.

use std::collections::BTreeSet;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use super::start::CommandPipe;
use super::{
    JobCommand, LeftoverProcesses, ProcessExit, ProcessJob, RunningProcess, begin_confined, interactive_plan,
};
use crate::sandbox::{CommandOutcome, ProtectedCommand, ReadySandbox, SandboxDenials};
use crate::tools::tool_context::ToolContext;
use synthdev_domain::sandbox::{NetworkAccess, NetworkReach};

/// Bytes of what is printed at the very end, when nothing is waited for any more.
const LAST_OUTPUT: usize = 64 * 1024;

/// Dropping it ends its processes.
pub(in crate::tools) struct BackgroundProcess {
    running: RunningProcess,
    /// Dropped after the processes: what is protected is looked at when they are gone.
    confined: Option<(Arc<ReadySandbox>, ProtectedCommand)>,
    line: String,
    directory: PathBuf,
    access: NetworkAccess,
    ports: BTreeSet<u16>,
}

/// What happens to a running command.
pub(in crate::tools) enum ProcessEvent {
    Printed(Vec<u8>),
    Exited(ProcessExit),
}

/// What is known when its processes have ended.
pub(in crate::tools) struct FinishedProcess {
    /// Printed since the last event.
    pub(in crate::tools) rest: Vec<u8>,
    pub(in crate::tools) leftovers: LeftoverProcesses,
    pub(in crate::tools) denials: SandboxDenials,
}

/// Starts a command line, with what is its input.
///
/// # Errors
/// It could not be started.
pub(in crate::tools) fn start_background(
    project: &ToolContext,
    job: &ProcessJob<'_>,
) -> io::Result<(CommandPipe, BackgroundProcess)> {
    let confined = begin_confined(project, job)?;
    let sandbox = confined.as_ref().map(|(sandbox, _)| &**sandbox);
    let plan = interactive_plan(project, job, sandbox)?;
    let (input, running) =
        RunningProcess::new(plan.start_process(&project.liveness)?, sandbox.is_some(), LAST_OUTPUT);
    let reach = job.confinement.network();
    let line = match job.command {
        JobCommand::Line(line) => line.to_owned(),
        JobCommand::Program(program, _) => program.to_owned(),
    };
    let process = BackgroundProcess {
        running,
        confined,
        line,
        directory: job.directory.to_owned(),
        access: reach.access,
        ports: reach.ports.clone(),
    };
    Ok((input, process))
}

impl BackgroundProcess {
    /// Waits for the next thing that happens. Nothing is lost if it is not waited for to the end.
    pub(in crate::tools) async fn next_event(&mut self) -> ProcessEvent {
        let RunningProcess { group, output, .. } = &mut self.running;
        loop {
            tokio::select! {
                status = group.wait_leader() => {
                    return ProcessEvent::Exited(status.map_or_else(ProcessExit::Lost, ProcessExit::Status));
                }
                chunk = output.next_chunk(), if output.receiver.is_some() => {
                    if let Some(chunk) = chunk {
                        return ProcessEvent::Printed(chunk);
                    }
                }
            }
        }
    }

    /// Ends what is left of it. `printed`: the end of all that it has printed before.
    pub(in crate::tools) async fn finish_process(
        mut self,
        exit: &ProcessExit,
        printed: &str,
    ) -> FinishedProcess {
        let leftovers = self.running.finish_process().await;
        let rest = self.running.output.take_text().text;
        let mut denials = SandboxDenials::default();
        if let Some((sandbox, protected)) = self.confined.take() {
            let code = if let ProcessExit::Status(status) = exit { status.code() } else { None };
            let failed = code != Some(0);
            let outcome = CommandOutcome {
                printed: format!("{printed}{rest}"),
                failed,
                server_unreached: code
                    .is_some_and(|code| JobCommand::Line(&self.line).exit_means_no_network(code)),
            };
            let reach = NetworkReach { access: self.access, ports: &self.ports };
            denials = sandbox.denial_lines(&outcome, &self.directory, reach);
            denials.lines.extend(self.running.group.close_ports().filter(|_| failed));
            denials.lines.extend(protected.finish_command());
        }
        FinishedProcess { rest: rest.into_bytes(), leftovers, denials }
    }
}
