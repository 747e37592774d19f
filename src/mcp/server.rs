//! Requests of one client, each to where it belongs.

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, Implementation, InitializeRequestParams, InitializeResult, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, SubscriptionFilter,
};
use rmcp::service::{NotificationContext, RequestContext, ServerInitializeError, SubscriptionContext};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncWrite};

use super::await_run::RequestClient;
use super::backend::McpBackend;
use super::calls::{self, McpToolCall};
use super::error::{McpCallError, shorten_text};
use super::tools::{self, CalledTool};
use super::transport::{ClientPresence, JsonLineTransport, McpTransport};
use super::{pause_timeouts, resources, response};
use synthdev_service::run_control::command_driven_run;
use synthdev_service::run_events::RuntimeHandle;
use synthdev_service::run_steering::RunCommand;

/// How long drivers get to leave their runs in good order.
const PATIENCE: Duration = Duration::from_secs(2);

const INSTRUCTIONS: &str = "Each tool that is named after a workflow runs it until it completes, fails or waits for you. \
    The answer says which: `status` is completed, failed, cancelled, paused (the user must decide) or \
    awaiting_llm_action. In the last case do what `action.prompt` says and call resume_workflow with `resumeToken` and \
    `results`, an object with everything that `action.requiredOutputs` names. A run that waits survives a restart of \
    this server; get_workflow_status gives the token for it. awaiting_sub_agents means: start a sub-agent for each of \
    `subAgents`, with its prompt; they work with get_next_step and submit_step_result.";

/// Methods that take parameters.
const KNOWN: [&str; 5] =
    ["tools/call", "tools/list", "resources/list", "resources/read", "resources/templates/list"];

/// Serves one client until it goes away or `stop` is ready. Its runs are left as they are, to be resumed later.
///
/// # Errors
/// The handshake failed, with what was wrong.
pub async fn serve_stdio<R, W>(
    backend: Arc<dyn McpBackend>,
    input: R,
    output: W,
    stop: impl Future<Output = ()>,
) -> Result<(), String>
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let handle = backend.handle().clone();
    let deadlines = tokio::spawn(pause_timeouts::run_timeout_loop(Arc::clone(&backend)));
    let presence = Arc::new(ClientPresence::default());
    let wire = McpTransport::Lines(JsonLineTransport::new(input, output, Arc::clone(&presence)));
    let stopped = async {
        stop.await;
        presence.mark_gone();
    };
    let ended = tokio::select! {
        ended = serve_client(backend, wire, Arc::clone(&presence)) => ended,
        () = stopped => Ok(()),
    };
    deadlines.abort();
    stop_drivers(&handle).await;
    ended
}

/// One client, until it goes away.
pub(super) async fn serve_client(
    backend: Arc<dyn McpBackend>,
    wire: McpTransport,
    presence: Arc<ClientPresence>,
) -> Result<(), String> {
    match (McpServer { backend, presence }).serve(wire).await {
        Ok(running) => running.waiting().await.map(drop).map_err(|error| error.to_string()),
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Drivers stop between two inputs: nothing is half done but what runs outside.
pub(super) async fn stop_drivers(handle: &RuntimeHandle) {
    for run in handle.running_runs() {
        command_driven_run(handle, &run, RunCommand::Leave);
    }
    let left = async {
        while !handle.running_runs().is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    let _ = tokio::time::timeout(PATIENCE, left).await;
}

struct McpServer {
    backend: Arc<dyn McpBackend>,
    presence: Arc<ClientPresence>,
}

impl McpServer {
    fn open_backend(&self) -> &dyn McpBackend {
        self.presence.mark_open();
        &*self.backend
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .build();
        let notes = self.backend.config_notes();
        let notes = if notes.is_empty() { String::new() } else { format!("\n\n{}", notes.join("\n")) };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("synthdev", env!("CARGO_PKG_VERSION")))
            .with_instructions(format!("{INSTRUCTIONS}{notes}"))
    }

    fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<InitializeResult, ErrorData>> + Send + '_ {
        self.open_backend();
        context.peer.set_peer_info(request.clone());
        ready(self.negotiate_initialize(&request))
    }

    /// Notifies the client whenever workflows have changed.
    fn on_initialized(
        &self,
        context: NotificationContext<RoleServer>,
    ) -> impl Future<Output = ()> + Send + '_ {
        let (mut changes, presence, peer) =
            (self.backend.workflow_changes(), Arc::clone(&self.presence), context.peer);
        tokio::spawn(async move {
            loop {
                tokio::select! {
                    () = presence.wait_gone() => return,
                    changed = changes.changed() => if changed.is_err() { return },
                }
                let told = peer.notify_tool_list_changed().await;
                if told.is_err() || peer.notify_resource_list_changed().await.is_err() {
                    return;
                }
            }
        });
        ready(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        // cut down to what is offered
        Some(requested.clone())
    }

    /// The same for newer clients, which ask for it.
    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.open_backend().workflow_changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                () = self.presence.wait_gone() => return Ok(()),
                changed = changes.changed() => if changed.is_err() { return Ok(()) },
            }
            // what was not asked for is not sent
            let _ = context.sink().notify_tool_list_changed().await;
            let _ = context.sink().notify_resource_list_changed().await;
        }
    }

    fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListToolsResult, ErrorData>> + Send + '_ {
        ready(Ok(ListToolsResult::with_all_items(tools::all_tools(&self.open_backend().workflows()))))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let backend = self.open_backend();
        let client = RequestClient { context: &context, presence: &self.presence };
        let call = McpToolCall { backend, arguments: request.arguments, client };
        let offered = backend.workflows();
        let done = match tools::find_tool(&request.name, &offered) {
            Some(CalledTool::System(tool)) => calls::call_system_tool(tool, call).await,
            Some(CalledTool::Workflow(offered)) => calls::call_workflow_tool(offered, call).await,
            None => {
                let message = format!("Unknown tool: {}", shorten_text(&request.name));
                return Err(ErrorData::invalid_params(message, Some(json!({"type": "unknown_tool"}))));
            }
        };
        match done {
            Ok(value) => Ok(response::call_result(value).into()),
            Err(McpCallError::Answer(problem)) => {
                Ok(response::call_result(response::error_json(*problem)).into())
            }
            Err(McpCallError::Request(error)) => Err(error),
        }
    }

    /// There are none; that is not the same as an empty list.
    fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListPromptsResult, ErrorData>> + Send + '_ {
        ready(Err(not_found("prompts/list")))
    }

    fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CompleteResult, ErrorData>> + Send + '_ {
        ready(Err(not_found("completion/complete")))
    }

    /// What the protocol knows comes here only with parameters of another shape than it has.
    fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CustomResult, ErrorData>> + Send + '_ {
        let CustomRequest { method, .. } = request;
        if !KNOWN.contains(&method.as_str()) {
            return ready(Err(not_found(&method)));
        }
        let message = format!("Invalid params for {method}");
        ready(Err(ErrorData::invalid_params(message, Some(json!({"type": "wrong_params"})))))
    }

    fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourcesResult, ErrorData>> + Send + '_ {
        let cursor = request.and_then(|page| page.cursor);
        ready(resources::list_resources(self.open_backend(), cursor.as_deref()))
    }

    fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<ListResourceTemplatesResult, ErrorData>> + Send + '_ {
        self.open_backend();
        ready(Ok(resources::resource_templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        resources::read_resource(self.open_backend(), &request.uri).await.map(Into::into)
    }
}

fn not_found(method: &str) -> ErrorData {
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method.to_owned(), None)
}
