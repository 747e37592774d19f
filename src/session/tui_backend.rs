//! What the terminal interface holds of the program: catalogue, runtime, and what one session remembers.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::future::BoxFuture;

use super::cancel::OneShotCanceller;
use super::catalog_lines::{diagnostics_text, mended_by, missing_models};
use super::error_text::{HOW_TO_SET, start_error_text, unmet_text};
use super::isolated_runs::IsolatedRuns;
use super::pending_breakpoints::PendingBreakpoints;
use super::silent_servers::{ReportedServers, ServerReport};
use super::ui_settings::declared_agents;
use super::{indexing_session, transcript_pages};
use crate::context_windows;
use crate::requirement_gate::RequirementGate;
use crate::unlisted_servers::{program_with_servers, unlisted_for_program};
use synthdev_bootstrap::local_files::file_io::FileStamp;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::trust::ProjectFiles;
use synthdev_bootstrap::wiring::WiredRuntime;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::file_progress::FileWorkCounter;
use synthdev_domain::ids::RunId;
use synthdev_domain::mcp_server::McpServerConfig;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::run_spec::RunSpec;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::definition_edit::SharedDefinitionChecker;
use synthdev_service::model_windows::{ModelWindows, model_windows};
use synthdev_service::run_start;
use synthdev_service::session::StartPreparation;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::layers::read_layers::SettingOverrides;

/// A workflow or a conversation on its way.
pub(crate) enum WorkflowStart {
    Running(RunningStart),
    /// It is prepared first.
    Later(StartPreparation, BoxFuture<'static, StartedRun>),
}

/// A run that has started.
pub(crate) struct RunningStart {
    pub(crate) run: RunId,
    /// Where it works, if not in the project.
    pub(crate) note: Option<String>,
    pub(crate) windows: ModelWindows,
    /// Of its workflow, in their order.
    pub(crate) agents: Vec<String>,
    /// What it has to do without, a line each.
    pub(crate) warnings: Vec<String>,
}

/// The run, or why it does not run.
pub(crate) type StartedRun = Result<RunningStart, String>;

/// What is awaited before a run starts: its program as it is then, or why it cannot start.
pub(crate) struct ProgramPreparation {
    pub(crate) preparation: StartPreparation,
    pub(crate) program: BoxFuture<'static, Result<WorkflowProgram, String>>,
}

impl ProgramPreparation {
    pub(crate) fn for_requirements(gate: RequirementGate, program: WorkflowProgram) -> Self {
        let checked = async move { gate.check(program).await.map_err(|unmet| unmet_text(&unmet)) };
        Self { preparation: StartPreparation::Requirements, program: Box::pin(checked) }
    }
}

/// Everything behind the screen.
pub(crate) struct TuiBackend {
    pub(crate) context: StartContext,
    pub(crate) overrides: SettingOverrides,
    /// The workflow that the demo's script plays, if this is the demo.
    pub(crate) demo: Option<String>,
    /// Replaced as a whole when the project becomes trusted; running runs keep what they started with.
    pub(crate) catalog: RwLock<Arc<ConfigCatalog>>,
    pub(crate) runtime: RwLock<Arc<WiredRuntime>>,
    /// The project's files as the trust question showed them.
    pub(crate) shown_files: Mutex<ProjectFiles>,
    pub(crate) branch: Mutex<Option<Option<String>>>,
    pub(crate) breakpoints: PendingBreakpoints,
    /// A model was set up in this session.
    pub(crate) setup_saved: Arc<AtomicBool>,
    /// A notice has reported that the input history cannot be written.
    pub(crate) history_failure_reported: AtomicBool,
    /// The files as they were when they were read last.
    pub(crate) read_stamps: Mutex<Vec<FileStamp>>,
    /// What texts are checked with, until files change.
    pub(crate) checker: SharedDefinitionChecker,
    /// Entries of the long run that was scrolled back in last.
    pub(crate) entries: Arc<Mutex<Option<transcript_pages::TranscriptPages>>>,
    /// Ends what models are asked beside the runs.
    pub(crate) canceller: OneShotCanceller,
    pub(crate) indexing: Arc<indexing_session::IndexingSession>,
    /// Files that are copied into the worktree of a run that begins.
    pub(crate) file_counter: Arc<FileWorkCounter>,
    pub(crate) reported_servers: Arc<ReportedServers>,
    pub(crate) first_servers: FirstServers,
}

/// MCP servers that were configured when the session began: they are asked for their tools beside everything else.
pub(crate) struct FirstServers {
    servers: BTreeMap<String, McpServerConfig>,
    /// They have been asked.
    pub(crate) is_done: tokio::sync::watch::Sender<bool>,
}

impl FirstServers {
    pub(crate) fn from_catalog(catalog: &ConfigCatalog) -> Self {
        let servers = catalog.mcp_servers().clone();
        Self { servers, is_done: tokio::sync::watch::Sender::new(false) }
    }
}

impl TuiBackend {
    pub(crate) fn project(&self) -> String {
        self.context.project.display().to_string()
    }

