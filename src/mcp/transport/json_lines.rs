//! Lines of JSON in, lines of JSON out.
//!
//! Only whole lines are written, one at a time. A notification that comes before any handshake ends nothing.

use std::collections::HashSet;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, RequestId, ServerJsonRpcMessage};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, watch};

use super::{
    ClientPresence, INVALID_REQUEST, LONGEST, answered_request, cancelled_request, duplicate_id_error,
    error_response, parse_message,
};

/// How long requests that came before the end of the input may take to be answered.
const LAST_WORDS: Duration = Duration::from_millis(500);

type JsonLineInput = Box<dyn AsyncRead + Unpin + Send>;
type JsonLineOutput = Box<dyn AsyncWrite + Unpin + Send>;

pub(crate) struct JsonLineTransport {
    input: BufReader<JsonLineInput>,
    output: Arc<Mutex<JsonLineOutput>>,
    line: Vec<u8>,
    /// The rest of a line that is too long is skipped.
    skips_line: bool,
    presence: Arc<ClientPresence>,
    unanswered: watch::Sender<UnansweredRequests>,
}

#[derive(Default)]
struct UnansweredRequests {
    requests: HashSet<RequestId>,
    /// Answers on their way.
    pending_answers: usize,
}

impl UnansweredRequests {
    fn is_empty(&self) -> bool {
        self.requests.is_empty() && self.pending_answers == 0
    }
}

struct LineTooLong;

impl JsonLineTransport {
    pub(crate) fn new(
        input: impl AsyncRead + Unpin + Send + 'static,
        output: impl AsyncWrite + Unpin + Send + 'static,
        presence: Arc<ClientPresence>,
    ) -> Self {
        Self {
            input: BufReader::new(Box::new(input)),
            output: Arc::new(Mutex::new(Box::new(output))),
            line: Vec::new(),
            skips_line: false,
            presence,
            unanswered: watch::Sender::default(),
        }
    }

    pub(super) fn send(&mut self, message: ServerJsonRpcMessage) -> BoxFuture<'static, io::Result<()>> {
        let (output, unanswered) = (Arc::clone(&self.output), self.unanswered.clone());
        async move {
            // a client that has read the answer may reuse its id at once
            let answered = answered_request(&message).is_some_and(|id| {
                unanswered.send_modify(|open| {
                    open.requests.remove(id);
                    open.pending_answers += 1;
                });
                true
            });
            let written = match serde_json::to_string(&message) {
                Ok(text) => write_line(&output, text).await,
                Err(error) => Err(io::Error::other(error)),
            };
            if answered {
                unanswered.send_modify(|open| open.pending_answers = open.pending_answers.saturating_sub(1));
            }
            written
        }
        .boxed()
    }

    pub(super) async fn receive_message(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(line) = self.line().await else {
                self.drain_answers().await;
                self.presence.mark_gone();
                return None;
            };
            if line.is_err() {
                let text = format!("Invalid request: a message has at most {LONGEST} bytes");
                self.send_value(&error_response(Value::Null, INVALID_REQUEST, &text));
                continue;
            }
            let line = std::mem::take(&mut self.line);
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            match parse_message(&line) {
                Ok(JsonRpcMessage::Request(request)) => {
                    let new =
                        self.unanswered.send_if_modified(|open| open.requests.insert(request.id.clone()));
                    if new {
                        return Some(JsonRpcMessage::Request(request));
                    }
                    self.send_value(&duplicate_id_error(&request.id));
                }
                Ok(message) if self.presence.is_open() => {
                    if let Some(id) = cancelled_request(&message) {
                        self.unanswered.send_if_modified(|open| open.requests.remove(id));
                    }
                    return Some(message);
                }
                Ok(_) => tracing::debug!("a message before any handshake was dropped"),
                Err(answer) => self.send_value(&answer),
            }
        }
    }

    pub(super) async fn close(&mut self) -> io::Result<()> {
        self.output.lock().await.flush().await
    }

    /// The next line; `None` at the end. Cancel-safe: a dropped call keeps the bytes it has read.
    async fn line(&mut self) -> Option<Result<(), LineTooLong>> {
        loop {
            let read = match self.input.fill_buf().await {
                Ok([]) | Err(_) => return None,
                Ok(read) => read,
            };
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |at| at + 1);
            let room = self.line.len() + taken <= LONGEST;
            if room && !self.skips_line {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.input.consume(taken);
            if !room {
                self.line.clear();
                self.skips_line = true;
            }
            match (end, self.skips_line) {
                (None, _) => {}
                (Some(_), false) => return Some(Ok(())),
                (Some(_), true) => {
                    self.skips_line = false;
                    return Some(Err(LineTooLong));
                }
            }
        }
    }

    /// Answers an invalid message on a task of its own: the caller's wait for the next message may be dropped at any
    /// point, and the answer must not be lost then.
    fn send_value(&self, value: &Value) {
        let (output, unanswered, text) =
            (Arc::clone(&self.output), self.unanswered.clone(), value.to_string());
        unanswered.send_modify(|open| open.pending_answers += 1);
        tokio::spawn(async move {
            let _ = write_line(&output, text).await;
            unanswered.send_modify(|open| open.pending_answers = open.pending_answers.saturating_sub(1));
        });
    }

    /// Requests that came before the end of the input are answered, as far as that takes no time.
    async fn drain_answers(&mut self) {
        let mut left = self.unanswered.subscribe();
        let _ = tokio::time::timeout(LAST_WORDS, left.wait_for(UnansweredRequests::is_empty)).await;
    }
}

async fn write_line(output: &Mutex<JsonLineOutput>, mut text: String) -> io::Result<()> {
    text.push('\n');
    let mut output = output.lock().await;
    output.write_all(text.as_bytes()).await?;
    output.flush().await
}
