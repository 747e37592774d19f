//! How what models are asked beside the runs is ended before it is answered.

use tokio::sync::watch;

/// Ends everything that was begun before.
#[derive(Debug, Default)]
pub(crate) struct OneShotCanceller(watch::Sender<u64>);

impl OneShotCanceller {
    pub(crate) fn stop_all(&self) {
        self.0.send_modify(|times| *times += 1);
    }

    /// Over at the next stop.
    pub(crate) fn wait_stopped(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut times = self.0.subscribe();
        async move {
            if times.changed().await.is_err() {
                // without a sender no stop can come
                std::future::pending().await
            }
        }
    }
}
