//! Runs on a Restate server: a worker drives them with the ordinary runtime, and the server keeps their journal.
//!
//! Each batch of rows that the driver appends is a step of a Restate workflow, whose key is the id of the run. The rows
//! are in the server's journal before they are in the worker's own store, and an effect begins after both. When the
//! worker dies, the server calls one again: it gets the rows, completes its own store with them, and resumes the run as
//! any interrupted one.
//!
//! Several hosts share the runs of one server. Each is a service of its own; the server's list of deployments is their
//! directory. They watch each other, and one takes over the runs of another that is lost.
//!
//! Refuses to know rules of a run: those are the runtime's. Read `journaled_step`, `run_outbox`, `journaling_store`,
//! `run_session`, `workflow_service`; for those who follow runs `run_news`, `run_server`; for hosts
//! `run_host_names`, `host_directory`, `host_watch`, `host_takeover`, `host_move`, `server_clock`.

mod beginning_runs;
pub mod host_directory;
pub mod host_move;
pub mod host_takeover;
pub mod host_watch;
pub mod journaled_step;
mod journaling_store;
mod local_copy;
mod long_bodies;
mod run_handover;
pub mod run_host_names;
mod run_news;
mod run_outbox;
pub mod run_server;
mod run_session;
pub mod server_admin;
pub mod server_client;
pub mod server_clock;
mod transient_events;
pub mod worker;
pub mod worker_server;
mod workflow_service;
