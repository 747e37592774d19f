//! How messages reach the protocol library and leave it: lines of JSON, or exchanges over HTTP.
//!
//! Owns what the library leaves open: it answers invalid JSON (-32700) and invalid messages (-32600), and refuses the
//! id of a request that is still open. One type for every transport, so that the library is compiled once.

mod http_exchange;
mod json_lines;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::sync::watch;

pub(super) use self::http_exchange::{HttpExchange, OutgoingMessage, OutgoingReceiver, ResponseRouter};
pub(super) use self::json_lines::JsonLineTransport;

/// A longer message is refused: 16 MiB.
pub(super) const LONGEST: usize = 16 << 20;

const PARSE_ERROR: i32 = -32700;
pub(super) const INVALID_REQUEST: i32 = -32600;

/// Whether a client is there.
#[derive(Default)]
pub(super) struct ClientPresence {
    was_opened: AtomicBool,
    gone_sender: watch::Sender<bool>,
}

impl ClientPresence {
    /// There was a handshake, or a request that needs none.
    pub(super) fn mark_open(&self) {
        self.was_opened.store(true, Ordering::Release);
    }

    fn is_open(&self) -> bool {
        self.was_opened.load(Ordering::Acquire)
    }

    /// The client disconnected, or the server stops: no request was cancelled.
    pub(super) fn mark_gone(&self) {
        self.gone_sender.send_replace(true);
    }

    /// Waits until that happens.
    pub(super) async fn wait_gone(&self) {
        let mut gone = self.gone_sender.subscribe();
        // this value is the only one that could still signal it
        let _ = gone.wait_for(|gone| *gone).await;
    }
}

pub(super) enum McpTransport {
    Lines(JsonLineTransport),
    Exchange(HttpExchange),
}

impl Transport<RoleServer> for McpTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        match self {
            Self::Lines(lines) => lines.send(message),
            Self::Exchange(exchange) => exchange.send(message),
        }
    }

    fn receive(&mut self) -> impl Future<Output = Option<ClientJsonRpcMessage>> + Send {
        let received: BoxFuture<'_, _> = match self {
            Self::Lines(lines) => lines.receive_message().boxed(),
            Self::Exchange(exchange) => exchange.receive().boxed(),
        };
        received
    }

    fn close(&mut self) -> impl Future<Output = Result<(), io::Error>> + Send {
        let closed: BoxFuture<'_, _> = match self {
            Self::Lines(lines) => lines.close().boxed(),
            Self::Exchange(_) => std::future::ready(Ok(())).boxed(),
        };
        closed
    }
}

/// What some bytes say; an error is what they are answered.
pub(super) fn parse_message(bytes: &[u8]) -> Result<ClientJsonRpcMessage, Value> {
    let value: Value = serde_json::from_slice(bytes)
        .map_err(|error| error_response(Value::Null, PARSE_ERROR, &format!("Parse error: {error}")))?;
    let id = match &value["id"] {
        id @ (Value::String(_) | Value::Number(_)) => id.clone(),
        _ => Value::Null,
    };
    serde_json::from_value(value).map_err(|_| {
        error_response(id, INVALID_REQUEST, "Invalid request: this is no message of JSON-RPC 2.0")
    })
}

pub(super) fn error_response(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

/// The answer to a request whose id another one has that is still open.
pub(super) fn duplicate_id_error(id: &RequestId) -> Value {
    let id = id.clone().into_json_value();
    error_response(id, INVALID_REQUEST, "Invalid request: a request with this id is still open")
}

/// The request that a message cancels. It gets no answer any more.
pub(super) fn cancelled_request(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Notification(told) => match &told.notification {
            ClientNotification::CancelledNotification(cancelled) => cancelled.params.request_id.as_ref(),
            _ => None,
        },
        _ => None,
    }
}

/// The request that a message answers.
pub(super) fn answered_request(message: &ServerJsonRpcMessage) -> Option<&RequestId> {
    match message {
        JsonRpcMessage::Response(response) => Some(&response.id),
        JsonRpcMessage::Error(error) => error.id.as_ref(),
        JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
    }
}
