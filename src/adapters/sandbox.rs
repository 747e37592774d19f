//! What executed commands can reach, and what enforces it.
//!
//! Owns: which paths a policy names on this machine, the layers that hold it (namespaces through `bwrap`, else Landlock and
//! seccomp), what a layer cannot enforce, and how a denial is reported.
//! Refuses: deciding whether a command is executed; approvals do.

mod credentials;
mod denial;
mod git_configuration;
mod git_files;
mod launch;
mod layer;
mod layer_places;
mod nested_repositories;
mod plain_paths;
pub mod policy;
mod port_forwarder;
mod private_directory;
mod protected_paths;
pub mod sandbox_places;
mod toolchains;

#[cfg(target_os = "linux")]
mod bubblewrap;
#[cfg(target_os = "linux")]
pub mod landlock_helper;
#[cfg(target_os = "linux")]
mod local_services;
#[cfg(target_os = "linux")]
pub mod port_listener;
#[cfg(target_os = "linux")]
mod process_keeper;
#[cfg(target_os = "macos")]
mod seatbelt;
#[cfg(target_os = "linux")]
mod syscall_filter;
#[cfg(target_os = "linux")]
pub mod terminal_helper;

pub use launch::{HELPER_COMMAND, PORTS_COMMAND, SandboxedCommand, TERMINAL_COMMAND};
pub use layer::WorkingLayer;

/// At the end of the process: removes what its sandboxes have written for themselves, also where a thread still uses it.
pub fn remove_private_directories() {
    PrivateDirectory::remove_all();
}

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use crate::open_beneath;
use credentials::CredentialWatch;
use git_files::{GitFiles, GitFilesState};
use launch::SandboxLaunch;
use nested_repositories::NestedRepositories;
use plain_paths::canonical_path;
use policy::{LayerPlace, PathAccess, SandboxPolicy};
use private_directory::PrivateDirectory;
use protected_paths::ProtectedPaths;
use sandbox_places::SandboxPlaces;
use synthdev_domain::sandbox::{NetworkReach, SandboxMode, SandboxSettings};

const NO_PORTS: &BTreeSet<u16> = &BTreeSet::new();

/// The sandbox of one project. Nothing is looked at before the first command or file tool.
pub struct CommandSandbox {
    settings: SandboxSettings,
    sandbox_places: SandboxPlaces,
    ready_sandbox: Mutex<ReadySlot>,
    /// The policy for file tools while no command has run yet, or where no layer works.
    files: OnceLock<Arc<SandboxPolicy>>,
    /// Set when the first program is started.
    caches_are_made: OnceLock<()>,
}

/// `None`: no command has run yet.
type ReadySlot = Option<Result<Arc<ReadySandbox>, String>>;

/// A sandbox whose policy and layer are known.
pub struct ReadySandbox {
    policy: Arc<SandboxPolicy>,
    /// What the policy was made from.
    git_state: GitFilesState,
    protected_paths: Arc<ProtectedPaths>,
    session: Arc<SandboxSession>,
}

/// What stays the same while policies change.
struct SandboxSession {
    layer: WorkingLayer,
    private: PrivateDirectory,
    credential_watch: CredentialWatch,
    nested: NestedRepositories,
    /// This program.
    helper: PathBuf,
}

impl CommandSandbox {
    pub fn new(settings: SandboxSettings, places: SandboxPlaces) -> Self {
        Self {
            settings,
            sandbox_places: places,
            ready_sandbox: Mutex::default(),
            files: OnceLock::new(),
            caches_are_made: OnceLock::new(),
        }
    }

    /// For tools whose commands reach everything.
    pub fn disabled(root: &Path) -> Self {
        Self::new(SandboxSettings::unsandboxed(), SandboxPlaces::for_project(root))
    }

    /// The same for commands that may write or read these paths besides, as if the settings named them.
    #[must_use]
    pub fn with_opened_paths(&self, writable: &[String], readable: &[String]) -> Self {
        let mut settings = self.settings.clone();
        settings.writable.extend_from_slice(writable);
        settings.readable.extend_from_slice(readable);
        Self::new(settings, self.sandbox_places.clone())
    }

    pub fn is_disabled(&self) -> bool {
        self.settings.mode == SandboxMode::Off
    }

    /// This program: it gives a command a terminal of its own.
    pub fn helper(&self) -> &Path {
        &self.sandbox_places.helper
    }

    pub fn settings(&self) -> &SandboxSettings {
        &self.settings
    }

    /// The policy as it holds here, without a layer.
    pub fn policy(&self) -> SandboxPolicy {
        SandboxPolicy::from_settings(&self.settings, &self.sandbox_places)
    }

