//! HTTP timeouts of model calls: how long a call waits for its server. A run gets the values of the settings
//! `timeouts.*`; the defaults here are for callers without settings. `transport.rs` and `reply_stream.rs` apply them.

use std::time::Duration;

/// Timeouts of one model call. Each attempt of a repeated call has its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelTimeouts {
    /// Longest time to open a connection.
    pub connect_timeout: Duration,
    /// Longest pause between two reads of a reply. The wait for the start of the reply may take `connect_timeout` more.
    pub idle_timeout: Duration,
    /// Longest time from sending the request to the end of its reply, even if data arrives all the time.
    pub call: Duration,
    /// Longest wait for a local server to report a model's context window, before a run begins. The run also starts
    /// without an answer.
    pub window: Duration,
}

impl Default for ModelTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect_timeout: seconds(10),
            idle_timeout: seconds(120),
            call: seconds(3_600),
            window: seconds(2),
        }
    }
}
