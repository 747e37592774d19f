//! The settings of the sandbox. Most are the user's alone: a project only makes it stricter.

use super::project_restriction::ProjectRestriction;
use super::rule::{SettingRule, setting_rule};
use super::value_type::SettingValueType;
use synthdev_domain::sandbox::{NetworkAccess, SandboxLayer, SandboxMode};

pub const MODE: SettingRule = setting_rule(
    "sandbox.mode",
    SettingValueType::OneOf(&SandboxMode::NAMES),
    &[],
    &["--sandbox"],
    "\"project\"",
    "what commands of agents and workflows may write: project, read-only, off",
)
.with_project_restriction(ProjectRestriction::Tighten(&SandboxMode::NAMES));

pub const NETWORK: SettingRule = setting_rule(
    "sandbox.network",
    SettingValueType::OneOf(&NetworkAccess::NAMES),
    &[],
    &["--sandbox-network"],
    "\"ask\"",
    "whether these commands reach the network: off, ask, on",
)
.with_project_restriction(ProjectRestriction::Tighten(&NetworkAccess::NAMES));

pub const WORKFLOW_PORTS: SettingRule = setting_rule(
    "sandbox.workflow_ports",
    SettingValueType::Flag,
    &[],
    &[],
    "true",
    "whether commands reach the ports (1024 and above) of this machine that their workflow declares, with the network off",
)
.with_project_restriction(ProjectRestriction::Lower);

pub const LAYER: SettingRule = setting_rule(
    "sandbox.layer",
    SettingValueType::OneOf(&SandboxLayer::NAMES),
    &[],
    &[],
    "\"auto\"",
    "what holds the sandbox: bubblewrap, landlock, none, or the first that works",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const WRITABLE: SettingRule = setting_rule(
    "sandbox.writable",
    SettingValueType::TextList,
    &[],
    &[],
    "",
    "paths that commands may write besides the project",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const READ_ONLY: SettingRule = setting_rule(
    "sandbox.read_only",
    SettingValueType::TextList,
    &[],
    &[],
    "",
    "paths in the project that commands may not write",
)
.with_project_restriction(ProjectRestriction::Extend);

pub const HIDDEN: SettingRule = setting_rule(
    "sandbox.hidden",
    SettingValueType::TextList,
    &[],
    &[],
    "",
    "paths that commands may not read, besides the usual ones",
)
.with_project_restriction(ProjectRestriction::Extend);

pub const READABLE: SettingRule = setting_rule(
    "sandbox.readable",
    SettingValueType::TextList,
    &[],
    &[],
    "",
    "paths that commands may read although they are hidden by default",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const MAX_PROCESSES: SettingRule = setting_rule(
    "sandbox.max_processes",
    SettingValueType::Integer { min: 1, max: 1_000_000 },
    &[],
    &[],
    "4096",
    "processes and threads of one command at once",
)
.with_project_restriction(ProjectRestriction::Lower);

pub const MAX_MEMORY_MB: SettingRule = setting_rule(
    "sandbox.max_memory_mb",
    SettingValueType::Integer { min: 0, max: 100_000_000 },
    &[],
    &[],
    "0",
    "address space of each process of a command in MiB; 0 is no limit",
)
.with_project_restriction(ProjectRestriction::NotSet);

pub const MAX_FILE_MB: SettingRule = setting_rule(
    "sandbox.max_file_mb",
    SettingValueType::Integer { min: 1, max: 100_000_000 },
    &[],
    &[],
    "10240",
    "largest file that a command may write in MiB",
)
.with_project_restriction(ProjectRestriction::Lower);