    /// The policy that file tools ask; it needs no layer. `None`: there is no sandbox.
    pub fn file_policy(&self) -> Option<Arc<SandboxPolicy>> {
        if self.is_disabled() {
            return None;
        }
        match &*self.lock_ready() {
            Some(Ok(ready)) => Some(Arc::clone(&ready.policy)),
            _ => Some(Arc::clone(self.files.get_or_init(|| Arc::new(self.policy())))),
        }
    }

    /// The sandbox for the next command. What the user has changed in git's files since the last one is seen: a new
    /// submodule, worktree or directory of hooks is protected. `None`: there is no sandbox.
    ///
    /// # Errors
    /// Nothing on this machine can enforce the policy: the message for the user.
    pub fn prepare_current(&self) -> Result<Option<Arc<ReadySandbox>>, String> {
        if self.is_disabled() {
            return Ok(None);
        }
        self.current_in(&mut self.lock_ready()).map(Some)
    }

    /// As [`Self::prepare_current`], for a program that is started now: the caches of toolchains are there.
    ///
    /// # Errors
    /// Nothing on this machine can enforce the policy: the message for the user.
    pub fn prepare_program(&self) -> Result<Option<Arc<ReadySandbox>>, String> {
        if self.is_disabled() {
            return Ok(None);
        }
        self.current_with_caches(&mut self.lock_ready()).map(Some)
    }

    /// As [`Self::prepare_program`], and guards the protected paths until the command has ended.
    ///
    /// # Errors
    /// Nothing on this machine can enforce the policy: the message for the user.
    pub fn begin_command(&self) -> Result<Option<(Arc<ReadySandbox>, ProtectedCommand)>, String> {
        if self.is_disabled() {
            return Ok(None);
        }
        // one lock: no other policy is made between the two
        let mut slot = self.lock_ready();
        let ready = self.current_with_caches(&mut slot)?;
        let protected = ready.protected_paths.begin_command();
        Ok(Some((ready, protected)))
    }

    /// Before a file tool writes: what the user has changed in git's files since the last command counts.
    pub fn refresh_policy(&self) {
        let mut slot = self.lock_ready();
        if matches!(&*slot, Some(Ok(earlier)) if earlier.is_outdated()) {
            // it exists, so no session is started
            let _ = self.current_in(&mut slot);
        }
    }

    fn current_in(&self, slot: &mut ReadySlot) -> Result<Arc<ReadySandbox>, String> {
        let current = match slot.take() {
            None => self.start_session().map(|session| self.make_ready(Arc::new(session))),
            Some(Ok(earlier)) if earlier.is_outdated() => Ok(self.make_ready(Arc::clone(&earlier.session))),
            Some(earlier) => earlier,
        };
        slot.insert(current).clone()
    }

    /// Nothing is made in the home directory before a program runs that may need it.
    fn current_with_caches(&self, slot: &mut ReadySlot) -> Result<Arc<ReadySandbox>, String> {
        let ready = self.current_in(slot)?;
        if self.caches_are_made.set(()).is_err() || !toolchains::create_missing_caches(&self.sandbox_places) {
            return Ok(ready);
        }
        // the policy knows only caches that were there when it was made
        let with_caches = self.make_ready(Arc::clone(&ready.session));
        *slot = Some(Ok(Arc::clone(&with_caches)));
        Ok(with_caches)
    }

