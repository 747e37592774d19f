//! The index of a session: proposed, being made, and reported.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use synthdev_service::project_indexing::IndexingJob;
use synthdev_service::session::IndexingResponse;

/// The job that the user was shown, and the one that is running.
#[derive(Default)]
pub(crate) struct IndexingSession {
    pub(crate) proposed_job: Mutex<Option<IndexingJob>>,
    pub(crate) running_job: tokio::sync::Mutex<Option<watch::Receiver<IndexingResponse>>>,
    /// The result of the running job is not reported yet.
    pub(crate) is_running: AtomicBool,
}

impl IndexingSession {
    /// The next thing that happens.
    pub(crate) async fn next_progress(&self) -> IndexingResponse {
        let mut made = self.running_job.lock().await;
        let told = match made.as_mut() {
            None => IndexingResponse::Refused("no index is being built".to_owned()),
            Some(watched) => match watched.changed().await {
                Ok(()) => watched.borrow_and_update().clone(),
                Err(_) => IndexingResponse::Refused(
                    "building the index was interrupted: /index continues \
                        it"
                    .to_owned(),
                ),
            },
        };
        if !matches!(told, IndexingResponse::At(_)) {
            self.is_running.store(false, Ordering::Relaxed);
        }
        told
    }
}
