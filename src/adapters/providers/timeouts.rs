//! How long a model call waits for its server. A run gets the values of the settings `timeouts.*`; the defaults here are
//! for callers without settings.

use std::time::Duration;

/// How long silence is borne.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelTimeouts {
    /// For a connection to come about.
    pub connect_timeout: Duration,
    /// Between two reads, and from the request to the first byte of its answer.
    pub idle_timeout: Duration,
    /// From the request to the end of its answer, however busily that comes.
    pub call: Duration,
    /// For a window, before a run begins: it is only good to know.
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
