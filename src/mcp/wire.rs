//! Lines of JSON in, lines of JSON out.
//!
//! Owns what the protocol library leaves open: a line that is no JSON is answered (-32700), what is no message, too
//! (-32600), and a notification that comes before any handshake ends nothing. Only whole lines are written, one at a
//! time.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, JsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{Mutex, watch};

/// A longer line is refused and skipped: 16 MiB.
const LONGEST: usize = 16 << 20;
/// How long requests that came before the end of the input may take to be answered.
const LAST_WORDS: Duration = Duration::from_millis(500);

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;

pub(super) struct Wire<R, W> {
    input: BufReader<R>,
    output: Arc<Mutex<W>>,
    line: Vec<u8>,
    /// The rest of a line that is too long is skipped.
    skipping: bool,
    /// There was a handshake, or a request that needs none.
    open: Arc<AtomicBool>,
    /// Requests without an answer so far.
    unanswered: watch::Sender<usize>,
}

impl<R: AsyncRead + Unpin + Send, W: AsyncWrite + Unpin + Send + 'static> Wire<R, W> {
    pub(super) fn new(input: R, output: W, open: Arc<AtomicBool>) -> Self {
        Self {
            input: BufReader::new(input),
            output: Arc::new(Mutex::new(output)),
            line: Vec::new(),
            skipping: false,
            open,
            unanswered: watch::Sender::new(0),
        }
    }

    /// The next line; `None` at the end. May be dropped and called again at any point: what was read is kept.
    async fn line(&mut self) -> Option<Result<(), TooLong>> {
        loop {
            let read = match self.input.fill_buf().await {
                Ok([]) | Err(_) => return None,
                Ok(read) => read,
            };
            let end = read.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(read.len(), |at| at + 1);
            let room = self.line.len() + taken <= LONGEST;
            if room && !self.skipping {
                self.line.extend_from_slice(&read[..taken]);
            }
            self.input.consume(taken);
            if !room {
                self.line.clear();
                self.skipping = true;
            }
            match (end, self.skipping) {
                (None, _) => {}
                (Some(_), false) => return Some(Ok(())),
                (Some(_), true) => {
                    self.skipping = false;
                    return Some(Err(TooLong));
                }
            }
        }
    }

    /// What a line says; an error is what it is answered.
    fn parsed(&mut self) -> Result<Option<ClientJsonRpcMessage>, Value> {
        let line = std::mem::take(&mut self.line);
        if line.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        let value: Value = serde_json::from_slice(&line)
            .map_err(|error| refused(Value::Null, PARSE_ERROR, &format!("Parse error: {error}")))?;
        let id = match &value["id"] {
            id @ (Value::String(_) | Value::Number(_)) => id.clone(),
            _ => Value::Null,
        };
        let message = serde_json::from_value::<ClientJsonRpcMessage>(value);
        message
            .map(Some)
            .map_err(|_| refused(id, INVALID_REQUEST, "Invalid request: this is no message of JSON-RPC 2.0"))
    }

    /// Answers what is no request, on a task of its own: whoever waits for the next message may stop waiting at any
    /// point, and the answer must not be lost with that.
    fn say(&self, value: &Value) {
        let (output, unanswered, text) =
            (Arc::clone(&self.output), self.unanswered.clone(), value.to_string());
        unanswered.send_modify(|left| *left += 1);
        tokio::spawn(async move {
            let _ = write(&output, text).await;
            unanswered.send_modify(|left| *left = left.saturating_sub(1));
        });
    }

    /// Requests that came before the end of the input are answered, as far as that takes no time.
    async fn last_words(&mut self) {
        let mut left = self.unanswered.subscribe();
        let _ = tokio::time::timeout(LAST_WORDS, left.wait_for(|left| *left == 0)).await;
    }
}

struct TooLong;

impl<R, W> Transport<RoleServer> for Wire<R, W>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let answers = matches!(message, JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_));
        let (output, unanswered) = (Arc::clone(&self.output), self.unanswered.clone());
        async move {
            let written = match serde_json::to_string(&message) {
                Ok(text) => write(&output, text).await,
                Err(error) => Err(io::Error::other(error)),
            };
            if answers {
                unanswered.send_modify(|left| *left = left.saturating_sub(1));
            }
            written
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            let Some(line) = self.line().await else {
                self.last_words().await;
                return None;
            };
            if line.is_err() {
                let text = format!("Invalid request: a message has at most {LONGEST} bytes");
                self.say(&refused(Value::Null, INVALID_REQUEST, &text));
                continue;
            }
            match self.parsed() {
                Ok(None) => {}
                Ok(Some(message @ JsonRpcMessage::Request(_))) => {
                    self.unanswered.send_modify(|left| *left += 1);
                    return Some(message);
                }
                Ok(Some(message)) if self.open.load(Ordering::Acquire) => return Some(message),
                Ok(Some(_)) => tracing::debug!("a message before any handshake was dropped"),
                Err(answer) => self.say(&answer),
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.output.lock().await.flush().await
    }
}

async fn write<W: AsyncWrite + Unpin>(output: &Mutex<W>, mut text: String) -> io::Result<()> {
    text.push('\n');
    let mut output = output.lock().await;
    output.write_all(text.as_bytes()).await?;
    output.flush().await
}

fn refused(id: Value, code: i32, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}
