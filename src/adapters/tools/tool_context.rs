//! The project's context that every tool shares.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ignore::DirEntry;
use tokio::sync::Semaphore;

use crate::ignore_files::walk_unignored;
use crate::image_store::ImageStore;
use crate::liveness_handle::LivenessLockHandle;
use crate::sandbox::CommandSandbox;
use synthdev_domain::sandbox::NetworkReach;

use super::background_commands::BackgroundCommands;
use super::confined_tool::ConfinedTool;
use super::path_guard::ProjectPathGuard;
use super::process::PrestartedSandboxes;
use synthdev_domain::refused_commands::{self, CommandText, RefusedCommandInput};
use synthdev_domain::tool::ToolInvocation;

/// No tool reads or writes a file larger than this, in bytes.
pub(super) const FILE_LIMIT: u64 = 10 * 1024 * 1024;

/// What every tool is given.
pub(super) struct ToolContext {
    pub(super) path_guard: ProjectPathGuard,
    pub(super) terminal_timeout: Duration,
    pub(super) cap: usize,
    pub(super) strip_env: Vec<String>,
    pub(super) sandbox: Arc<CommandSandbox>,
    pub(super) prestarted_sandboxes: PrestartedSandboxes,
    pub(super) liveness: LivenessLockHandle,
    /// One for each script of an agent that may run now.
    pub(super) script_slots: Semaphore,
    /// Of the user, without links.
    pub(super) home: Option<PathBuf>,
    /// Commands come from the user, who may run anything.
    pub(super) typed_by_user: bool,
    /// Variables that hold keys of model providers, with the servers that they may be sent to.
    pub(super) key_servers: BTreeMap<String, Vec<String>>,
    /// By name.
    pub(super) own_tools: BTreeMap<String, ConfinedTool>,
    pub(super) background_commands: BackgroundCommands,
    /// Where images are kept that a conversation shows; `None`: it shows none.
    pub(super) image_store: Option<ImageStore>,
    /// Whose index is asked: of a worktree, that of its project.
    pub(super) indexed_project: PathBuf,
}

impl ToolContext {
    /// Files that neither git ignores nor the policy hides, in the order of their paths. `largest`: bytes of a file.
    pub(super) fn walk_files(&self, start: &Path, largest: Option<u64>) -> ignore::Walk {
        let hidden = self.path_guard.hidden_paths().clone();
        // not `max_filesize`: with it the walk asks no filter about files
        let fits = move |entry: &DirEntry| {
            let Some(largest) = largest else { return true };
            entry.file_type().is_none_or(|kind| !kind.is_file())
                || entry.metadata().is_ok_and(|found| found.len() <= largest)
        };
        let keep = move |entry: &DirEntry| {
            entry.file_name() != ".git" && !hidden.is_path_hidden(entry.path()) && fits(entry)
        };
        walk_unignored(start, true, keep).sort_by_file_path(Path::cmp).build()
    }

    /// What the commands of a call reach of the network.
    pub(super) fn network_for<'a>(&self, invocation: &'a ToolInvocation) -> NetworkReach<'a> {
        let wanted = || self.own_tools.get(&invocation.tool)?.definition().wanted_network();
        self.sandbox.settings().reach_for(invocation.network.or_else(wanted), &invocation.loopback_ports)
    }

    /// The call with the ports that the definition of its tool names.
    pub(super) fn with_tool_ports<'a>(&self, invocation: &'a ToolInvocation) -> Cow<'a, ToolInvocation> {
        match self.own_tools.get(&invocation.tool).map(|tool| &tool.definition().ports) {
            Some(ports) if !ports.is_empty() => {
                let mut call = invocation.clone();
                call.loopback_ports.extend(ports);
                Cow::Owned(call)
            }
            _ => Cow::Borrowed(invocation),
        }
    }

    /// The ports of this machine that the command of a call reaches with the network off.
    pub(super) fn ports_for(&self, invocation: &ToolInvocation) -> BTreeSet<u16> {
        self.sandbox.open_ports(self.network_for(invocation)).clone()
    }

    /// Why no setting allows this command; asked before anything of it runs. `network`: it has the network.
    pub(super) fn command_refusal(
        &self,
        command: CommandText<'_>,
        directory: &Path,
        network: bool,
    ) -> Option<String> {
        if self.typed_by_user {
            return None;
        }
        refused_commands::refusal_reason(&RefusedCommandInput {
            command,
            directory,
            project: self.path_guard.root(),
            home: self.home.as_deref(),
            network: network || self.sandbox.is_disabled(),
        })
    }
}
