//! The composition root, and nothing else: finds what this start has, gathers the configuration, builds the adapters and
//! wires them to the runtime. Only this member knows which adapter implements which port. What commands and sessions
//! use of the adapters besides is published here, by subject.
#![allow(clippy::disallowed_methods, reason = "the environment and the directory are met here, once")]

pub mod active_recording;
pub mod async_runtime;
pub mod config_sources;
pub mod hardening;
pub mod history_salvage;
pub mod local_files;
pub mod logs;
pub mod machine_facts;
pub mod mcp_servers;
pub mod model_servers;
pub mod sandbox_helper;
pub mod sandbox_setup;
pub mod scripted_models;
pub mod simulation_ports;
pub mod start_context;
pub mod trust;
pub mod wiring;
