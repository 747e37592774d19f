//! The threads on which everything that waits runs.

use anyhow::{Context, Result};

/// With the two threads that a run, a server or a session needs.
///
/// # Errors
/// No threads can be started.
pub fn build_runtime() -> Result<tokio::runtime::Runtime> {
    runtime_with_threads(2)
}

/// With so many threads.
///
/// # Errors
/// No threads can be started.
pub fn runtime_with_threads(threads: usize) -> Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads)
        .enable_all()
        .build()
        .context("no threads can be started")
}
