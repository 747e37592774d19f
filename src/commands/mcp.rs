//! `mcp`: the workflow server on standard input and output, or over HTTP, over this project's configuration and history.

mod http_server;
mod workflow_registry;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Result, anyhow};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::{Map, Value};
use tokio::sync::watch;

use self::workflow_registry::{RegistrySnapshot, WorkflowRegistry, first_error};
use super::load_config::load_quietly;
use super::run_command::run_spec;
use super::run_servers::with_run_server;
use super::run_to_end::{build_runtime, interrupt_receiver};
use super::{diagnostics, mcp_command};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime};
use synthdev_cli::args::McpArgs;
use synthdev_cli::exit;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::steering::BreakpointSet;
use synthdev_mcp::backend::{BrokenWorkflow, ClientStartedRun, McpBackend, McpBackendError, OfferedWorkflow};
use synthdev_mcp::reminders::PauseReminders;
use synthdev_mcp::start_queue::StartQueue;
use synthdev_runtime::delegated_calls::DelegatedCalls;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_runtime::task_queue::TaskTimeouts;
use synthdev_service::run_resume::{ResumeOptions, ResumeRequest, ResumeService, RunResumeError};
use synthdev_service::run_start::{
    DelegationOptions, FileLockTime, FileSharingMode, FlaglessFrontEnd, RunStartError, RunStartRequest,
    delegated_program, start_run_as,
};
use synthdev_session::context_windows::{self, KnownWindowLookup};
use synthdev_session::isolated_runs::missing_file_lines;
use synthdev_session::requirement_gate::RequirementGate;
use synthdev_session::unlisted_servers::list_for_program;
use synthdev_settings::catalog::ConfigCatalog;

pub(crate) fn run_mcp_server(context: &StartContext, args: &McpArgs) -> Result<u8> {
    if let Some(command) = &args.command {
        return mcp_command::run_mcp_command(context, command);
    }
    let (catalog, gathered) = load_quietly(context, context.overrides.clone())?;
    diagnostics::ensure_sound(&catalog)?;
    synthdev_bootstrap::logs::start_logging(&context.dirs.data, catalog.settings().verbosity());
    let notes = workflow_registry::omission_notes(&gathered);
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, RunModels::default());
    let wired = with_run_server(context, &catalog, wired);
    let shop = Arc::new(ProjectMcpBackend::open_project(context, args, catalog, Arc::new(wired), notes));
    let token = args
        .http
        .map(|_| http_server::McpAccessToken::find_or_create(args.token_file.as_deref(), &context.dirs.data))
        .transpose()?;
    let runtime = build_runtime()?;
    let timeouts = TaskTimeouts { lease_seconds: args.lease_seconds, begin_seconds: args.begin_seconds };
    let handle = shop.handle().clone();
    let served = runtime.block_on(async {
        shop.handle().serve_sub_agents(timeouts);
        tokio::spawn(workflow_registry::watch_files(Arc::clone(&shop.registry)));
        let mut interrupts = interrupt_receiver();
        let stop = async move {
            let _ = interrupts.recv().await;
        };
        match (args.http, &token) {
            (Some(address), Some(token)) => http_server::serve_clients(shop, address, token, stop).await,
            _ => {
                let served =
                    synthdev_mcp::serve_stdio(shop, tokio::io::stdin(), tokio::io::stdout(), stop).await;
                served.map_err(|error| anyhow!("the client sent an invalid first message: {error}"))
            }
        }
    });
    handle.index_texts();
    // standard input may still be waited for
    runtime.shutdown_background();
    served?;
    Ok(exit::COMPLETED)
}

/// Everything behind the server.
struct ProjectMcpBackend {
    context: StartContext,
    project_label: String,
    runtime: Arc<WiredRuntime>,
    registry: Arc<WorkflowRegistry>,
    interactions: Arc<DelegatedCalls>,
    pause_reminders: Arc<PauseReminders>,
    start_queue: StartQueue,
    approve_all: bool,
    remote_approvals: bool,
    is_serial: bool,
    /// Runs that change the same files as others knowingly.
    sharing_runs: Mutex<HashSet<RunId>>,
}

