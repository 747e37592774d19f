//! The single integration binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests touch the real world and may stop at the first surprise"
)]

mod support;

mod architecture;
mod cli;
mod config;
mod conformance;
mod crash;
mod docs;
mod engine;
mod faults;
mod git;
mod machine;
mod mcp;
mod providers;
mod pty;
mod real_model;
#[cfg(feature = "restate")]
mod restate;
mod runtime;
#[cfg(target_os = "linux")]
mod sandbox;
mod sim;
mod sqlite;
mod tools;
mod tui;
mod workflow_files;
