//! What the tools of one project are made with.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::background_commands::OutputRedaction;
use crate::hidden_recording::HiddenRecording;
use crate::image_store::ImageStore;
use crate::liveness_handle::LivenessLockHandle;
use crate::sandbox::CommandSandbox;
use synthdev_domain::own_tool::OwnTool;
use synthdev_domain::secret_names::SECRET_NAMES;

/// What the tools of one project need to know.
#[derive(Clone)]
pub struct ToolSettings {
    /// The project's directory: paths are relative to it, and nothing outside it is read or written.
    pub root: PathBuf,
    /// The time limit of a command, unless the call sets one.
    pub terminal_timeout: Duration,
    /// Most bytes of text one answer carries.
    pub output_cap_bytes: usize,
    /// Environment variables a command must not see; `*` matches any text (`*_KEY`), case does not count.
    pub strip_env: Vec<String>,
    /// Variables that hold keys of model providers, with the servers that they may be sent to: no other one gets them.
    pub key_servers: BTreeMap<String, Vec<String>>,
    /// Files and directories that do not exist for the file tools, absolute or relative to `root`.
    pub hidden_paths: Vec<PathBuf>,
    /// The recording that the run makes or plays: it does not exist for the file tools either.
    pub recording: Option<HiddenRecording>,
    /// The project that is described in the index, where it is not `root`.
    pub indexed_project: Option<PathBuf>,
    /// What commands and file tools can reach.
    pub sandbox: Arc<CommandSandbox>,
    /// The user's home directory, which no command may remove.
    pub home: Option<PathBuf>,
    /// Tools that the user or the project defines in files.
    pub own_tools: Vec<OwnTool>,
    /// Where the output of background commands is kept; `None`: there are none.
    pub command_outputs: Option<PathBuf>,
    /// Hides keys in what is kept there.
    pub output_redaction: OutputRedaction,
    /// Where images are kept that a conversation shows; `None`: it shows none.
    pub image_store: Option<ImageStore>,
    /// Held while the commands of a killed process are ended.
    pub liveness: LivenessLockHandle,
    /// Calls come from the user (`/cmd`), who may do anything; else from agents and workflows.
    pub typed_by_user: bool,
}

impl ToolSettings {
    /// The defaults: 120 seconds, 64 KiB, no variable that is named like a secret, nothing hidden, no sandbox.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        let root = root.into();
        Self {
            sandbox: Arc::new(CommandSandbox::disabled(&root)),
            root,
            terminal_timeout: Duration::from_secs(120),
            output_cap_bytes: 64 * 1024,
            strip_env: SECRET_NAMES.map(str::to_owned).to_vec(),
            key_servers: BTreeMap::new(),
            hidden_paths: Vec::new(),
            recording: None,
            indexed_project: None,
            home: directories::BaseDirs::new().map(|dirs| dirs.home_dir().to_owned()),
            own_tools: Vec::new(),
            command_outputs: None,
            output_redaction: Arc::new(|text| text),
            image_store: None,
            liveness: LivenessLockHandle::default(),
            typed_by_user: false,
        }
    }
}
