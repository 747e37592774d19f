//! What a command that agents or workflows execute can reach: the policy as the user sets it.
//!
//! Approvals decide whether a command is executed, the sandbox decides what it can reach. Paths are resolved elsewhere.

/// What a command may write.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SandboxMode {
    /// Nothing but a private temporary directory.
    ReadOnly,
    /// The project, a private temporary directory, caches of toolchains.
    #[default]
    Project,
    /// Everything that the user may write.
    Off,
}

impl SandboxMode {
    pub const NAMES: [&str; 3] = ["off", "project", "read-only"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Project => "project",
            Self::Off => "off",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::ReadOnly, Self::Project, Self::Off].into_iter().find(|mode| mode.as_str() == name)
    }
}

/// Whether a command reaches the network, the machine's own services included.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NetworkAccess {
    /// A loopback of its own, and nothing else.
    #[default]
    Off,
    /// Off, and the user is asked when a command fails because of it.
    Ask,
    On,
}

impl NetworkAccess {
    pub const NAMES: [&str; 3] = ["on", "ask", "off"];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Ask => "ask",
            Self::On => "on",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Off, Self::Ask, Self::On].into_iter().find(|access| access.as_str() == name)
    }
}

/// What holds the policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SandboxLayer {
    /// The first of the others that works here.
    #[default]
    Auto,
    /// Namespaces, made by the program `bwrap`.
    Bubblewrap,
    /// Landlock and seccomp of the Linux kernel.
    Landlock,
}

impl SandboxLayer {
    pub const NAMES: [&str; 3] = ["auto", "bubblewrap", "landlock"];

    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "bubblewrap" => Some(Self::Bubblewrap),
            "landlock" => Some(Self::Landlock),
            _ => None,
        }
    }
}

/// Most that one command with all its processes may use; 0 is no limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ProcessLimits {
    /// Processes and threads.
    pub processes: u64,
    /// Address space of each process, in MiB.
    pub memory_mb: u64,
    /// Each file that is written, in MiB.
    pub file_mb: u64,
}

/// The policy as it is set. Paths may begin with `~`; relative ones are of the project.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SandboxSettings {
    pub mode: SandboxMode,
    pub network: NetworkAccess,
    pub layer: SandboxLayer,
    /// May be written besides.
    pub writable: Vec<String>,
    /// May only be read, although they are within what may be written.
    pub read_only: Vec<String>,
    /// May not be read.
    pub hidden: Vec<String>,
    /// May be read although they are hidden by default.
    pub readable: Vec<String>,
    pub limits: ProcessLimits,
}

impl SandboxSettings {
    /// No sandbox.
    pub fn off() -> Self {
        Self { mode: SandboxMode::Off, network: NetworkAccess::On, ..Self::default() }
    }
}
