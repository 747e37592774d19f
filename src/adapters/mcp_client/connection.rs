//! One connection to a server: the handshake, its tools, its calls, and what it wrote to its standard error.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResult, ClientConfig, ContentBlock, PaginatedRequestParams,
    ResourceContents, Tool,
};
use rmcp::service::{ClientInitializeError, NotificationContext, RoleClient, RunningService, ServiceError};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ServiceExt};
use serde_json::Value;
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::time::timeout;

use super::client_settings::McpClientSettings;
use super::server_start::{PreparedServer, prepare_server};
use crate::tools::process::{ProcessGroup, StartedProcess};
use synthdev_domain::mcp_server::{McpServerConfig, McpToolDescription};
use synthdev_domain::terminal_safe;

/// Bytes of the end of its standard error that are kept.
const ERRORS_KEPT: usize = 4096;
/// Lines of that in a message.
const ERROR_LINES: usize = 4;
/// Tools of one server that are taken, and pages of its list that are asked for.
const MOST_TOOLS: usize = 2_000;
const MOST_PAGES: usize = 100;
/// How long a server that has closed its output may take to say why.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Why a call has no result.
pub(super) enum McpCallFailure {
    /// The server answered that it failed.
    Refused(String),
    /// The server has ended, or its answer could not be read.
    Lost(String),
}

pub(super) struct McpConnection {
    service: RunningService<RoleClient, McpClientHandler>,
    list_changed: Arc<AtomicBool>,
    errors: StderrTail,
    /// Dropped last: the server is asked to end by the end of its input first.
    _process: Option<ProcessGroup>,
}

/// What we say of ourselves, and what we hear beside answers.
struct McpClientHandler {
    list_changed: Arc<AtomicBool>,
}

impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let mut about = ClientConfig::default();
        about.client_info.name = "synthdev".to_owned();
        about.client_info.version = env!("CARGO_PKG_VERSION").to_owned();
        about
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.list_changed.store(true, Ordering::Relaxed);
    }
}

/// The end of what a server wrote to its standard error.
#[derive(Clone, Default)]
struct StderrTail(Arc<Mutex<Vec<u8>>>);

impl StderrTail {
    async fn collect(self, mut errors: Receiver) {
        let mut piece = [0; 1024];
        while let Ok(count) = errors.read(&mut piece).await {
            if count == 0 {
                break;
            }
            let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            kept.extend_from_slice(&piece[..count]);
            let surplus = kept.len().saturating_sub(ERRORS_KEPT);
            kept.drain(..surplus);
        }
    }

    /// `; its last words: …`, or nothing.
    fn told(&self) -> String {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let text = String::from_utf8_lossy(&kept);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let last = lines[lines.len().saturating_sub(ERROR_LINES)..].join(" | ");
        if last.is_empty() {
            String::new()
        } else {
            format!("; it wrote: {}", terminal_safe::escape_name(&last))
        }
    }
}

impl McpConnection {
    /// # Errors
    /// Why there is no connection, with what the server wrote to its standard error.
    pub(super) async fn open(
        settings: &McpClientSettings,
        server: &McpServerConfig,
        limit: Duration,
    ) -> Result<Self, String> {
        let errors = StderrTail::default();
        let list_changed = Arc::new(AtomicBool::new(false));
        let handler = McpClientHandler { list_changed: Arc::clone(&list_changed) };
        let (service, process) = match prepare_server(settings, server)? {
            PreparedServer::Process(process) => {
                let StartedProcess { group, commands, output, errors: stderr } = *process;
                if let Some(stderr) = stderr {
                    tokio::spawn(errors.clone().collect(stderr));
                }
                (timeout(limit, handler.serve((output, commands))).await, Some(group))
            }
            PreparedServer::Address(client, config) => {
                let transport = StreamableHttpClientTransport::with_client(client, config);
                (timeout(limit, handler.serve(transport)).await, None)
            }
        };
        let why = match service {
            Ok(Ok(service)) => return Ok(Self { service, list_changed, errors, _process: process }),
            Ok(Err(error)) => {
                tokio::time::sleep(LAST_WORDS).await;
                match error {
                    ClientInitializeError::ConnectionClosed(_) => "it ended before it answered".to_owned(),
                    ClientInitializeError::TransportError { error, .. } => {
                        format!("it was not reached: {}", innermost_reason(&*error.error))
                    }
                    error => format!("it gave no sound first answer: {error}"),
                }
            }
            Err(_) => {
                format!("it did not answer within {} s (`start_timeout` of the server)", limit.as_secs())
            }
        };
        Err(format!("{}{}", terminal_safe::escape_name(&why), errors.told()))
    }

