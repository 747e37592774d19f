//! How long a server may keep us waiting.

use std::time::Duration;

/// How long silence is borne (MODEL-8).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Patience {
    /// For a connection to come about.
    pub connect: Duration,
    /// Between two reads, and from the request to the first byte of its answer.
    pub idle: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self { connect: Duration::from_secs(10), idle: Duration::from_secs(120) }
    }
}
