//! One request over HTTP, from its headers to its answer: the transport "streamable HTTP" of the protocol.

use std::sync::Arc;
use std::time::Duration;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{ALLOW, CONTENT_LENGTH, HeaderMap, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, Request, Response, StatusCode};
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, ErrorCode, GetMeta, JsonRpcMessage, JsonRpcRequest, ProtocolVersion, RequestId,
};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::super::backend::Backend;
use super::super::wire::{
    Event, INVALID_REQUEST, LONGEST, Presence, Waiting, cancels, id_in_use, message_in, refused,
};
use super::gate::{Barred, Gate};
use super::headers::{self, EVENTS, JSON, Manner, SESSION};
use super::reply::{self, Reply};
use super::sessions::{Session, Sessions};

pub(super) const PATH: &str = "/mcp";

/// An answer that is there so soon comes as it is; otherwise a stream begins.
const AT_ONCE: Duration = Duration::from_millis(200);
/// How long a message may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(60);

const NO_SESSION: &str = "Not found: there is no such session (any more); begin with initialize";

pub(super) struct Endpoint {
    backend: Arc<dyn Backend>,
    gate: Gate,
    sessions: Sessions,
    /// Of all requests that come without a session.
    presence: Arc<Presence>,
}

impl Endpoint {
    pub(super) fn new(backend: Arc<dyn Backend>, gate: Gate) -> Self {
        Self { backend, gate, sessions: Sessions::default(), presence: Arc::default() }
    }

    pub(super) async fn answer(&self, request: Request<Incoming>) -> Response<Reply> {
        if let Err(barred) = self.gate.check(request.uri(), request.headers()) {
            return turned_away(barred);
        }
        if request.uri().path() != PATH {
            return reply::words(StatusCode::NOT_FOUND, &format!("Not found: the server is at {PATH}"));
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => self.listen(request.headers()),
            Method::DELETE => self.end(request.headers()),
            _ => not_allowed("GET, POST, DELETE"),
        }
    }

    /// The server ends: what is cut off now was not cancelled by anybody.
    pub(super) fn leave(&self) {
        self.presence.leave();
        self.sessions.leave();
    }

    pub(super) fn close(&self) {
        self.sessions.close();
    }

