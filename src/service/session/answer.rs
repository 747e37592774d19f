//! What a request gives: what is known comes at once, the rest when it is there.

use futures_util::future::{BoxFuture, FutureExt as _};
use futures_util::stream::{BoxStream, StreamExt as _};

/// The responses to one request.
pub struct ServiceAnswer<R> {
    /// From memory, or from a file that takes no longer than a frame: shown before anything else happens.
    pub now: Vec<R>,
    /// What takes a while. Nothing of it begins before it is awaited; dropping it ends it.
    pub later: Option<BoxFuture<'static, R>>,
    /// A response each time something happens, as long as the stream is held.
    pub each: Option<BoxStream<'static, R>>,
}

impl<R: Send + 'static> ServiceAnswer<R> {
    /// There is nothing to say.
    pub fn nothing() -> Self {
        Self { now: Vec::new(), later: None, each: None }
    }

    pub fn now(response: R) -> Self {
        Self { now: vec![response], ..Self::nothing() }
    }

    pub fn later(response: impl Future<Output = R> + Send + 'static) -> Self {
        Self { later: Some(response.boxed()), ..Self::nothing() }
    }

    pub fn each(responses: BoxStream<'static, R>) -> Self {
        Self { each: Some(responses), ..Self::nothing() }
    }

    /// The same with this response in front of all others.
    #[must_use]
    pub fn after(mut self, first: R) -> Self {
        self.now.insert(0, first);
        self
    }

    /// The same answer in other words.
    pub fn map<S: 'static>(self, change: fn(R) -> S) -> ServiceAnswer<S> {
        ServiceAnswer {
            now: self.now.into_iter().map(change).collect(),
            later: self.later.map(|later| later.map(change).boxed()),
            each: self.each.map(|each| each.map(change).boxed()),
        }
    }
}
