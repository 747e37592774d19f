//! What a client is answered: a message, or a stream of them.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use hyper::body::{Body, Bytes, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use serde_json::Value;
use tokio::time::Interval;

use super::super::transport::{OutgoingMessage, OutgoingReceiver};
use super::headers::{EVENTS, JSON};

/// Interval of keep-alive comments on a stream without messages.
const ALIVE: Duration = Duration::from_secs(15);

pub(super) enum McpResponseBody {
    Whole(Option<Bytes>),
    Stream(SseBodyStream),
}

pub(super) struct SseBodyStream {
    first_message: Option<OutgoingMessage>,
    messages: OutgoingReceiver,
    keep_alive: Interval,
    /// Is dropped with the stream, also when the client goes away.
    _session_guard: Box<dyn Send + Sync>,
}

impl Body for McpResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let frame = |text: String| Poll::Ready(Some(Ok(Frame::data(Bytes::from(text)))));
        match self.get_mut() {
            Self::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Stream(stream) => {
                if let Some(event) = stream.first_message.take() {
                    return frame(sse_frame(&event));
                }
                match stream.messages.poll_recv(context) {
                    Poll::Ready(Some(event)) => frame(sse_frame(&event)),
                    Poll::Ready(None) => Poll::Ready(None),
                    Poll::Pending => match stream.keep_alive.poll_tick(context) {
                        Poll::Ready(_) => frame(": still here\n\n".to_owned()),
                        Poll::Pending => Poll::Pending,
                    },
                }
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64)),
            Self::Stream(_) => SizeHint::default(),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }
}

fn sse_frame(event: &OutgoingMessage) -> String {
    format!("event: message\ndata: {}\n\n", event.text)
}

/// A message, or several.
pub(super) fn message_response(status: StatusCode, text: String) -> Response<McpResponseBody> {
    let mut response = Response::new(McpResponseBody::Whole(Some(Bytes::from(text))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
    response
}

/// An error response, as a message of the protocol.
pub(super) fn error_response(status: StatusCode, answer: &Value) -> Response<McpResponseBody> {
    message_response(status, answer.to_string())
}

/// A plain text for a user who opens the address.
pub(super) fn text_response(status: StatusCode, text: &str) -> Response<McpResponseBody> {
    let mut response = Response::new(McpResponseBody::Whole(Some(Bytes::from(format!("{text}\n")))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

/// A limit of the server is reached: the client may come again in a second.
pub(super) fn busy_response(text: &str) -> Response<McpResponseBody> {
    let mut response = text_response(StatusCode::TOO_MANY_REQUESTS, text);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response
}

pub(super) fn empty_response(status: StatusCode) -> Response<McpResponseBody> {
    let mut response = Response::new(McpResponseBody::Whole(None));
    *response.status_mut() = status;
    response
}

/// Messages as they come. `kept` lives as long as the client reads them.
pub(super) fn stream_response(
    first: Option<OutgoingMessage>,
    waiting: OutgoingReceiver,
    kept: impl Send + Sync + 'static,
) -> Response<McpResponseBody> {
    let mut alive = tokio::time::interval(ALIVE);
    alive.reset();
    let stream = SseBodyStream {
        first_message: first,
        messages: waiting,
        keep_alive: alive,
        _session_guard: Box::new(kept),
    };
    let mut response = Response::new(McpResponseBody::Stream(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    headers.insert(HeaderName::from_static("x-accel-buffering"), HeaderValue::from_static("no"));
    response
}