    async fn post(&self, request: Request<Incoming>) -> Response<Reply> {
        let (head, body) = request.into_parts();
        if !headers::takes(&head.headers, &[JSON, EVENTS]) {
            let text = format!("Not acceptable: a client takes both {JSON} and {EVENTS}");
            return reply::words(StatusCode::NOT_ACCEPTABLE, &text);
        }
        if !headers::is_json(&head.headers) {
            let text = format!("Unsupported media type: messages are {JSON}");
            return reply::words(StatusCode::UNSUPPORTED_MEDIA_TYPE, &text);
        }
        let bytes = match tokio::time::timeout(ARRIVAL, whole(&head.headers, body)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(refusal)) => return refusal,
            Err(_) => return reply::words(StatusCode::REQUEST_TIMEOUT, "The message did not arrive in time"),
        };
        let message = match message_in(&bytes) {
            Ok(message) => message,
            Err(answer) => return reply::refusal(StatusCode::BAD_REQUEST, &answer),
        };
        match headers::manner(&head.headers, Some(&message)) {
            Err(answer) => reply::refusal(StatusCode::BAD_REQUEST, &answer),
            Ok(Manner::Alone) => self.alone(message).await,
            Ok(Manner::Session) => self.in_session(&head.headers, message).await,
        }
    }

    async fn in_session(&self, headers: &HeaderMap, message: ClientJsonRpcMessage) -> Response<Reply> {
        if let Some(id) = headers::text(headers, SESSION) {
            return match self.sessions.get(id) {
                Some(session) => said(&session, message).await,
                None => reply::words(StatusCode::NOT_FOUND, NO_SESSION),
            };
        }
        match message {
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::InitializeRequest(_)) =>
            {
                self.greet(request).await
            }
            JsonRpcMessage::Request(JsonRpcRequest { id, .. }) => {
                let text = "Invalid request: no session: begin with initialize, then send Mcp-Session-Id";
                let id = id.into_json_value();
                reply::refusal(StatusCode::BAD_REQUEST, &refused(id, INVALID_REQUEST, text))
            }
            _ => reply::words(StatusCode::BAD_REQUEST, "Bad request: the header Mcp-Session-Id is missing"),
        }
    }

    /// A handshake begins a session.
    async fn greet(&self, request: JsonRpcRequest<ClientRequest>) -> Response<Reply> {
        let session = Session::begin(&self.backend);
        let Some(mut waiting) = session.desk.expect(&request) else {
            return reply::nothing(StatusCode::BAD_REQUEST);
        };
        let answered = match session.inbox.send(JsonRpcMessage::Request(request)).await {
            Ok(()) => waiting.recv().await,
            Err(_) => None,
        };
        let Some(event) = answered else { return reply::nothing(StatusCode::INTERNAL_SERVER_ERROR) };
        if event.code.is_some() {
            return reply::message(StatusCode::OK, event.text);
        }
        let ids = &self.backend.handle().ports().ids;
        let id = format!("{:016x}{:016x}", ids.seed(), ids.seed());
        if self.sessions.insert(id.clone(), Arc::new(session)).is_none() {
            return reply::words(
                StatusCode::SERVICE_UNAVAILABLE,
                "Too many clients are busy here: try later",
            );
        }
        let mut response = reply::message(StatusCode::OK, event.text);
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    /// A message that stands on its own. A client that goes away before the answer cancels its request.
    async fn alone(&self, message: ClientJsonRpcMessage) -> Response<Reply> {
        let JsonRpcMessage::Request(request) = message else { return reply::nothing(StatusCode::ACCEPTED) };
        if let ClientRequest::PingRequest(_) = request.request {
            // newer versions of the protocol have it no more
            let id = request.id.into_json_value();
            let answer = refused(id, ErrorCode::METHOD_NOT_FOUND.0, "ping");
            return reply::refusal(StatusCode::NOT_FOUND, &answer);
        }
        let needed = ProtocolVersion::V_2026_07_28;
        let incomplete = !request.request.get_meta().missing_required_keys(&needed).is_empty();
        let session = Session::alone(&self.backend, &self.presence);
        let Some(mut waiting) = session.desk.expect(&request) else {
            return reply::nothing(StatusCode::BAD_REQUEST);
        };
        let reader = Reader { inbox: session.inbox.clone(), id: request.id.clone() };
        if session.inbox.send(JsonRpcMessage::Request(request)).await.is_err() {
            return reply::nothing(StatusCode::INTERNAL_SERVER_ERROR);
        }
        match tokio::time::timeout(AT_ONCE, waiting.recv()).await {
            Ok(Some(event)) if event.last => {
                let status = event.code.map_or(StatusCode::OK, |code| status(code, incomplete));
                reply::message(status, event.text)
            }
            Ok(Some(event)) => reply::stream(Some(event), waiting, reader),
            Ok(None) => reply::nothing(StatusCode::INTERNAL_SERVER_ERROR),
            Err(_) => reply::stream(None, waiting, reader),
        }
    }

    /// What belongs to no request: at most one stream of each session.
    fn listen(&self, headers: &HeaderMap) -> Response<Reply> {
        if !headers::takes(headers, &[EVENTS]) {
            return reply::words(
                StatusCode::NOT_ACCEPTABLE,
                &format!("Not acceptable: there is only {EVENTS}"),
            );
        }
        match headers::manner(headers, None) {
            Err(answer) => return reply::refusal(StatusCode::BAD_REQUEST, &answer),
            Ok(Manner::Alone) => return not_allowed("POST"),
            Ok(Manner::Session) => {}
        }
        let Some(id) = headers::text(headers, SESSION) else { return not_allowed("POST") };
        let Some(session) = self.sessions.get(id) else {
            return reply::words(StatusCode::NOT_FOUND, NO_SESSION);
        };
        match session.desk.listen() {
            Some(waiting) => reply::stream(None, waiting, ()),
            None => reply::words(StatusCode::CONFLICT, "Conflict: this session has a stream already"),
        }
    }

    fn end(&self, headers: &HeaderMap) -> Response<Reply> {
        match headers::text(headers, SESSION) {
            Some(id) if self.sessions.end(id) => reply::nothing(StatusCode::NO_CONTENT),
            Some(_) => reply::words(StatusCode::NOT_FOUND, NO_SESSION),
            None => {
                reply::words(StatusCode::BAD_REQUEST, "Bad request: the header Mcp-Session-Id is missing")
            }
        }
    }
}

