//! What a command that agents or workflows execute can reach: the policy as the user sets it.
//!
//! Approvals decide whether a command is executed, the sandbox decides what it can reach. Paths are resolved elsewhere.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

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
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
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

    #[must_use]
    pub fn stricter_of(self, other: Self) -> Self {
        match (self, other) {
            (Self::Off, _) | (_, Self::Off) => Self::Off,
            (Self::Ask, _) | (_, Self::Ask) => Self::Ask,
            (Self::On, Self::On) => Self::On,
        }
    }
}

/// What one command reaches besides files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NetworkReach<'a> {
    pub access: NetworkAccess,
    /// Ports of the machine's loopback that its workflow declares, for where the network is off.
    pub ports: &'a BTreeSet<u16>,
}

impl NetworkReach<'_> {
    /// All of the network.
    pub const OPEN: Self = Self { access: NetworkAccess::On, ports: &BTreeSet::new() };

    pub fn is_open(self) -> bool {
        self.access == NetworkAccess::On
    }
}

/// What the files of a role say of the network of its commands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct RoleNetwork {
    pub access: NetworkAccess,
    /// It counts in the place of the user's settings. Else the stricter of both does: a file of a project says it.
    pub may_loosen: bool,
}

impl RoleNetwork {
    /// The role of a run that came from a file: what a user allowed elsewhere is not allowed here.
    #[must_use]
    pub fn without_loosening(self) -> Self {
        Self { may_loosen: false, ..self }
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
    /// As on a machine on which none works.
    None,
}

/// What a user can do where no layer works.
pub const WITHOUT_LAYER: &str = "install bubblewrap (`apt install bubblewrap`, `dnf install bubblewrap`), or start with \
    --no-sandbox: commands then reach all that you reach";

impl SandboxLayer {
    pub const NAMES: [&str; 4] = ["auto", "bubblewrap", "landlock", "none"];

    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "auto" => Some(Self::Auto),
            "bubblewrap" => Some(Self::Bubblewrap),
            "landlock" => Some(Self::Landlock),
            "none" => Some(Self::None),
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
    /// No role may loosen it: the command line says it, or the project, which only makes it stricter.
    pub network_is_locked: bool,
    /// The ports that a workflow declares stay closed.
    pub ports_are_closed: bool,
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
    pub fn unsandboxed() -> Self {
        Self { mode: SandboxMode::Off, network: NetworkAccess::On, ..Self::default() }
    }

    /// What a command reaches whose role and workflow say this.
    pub fn reach_for<'a>(&self, role: Option<RoleNetwork>, ports: &'a BTreeSet<u16>) -> NetworkReach<'a> {
        const NONE: &BTreeSet<u16> = &BTreeSet::new();
        NetworkReach {
            access: self.network_for(role),
            ports: if self.ports_are_closed { NONE } else { ports },
        }
    }

    /// For the commands of a role, or of a step of a workflow.
    pub fn network_for(&self, role: Option<RoleNetwork>) -> NetworkAccess {
        match role {
            None => self.network,
            Some(role) if role.may_loosen && !self.network_is_locked => role.access,
            Some(role) => self.network.stricter_of(role.access),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_loosens_only_what_the_user_lets_it() {
        use NetworkAccess::{Ask, Off, On};
        // settings, whether they are fixed, the role, whether it is the user's, what counts
        for (network, network_is_fixed, access, may_loosen, expected) in [
            (Off, false, On, true, On),
            (Off, false, Ask, true, Ask),
            (On, false, Off, true, Off),
            (Off, true, On, true, Off),
            (Ask, true, On, true, Ask),
            (On, true, Off, true, Off),
            (Off, false, On, false, Off),
            (Ask, false, On, false, Ask),
            (On, false, Ask, false, Ask),
            (On, false, Off, false, Off),
        ] {
            let settings = SandboxSettings {
                network,
                network_is_locked: network_is_fixed,
                ..SandboxSettings::default()
            };
            let role = Some(RoleNetwork { access, may_loosen });
            assert_eq!(settings.network_for(role), expected, "{network:?} {network_is_fixed} {role:?}");
            assert_eq!(settings.network_for(None), network);
            let elsewhere = role.map(RoleNetwork::without_loosening);
            assert_eq!(settings.network_for(elsewhere), network.stricter_of(access), "{network:?} {role:?}");
        }
    }
}
