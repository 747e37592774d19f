//! One connection to a server: the handshake, its tools, its calls, and what it wrote to its standard error.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::StreamExt as _;
use rmcp::handler::client::progress::ProgressDispatcher;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, CancelledNotificationParam, ClientConfig,
    ClientRequest, ContentBlock, GetPromptRequestParams, PaginatedRequestParams, ProgressNotificationParam,
    Prompt, ReadResourceRequestParams, RequestId, ResourceContents, ServerCapabilities, ServerResult, Tool,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, Peer, PeerRequestOptions, RoleClient, RunningService,
    ServiceError,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::{ClientHandler, ServiceExt};
use serde_json::{Map, Value};
use tokio::io::AsyncReadExt as _;
use tokio::net::unix::pipe::Receiver;
use tokio::runtime::Handle;
use tokio::sync::Notify;
use tokio::time::timeout;

use super::client_settings::McpClientSettings;
use super::server_start::{PreparedServer, prepare_server};
use crate::tools::process::{ProcessGroup, StartedProcess};
use synthdev_domain::mcp_server::{
    McpPromptArgument, McpPromptDescription, McpResourceDescription, McpServerConfig, McpToolDescription,
};
use synthdev_domain::terminal_safe;
use synthdev_ports::tool::ToolProgressSink;

/// Bytes of the end of its standard error that are kept.
const ERRORS_KEPT: usize = 4096;
/// Lines of that in a message.
const ERROR_LINES: usize = 4;
/// Tools of one server that are taken, and pages of its list that are asked for.
const MOST_TOOLS: usize = 2_000;
const MOST_PAGES: usize = 100;
/// Letters of a report of progress.
const LONGEST_PROGRESS: usize = 80;
/// How long the client waits for the server's standard error after the connection closed.
const STDERR_WAIT: Duration = Duration::from_millis(100);

/// Why a call has no result.
pub(super) enum McpCallFailure {
    /// The server answered that it failed.
    Refused(String),
    /// The server has ended, or its answer could not be read.
    Lost(String),
}

pub(super) struct McpConnection {
    service: RunningService<RoleClient, McpClientHandler>,
    lists_changed: Arc<Notify>,
    progress: ProgressDispatcher,
    errors: StderrTail,
    /// Dropped last: the server is asked to end by the end of its input first.
    _process: Option<ProcessGroup>,
}

/// Identifies synthdev to the server, and receives its notifications.
struct McpClientHandler {
    lists_changed: Arc<Notify>,
    progress: ProgressDispatcher,
}

impl ClientHandler for McpClientHandler {
    fn get_info(&self) -> ClientConfig {
        let mut about = ClientConfig::default();
        about.client_info.name = "synthdev".to_owned();
        about.client_info.version = env!("CARGO_PKG_VERSION").to_owned();
        about
    }

    async fn on_progress(
        &self,
        report: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        self.progress.handle_notification(report).await;
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
    }

