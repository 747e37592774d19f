//! Reads the body of a reply: as a stream of events, or as another format.
//!
//! The first character of a body decides, because servers and proxies get the content type wrong in both directions:
//! `{` or `[` is a whole completion or an error, `<` a web page, the rest a stream. One network read is one wake-up:
//! all its events are decoded, then the sink gets them at once, however many HTTP chunks the server cut them into.

use std::ops::Deref;
use std::time::Duration;

use futures_util::FutureExt;
use reqwest::Response;
use serde_json::Value;

use synthdev_domain::model::ModelError;
use synthdev_ports::model::DeltaSink;

use super::errors;
use super::reply_decoder::ReplyDecoder;
use super::reply_guard::{AnswerGuard, AnswerLimits};
use super::sse::SseParser;
use super::timeouts::ModelTimeouts;

/// A whole completion or an error page beyond this is not read on.
const BODY_LIMIT: usize = 32 * 1024 * 1024;
/// Bytes after which the sink gets the text of a stream that never pauses.
const BURST: usize = 64 * 1024;
/// Kept of a stream for the case that it turns out to be none.
const START: usize = 2048;
/// After the last event the rest of the body is read as well, because only then can the connection be reused. It comes
/// with the last bytes; a server that never sends it costs this delay once.
const FAREWELL: Duration = Duration::from_millis(250);

/// Where a reply comes from and how long it is waited for.
#[derive(Clone, Copy, Debug)]
pub struct ReplySource<'a> {
    pub server_label: &'a str,
    pub timeouts: ModelTimeouts,
    /// For an estimate of what the prompt is charged as.
    pub prompt_bytes: usize,
    pub limits: AnswerLimits,
}

/// Reads to the end of the reply.
///
/// # Errors
/// Cut, silent, or no reply at all.
pub async fn read_reply<A: ReplyDecoder>(
    response: Response,
    source: ReplySource<'_>,
    sink: &dyn DeltaSink,
) -> Result<A, ModelError> {
    let mut body = ReplyBodyReader { response, source, sink, burst_bytes: 0 };
    let mut answer = A::default();
    let outcome = body.collect_reply(&mut answer).await;
    // What arrived before a failure is shown as well, and paid for.
    body.flush_reply(&mut answer);
    outcome.map(|()| answer)
}

/// The body of an error, up to a useful length and within the time limit; empty if it cannot be read.
pub async fn error_body(mut response: Response, idle: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    let read = async {
        while let Ok(Some(bytes)) = response.chunk().await {
            body.extend_from_slice(&bytes);
            if body.len() > 64 * 1024 {
                break;
            }
        }
    };
    // For the whole body, not for each piece: the status is enough.
    let _ = tokio::time::timeout(idle, read).await;
    body
}

/// A body, and how much of it was read since the sink last got text.
struct ReplyBodyReader<'a> {
    response: Response,
    source: ReplySource<'a>,
    sink: &'a dyn DeltaSink,
    burst_bytes: usize,
}

