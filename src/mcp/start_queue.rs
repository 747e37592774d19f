//! Requests that start runs: a few at once, in the order in which they came.
//!
//! Owns the turns. A thousand starts that share the processor all end late, and each follower reads the events of all
//! others; one after the other, the first ones end at once. Refuses no start: how many can wait is bounded by the
//! connections.

use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Starts at once: enough to share the waits for the disk.
const STARTS: usize = 8;
/// How long the run of a start keeps its turn. A run that only computes has ended by then; one that waits for a model
/// or its client must not keep others waiting.
const HEAD_START: Duration = Duration::from_millis(100);

/// The turns of one server.
pub struct StartQueue {
    turns: Semaphore,
}

/// The right to start a run; dropped, the next one may.
pub(super) struct StartTurn<'q> {
    _permit: SemaphorePermit<'q>,
}

impl Default for StartQueue {
    fn default() -> Self {
        Self { turns: Semaphore::new(STARTS) }
    }
}

impl StartQueue {
    /// Waits until it is this request's turn. `None`: never, as the server ends.
    pub(super) async fn take_turn(&self) -> Option<StartTurn<'_>> {
        self.turns.acquire().await.ok().map(|permit| StartTurn { _permit: permit })
    }
}

impl StartTurn<'_> {
    /// Follows a run with the turn, and without it if the run takes longer.
    pub(super) async fn spend_on<F: Future>(self, followed: F) -> F::Output {
        let mut followed = std::pin::pin!(followed);
        let early = tokio::time::timeout(HEAD_START, followed.as_mut()).await;
        drop(self);
        match early {
            Ok(told) => told,
            Err(_) => followed.await,
        }
    }
}
