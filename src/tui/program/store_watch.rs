//! Writes to the history by anybody, heard as long as somebody looks at it here.

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

    /// `None`: nothing is listened to, or nothing can be heard.
    pub async fn next_change(&mut self) -> Option<()> {
        match &mut self.0 {
            Some(stirs) => stirs.next().await,
            None => None,
        }
    }
}