impl ProjectMcpBackend {
    fn open_project(
        context: &StartContext,
        args: &McpArgs,
        catalog: ConfigCatalog,
        wired: Arc<WiredRuntime>,
        notes: Vec<String>,
    ) -> Self {
        Self {
            context: context.clone(),
            project_label: context.project.display().to_string(),
            registry: Arc::new(WorkflowRegistry::new(context, catalog, &wired, notes)),
            runtime: wired,
            interactions: Arc::default(),
            pause_reminders: Arc::default(),
            start_queue: StartQueue::default(),
            approve_all: args.yes,
            remote_approvals: args.remote_approvals,
            is_serial: args.serial,
            sharing_runs: Mutex::default(),
        }
    }

    fn mark_shared(&self, run: &RunId) {
        self.sharing_runs.lock().unwrap_or_else(PoisonError::into_inner).insert(run.clone());
    }

    fn is_shared(&self, run: &RunId) -> bool {
        self.sharing_runs.lock().unwrap_or_else(PoisonError::into_inner).contains(run)
    }

    fn registry_snapshot(&self) -> Arc<RegistrySnapshot> {
        self.registry.registry_snapshot()
    }
}

impl McpBackend for ProjectMcpBackend {
    fn workflows(&self) -> Arc<[OfferedWorkflow]> {
        Arc::clone(&self.registry_snapshot().offered_workflows)
    }

    fn broken_workflows(&self) -> Arc<[BrokenWorkflow]> {
        Arc::clone(&self.registry_snapshot().broken_workflows)
    }

    fn config_notes(&self) -> Arc<[String]> {
        Arc::clone(&self.registry_snapshot().notes)
    }

    fn workflow_changes(&self) -> watch::Receiver<u64> {
        self.registry.changes()
    }

    fn definition(&self, file: &str) -> Option<String> {
        self.registry_snapshot().catalog.printable_text(file)
    }

    fn project(&self) -> &str {
        &self.project_label
    }

    fn remote_approvals(&self) -> bool {
        self.remote_approvals
    }

    fn approves_all(&self) -> bool {
        self.approve_all
    }

    fn handle(&self) -> &RuntimeHandle {
        &self.runtime.handle
    }

    fn interactions(&self) -> &DelegatedCalls {
        &self.interactions
    }

    fn reminders(&self) -> &Arc<PauseReminders> {
        &self.pause_reminders
    }

    fn start_queue(&self) -> &StartQueue {
        &self.start_queue
    }

    fn is_serial(&self) -> bool {
        self.is_serial
    }

