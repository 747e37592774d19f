//! The terminal interface's way to everything else: catalogue, runtime, snapshots, trust.

mod cancel;
mod catalog_lines;
pub(super) mod definition_files;
mod demo;
mod editor;
mod error_text;
mod history_queries;
mod index_command;
mod indexing_session;
mod input_history;
pub(super) mod isolated_runs;
mod model_setup;
mod past_runs;
mod pending_breakpoints;
mod reload;
mod reports;
mod session;
mod snapshot_command;
mod start_workflow;
mod startup;
mod suggest;
mod task_command;
mod time_travel;
mod transcript_pages;
mod ui_settings;
mod user_commands;

use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Map;

use self::cancel::OneShotCanceller;
use self::catalog_lines::{first_error, mended_by, missing_models, unread};
use self::definition_files::DefinitionChecker;
use self::error_text::{HOW_TO_SET, no_model};
use self::isolated_runs::IsolatedRuns;
use self::pending_breakpoints::PendingBreakpoints;
pub(super) use self::startup::{TuiStartup, interactive};
use super::bootstrap::{self, WiredRuntime};
use super::cli_context::CliContext;
use super::diagnostics::rendered;
use super::logs;
use super::run_command::spec;
use super::system_context;
use super::trust::{self, ProjectFiles};
use super::windows;
use synthdev_adapters::file_io::FileStamp;
use synthdev_adapters::file_watch;
use synthdev_config::catalog::ConfigCatalog;
use synthdev_config::models::model_selector::ModelSelector;
use synthdev_config::roles::tools_for;
use synthdev_config::settings::layers::SettingOverrides;
use synthdev_config::settings::project_restriction::NOT_TAKEN;
use synthdev_config::trust::TrustVerdict;
use synthdev_config::workflow_file::StartCondition;
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::task_list::{TaskList, TaskListCommand, TaskListItem};
use synthdev_engine::run_spec::RunSpec;
use synthdev_engine::steering::BreakpointSet;
use synthdev_runtime::command::{ControlAction, RunCommand};
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_tui::backend::{
    ConcurrentRunMode, ConfigReload, IndexingReply, IndexingRequest, LookupPage, RecalledInput, RoleLine,
    RunFilter, RunStepList, SearchHitLine, SessionBackend, ShellOutcome, ShellSuggestionReply,
    SnapshotOperation, StandingPermission, StartPreparation, StatusFacts, TimeTravelOutcome,
    TimeTravelPreview, TimeTravelRequest, ToolLine, UntrustedDefinitions, WorkflowLine, WorkflowStart,
};
use synthdev_tui::editor::{EditorReply as EditTold, EditorRequest as EditAsked};
use synthdev_tui::history_browser::{HistoryReply as PastTold, HistoryRequest as PastAsked};
use synthdev_tui::past_run::PastRun;
use synthdev_tui::run_view::run_graph::RunDefinitionView;
use synthdev_tui::setup::{SetupReply, SetupRequest};
use synthdev_tui::theme::ColorTheme;
use synthdev_tui::transcript::item::TranscriptItem;

/// Files that can be mentioned with `@`: more nobody looks for by a few letters.
const FILES: usize = 20_000;

/// What is wrong with settings, roles and workflow files, and what of a project is not taken, a line each: nothing is hidden, nothing stops.
fn problems(catalog: &ConfigCatalog) -> Vec<String> {
    let told =
        |finding: &&Diagnostic| finding.severity == DiagnosticSeverity::Error || finding.code == NOT_TAKEN;
    catalog.diagnostics().iter().filter(told).map(synthdev_config::render::compact).collect()
}

/// Everything behind the screen.
struct TuiBackend {
    world: CliContext,
    overrides: SettingOverrides,
    /// The workflow that the demo's script plays, if this is the demo.
    demo: Option<String>,
    /// Replaced as a whole when the project becomes trusted; running runs keep what they started with.
    catalog: RwLock<Arc<ConfigCatalog>>,
    wired: RwLock<Arc<WiredRuntime>>,
    /// The project's files as the trust question showed them.
    asked: Mutex<ProjectFiles>,
    branch: Mutex<Option<Option<String>>>,
    stops: PendingBreakpoints,
    /// A model was set up in this session.
    saved: Arc<AtomicBool>,
    /// It was told that what is typed is not kept.
    unkept: AtomicBool,
    /// The files as they were when they were read last.
    read: Mutex<Vec<FileStamp>>,
    /// What texts are checked with, until files change.
    checker: Arc<Mutex<Option<Arc<DefinitionChecker>>>>,
    /// Entries of the long run that was scrolled back in last.
    entries: Arc<Mutex<Option<transcript_pages::TranscriptPages>>>,
    /// Ends what models are asked beside the runs.
    stopper: OneShotCanceller,
    indexing: Arc<indexing_session::IndexingSession>,
}