/// Somebody who waits for an answer; dropped when it is there, or when nobody waits any more.
struct Reader {
    inbox: mpsc::Sender<ClientJsonRpcMessage>,
    id: RequestId,
}

impl Drop for Reader {
    fn drop(&mut self) {
        let params = CancelledNotificationParam::new(Some(self.id.clone()), None);
        let cancelled = CancelledNotification::new(params);
        let cancelled = ClientNotification::CancelledNotification(cancelled);
        let _ = self.inbox.try_send(JsonRpcMessage::notification(cancelled));
    }
}

/// A message of a client that is known.
async fn said(session: &Session, message: ClientJsonRpcMessage) -> Response<Reply> {
    let request = match message {
        JsonRpcMessage::Request(request) => request,
        other => {
            let cancelled = cancels(&other).cloned();
            let taken = session.inbox.send(other).await;
            if let Some(id) = cancelled {
                session.desk.forget(&id);
            }
            return match taken {
                Ok(()) => reply::nothing(StatusCode::ACCEPTED),
                Err(_) => reply::words(StatusCode::NOT_FOUND, NO_SESSION),
            };
        }
    };
    let Some(mut waiting) = session.desk.expect(&request) else {
        return reply::refusal(StatusCode::BAD_REQUEST, &id_in_use(&request.id));
    };
    if session.inbox.send(JsonRpcMessage::Request(request)).await.is_err() {
        return reply::words(StatusCode::NOT_FOUND, NO_SESSION);
    }
    soon(&mut waiting).await.unwrap_or_else(|first| reply::stream(first, waiting, ()))
}

/// The answer if it is there at once, else what came first.
async fn soon(waiting: &mut Waiting) -> Result<Response<Reply>, Option<Event>> {
    match tokio::time::timeout(AT_ONCE, waiting.recv()).await {
        Ok(Some(event)) if event.last => Ok(reply::message(StatusCode::OK, event.text)),
        Ok(first) => Err(first),
        Err(_) => Err(None),
    }
}

/// A message of bounded size.
async fn whole(headers: &HeaderMap, mut body: Incoming) -> Result<Vec<u8>, Response<Reply>> {
    let too_large = || {
        let text = format!("Invalid request: a message has at most {LONGEST} bytes");
        reply::refusal(StatusCode::PAYLOAD_TOO_LARGE, &refused(Value::Null, INVALID_REQUEST, &text))
    };
    let announced = headers::text(headers, CONTENT_LENGTH.as_str()).and_then(|text| text.parse().ok());
    if announced.is_some_and(|bytes: u64| bytes > LONGEST as u64) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(frame) = next(&mut body).await {
        let frame = frame.map_err(|_| {
            let answer = refused(Value::Null, INVALID_REQUEST, "Invalid request: the message was cut off");
            reply::refusal(StatusCode::BAD_REQUEST, &answer)
        })?;
        if bytes.len() + frame.len() > LONGEST {
            return Err(too_large());
        }
        bytes.extend_from_slice(&frame);
    }
    Ok(bytes)
}

async fn next(body: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
    loop {
        let frame =
            std::future::poll_fn(|context| std::pin::Pin::new(&mut *body).poll_frame(context)).await?;
        match frame.map(hyper::body::Frame::into_data) {
            Ok(Ok(data)) => return Some(Ok(data)),
            // trailers say nothing to us
            Ok(Err(_)) => {}
            Err(error) => return Some(Err(error)),
        }
    }
}

/// Newer clients are told by HTTP, too, what was wrong.
fn status(code: i32, incomplete: bool) -> StatusCode {
    match ErrorCode(code) {
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::INVALID_PARAMS if incomplete => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

fn turned_away(barred: Barred) -> Response<Reply> {
    let of = |status, text: &str| reply::refusal(status, &json!({"error": text}));
    match barred {
        Barred::Host => of(StatusCode::FORBIDDEN, "the header Host is not this machine"),
        Barred::Origin => of(StatusCode::FORBIDDEN, "pages of other machines are not served"),
        Barred::Token => {
            let text = "the token is missing or wrong: send Authorization: Bearer TOKEN";
            let mut response = of(StatusCode::UNAUTHORIZED, text);
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
    }
}

fn not_allowed(allowed: &'static str) -> Response<Reply> {
    let mut response = reply::nothing(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
