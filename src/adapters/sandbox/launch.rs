//! Input of a sandbox layer for one command, and the command line that the layer makes of it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::policy::{PathRule, SandboxPolicy};
use super::private_directory::PrivateDirectory;

/// The first argument that makes this program the helper of the Landlock layer.
pub const HELPER_COMMAND: &str = "__sandboxed";

/// The same for a command that reaches declared ports.
pub const PORTS_COMMAND: &str = "__with_ports";

/// The same for a command that has a terminal of its own.
pub const TERMINAL_COMMAND: &str = "__with_terminal";

/// A command of the outside, to be started within the sandbox.
pub struct SandboxedCommand {
    /// The program and its arguments.
    pub arguments: Vec<OsString>,
    /// Files that are opened for it under these numbers.
    pub files: Vec<(u32, PathBuf)>,
    /// Under this number the layer writes which process ends after all others of the command: `{"child-pid": 1}`.
    pub last_process: Option<u32>,
    /// Paths that the layer takes as they are when it starts: what replaces one of them later is not what was meant.
    pub mounted_paths: Vec<PathBuf>,
    /// Ports for which its first program sends listening sockets over its standard input, which must be a socket then.
    pub forwarded_ports: BTreeSet<u16>,
}

pub struct SandboxLaunch<'a> {
    pub policy: &'a SandboxPolicy,
    /// Those of the policy's rules that hold now, in the order in which they are mounted.
    pub rules: Vec<&'a PathRule>,
    pub private: &'a PrivateDirectory,
    pub directory: &'a Path,
    /// Set within the sandbox only: a workflow's variables must not reach the programs that make the sandbox.
    pub environment: &'a [(String, String)],
    pub network: bool,
    /// Ports of the machine's loopback that it reaches without the network; none where the layer cannot open them.
    pub ports: &'a BTreeSet<u16>,
    /// Its output is a terminal, which becomes its own.
    pub terminal: bool,
    /// This program.
    pub helper: &'a Path,
}