    async fn on_prompt_list_changed(&self, _context: NotificationContext<RoleClient>) {
        self.lists_changed.notify_one();
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

    /// `; it wrote: …` with the last lines of its standard error, or nothing.
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
        let lists_changed = Arc::new(Notify::new());
        let progress = ProgressDispatcher::new();
        let handler =
            McpClientHandler { lists_changed: Arc::clone(&lists_changed), progress: progress.clone() };
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
            Ok(Ok(service)) => {
                return Ok(Self { service, lists_changed, progress, errors, _process: process });
            }
            Ok(Err(error)) => {
                tokio::time::sleep(STDERR_WAIT).await;
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

    /// Tells when the server has said that its tools, resources or prompts have changed.
    pub(super) fn list_changes(&self) -> Arc<Notify> {
        Arc::clone(&self.lists_changed)
    }

    fn offers(&self, what: impl FnOnce(&ServerCapabilities) -> bool) -> bool {
        self.service.peer().peer_info().is_some_and(|info| what(&info.capabilities))
    }

    /// The server's resources; empty if it does not list them. Tools work without them.
    pub(super) async fn list_resources(&self) -> Vec<McpResourceDescription> {
        let mut resources = Vec::new();
        let mut page = None;
        for _ in 0..MOST_PAGES {
            if !self.offers(|offered| offered.resources.is_some()) {
                break;
            }
            let Ok(listed) = self.service.list_resources(page.take()).await else { break };
            resources.extend(listed.resources.into_iter().map(|resource| McpResourceDescription {
                uri: resource.uri,
                name: resource.name,
                description: resource.description.unwrap_or_default(),
            }));
            resources.truncate(MOST_TOOLS);
            match listed.next_cursor {
                Some(cursor) if resources.len() < MOST_TOOLS => page = Some(page_after(cursor)),
                Some(_) | None => break,
            }
        }
        resources
    }

    /// The server's prompts; empty if it does not list them.
    pub(super) async fn list_prompts(&self) -> Vec<McpPromptDescription> {
        let mut prompts = Vec::new();
        let mut page = None;
        for _ in 0..MOST_PAGES {
            if !self.offers(|offered| offered.prompts.is_some()) {
                break;
            }
            let Ok(listed) = self.service.list_prompts(page.take()).await else { break };
            prompts.extend(listed.prompts.into_iter().map(describe_prompt));
            prompts.truncate(MOST_TOOLS);
            match listed.next_cursor {
                Some(cursor) if prompts.len() < MOST_TOOLS => page = Some(page_after(cursor)),
                Some(_) | None => break,
            }
        }
        prompts
    }

    pub(super) async fn read_resource(&self, uri: &str) -> Result<String, McpCallFailure> {
        let read = self.service.read_resource(ReadResourceRequestParams::new(uri)).await;
        match read {
            Ok(result) => Ok(result.contents.iter().map(resource_text).collect::<Vec<_>>().join("\n")),
            Err(error) => Err(self.failure(error).await),
        }
    }

    pub(super) async fn get_prompt(
        &self,
        prompt: &str,
        arguments: Map<String, Value>,
    ) -> Result<String, McpCallFailure> {
        let request = GetPromptRequestParams::new(prompt).with_arguments(arguments);
        match self.service.get_prompt(request).await {
            Ok(result) => {
                let parts: Vec<String> =
                    result.messages.iter().map(|message| content_text(&message.content)).collect();
                Ok(parts.join("\n\n"))
            }
            Err(error) => Err(self.failure(error).await),
        }
    }

    pub(super) async fn list_tools(&self) -> Result<Vec<McpToolDescription>, String> {
        // some have only resources and prompts
        let others = |offered: &ServerCapabilities| offered.resources.is_some() || offered.prompts.is_some();
        if self.offers(|offered| offered.tools.is_none() && others(offered)) {
            return Ok(Vec::new());
        }
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
                    page = Some(page_after(cursor));
                }
                Some(_) | None => break,
            }
        }
        Ok(tools)
    }

    pub(super) async fn call_tool(
        &self,
        tool: &str,
        arguments: &Value,
        progress: &dyn ToolProgressSink,
    ) -> Result<Value, McpCallFailure> {
        let mut call = CallToolRequestParams::new(tool.to_owned());
        call.arguments = arguments.as_object().cloned();
        match self.request_call(call, progress).await {
            Ok(result) if result.is_error == Some(true) => Err(McpCallFailure::Refused(result_text(&result))),
            Ok(result) => Ok(result_value(result)),
            Err(error) => Err(self.failure(error).await),
        }
    }

    /// What the server refused, or why it is lost, with the last lines of its standard error.
    async fn failure(&self, error: ServiceError) -> McpCallFailure {
        let why = match error {
            ServiceError::McpError(error) => return McpCallFailure::Refused(error.message.into_owned()),
            ServiceError::TransportClosed => "it ended during the call".to_owned(),
            ServiceError::TransportSend(error) => innermost_reason(&*error.error),
            error => error.to_string(),
        };
        tokio::time::sleep(STDERR_WAIT).await;
        McpCallFailure::Lost(format!("{why}{}; the next call starts it again", self.errors.told()))
    }

    /// One call. If it is dropped, the client sends the server a cancel notification.
    async fn request_call(
        &self,
        call: CallToolRequestParams,
        progress: &dyn ToolProgressSink,
    ) -> Result<CallToolResult, ServiceError> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(call));
        let options = PeerRequestOptions::no_options();
        let mut sent = self.service.peer().send_cancellable_request(request, options).await?;
        let mut open = OpenMcpCall { peer: sent.peer.clone(), request: Some(sent.id.clone()) };
        let mut reports = self.progress.subscribe(sent.progress_token.clone()).await;
        let answer = loop {
            tokio::select! {
                answer = &mut sent.rx => break answer,
                Some(report) = reports.next() => progress.report_progress(&progress_text(&report)),
            }
        };
        open.request = None;
        match answer.map_err(|_| ServiceError::TransportClosed)?? {
            ServerResult::CallToolResult(result) => Ok(result),
            _ => Err(ServiceError::UnexpectedResponse),
        }
    }
}