    fn start(
        &self,
        name: &str,
        inputs: Map<String, Value>,
        handed_out: DelegationOptions,
        beside: FileSharingMode,
    ) -> BoxFuture<'static, Result<ClientStartedRun, McpBackendError>> {
        let stock = self.registry_snapshot();
        let program = match stock.catalog.program(name) {
            Ok(program) => program,
            Err(found) => return std::future::ready(Err(backend_error(first_error(&found), None))).boxed(),
        };
        let beside = beside.for_program(&program);
        let gate = RequirementGate::for_program(&self.context, &stock.catalog, &program);
        let request = RunStartRequest {
            program,
            inputs,
            approves_all: self.approve_all,
            interactive: false,
            stops: BreakpointSet::default(),
        };
        let mut spec = run_spec(&stock.catalog, &self.context, request);
        let preparation = StartPreparer {
            gate,
            context: self.context.clone(),
            registry: Arc::clone(&self.registry),
            stock: Arc::clone(&stock),
            handed_out,
        };
        let interactions = Arc::clone(&self.interactions);
        if beside != FileSharingMode::Isolated {
            let run = self.runtime.handle.draw_run_id();
            let handle = stock.runtime.handle.with_delegated_models(&run, interactions);
            let handle = beside.apply_to(&handle, FileLockTime::BeforeChanges);
            if beside == FileSharingMode::Shares {
                self.mark_shared(&run);
            }
            return async move {
                let (program, warnings) = preparation.prepare(spec.program).await?;
                spec.program = program;
                let run = start_run_as(&handle, run, spec).map_err(start_error)?;
                Ok(ClientStartedRun { run, warnings })
            }
            .boxed();
        }
        let elsewhere = stock.isolated_runs.clone();
        let around =
            move |run: &RunId, handle: &RuntimeHandle| handle.with_delegated_models(run, interactions);
        async move {
            let (program, mut warnings) = preparation.prepare(spec.program).await?;
            spec.program = program;
            match tokio::task::spawn_blocking(move || elsewhere.start_run(spec, around)).await {
                Ok(begun) => begun
                    .map(|started| {
                        warnings.extend(missing_file_lines(&started.missing));
                        ClientStartedRun { run: started.run, warnings }
                    })
                    .map_err(start_error),
                Err(error) => Err(backend_error(format!("this operation was aborted: {error}"), None)),
            }
        }
        .boxed()
    }

    fn prepare_resume(&self, run: &RunSummary) -> Result<(RuntimeHandle, ResumeRequest), McpBackendError> {
        let stock = self.registry_snapshot();
        let refused = |error: RunResumeError| backend_error(error.to_string(), error.hint());
        let elsewhere = stock.isolated_runs.runtime_for_run(run).map_err(|error| refused(error.into()))?;
        let handle = elsewhere.handle.clone();
        let handle = handle.with_delegated_models(&run.id, Arc::clone(&self.interactions));
        let sharing = if self.is_shared(&run.id) { FileSharingMode::Shares } else { FileSharingMode::Waits };
        let handle = sharing.apply_to(&handle, FileLockTime::BeforeChanges);
        let windows = KnownWindowLookup(&stock.runtime.providers);
        let service = ResumeService::new(&handle, &stock.catalog, &windows);
        let options = ResumeOptions { approves_all: self.approve_all, ..ResumeOptions::default() };
        let request = service.prepare(run, options).map_err(refused)?;
        Ok((handle, request))
    }
}

/// What is looked up before a run starts for a client.
struct StartPreparer {
    gate: Option<RequirementGate>,
    context: StartContext,
    registry: Arc<WorkflowRegistry>,
    stock: Arc<RegistrySnapshot>,
    handed_out: DelegationOptions,
}

impl StartPreparer {
    /// The program as it runs for the client, with its tools and windows, and why servers are left out.
    async fn prepare(
        self,
        mut program: WorkflowProgram,
    ) -> Result<(WorkflowProgram, Vec<String>), McpBackendError> {
        if let Some(gate) = self.gate {
            let checked = gate.check(program).await;
            program = checked.map_err(|unmet| backend_error(unmet.text(), unmet.hint()))?;
        }
        let listed = list_for_program(&self.context, &self.stock.catalog, program).await;
        if listed.has_asked {
            // the next run is started with these tools, too; one that fails here is read by the watcher
            let registry = self.registry;
            let _ = tokio::task::spawn_blocking(move || registry.reload_if_changed()).await;
        }
        let mut program = delegated_program(listed.program, self.handed_out);
        context_windows::ask_unknown_windows(&self.stock.runtime.providers, &mut program).await;
        Ok((program, listed.failures))
    }
}

fn start_error(error: RunStartError) -> McpBackendError {
    let hint = error.hint().map(|hint| FlaglessFrontEnd::McpClient.translate_start_hint(hint));
    backend_error(error.to_string(), hint)
}

fn backend_error(message: String, hint: Option<String>) -> McpBackendError {
    McpBackendError { message, hint }
}
