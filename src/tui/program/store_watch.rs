//! Watches the history for writes by any process while the history is open.

use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream, Fuse};

use synthdev_service::session::{RunRequest, SessionResponse, SessionService};

#[derive(Default)]
pub struct StoreChangeWatch(Option<Fuse<BoxStream<'static, SessionResponse>>>);

impl StoreChangeWatch {
    pub fn set_active(&mut self, looks: bool, service: &dyn SessionService) {
        if looks != self.0.is_some() {
            self.0 = looks.then(|| {
                let writes = service.answer(RunRequest::Watch.into()).each;
                writes.unwrap_or_else(|| stream::empty().boxed()).fuse()
            });
        }
    }

    /// `None`: the watch is off, or the system has none.
    pub async fn next_change(&mut self) -> Option<()> {
        match &mut self.0 {
            Some(writes) => writes.next().await.map(drop),
            None => None,
        }
    }
}