impl ReplyBodyReader<'_> {
    async fn collect_reply<A: ReplyDecoder>(&mut self, answer: &mut A) -> Result<(), ModelError> {
        let server_label = self.source.server_label;
        let mut start = Vec::new();
        let mut events = SseParser::default();
        let mut guard = AnswerGuard::new(self.source.limits);
        while !answer.has_ended() {
            let bytes = match self.next_chunk(answer).await {
                Ok(Some(bytes)) => bytes,
                Ok(None) => break,
                // The reply is complete; only its usage is missing.
                Err(_) if answer.is_complete() => return Ok(()),
                Err(error) => return Err(error),
            };
            self.burst_bytes += bytes.len();
            if start.len() < START {
                start.extend_from_slice(&bytes[..bytes.len().min(START - start.len())]);
            }
            if !answer.has_begun() && is_whole_document(&start) {
                return self.decode_whole(answer, bytes.into()).await;
            }
            events.feed_bytes(&bytes, &mut |name, data| answer.decode_event(name, data, server_label))?;
            match guard.check_progress(answer, bytes.len(), server_label) {
                Ok(false) => {}
                // A decoder that is complete needs no further bytes, even without an end mark.
                Ok(true) | Err(_) if answer.is_complete() => return Ok(()),
                Ok(true) => {
                    answer.reply_mut().was_cut = true;
                    return Ok(());
                }
                Err(error) => return Err(error),
            }
        }
        if answer.has_ended() {
            // Whether the end comes or not, the reply is complete.
            let _ = tokio::time::timeout(FAREWELL, self.drain_body()).await;
            // The connection's own task puts it back: it needs a turn before the next call looks for one.
            tokio::task::yield_now().await;
            return Ok(());
        }
        events.finish_stream(&mut |name, data| answer.decode_event(name, data, server_label))?;
        if answer.is_complete() { Ok(()) } else { Err(unfinished_error(answer, self.source, &start)) }
    }

    /// The next piece of the body. Takes buffered data without waiting; flushes to the sink only when there is none, or
    /// enough, and waits for the socket then.
    async fn next_chunk<A: ReplyDecoder>(
        &mut self,
        answer: &mut A,
    ) -> Result<Option<impl Deref<Target = [u8]> + Into<Vec<u8>> + use<A>>, ModelError> {
        if (1..BURST).contains(&self.burst_bytes) {
            // The connection's own task hands over one piece at a time: it needs a turn for the next.
            tokio::task::yield_now().await;
            if let Some(piece) = self.response.chunk().now_or_never() {
                return piece.map_err(|error| self.body_error(error, answer));
            }
        }
        self.flush_reply(answer);
        self.burst_bytes = 0;
        let ReplySource { server_label, timeouts, limits, .. } = self.source;
        let received = || answer.reply().received_note();
        let piece =
            timeouts.limit_read(server_label, limits.deadline, received, self.response.chunk()).await?;
        piece.map_err(|error| self.body_error(error, answer))
    }

    /// Passes new text to the sink and usage to the cost meter: a stop may come at any time.
    fn flush_reply<A: ReplyDecoder>(&self, answer: &mut A) {
        answer.reply_mut().flush_deltas(self.sink);
        if let Some(used) = answer.usage_so_far(self.source.prompt_bytes) {
            self.sink.report_usage(used);
        }
    }

    /// A body that is one JSON value.
    async fn decode_whole<A: ReplyDecoder>(
        &mut self,
        answer: &mut A,
        mut body: Vec<u8>,
    ) -> Result<(), ModelError> {
        while let Some(bytes) = self.next_chunk(answer).await? {
            body.extend_from_slice(&bytes);
            if body.len() > BODY_LIMIT {
                return Err(no_answer::<A>(self.source, &body));
            }
        }
        let Ok(value) = serde_json::from_slice::<Value>(&body) else {
            return Err(no_answer::<A>(self.source, &body));
        };
        // Some servers wrap an error object in an array.
        answer.decode_value("", value.get(0).unwrap_or(&value), self.source.server_label)?;
        let mut guard = AnswerGuard::new(self.source.limits);
        // Received data has a cost: refuses only a body without any usable part.
        guard.check_progress(answer, body.len(), self.source.server_label)?;
        if answer.has_begun() { Ok(()) } else { Err(no_answer::<A>(self.source, &body)) }
    }

    async fn drain_body(&mut self) {
        while let Ok(Some(_)) = self.response.chunk().await {}
    }

    fn body_error<A: ReplyDecoder>(&self, error: reqwest::Error, answer: &A) -> ModelError {
        errors::from_transport_error(
            error,
            self.source.server_label,
            self.source.timeouts.connect_timeout,
            &answer.reply().received_note(),
        )
    }
}

/// Not an event stream: JSON or a page.
fn is_whole_document(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    matches!(start.trim_ascii_start().first(), Some(b'{' | b'[' | b'<'))
}

fn no_answer<A: ReplyDecoder>(source: ReplySource<'_>, body: &[u8]) -> ModelError {
    ModelError::Protocol {
        detail: format!(
            "{} answered 200, but not with {}: {}",
            source.server_label,
            A::KIND,
            errors::body_line(body)
        ),
    }
}

/// A stream that ended without saying so.
fn unfinished_error<A: ReplyDecoder>(answer: &A, source: ReplySource<'_>, start: &[u8]) -> ModelError {
    if !answer.has_begun() && !start.trim_ascii().is_empty() && !start.starts_with(b":") {
        return no_answer::<A>(source, start);
    }
    ModelError::Transport {
        detail: format!("{} cut the answer off{}", source.server_label, answer.reply().received_note()),
    }
}
