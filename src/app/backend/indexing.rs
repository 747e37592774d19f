//! An index between being proposed and being told of.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

use crate::runtime::indexing::Work;
use crate::tui::backend::IndexTold;

/// What was shown to the person, and the one that is being made.
#[derive(Default)]
pub(super) struct Indexing {
    pub(super) shown: Mutex<Option<Work>>,
    pub(super) made: tokio::sync::Mutex<Option<watch::Receiver<IndexTold>>>,
    /// The end of one was not told yet.
    pub(super) going: AtomicBool,
}

impl Indexing {
    /// The next thing that happens.
    pub(super) async fn more(&self) -> IndexTold {
        let mut made = self.made.lock().await;
        let told = match made.as_mut() {
            None => IndexTold::Refused("no index is being made".to_owned()),
            Some(watched) => match watched.changed().await {
                Ok(()) => watched.borrow_and_update().clone(),
                Err(_) => IndexTold::Refused("making the index was broken off: /index goes on".to_owned()),
            },
        };
        if !matches!(told, IndexTold::At(_)) {
            self.going.store(false, Ordering::Relaxed);
        }
        told
    }
}
