//! What a layer is told of one command.

use std::path::Path;

use super::policy::SandboxPolicy;
use super::private_directory::PrivateDirectory;

pub struct Launch<'a> {
    pub policy: &'a SandboxPolicy,
    pub private: &'a PrivateDirectory,
    pub directory: &'a Path,
    /// Set within the sandbox only: a workflow's variables must not reach the programs that make the sandbox.
    pub environment: &'a [(String, String)],
    pub network: bool,
}