impl TuiBackend {
    fn project(&self) -> String {
        self.world.project.display().to_string()
    }

    fn wired(&self) -> Arc<WiredRuntime> {
        Arc::clone(&self.wired.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn catalog(&self) -> Arc<ConfigCatalog> {
        Arc::clone(&self.catalog.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn elsewhere(&self) -> IsolatedRuns {
        IsolatedRuns::new(&self.world, self.catalog(), self.wired())
    }

    /// Starts a run on this handle: at once, or when the servers of its models have told how much they take. `begun` is
    /// called when it runs.
    fn start(
        &self,
        handle: RuntimeHandle,
        mut spec: RunSpec,
        begun: impl FnOnce() + Send + 'static,
    ) -> Result<WorkflowStart, String> {
        let providers = Arc::clone(&self.wired().providers);
        let go = move |spec: RunSpec| {
            let run = handle
                .start(spec)
                .map_err(|error| error_text::to_slash_commands(&past_runs::store_error_text(&error)))?;
            begun();
            Ok(run)
        };
        if windows::are_known(&providers, &spec.program) {
            windows::recall(&providers, &mut spec.program);
            return go(spec).map(WorkflowStart::Running);
        }
        Ok(WorkflowStart::Later(
            StartPreparation::Windows,
            Box::pin(async move {
                windows::learn(&providers, &mut spec.program).await;
                Ok((go(spec)?, None))
            }),
        ))
    }

    /// Why something cannot start. A missing model is told once, not for every agent that needs it.
    fn told(&self, found: &[Diagnostic]) -> String {
        let catalog = self.catalog();
        let errors: Vec<Diagnostic> =
            found.iter().filter(|finding| finding.severity == DiagnosticSeverity::Error).cloned().collect();
        match missing_models(&catalog, &errors) {
            Some(missing) => format!("{missing}\n{HOW_TO_SET}"),
            None => mended_by(&catalog, &errors, rendered(&catalog, &errors, false)),
        }
    }
}

impl SessionBackend for TuiBackend {
    fn store_changes(&self) -> BoxStream<'static, ()> {
        file_watch::watch_file(&bootstrap::history(&self.world.dirs.data))
    }

    fn workflows(&self) -> Vec<WorkflowLine> {
        let catalog = self.catalog();
        let line = |entry: &synthdev_config::catalog::workflow_index::WorkflowEntry| WorkflowLine {
            name: entry.name.clone(),
            description: entry.description.clone(),
            input: entry.inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>().join(", "),
            waits_for_input: entry.start == StartCondition::OnUserInput,
            needs_input: entry.inputs.iter().any(|input| input.required),
            layer: entry.layer,
            broken: catalog.program(&entry.name).err().and_then(|found| first_error(&catalog, &found)),
        };
        catalog.workflows().iter().map(line).chain(unread(&catalog)).collect()
    }

    fn roles(&self) -> Vec<RoleLine> {
        catalog_lines::role_lines(&self.catalog())
    }

    fn tools(&self, role: &str) -> Vec<ToolLine> {
        catalog_lines::tool_lines(&self.catalog(), role)
    }

    fn price(&self, model: &str) -> Option<TokenPrice> {
        let catalog = self.catalog();
        let choices =
            ["base", "smart", "fast"].into_iter().filter_map(|level| catalog.model_for_level(level).ok());
        choices.into_iter().find(|choice| choice.model == model).and_then(|choice| choice.price)
    }

    fn start_workflow(&self, name: &str, input: &str) -> Result<WorkflowStart, String> {
        self.begin(name, input, None)
    }

    fn start_concurrent_workflow(
        &self,
        name: &str,
        input: &str,
        beside: ConcurrentRunMode,
    ) -> Result<WorkflowStart, String> {
        self.begin(name, input, Some(beside))
    }

    fn set_start_breakpoints(&self, stops: BreakpointSet) {
        self.stops.set(stops);
    }

    fn allow_always(&self, permission: StandingPermission) -> BoxFuture<'static, Result<String, String>> {
        self.save_allowed(permission)
    }

    fn start_chat(&self, role: &str) -> Result<WorkflowStart, String> {
        if let Some(played) = &self.demo {
            let again = format!("See the workflow once more: /workflow {played} \"any task\"");
            return Err(format!(
                "the demo has no model to talk to: its answers are scripted\n{again}\n{HOW_TO_SET}"
            ));
        }
        let program = self.catalog().chat_program(role).map_err(|found| self.told(&found))?;
        let spec = spec((&self.catalog(), &self.world.project), program, Map::new(), false, true);
        self.start(self.wired().handle.clone(), spec, || {})
    }

    fn send(&self, run: &RunId, command: RunCommand) {
        self.wired().handle.send(run, command);
    }

    fn runs(&self, filter: RunFilter) -> BoxFuture<'static, Result<Vec<RunSummary>, String>> {
        let (handle, here) = (self.wired().handle.clone(), self.project());
        away(move || past_runs::list(&handle, &here, filter))
    }

    fn search(&self, words: String) -> BoxFuture<'static, Result<Vec<SearchHitLine>, String>> {
        let handle = self.wired().handle.clone();
        away(move || past_runs::search(&handle, &words))
    }

