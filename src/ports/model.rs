//! A model that answers requests.

use futures_util::future::BoxFuture;

use serde_json::Value;

use synthdev_domain::cost::AttemptUsage;
use synthdev_domain::model::{DeltaKind, ModelError, ModelReply, ModelRequest};

/// Receives pieces of a reply while it streams. Must be cheap: it is called per network read.
pub trait DeltaSink: Send + Sync {
    fn delta(&self, kind: DeltaKind, text: &str);

    /// What the attempt under way has used so far, as far as it is known: it is paid for even if it brings no reply.
    /// Later reports replace earlier ones.
    fn report_usage(&self, _used: AttemptUsage) {}
}

/// Sends a request to a model and returns its reply. The request names provider and server. Dropping the future cancels
/// the call and closes its connection. No retries here: they are the runtime's.
pub trait ModelPort: Send + Sync {
    /// # Errors
    /// Every way in which no whole reply arrived.
    fn call<'a>(
        &'a self,
        request: &'a ModelRequest,
        sink: &'a dyn DeltaSink,
    ) -> BoxFuture<'a, Result<ModelReply, ModelError>>;

    /// What a server would get for the request, without headers; `None` where no server is asked.
    fn request_body(&self, _request: &ModelRequest) -> Option<Value> {
        None
    }
}