/// A call that is cancelled unless it was answered.
struct OpenMcpCall {
    peer: Peer<RoleClient>,
    request: Option<RequestId>,
}

impl Drop for OpenMcpCall {
    fn drop(&mut self) {
        let (Some(request), Ok(runtime)) = (self.request.take(), Handle::try_current()) else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let reason = "the call was given up".to_owned();
            let cancelled = CancelledNotificationParam::new(Some(request), Some(reason));
            // a server that is gone need not hear it
            drop(peer.notify_cancelled(cancelled).await);
        });
    }
}

/// `3 of 10: reading page 3`, without what the server left out.
fn progress_text(report: &ProgressNotificationParam) -> String {
    let amount = match report.total {
        Some(total) => format!("{} of {total}", report.progress),
        None => report.progress.to_string(),
    };
    match report.message.as_deref().map(|message| terminal_safe::first_line(message, LONGEST_PROGRESS)) {
        Some(message) if !message.is_empty() => format!("{amount}: {message}"),
        _ => amount,
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
        is_additive: hints.destructive_hint == Some(false),
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

fn left_out(kind: &str, mime: &str, data: &str) -> String {
    format!("[{kind} {mime}, {} bytes of base64, not shown]", data.len())
}

fn resource_text(contents: &ResourceContents) -> String {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => text.clone(),
        ResourceContents::BlobResourceContents { uri, mime_type, blob, .. } => {
            left_out(uri, mime_type.as_deref().unwrap_or_default(), blob)
        }
        _ => String::new(),
    }
}

fn page_after(cursor: String) -> PaginatedRequestParams {
    PaginatedRequestParams::default().with_cursor(Some(cursor))
}

fn describe_prompt(prompt: Prompt) -> McpPromptDescription {
    let arguments = prompt.arguments.unwrap_or_default().into_iter().map(|argument| McpPromptArgument {
        name: argument.name,
        is_required: argument.required == Some(true),
    });
    McpPromptDescription {
        name: prompt.name,
        description: prompt.description.unwrap_or_default(),
        arguments: arguments.collect(),
    }
}

fn content_text(content: &ContentBlock) -> String {
    match content {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(image) => left_out("image", &image.mime_type, &image.data),
        ContentBlock::Audio(audio) => left_out("audio", &audio.mime_type, &audio.data),
        ContentBlock::Resource(resource) => match &resource.resource {
            ResourceContents::TextResourceContents { uri, text, .. } => format!("{uri}:\n{text}"),
            other => resource_text(other),
        },
        ContentBlock::ResourceLink(link) => format!("{} ({})", link.uri, link.name),
        _ => String::new(),
    }
}