    fn load_past_run(&self, run: String) -> BoxFuture<'static, Result<PastRun, String>> {
        // it may have gone back since
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (wired, here, demo) = (self.wired(), self.project(), self.demo.clone());
        away(move || past_runs::past(&wired, &here, &run, demo.as_deref()))
    }

    fn load_run_preview(&self, run: String) -> BoxFuture<'static, Option<PastRun>> {
        let (wired, here, demo) = (self.wired(), self.project(), self.demo.clone());
        let glance = away(move || Ok(past_runs::glance(&wired, &here, &run, demo.as_deref())));
        Box::pin(async move { glance.await.ok().flatten() })
    }

    fn load_earlier_items(
        &self,
        run: RunId,
        before: usize,
    ) -> BoxFuture<'static, Result<Vec<TranscriptItem>, String>> {
        let (handle, data) = (self.wired().handle.clone(), self.world.dirs.data.clone());
        let entries = Arc::clone(&self.entries);
        away(move || {
            let known = &mut entries.lock().unwrap_or_else(PoisonError::into_inner);
            transcript_pages::earlier(&handle, &data, known, &run, before)
        })
    }

    fn load_recalled_input(&self) -> BoxFuture<'static, Result<RecalledInput, String>> {
        self.recalled()
    }

    fn save_input(&self, text: &str) -> Result<(), String> {
        self.keep_typed(text)
    }

    fn resume(&self, run: RunId) -> BoxFuture<'static, Result<(), String>> {
        let elsewhere = self.elsewhere();
        away(move || past_runs::resume(&elsewhere, &run, false))
    }

    fn retry(&self, run: RunId) -> BoxFuture<'static, Result<(), String>> {
        let elsewhere = self.elsewhere();
        away(move || past_runs::resume(&elsewhere, &run, true))
    }

    fn control(&self, run: String, control: ControlAction) -> BoxFuture<'static, Result<String, String>> {
        let handle = self.wired().handle.clone();
        Box::pin(async move { past_runs::control(&handle, &run, control).await })
    }

    fn request_history(&self, asked: PastAsked) -> BoxFuture<'static, PastTold> {
        let (world, catalog, project) = (self.world.clone(), self.catalog(), self.project());
        let reader = history_queries::TuiHistoryReader {
            handle: self.wired().handle.clone(),
            world,
            catalog,
            project,
        };
        let work = away(move || Ok(reader.answer(asked)));
        Box::pin(async move { work.await.unwrap_or_else(|error| PastTold::Text(Err(error))) })
    }

    fn inspect_last_call(
        &self,
        run: RunId,
        agent: Option<String>,
    ) -> BoxFuture<'static, Result<String, String>> {
        let handle = self.wired().handle.clone();
        away(move || past_runs::review(&handle, &run, agent))
    }

    fn definition(&self, run: RunId) -> BoxFuture<'static, Result<RunDefinitionView, String>> {
        let handle = self.wired().handle.clone();
        away(move || ui_settings::definition(&handle, &run))
    }

    fn theme(&self, name: &str) -> Result<ColorTheme, String> {
        ui_settings::named(&self.world, name)
    }

    fn verbosity(&self, wanted: Option<u8>) -> (u8, String) {
        let level = wanted.map_or_else(logs::level, logs::set);
        (level, logs::file(&self.world.dirs.data).display().to_string())
    }

    fn files(&self) -> BoxFuture<'static, Result<Vec<String>, String>> {
        let project = self.world.project.clone();
        away(move || Ok(system_context::files(&project, FILES).0))
    }

    fn load_lookup_page(&self, page: LookupPage) -> BoxFuture<'static, Result<(String, String), String>> {
        self.page(page)
    }

    fn run_shell_command(
        &self,
        command: String,
        sure: bool,
    ) -> BoxFuture<'static, Result<ShellOutcome, String>> {
        self.shell(command, sure)
    }

    fn suggest_shell_command(&self, words: String) -> BoxFuture<'static, ShellSuggestionReply> {
        self.suggest(words)
    }

    fn apply_task_deed(
        &self,
        deed: TaskListCommand,
    ) -> BoxFuture<'static, Result<(TaskList, Option<TaskListItem>), String>> {
        self.task(deed)
    }

    fn request_indexing(&self, asked: IndexingRequest) -> BoxFuture<'static, IndexingReply> {
        self.index(asked)
    }

    fn cancel_side_query(&self) {
        self.stopper.stop();
    }

    fn trust_question(&self) -> Result<UntrustedDefinitions, String> {
        self.trusts()
    }

    fn steps(&self, run: Option<String>) -> BoxFuture<'static, Result<RunStepList, String>> {
        let (handle, here) = (self.wired().handle.clone(), self.project());
        away(move || time_travel::steps(&handle, &here, run))
    }

    fn preview_time_travel(
        &self,
        travel: TimeTravelRequest,
    ) -> BoxFuture<'static, Result<TimeTravelPreview, String>> {
        let (handle, here) = (self.wired().handle.clone(), self.project());
        away(move || time_travel::plan(&handle, &here, travel))
    }

    fn perform_time_travel(
        &self,
        travel: TimeTravelRequest,
    ) -> BoxFuture<'static, Result<TimeTravelOutcome, String>> {
        let (handle, here) = (self.wired().handle.clone(), self.project());
        away(move || time_travel::travel(&handle, &here, travel))
    }

    fn snapshot(&self, command: SnapshotOperation) -> BoxFuture<'static, Result<String, String>> {
        let handle = self.wired().handle.clone();
        away(move || {
            snapshot_command::perform(&handle, command)
                .map_err(|error| past_runs::with_hint(&error.message, error.hint.as_deref()))
        })
    }

    fn answer_trust_question(&self, yes: bool) -> Result<Vec<String>, String> {
        if !yes {
            self.leave_out();
            return Ok(Vec::new());
        }
        let told = |error: anyhow::Error| format!("{error:#}");
        let changed =
            || "the files changed while you were asked: leave and start again to see them".to_owned();
        let files = trust::project_files(&self.world.project);
        if !files.same_as(&self.asked.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Err(changed());
        }
        trust::decide(&self.world, &files, true).map_err(told)?;
        let gathered =
            super::config_sources::gather(&self.world, self.overrides.clone(), false).map_err(told)?;
        if gathered.verdict != TrustVerdict::Trusted {
            return Err(changed());
        }
        let catalog = ConfigCatalog::load(gathered.sources, bootstrap::specs(&self.world.project));
        let known = problems(&self.catalog());
        let new = problems(&catalog).into_iter().filter(|line| !known.contains(line)).collect();
        self.take_up(catalog);
        Ok(new)
    }

    fn request_setup(&self, asked: SetupRequest) -> BoxFuture<'static, SetupReply> {
        self.set_up(asked)
    }

    fn request_edit(&self, asked: EditAsked) -> BoxFuture<'static, EditTold> {
        self.edit(asked)
    }

    fn open_external_editor(&self, name: &str, text: &str) -> Result<String, String> {
        self.external(name, text)
    }

    fn reload_changed_config(&self, asks: bool) -> Option<ConfigReload> {
        self.reload(asks)
    }

    fn status_line(&self) -> StatusFacts {
        let catalog = self.catalog();
        let role = catalog.settings().default_role().to_owned();
        let found = catalog.roles().find(&role).ok();
        let choice = found.map(|role| catalog.select_model(&ModelSelector::role(role)));
        let notice = match &choice {
            Some(Err(missing)) => Some(no_model(&missing.message)),
            _ => None,
        };
        let mut branch = self.branch.lock().unwrap_or_else(PoisonError::into_inner);
        StatusFacts {
            tools_available: found.map_or(0, |role| tools_for(role, catalog.tools()).0.len()),
            tools_total: catalog.tools().len(),
            model: choice.and_then(Result::ok).map_or_else(|| "no model".to_owned(), |choice| choice.model),
            environment: catalog.environment_files().map(str::to_owned).collect(),
            branch: branch.get_or_insert_with(|| ui_settings::branch_of(&self.world.project)).clone(),
            notice,
            role,
        }
    }
}

/// Work that takes a while, on a thread of its own.
fn away<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> BoxFuture<'static, Result<T, String>> {
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(format!("this was broken off: {error}")))
    })
}
