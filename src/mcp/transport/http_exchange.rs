//! Messages of one client that come and go with separate requests: each answer finds the request that waits for it.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::model::{
    ClientJsonRpcMessage, GetExtensions, GetMeta, JsonRpcMessage, JsonRpcRequest, ProgressToken, RequestId,
    ServerJsonRpcMessage, ServerNotification,
};
use rmcp::service::OriginatingRequestId;
use tokio::sync::mpsc;

use super::answered_request;

/// Messages that wait to be read by the client, for each of its requests.
const ROOM: usize = 256;
/// Messages that belong to no request are kept until the client listens for them; the oldest go first.
const KEPT: usize = 64;

/// A message on its way to the client.
pub(crate) struct OutgoingMessage {
    pub(crate) text: String,
    /// It answers the request: nothing follows.
    pub(crate) is_last: bool,
    /// The code of the error that it is.
    pub(crate) code: Option<i32>,
}

/// What comes for one request, or for a client that listens.
pub(crate) type OutgoingReceiver = mpsc::Receiver<OutgoingMessage>;

/// Routes messages to the responses that wait for them.
#[derive(Default)]
pub(crate) struct ResponseRouter {
    state: Mutex<ResponseRouterState>,
}

#[derive(Default)]
struct ResponseRouterState {
    /// There is one request only: everything belongs to it.
    single_request: bool,
    open_requests: HashMap<RequestId, OpenRequest>,
    event_stream: Option<mpsc::Sender<OutgoingMessage>>,
    kept_messages: VecDeque<OutgoingMessage>,
}

struct OpenRequest {
    sender: mpsc::Sender<OutgoingMessage>,
    progress: Option<ProgressToken>,
}

impl ResponseRouter {
    /// For one request.
    pub(crate) fn for_single_request() -> Self {
        Self {
            state: Mutex::new(ResponseRouterState { single_request: true, ..ResponseRouterState::default() }),
        }
    }

    /// Before a request is handed on; `None` if another one with this id is open.
    pub(crate) fn register_request<R: GetMeta<Metadata = rmcp::model::RequestMetaObject>>(
        &self,
        request: &JsonRpcRequest<R>,
    ) -> Option<OutgoingReceiver> {
        let mut state = self.state();
        if state.open_requests.contains_key(&request.id) {
            return None;
        }
        let (to, waiting) = mpsc::channel(ROOM);
        let progress = request.request.get_meta().get_progress_token();
        state.open_requests.insert(request.id.clone(), OpenRequest { sender: to, progress });
        Some(waiting)
    }

    /// A request gets no answer any more.
    pub(crate) fn forget_request(&self, id: &RequestId) {
        self.state().open_requests.remove(id);
    }

    /// Messages that belong to no request; `None` if the client has such a stream open already.
    pub(crate) fn subscribe_unsolicited(&self) -> Option<OutgoingReceiver> {
        let mut state = self.state();
        if state.event_stream.as_ref().is_some_and(|listening| !listening.is_closed()) {
            return None;
        }
        let (to, waiting) = mpsc::channel(ROOM);
        for event in state.kept_messages.drain(..) {
            let _ = to.try_send(event);
        }
        state.event_stream = Some(to);
        Some(waiting)
    }

    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state();
        let listening = state.event_stream.as_ref().is_some_and(|listening| !listening.is_closed());
        listening || !state.open_requests.is_empty()
    }

    /// Closes all streams: their readers see the end.
    pub(crate) fn close_all(&self) {
        let mut state = self.state();
        state.open_requests.clear();
        state.event_stream = None;
    }

    /// The stream that a message goes to. Without one it is kept, or dropped if no client needs it.
    fn route_message(
        &self,
        message: &ServerJsonRpcMessage,
        event: OutgoingMessage,
    ) -> Option<(mpsc::Sender<OutgoingMessage>, OutgoingMessage)> {
        let mut state = self.state();
        let of = |state: &ResponseRouterState, id: &RequestId| {
            state.open_requests.get(id).map(|open| open.sender.clone())
        };
        let to = match message {
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {
                let id = answered_request(message)?;
                return state.open_requests.remove(id).map(|open| (open.sender, event));
            }
            JsonRpcMessage::Request(asked) => {
                let origin = asked.request.extensions().get::<OriginatingRequestId>();
                origin.and_then(|origin| of(&state, &origin.0))
            }
            JsonRpcMessage::Notification(told) => match &told.notification {
                ServerNotification::ProgressNotification(told) => {
                    let token = Some(&told.params.progress_token);
                    let open = state.open_requests.values().find(|open| open.progress.as_ref() == token)?;
                    Some(open.sender.clone())
                }
                _ => None,
            },
        };
        let listening = || state.event_stream.clone().filter(|listening| !listening.is_closed());
        let only = || {
            state
                .open_requests
                .values()
                .next()
                .filter(|_| state.single_request)
                .map(|open| open.sender.clone())
        };
        if let Some(to) = to.or_else(listening).or_else(only) {
            return Some((to, event));
        }
        if state.kept_messages.len() == KEPT {
            state.kept_messages.pop_front();
        }
        state.kept_messages.push_back(event);
        None
    }

    fn state(&self) -> MutexGuard<'_, ResponseRouterState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) struct HttpExchange {
    pub(crate) inbox: mpsc::Receiver<ClientJsonRpcMessage>,
    pub(crate) router: Arc<ResponseRouter>,
}

impl HttpExchange {
    /// In the order of the calls, as long as the client reads.
    pub(super) fn send(&mut self, message: ServerJsonRpcMessage) -> BoxFuture<'static, io::Result<()>> {
        let event = match to_event(&message) {
            Ok(event) => event,
            Err(error) => return std::future::ready(Err(error)).boxed(),
        };
        let Some((to, event)) = self.router.route_message(&message, event) else {
            return std::future::ready(Ok(())).boxed();
        };
        let gone = || io::Error::new(io::ErrorKind::BrokenPipe, "the client listens no more");
        match to.try_send(event) {
            Ok(()) => std::future::ready(Ok(())).boxed(),
            Err(mpsc::error::TrySendError::Closed(_)) => std::future::ready(Err(gone())).boxed(),
            Err(mpsc::error::TrySendError::Full(event)) => {
                async move { to.send(event).await.map_err(|_| gone()) }.boxed()
            }
        }
    }

    pub(super) async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.inbox.recv().await
    }
}

fn to_event(message: &ServerJsonRpcMessage) -> io::Result<OutgoingMessage> {
    let text = serde_json::to_string(message).map_err(io::Error::other)?;
    let code = match message {
        JsonRpcMessage::Error(error) => Some(error.error.code.0),
        _ => None,
    };
    Ok(OutgoingMessage { text, is_last: answered_request(message).is_some(), code })
}