    fn lock_ready(&self) -> MutexGuard<'_, ReadySlot> {
        self.ready_sandbox.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The declared ports of this machine that a command reaches which has no other network.
    pub fn open_ports<'a>(&self, reach: NetworkReach<'a>) -> &'a BTreeSet<u16> {
        if reach.is_open() || reach.ports.is_empty() {
            return NO_PORTS;
        }
        match self.prepare_current() {
            Ok(Some(ready)) => ready.open_ports(reach),
            _ => NO_PORTS,
        }
    }

    /// Why no command reaches a port that its workflow declares, as far as the layer is the reason.
    pub fn why_ports_are_closed(&self) -> Option<&'static str> {
        self.prepare_current().ok().flatten()?.closed_ports_reason()
    }

    /// What a command may do with a path, and why: the policy's rules, and what the layer puts in the place of others.
    pub fn explain_access(&self, path: &Path) -> (PathAccess, &'static str) {
        self.policy().access_with_layer(path, self.layer_places())
    }

    /// The whole policy, for display.
    pub fn description_text(&self) -> String {
        self.policy().description_text(self.layer_places(), self.why_ports_are_closed())
    }

    fn layer_places(&self) -> &'static [LayerPlace] {
        match self.prepare_current() {
            Ok(Some(ready)) => ready.session.layer.changed_places(),
            _ => &[],
        }
    }

    fn start_session(&self) -> Result<SandboxSession, String> {
        let layer = layer::select_layer(self.settings.layer, &self.sandbox_places.helper)?;
        let private = PrivateDirectory::create_below(&self.sandbox_places.data)
            .map_err(|error| format!("the private directory of the sandbox cannot be made: {error}"))?;
        Ok(SandboxSession {
            layer,
            private,
            credential_watch: CredentialWatch::new(&self.sandbox_places),
            nested: NestedRepositories::new(&self.sandbox_places.root),
            helper: self.sandbox_places.helper.clone(),
        })
    }

    fn make_ready(&self, session: Arc<SandboxSession>) -> Arc<ReadySandbox> {
        let places = &self.sandbox_places;
        let git_files =
            GitFiles::collect(places, &canonical_path(&places.root), session.nested.current_names());
        let git_state = git_files.current_state();
        let mut policy = SandboxPolicy::with_git_files(&self.settings, places, git_files);
        policy.allow_private(session.private.temporary_path());
        let held = matches!(session.layer, WorkingLayer::Bubblewrap(_));
        let aside = session.private.base().join("set-aside");
        let protected_paths = Arc::new(ProtectedPaths::from_policy(&policy, aside, held));
        Arc::new(ReadySandbox { policy: Arc::new(policy), git_state, protected_paths, session })
    }
}

impl ReadySandbox {
    pub fn policy(&self) -> &SandboxPolicy {
        &self.policy
    }

    pub fn working_layer(&self) -> &WorkingLayer {
        &self.session.layer
    }

    /// Concurrent commands share one policy: otherwise files that the first one made would count as the user's.
    fn is_outdated(&self) -> bool {
        !self.protected_paths.has_running_commands()
            && self.git_state.is_outdated(&self.session.nested.current_names())
    }

    /// `terminal`: its output will be a terminal, which becomes its own.
    ///
    /// # Errors
    /// A file that the layer reads cannot be written.
    pub fn wrap_command(
        &self,
        arguments: &[std::ffi::OsString],
        directory: &Path,
        environment: &[(String, String)],
        reach: NetworkReach<'_>,
        terminal: bool,
    ) -> std::io::Result<SandboxedCommand> {
        // a token may have been written since the last command
        let mut policy = SandboxPolicy::clone(&self.policy);
        self.session.credential_watch.with_tokens().into_iter().for_each(|path| policy.hide_token(path));
        let rules = policy.in_mount_order(|path| self.protected_paths.is_known(path));
        let (policy, private) = (&policy, &self.session.private);
        let (network, helper) = (reach.is_open(), self.session.helper.as_path());
        let ports = self.open_ports(reach);
        let launch = SandboxLaunch {
            policy,
            rules,
            private,
            directory,
            environment,
            network,
            ports,
            terminal,
            helper,
        };
        self.session.layer.wrap_command(&launch, arguments)
    }

    fn open_ports<'a>(&self, reach: NetworkReach<'a>) -> &'a BTreeSet<u16> {
        if self.closed_ports_reason().is_some() { NO_PORTS } else { reach.ports }
    }

    /// Why no command reaches a port that its workflow declares.
    fn closed_ports_reason(&self) -> Option<&'static str> {
        match self.session.layer {
            WorkingLayer::Landlock { .. } => Some("landlock cannot open single ports, bubblewrap can"),
            WorkingLayer::Bubblewrap(_) if !self.session.helper.is_file() => {
                Some("the file of this program is gone or was replaced, so start synthdev again")
            }
            WorkingLayer::Bubblewrap(_) | WorkingLayer::Seatbelt => None,
        }
    }

    /// For files about single commands, which commands do not see.
    pub fn layer_directory(&self) -> std::path::PathBuf {
        self.session.private.layer_directory()
    }

    /// One line for each denial found in a command's output, with what can be done about it, and one for each nested
    /// repository that the command added to the index.
    pub fn denial_lines(
        &self,
        outcome: &CommandOutcome,
        directory: &Path,
        reach: NetworkReach<'_>,
    ) -> denial::SandboxDenials {
        let network =
            denial::MissingNetwork { network_reach: reach, ports_closed_reason: self.closed_ports_reason() };
        let mut denials = denial::find_denials(&self.policy, outcome, directory, network);
        denials.lines.extend(self.session.nested.new_repository_lines());
        denials
    }
}

pub use denial::{CommandOutcome, SandboxDenials, file_tool_denial, network_denial};
pub use port_forwarder::PortForwarder;
pub use protected_paths::ProtectedCommand;
