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

use super::super::backend::McpBackend;
use super::super::transport::{
    ClientPresence, INVALID_REQUEST, LONGEST, OutgoingMessage, OutgoingReceiver, cancelled_request,
    duplicate_id_error, error_response, parse_message,
};
use super::auth::{AuthRejection, RequestAuth};
use super::headers::{self, EVENTS, JSON, SESSION, SessionMode};
use super::response_body::{self, McpResponseBody};
use super::sessions::{McpSession, McpSessionTable};

pub(super) const PATH: &str = "/mcp";

/// An answer within this time is a plain response; otherwise a stream begins.
const AT_ONCE: Duration = Duration::from_millis(200);
/// How long a message may take to arrive.
const ARRIVAL: Duration = Duration::from_secs(60);

const NO_SESSION: &str = "Not found: there is no such session (any more); begin with initialize";

pub(super) struct McpHttpEndpoint {
    backend: Arc<dyn McpBackend>,
    auth: RequestAuth,
    sessions: McpSessionTable,
    /// Of all requests that come without a session.
    presence: Arc<ClientPresence>,
}

impl McpHttpEndpoint {
    pub(super) fn new(backend: Arc<dyn McpBackend>, gate: RequestAuth) -> Self {
        Self { backend, auth: gate, sessions: McpSessionTable::default(), presence: Arc::default() }
    }

    pub(super) async fn answer_request(&self, request: Request<Incoming>) -> Response<McpResponseBody> {
        if let Err(barred) = self.auth.check_request(request.uri(), request.headers()) {
            return auth_rejection(barred);
        }
        if request.uri().path() != PATH {
            return response_body::text_response(
                StatusCode::NOT_FOUND,
                &format!("Not found: the server is at {PATH}"),
            );
        }
        match *request.method() {
            Method::POST => self.handle_post(request).await,
            Method::GET => self.open_event_stream(request.headers()),
            Method::DELETE => self.end_session(request.headers()),
            _ => not_allowed("GET, POST, DELETE"),
        }
    }

    /// The server stops: requests that are cut off now were not cancelled by a client.
    pub(super) fn mark_shutting_down(&self) {
        self.presence.mark_gone();
        self.sessions.mark_shutting_down();
    }

    pub(super) fn close(&self) {
        self.sessions.close();
    }

    async fn handle_post(&self, request: Request<Incoming>) -> Response<McpResponseBody> {
        let (head, body) = request.into_parts();
        if !headers::accepts_types(&head.headers, &[JSON, EVENTS]) {
            let text = format!("Not acceptable: a client takes both {JSON} and {EVENTS}");
            return response_body::text_response(StatusCode::NOT_ACCEPTABLE, &text);
        }
        if !headers::is_json(&head.headers) {
            let text = format!("Unsupported media type: messages are {JSON}");
            return response_body::text_response(StatusCode::UNSUPPORTED_MEDIA_TYPE, &text);
        }
        let bytes = match tokio::time::timeout(ARRIVAL, read_body(&head.headers, body)).await {
            Ok(Ok(bytes)) => bytes,
            Ok(Err(refusal)) => return refusal,
            Err(_) => {
                return response_body::text_response(
                    StatusCode::REQUEST_TIMEOUT,
                    "The message did not arrive in time",
                );
            }
        };
        let message = match parse_message(&bytes) {
            Ok(message) => message,
            Err(answer) => return response_body::error_response(StatusCode::BAD_REQUEST, &answer),
        };
        match headers::session_mode(&head.headers, Some(&message)) {
            Err(answer) => response_body::error_response(StatusCode::BAD_REQUEST, &answer),
            Ok(SessionMode::Alone) => self.answer_single_request(message).await,
            Ok(SessionMode::Session) => self.in_session(&head.headers, message).await,
        }
    }

    async fn in_session(
        &self,
        headers: &HeaderMap,
        message: ClientJsonRpcMessage,
    ) -> Response<McpResponseBody> {
        if let Some(id) = headers::header_text(headers, SESSION) {
            return match self.sessions.get(id) {
                Some(session) => forward_message(&session, message).await,
                None => response_body::text_response(StatusCode::NOT_FOUND, NO_SESSION),
            };
        }
        match message {
            JsonRpcMessage::Request(request)
                if matches!(request.request, ClientRequest::InitializeRequest(_)) =>
            {
                self.begin_session(request).await
            }
            JsonRpcMessage::Request(JsonRpcRequest { id, .. }) => {
                let text = "Invalid request: no session: begin with initialize, then send Mcp-Session-Id";
                let id = id.into_json_value();
                response_body::error_response(
                    StatusCode::BAD_REQUEST,
                    &error_response(id, INVALID_REQUEST, text),
                )
            }
            _ => response_body::text_response(
                StatusCode::BAD_REQUEST,
                "Bad request: the header Mcp-Session-Id is missing",
            ),
        }
    }

