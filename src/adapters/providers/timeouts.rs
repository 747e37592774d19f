//! HTTP time-outs (timeouts) of model calls: how long a call waits for its server to begin, and to go on with, its
//! reply. A run gets the values of the settings `timeouts.*` (`window_timeout` has no setting); the defaults here
//! are for callers without settings. The connect timeout is set on the client in `http_clients.rs`, the deadline
//! of a whole call begins in `transport.rs`.

use std::time::Duration;

use tokio::time::{Instant, timeout};

use super::errors;
use synthdev_domain::model::ModelError;

/// Timeouts of one model call. Each attempt of a repeated call has its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ModelTimeouts {
    /// Longest time to open a connection.
    pub connect_timeout: Duration,
    /// Longest pause between two reads of a reply. The wait for the start of the reply may take `connect_timeout` more.
    pub idle_timeout: Duration,
    /// Longest time from sending the request to the end of its reply, even if data arrives all the time.
    pub call_timeout: Duration,
    /// Longest wait for a local server to report a model's context window, before a run begins. The run also starts
    /// without an answer.
    pub window_timeout: Duration,
}

impl ModelTimeouts {
    /// Waits for the beginning of the reply.
    ///
    /// # Errors
    /// It has not begun in time.
    pub async fn limit_start<T>(
        &self,
        server: &str,
        begin: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let silence = self.connect_timeout.saturating_add(self.idle_timeout);
        match timeout(silence.min(self.call_timeout), begin).await {
            Ok(begun) => Ok(begun),
            Err(_) if self.call_timeout < silence => {
                Err(errors::call_timeout_error(server, self.call_timeout, ""))
            }
            Err(_) => Err(errors::idle_timeout_error(server, silence, "")),
        }
    }

    /// Waits for the next piece of the reply. `deadline`: when the call must be over; `received`: what has arrived, for
    /// the message.
    ///
    /// # Errors
    /// Neither a piece nor the end has come in time.
    pub async fn limit_read<T>(
        &self,
        server: &str,
        deadline: Instant,
        received: impl Fn() -> String,
        next: impl Future<Output = T>,
    ) -> Result<T, ModelError> {
        let left = deadline.saturating_duration_since(Instant::now());
        match timeout(self.idle_timeout.min(left), next).await {
            Ok(piece) => Ok(piece),
            Err(_) if left < self.idle_timeout => {
                Err(errors::call_timeout_error(server, self.call_timeout, &received()))
            }
            Err(_) => Err(errors::idle_timeout_error(server, self.idle_timeout, &received())),
        }
    }
}

impl Default for ModelTimeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect_timeout: seconds(10),
            idle_timeout: seconds(120),
            call_timeout: seconds(3_600),
            window_timeout: seconds(2),
        }
    }
}
