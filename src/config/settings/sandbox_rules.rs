//! The settings of the sandbox. Most are the user's alone: a project only makes it stricter.

use super::project_may::ProjectMay;
use super::rule::{Rule, rule};
use super::shape::Shape;
use crate::domain::sandbox::{NetworkAccess, SandboxLayer, SandboxMode};

pub const MODE: Rule = rule(
    "sandbox.mode",
    Shape::OneOf(&SandboxMode::NAMES),
    &[],
    &["--sandbox"],
    "\"project\"",
    "what commands of agents and workflows may write: project, read-only, off",
)
.project(ProjectMay::Tighten(&SandboxMode::NAMES));

pub const NETWORK: Rule = rule(
    "sandbox.network",
    Shape::OneOf(&NetworkAccess::NAMES),
    &[],
    &["--sandbox-network"],
    "\"ask\"",
    "whether these commands reach the network: off, ask, on",
)
.project(ProjectMay::Tighten(&NetworkAccess::NAMES));

pub const WORKFLOW_PORTS: Rule = rule(
    "sandbox.workflow_ports",
    Shape::Flag,
    &[],
    &[],
    "true",
    "whether commands reach the ports of this machine that their workflow declares, with the network off",
)
.project(ProjectMay::Lower);

pub const LAYER: Rule = rule(
    "sandbox.layer",
    Shape::OneOf(&SandboxLayer::NAMES),
    &[],
    &[],
    "\"auto\"",
    "what holds the sandbox: bubblewrap, landlock, none, or the first that works",
)
.project(ProjectMay::NotSet);

pub const WRITABLE: Rule = rule(
    "sandbox.writable",
    Shape::TextList,
    &[],
    &[],
    "",
    "paths that commands may write besides the project",
)
.project(ProjectMay::NotSet);

pub const READ_ONLY: Rule = rule(
    "sandbox.read_only",
    Shape::TextList,
    &[],
    &[],
    "",
    "paths in the project that commands may not write",
)
.project(ProjectMay::Extend);

pub const HIDDEN: Rule = rule(
    "sandbox.hidden",
    Shape::TextList,
    &[],
    &[],
    "",
    "paths that commands may not read, besides the usual ones",
)
.project(ProjectMay::Extend);

pub const READABLE: Rule = rule(
    "sandbox.readable",
    Shape::TextList,
    &[],
    &[],
    "",
    "paths that commands may read although they are hidden by default",
)
.project(ProjectMay::NotSet);

pub const MAX_PROCESSES: Rule = rule(
    "sandbox.max_processes",
    Shape::Integer { min: 1, max: 1_000_000 },
    &[],
    &[],
    "4096",
    "processes and threads of one command at once",
)
.project(ProjectMay::Lower);

pub const MAX_MEMORY_MB: Rule = rule(
    "sandbox.max_memory_mb",
    Shape::Integer { min: 0, max: 100_000_000 },
    &[],
    &[],
    "0",
    "address space of each process of a command in MiB; 0 is no limit",
)
.project(ProjectMay::NotSet);

pub const MAX_FILE_MB: Rule = rule(
    "sandbox.max_file_mb",
    Shape::Integer { min: 1, max: 100_000_000 },
    &[],
    &[],
    "10240",
    "largest file that a command may write in MiB",
)
.project(ProjectMay::Lower);