    /// A handshake begins a session.
    async fn begin_session(&self, request: JsonRpcRequest<ClientRequest>) -> Response<McpResponseBody> {
        let session = McpSession::open_session(&self.backend);
        let Some(mut waiting) = session.router.register_request(&request) else {
            return response_body::empty_response(StatusCode::BAD_REQUEST);
        };
        let answered = match session.inbox.send(JsonRpcMessage::Request(request)).await {
            Ok(()) => waiting.recv().await,
            Err(_) => None,
        };
        let Some(event) = answered else {
            return response_body::empty_response(StatusCode::INTERNAL_SERVER_ERROR);
        };
        if event.code.is_some() {
            return response_body::message_response(StatusCode::OK, event.text);
        }
        let id = self.backend.handle().draw_session_id();
        if self.sessions.try_insert(id.clone(), Arc::new(session)).is_none() {
            return response_body::busy_response("Too many sessions are busy: try again in a second");
        }
        let mut response = response_body::message_response(StatusCode::OK, event.text);
        if let Ok(id) = HeaderValue::from_str(&id) {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    /// A request outside of a session. A client that disconnects before the answer cancels its request.
    async fn answer_single_request(&self, message: ClientJsonRpcMessage) -> Response<McpResponseBody> {
        let JsonRpcMessage::Request(request) = message else {
            return response_body::empty_response(StatusCode::ACCEPTED);
        };
        if let ClientRequest::PingRequest(_) = request.request {
            // newer versions of the protocol have it no more
            let id = request.id.into_json_value();
            let answer = error_response(id, ErrorCode::METHOD_NOT_FOUND.0, "ping");
            return response_body::error_response(StatusCode::NOT_FOUND, &answer);
        }
        let needed = ProtocolVersion::V_2026_07_28;
        let incomplete = !request.request.get_meta().missing_required_keys(&needed).is_empty();
        let session = McpSession::for_single_request(&self.backend, &self.presence);
        let Some(mut waiting) = session.router.register_request(&request) else {
            return response_body::empty_response(StatusCode::BAD_REQUEST);
        };
        let reader = CancelRequestGuard { inbox: session.inbox.clone(), id: request.id.clone() };
        if session.inbox.send(JsonRpcMessage::Request(request)).await.is_err() {
            return response_body::empty_response(StatusCode::INTERNAL_SERVER_ERROR);
        }
        match tokio::time::timeout(AT_ONCE, waiting.recv()).await {
            Ok(Some(event)) if event.is_last => {
                let status = event.code.map_or(StatusCode::OK, |code| http_status(code, incomplete));
                response_body::message_response(status, event.text)
            }
            Ok(Some(event)) => response_body::stream_response(Some(event), waiting, reader),
            Ok(None) => response_body::empty_response(StatusCode::INTERNAL_SERVER_ERROR),
            Err(_) => response_body::stream_response(None, waiting, reader),
        }
    }

    /// What belongs to no request: at most one stream of each session.
    fn open_event_stream(&self, headers: &HeaderMap) -> Response<McpResponseBody> {
        if !headers::accepts_types(headers, &[EVENTS]) {
            return response_body::text_response(
                StatusCode::NOT_ACCEPTABLE,
                &format!("Not acceptable: there is only {EVENTS}"),
            );
        }
        match headers::session_mode(headers, None) {
            Err(answer) => return response_body::error_response(StatusCode::BAD_REQUEST, &answer),
            Ok(SessionMode::Alone) => return not_allowed("POST"),
            Ok(SessionMode::Session) => {}
        }
        let Some(id) = headers::header_text(headers, SESSION) else { return not_allowed("POST") };
        let Some(session) = self.sessions.get(id) else {
            return response_body::text_response(StatusCode::NOT_FOUND, NO_SESSION);
        };
        match session.router.subscribe_unsolicited() {
            Some(waiting) => response_body::stream_response(None, waiting, ()),
            None => response_body::text_response(
                StatusCode::CONFLICT,
                "Conflict: this session has a stream already",
            ),
        }
    }

    fn end_session(&self, headers: &HeaderMap) -> Response<McpResponseBody> {
        match headers::header_text(headers, SESSION) {
            Some(id) if self.sessions.remove_session(id) => {
                response_body::empty_response(StatusCode::NO_CONTENT)
            }
            Some(_) => response_body::text_response(StatusCode::NOT_FOUND, NO_SESSION),
            None => response_body::text_response(
                StatusCode::BAD_REQUEST,
                "Bad request: the header Mcp-Session-Id is missing",
            ),
        }
    }
}

/// Cancels a request when its response is dropped, so that a client that disconnects cancels it. Has no effect after
/// the answer.
struct CancelRequestGuard {
    inbox: mpsc::Sender<ClientJsonRpcMessage>,
    id: RequestId,
}

impl Drop for CancelRequestGuard {
    fn drop(&mut self) {
        let params = CancelledNotificationParam::new(Some(self.id.clone()), None);
        let cancelled = CancelledNotification::new(params);
        let cancelled = ClientNotification::CancelledNotification(cancelled);
        let _ = self.inbox.try_send(JsonRpcMessage::notification(cancelled));
    }
}

/// A message of a client that is known.
async fn forward_message(session: &McpSession, message: ClientJsonRpcMessage) -> Response<McpResponseBody> {
    let request = match message {
        JsonRpcMessage::Request(request) => request,
        other => {
            let cancelled = cancelled_request(&other).cloned();
            let taken = session.inbox.send(other).await;
            if let Some(id) = cancelled {
                session.router.forget_request(&id);
            }
            return match taken {
                Ok(()) => response_body::empty_response(StatusCode::ACCEPTED),
                Err(_) => response_body::text_response(StatusCode::NOT_FOUND, NO_SESSION),
            };
        }
    };
    let Some(mut waiting) = session.router.register_request(&request) else {
        return response_body::error_response(StatusCode::BAD_REQUEST, &duplicate_id_error(&request.id));
    };
    if session.inbox.send(JsonRpcMessage::Request(request)).await.is_err() {
        return response_body::text_response(StatusCode::NOT_FOUND, NO_SESSION);
    }
    answer_or_first_message(&mut waiting)
        .await
        .unwrap_or_else(|first| response_body::stream_response(first, waiting, ()))
}

/// The answer if it comes at once, else the first message.
async fn answer_or_first_message(
    waiting: &mut OutgoingReceiver,
) -> Result<Response<McpResponseBody>, Option<OutgoingMessage>> {
    match tokio::time::timeout(AT_ONCE, waiting.recv()).await {
        Ok(Some(event)) if event.is_last => Ok(response_body::message_response(StatusCode::OK, event.text)),
        Ok(first) => Err(first),
        Err(_) => Err(None),
    }
}

/// A message of bounded size.
async fn read_body(headers: &HeaderMap, mut body: Incoming) -> Result<Vec<u8>, Response<McpResponseBody>> {
    let too_large = || {
        let text = format!("Invalid request: a message has at most {LONGEST} bytes");
        response_body::error_response(
            StatusCode::PAYLOAD_TOO_LARGE,
            &error_response(Value::Null, INVALID_REQUEST, &text),
        )
    };
    let announced = headers::header_text(headers, CONTENT_LENGTH.as_str()).and_then(|text| text.parse().ok());
    if announced.is_some_and(|bytes: u64| bytes > LONGEST as u64) {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    while let Some(frame) = next_chunk(&mut body).await {
        let frame = frame.map_err(|_| {
            let answer =
                error_response(Value::Null, INVALID_REQUEST, "Invalid request: the message was cut off");
            response_body::error_response(StatusCode::BAD_REQUEST, &answer)
        })?;
        if bytes.len() + frame.len() > LONGEST {
            return Err(too_large());
        }
        bytes.extend_from_slice(&frame);
    }
    Ok(bytes)
}

async fn next_chunk(body: &mut Incoming) -> Option<Result<Bytes, hyper::Error>> {
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

/// Newer clients get the error as an HTTP status, too.
fn http_status(code: i32, incomplete: bool) -> StatusCode {
    match ErrorCode(code) {
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::INVALID_PARAMS if incomplete => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

fn auth_rejection(barred: AuthRejection) -> Response<McpResponseBody> {
    let of = |status, text: &str| response_body::error_response(status, &json!({"error": text}));
    match barred {
        AuthRejection::Host => of(StatusCode::FORBIDDEN, "the header Host is not this machine"),
        AuthRejection::Origin => of(
            StatusCode::FORBIDDEN,
            "requests from web pages of other machines are \
            refused",
        ),
        AuthRejection::Token => {
            let text = "the token is missing or wrong: send Authorization: Bearer TOKEN";
            let mut response = of(StatusCode::UNAUTHORIZED, text);
            response.headers_mut().insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
            response
        }
    }
}

fn not_allowed(allowed: &'static str) -> Response<McpResponseBody> {
    let mut response = response_body::empty_response(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}
