//! What is started, and what it can reach.

use std::path::Path;

use crate::sandbox::CommandSandbox;
use crate::tools::background_commands::OutputOwner;
use synthdev_domain::sandbox::NetworkReach;
use synthdev_ports::tool::ToolProgressSink;

/// What is started, and where.
pub(in crate::tools) struct ProcessJob<'a> {
    pub(in crate::tools) command: JobCommand<'a>,
    /// Inside the project.
    pub(in crate::tools) directory: &'a Path,
    /// Set on top of what the command inherits.
    pub(in crate::tools) environment: &'a [(String, String)],
    /// Errors are kept apart from the output; else both are in the order in which they were written.
    pub(in crate::tools) separate_stderr: bool,
    /// Bytes of the output that are kept. Errors that are kept apart have the project's cap.
    pub(in crate::tools) output_cap: usize,
    /// It has a terminal of its own.
    pub(in crate::tools) terminal: bool,
    pub(in crate::tools) confinement: CommandConfinement<'a>,
    /// Holds it in the place of the project's sandbox, with paths that are open for it alone.
    pub(in crate::tools) own_sandbox: Option<&'a CommandSandbox>,
    /// Its output is retained whole where it is longer than the answer; `None`: what is left out is lost.
    pub(in crate::tools) output_owner: Option<OutputOwner<'a>>,
    /// Is told what the command prints last, while it is waited for.
    pub(in crate::tools) progress: &'a dyn ToolProgressSink,
}

/// What a command can reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum CommandConfinement<'a> {
    /// What the sandbox allows, with this network.
    Policy(NetworkReach<'a>),
    /// The same with the network: the user has allowed it for this call.
    WithNetwork,
    /// Everything that the user can reach: the user typed the command, or allowed it although no sandbox works.
    Nothing,
}

impl<'a> CommandConfinement<'a> {
    pub(in crate::tools) fn network(self) -> NetworkReach<'a> {
        match self {
            Self::Policy(network) => network,
            Self::WithNetwork | Self::Nothing => NetworkReach::OPEN,
        }
    }
}

#[derive(Clone, Copy)]
pub(in crate::tools) enum JobCommand<'a> {
    /// Read by `sh`.
    Line(&'a str),
    Program(&'a str, &'a [String]),
}

/// Clients that may fail without a word (`curl -s`, `wget -q`), and their exit codes for a server that is not reached.
const SILENT_CLIENTS: [(&str, &[i32]); 2] = [("curl", &[5, 6, 7]), ("wget", &[4])];

impl JobCommand<'_> {
    /// Whether this exit code of it says that a server was not reached.
    pub(super) fn exit_means_no_network(self, code: i32) -> bool {
        let clients = SILENT_CLIENTS.iter().filter(|(_, codes)| codes.contains(&code));
        let names: Vec<&str> = clients.map(|(name, _)| *name).collect();
        match self {
            Self::Line(line) => {
                let mut words = line.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
                words.any(|word| names.contains(&word))
            }
            Self::Program(program, _) => {
                Path::new(program).file_name().is_some_and(|file| names.iter().any(|name| file == *name))
            }
        }
    }

    pub(super) fn has_nul(self) -> bool {
        match self {
            Self::Line(line) => line.contains('\0'),
            Self::Program(program, arguments) => {
                program.contains('\0') || arguments.iter().any(|argument| argument.contains('\0'))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_codes_of_clients() {
        let arguments = [String::from("-s")];
        let rows = [
            (JobCommand::Line("curl -s http://x/"), 7, true),
            (JobCommand::Line("cd a && wget -q http://x/ -O b"), 4, true),
            (JobCommand::Line("curl -s http://x/"), 22, false),
            (JobCommand::Line("./curly --check"), 7, false),
            (JobCommand::Line("make test"), 1, false),
            (JobCommand::Program("/usr/bin/curl", &arguments), 6, true),
            (JobCommand::Program("cargo", &arguments), 6, false),
        ];
        for (command, code, expected) in rows {
            assert_eq!(command.exit_means_no_network(code), expected, "{code}");
        }
    }
}
