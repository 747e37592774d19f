//! Watches the history for writes by any process while the history is open.

use futures_util::StreamExt;
use futures_util::stream::{BoxStream, Fuse};

use crate::backend::SessionBackend;

#[derive(Default)]
pub struct StoreChangeWatch(Option<Fuse<BoxStream<'static, ()>>>);

impl StoreChangeWatch {
    pub fn set_active(&mut self, looks: bool, backend: &dyn SessionBackend) {
        if looks != self.0.is_some() {
            self.0 = looks.then(|| backend.store_changes().fuse());
        }
    }

    /// `None`: the watch is off, or the system has none.
    pub async fn next_change(&mut self) -> Option<()> {
        match &mut self.0 {
            Some(stirs) => stirs.next().await,
            None => None,
        }
    }
}