    pub(crate) fn current_runtime(&self) -> Arc<WiredRuntime> {
        Arc::clone(&self.runtime.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn current_catalog(&self) -> Arc<ConfigCatalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) fn isolated_runs(&self) -> IsolatedRuns {
        IsolatedRuns::new(&self.context, self.current_catalog(), self.current_runtime())
            .with_file_counter(Arc::clone(&self.file_counter))
    }

    /// Servers that came in this session and may have tools for the program are asked before it starts; `None`: there is none.
    /// `role`: the program is a conversation with this role.
    pub(crate) fn server_preparation(
        &self,
        catalog: &Arc<ConfigCatalog>,
        program: &WorkflowProgram,
        role: Option<&str>,
    ) -> Option<ProgramPreparation> {
        let mut servers = unlisted_for_program(&self.context, catalog, program);
        // one that is configured otherwise by now was never asked
        let configured = catalog.mcp_servers();
        servers.retain(|server| self.first_servers.servers.get(server) != configured.get(server));
        let (context, catalog, role) = (self.context.clone(), Arc::clone(catalog), role.map(str::to_owned));
        let program = program.clone();
        (!servers.is_empty()).then(|| ProgramPreparation {
            preparation: StartPreparation::Servers,
            program: Box::pin(async move {
                Ok(program_with_servers(context, catalog, servers, program, role).await)
            }),
        })
    }

    /// Starts a run on this handle: at once, or when its program is prepared and the servers have reported the windows of its
    /// models. `begun` is called when it runs.
    pub(crate) fn start_run(
        &self,
        handle: RuntimeHandle,
        mut spec: RunSpec,
        preparation: Option<ProgramPreparation>,
        begun: impl FnOnce() + Send + 'static,
    ) -> Result<WorkflowStart, String> {
        let providers = Arc::clone(&self.current_runtime().providers);
        let report = self.server_report();
        let go = move |spec: RunSpec| {
            let (windows, agents) = (model_windows(&spec.program), declared_agents(&spec.program));
            let servers = report.servers_of(&spec.program);
            let run = run_start::start_run(&handle, spec).map_err(|error| start_error_text(&error))?;
            begun();
            Ok(RunningStart { run, note: None, windows, agents, warnings: report.new_lines(servers) })
        };
        if let Some(ProgramPreparation { preparation, program }) = preparation {
            let prepared = async move {
                spec.program = program.await?;
                context_windows::ask_unknown_windows(&providers, &mut spec.program).await;
                go(spec)
            };
            return Ok(WorkflowStart::Later(preparation, Box::pin(prepared)));
        }
        if context_windows::are_windows_known(&providers, &spec.program) {
            context_windows::apply_known_windows(&providers, &mut spec.program);
            return go(spec).map(WorkflowStart::Running);
        }
        Ok(WorkflowStart::Later(
            StartPreparation::Windows,
            Box::pin(async move {
                context_windows::ask_unknown_windows(&providers, &mut spec.program).await;
                go(spec)
            }),
        ))
    }

    pub(crate) fn server_report(&self) -> ServerReport {
        let (reported, catalog) = (Arc::clone(&self.reported_servers), self.current_catalog());
        ServerReport { reported, catalog, data: self.context.dirs.data.clone() }
    }

    /// Why something cannot start. Reports a missing model once, not for every agent that needs it.
    pub(crate) fn start_error_text(&self, found: &[Diagnostic]) -> String {
        let catalog = self.current_catalog();
        let errors: Vec<Diagnostic> =
            found.iter().filter(|finding| finding.severity == DiagnosticSeverity::Error).cloned().collect();
        match missing_models(&catalog, &errors) {
            Some(missing) => format!("{missing}\n{HOW_TO_SET}"),
            None => mended_by(&catalog, &errors, diagnostics_text(&catalog, &errors, false)),
        }
    }
}
