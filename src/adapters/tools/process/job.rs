//! What is started, and what it can reach.

use std::path::Path;

use synthdev_domain::sandbox::NetworkReach;

/// What is started, and where.
pub(in crate::tools) struct ProcessJob<'a> {
    pub(in crate::tools) command: JobCommand<'a>,
    /// Inside the project.
    pub(in crate::tools) directory: &'a Path,
    /// Set on top of what the command inherits.
    pub(in crate::tools) environment: &'a [(String, String)],
    /// Errors are kept apart from the output; else both are in the order in which they were written.
    pub(in crate::tools) separate_stderr: bool,
    pub(in crate::tools) confinement: CommandConfinement<'a>,
}

/// What a command can reach.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::tools) enum CommandConfinement<'a> {
    /// What the sandbox allows, with this network.
    Policy(NetworkReach<'a>),
    /// The same with the network: the user has allowed it for this call.
    WithNetwork,
    /// All that the user reaches, who typed it, or has allowed it where no sandbox works.
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

impl JobCommand<'_> {
    pub(super) fn has_nul(self) -> bool {
        match self {
            Self::Line(line) => line.contains('\0'),
            Self::Program(program, arguments) => {
                program.contains('\0') || arguments.iter().any(|argument| argument.contains('\0'))
            }
        }
    }
}
