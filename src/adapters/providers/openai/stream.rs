//! Reads the body of an answer: as a stream of events, or as whatever it is instead.
//!
//! What a body is, its first character tells better than its content type, which servers and proxies get wrong
//! in both directions: `{` or `[` is a whole completion or an error, `<` a web page, the rest a stream.
//! One network read is one wake-up: all its events are decoded, then the screen hears of them once.

use std::time::Duration;

use reqwest::Response;
use serde_json::Value;

use crate::domain::model::ModelError;
use crate::ports::model::DeltaSink;

use super::decode::Answer;
use super::errors;
use super::sse::Events;

/// A whole completion or an error page beyond this is not read on.
const BODY_LIMIT: usize = 32 * 1024 * 1024;
/// Kept of a stream for the case that it turns out to be none.
const START: usize = 2048;
/// After `[DONE]` the end of the body is read as well, because only then can the connection be used again
/// (MODEL-18). It comes with the last bytes; a server that never sends it costs this once.
const FAREWELL: Duration = Duration::from_millis(250);

/// Where an answer comes from and how long silence is borne.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    pub shown: &'a str,
    pub connect: Duration,
    pub idle: Duration,
}

/// Reads to the end of the answer.
///
/// # Errors
/// Cut, silent, or no answer at all.
pub async fn read(
    mut response: Response,
    source: Source<'_>,
    sink: &dyn DeltaSink,
) -> Result<Answer, ModelError> {
    let mut start = Vec::new();
    let mut answer = Answer::default();
    let mut events = Events::default();
    while !answer.done {
        let bytes = match next(&mut response, source, &answer).await {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break,
            // The model had finished; only the bookkeeping was lost.
            Err(_) if answer.is_complete() => return Ok(answer),
            Err(error) => return Err(error),
        };
        if start.len() < START {
            start.extend_from_slice(&bytes[..bytes.len().min(START - start.len())]);
        }
        if answer.chunks == 0 && is_whole(&start) {
            return whole(response, source, bytes.into()).await;
        }
        events.feed(&bytes, &mut |name, data| answer.event(name, data, source.shown))?;
        answer.tell(sink);
    }
    if answer.done {
        // Whether the end comes or not, the answer is complete.
        let _ = tokio::time::timeout(FAREWELL, drain(&mut response)).await;
        return Ok(answer);
    }
    events.finish(&mut |name, data| answer.event(name, data, source.shown))?;
    answer.tell(sink);
    if answer.is_complete() { Ok(answer) } else { Err(unfinished(&answer, source, &start)) }
}

/// The body of an error, as far as anybody would read it; empty where it cannot be read.
pub async fn error_body(mut response: Response, idle: Duration) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Ok(Some(bytes))) = tokio::time::timeout(idle, response.chunk()).await {
        body.extend_from_slice(&bytes);
        if body.len() > 64 * 1024 {
            break;
        }
    }
    body
}

async fn next(
    response: &mut Response,
    source: Source<'_>,
    answer: &Answer,
) -> Result<Option<impl AsRef<[u8]> + Into<Vec<u8>> + std::ops::Deref<Target = [u8]> + use<>>, ModelError> {
    match tokio::time::timeout(source.idle, response.chunk()).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(error)) => Err(errors::of_transport(error, source.shown, source.connect, &answer.had())),
        Err(_) => Err(errors::silent(source.shown, source.idle, &answer.had())),
    }
}

async fn drain(response: &mut Response) {
    while let Ok(Some(_)) = response.chunk().await {}
}

/// Not an event stream: JSON or a page.
fn is_whole(start: &[u8]) -> bool {
    let start = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
    matches!(start.trim_ascii_start().first(), Some(b'{' | b'[' | b'<'))
}

async fn whole(mut response: Response, source: Source<'_>, mut body: Vec<u8>) -> Result<Answer, ModelError> {
    let mut answer = Answer::default();
    while let Some(bytes) = next(&mut response, source, &answer).await? {
        body.extend_from_slice(&bytes);
        if body.len() > BODY_LIMIT {
            return Err(no_answer(source, &body));
        }
    }
    let Ok(value) = serde_json::from_slice::<Value>(&body) else { return Err(no_answer(source, &body)) };
    // Some servers wrap an error object in an array.
    let value = value.get(0).unwrap_or(&value);
    answer.value("", value, source.shown)?;
    if answer.chunks == 0 {
        return Err(no_answer(source, &body));
    }
    answer.done = true;
    Ok(answer)
}

fn no_answer(source: Source<'_>, body: &[u8]) -> ModelError {
    ModelError::Protocol {
        detail: format!(
            "{} answered 200, but not with a chat completion: {}",
            source.shown,
            errors::body_line(body)
        ),
    }
}

/// A stream that ended without saying so.
fn unfinished(answer: &Answer, source: Source<'_>, start: &[u8]) -> ModelError {
    if answer.chunks == 0 && !start.trim_ascii().is_empty() && !start.starts_with(b":") {
        return no_answer(source, start);
    }
    ModelError::Transport { detail: format!("{} cut the answer off{}", source.shown, answer.had()) }
}