    pub(super) fn is_open(&self) -> bool {
        !self.service.is_closed() && !self.service.peer().is_transport_closed()
    }

    /// Whether the server has said that its tools have changed since this was asked last.
    pub(super) fn take_list_change(&self) -> bool {
        self.list_changed.swap(false, Ordering::Relaxed)
    }

    pub(super) async fn list_tools(&self) -> Result<Vec<McpToolDescription>, String> {
        let mut tools = Vec::new();
        let mut page = None;
        for _ in 0..MOST_PAGES {
            let listed = self.service.list_tools(page.take()).await;
            let listed = listed
                .map_err(|error| format!("its tools could not be listed: {error}{}", self.errors.told()))?;
            tools.extend(listed.tools.into_iter().map(describe_tool));
            tools.truncate(MOST_TOOLS);
            match listed.next_cursor {
                Some(cursor) if tools.len() < MOST_TOOLS => {
                    page = Some(PaginatedRequestParams::default().with_cursor(Some(cursor)));
                }
                Some(_) | None => break,
            }
        }
        Ok(tools)
    }

    pub(super) async fn call_tool(&self, tool: &str, arguments: &Value) -> Result<Value, McpCallFailure> {
        let mut call = CallToolRequestParams::new(tool.to_owned());
        call.arguments = arguments.as_object().cloned();
        match self.service.call_tool(call).await {
            Ok(result) if result.is_error == Some(true) => Err(McpCallFailure::Refused(result_text(&result))),
            Ok(result) => Ok(result_value(result)),
            Err(ServiceError::McpError(error)) => Err(McpCallFailure::Refused(error.message.into_owned())),
            Err(error) => {
                tokio::time::sleep(LAST_WORDS).await;
                let why = match error {
                    ServiceError::TransportClosed => "it ended during the call".to_owned(),
                    ServiceError::TransportSend(error) => innermost_reason(&*error.error),
                    error => error.to_string(),
                };
                Err(McpCallFailure::Lost(format!(
                    "{why}{}; the next call starts it again",
                    self.errors.told()
                )))
            }
        }
    }
}

/// The outer reasons name types of the library.
fn innermost_reason(error: &(dyn std::error::Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    innermost.to_string()
}

fn describe_tool(tool: Tool) -> McpToolDescription {
    let hints = tool.annotations.unwrap_or_default();
    let mut parameters = Value::Object(tool.input_schema.as_ref().clone());
    // an object without properties is refused by some model servers
    if parameters.get("properties").is_none() {
        parameters["properties"] = serde_json::json!({});
    }
    McpToolDescription {
        name: tool.name.into_owned(),
        description: tool.description.map(std::borrow::Cow::into_owned).unwrap_or_default(),
        parameters,
        is_read_only: hints.read_only_hint == Some(true),
        is_idempotent: hints.idempotent_hint == Some(true),
    }
}

/// Its structured content, else its text.
fn result_value(result: CallToolResult) -> Value {
    match result.structured_content {
        Some(structured) => structured,
        None => Value::String(result_text(&result)),
    }
}

fn result_text(result: &CallToolResult) -> String {
    let parts: Vec<String> = result.content.iter().map(content_text).collect();
    parts.join("\n")
}

fn content_text(content: &ContentBlock) -> String {
    let left_out = |kind: &str, mime: &str, data: &str| {
        format!("[{kind} {mime}, {} bytes of base64, not shown]", data.len())
    };
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}:\n{text}"),
            ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
                left_out(uri, mime_type.as_deref().unwrap_or_default(), blob)
            }
            _ => String::new(),
        },
        ContentBlock::ResourceLink(link) => format!("{} ({})", link.uri, link.name),
        _ => String::new(),
    }
}
