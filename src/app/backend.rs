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
mod tui_backend;
mod ui_settings;
mod user_commands;

use std::sync::{Arc, PoisonError};

use futures_util::future::BoxFuture;
use futures_util::stream::BoxStream;
use serde_json::Map;

use self::catalog_lines::{first_error, unreadable_workflows};
use self::error_text::{HOW_TO_SET, no_model};
pub(super) use self::startup::{TuiStartup, run_interactive};
use self::tui_backend::TuiBackend;
use super::bootstrap::{self};
use super::run_command::run_spec;
use super::trust::{self};
use super::{logs, system_context};
use synthdev_adapters::file_watch;
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunSummary;
use synthdev_domain::task_list::{TaskList, TaskListCommand, TaskListItem};
use synthdev_engine::steering::BreakpointSet;
use synthdev_language::model_selector::ModelSelector;
use synthdev_language::source::NOT_TAKEN;
use synthdev_language::workflow_file::StartCondition;
use synthdev_runtime::command::{ControlAction, RunCommand};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::roles::tools_for;
use synthdev_settings::trust::TrustVerdict;
use synthdev_tui::backend::{
    ConcurrentRunMode, ConfigReload, IndexingReply, IndexingRequest, LookupPage, RecalledInput, RoleLine,
    RunFilter, RunStepList, SearchHitLine, SessionBackend, ShellOutcome, ShellSuggestionReply,
    SnapshotOperation, StandingPermission, StatusFacts, TimeTravelOutcome, TimeTravelPreview,
    TimeTravelRequest, ToolLine, UntrustedDefinitions, WorkflowLine, WorkflowStart,
};
use synthdev_tui::editor::{EditorReply, EditorRequest};
use synthdev_tui::history_browser::{HistoryReply, HistoryRequest};
use synthdev_tui::past_run::PastRun;
use synthdev_tui::run_view::run_graph::RunDefinitionView;
use synthdev_tui::setup::{SetupReply, SetupRequest};
use synthdev_tui::theme::ColorTheme;
use synthdev_tui::transcript::item::TranscriptItem;

/// Most files that can be mentioned with `@`: in a longer list a few letters find nothing.
const FILES: usize = 20_000;

/// Errors of settings, roles and workflow files, and settings of the project that do not count, one line each. None of
/// them stops the session.
fn config_problems(catalog: &ConfigCatalog) -> Vec<String> {
    let told =
        |finding: &&Diagnostic| finding.severity == DiagnosticSeverity::Error || finding.code == NOT_TAKEN;
    catalog.diagnostics().iter().filter(told).map(synthdev_language::render::compact_line).collect()
}

impl SessionBackend for TuiBackend {
    fn store_changes(&self) -> BoxStream<'static, ()> {
        file_watch::watch_file(&bootstrap::history_path(&self.context.dirs.data))
    }

    fn workflows(&self) -> Vec<WorkflowLine> {
        let catalog = self.current_catalog();
        let line = |entry: &synthdev_settings::catalog::workflow_index::WorkflowEntry| WorkflowLine {
            name: entry.name.clone(),
            description: entry.description.clone(),
            input: entry.inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>().join(", "),
            waits_for_input: entry.start == StartCondition::OnUserInput,
            needs_input: entry.inputs.iter().any(|input| input.required),
            layer: entry.layer,
            error: catalog.program(&entry.name).err().and_then(|found| first_error(&catalog, &found)),
        };
        catalog.workflows().iter().map(line).chain(unreadable_workflows(&catalog)).collect()
    }

    fn roles(&self) -> Vec<RoleLine> {
        catalog_lines::role_lines(&self.current_catalog())
    }

    fn tools(&self, role: &str) -> Vec<ToolLine> {
        catalog_lines::tool_lines(&self.current_catalog(), role)
    }

    fn price(&self, model: &str) -> Option<TokenPrice> {
        let catalog = self.current_catalog();
        let choices =
            ["base", "smart", "fast"].into_iter().filter_map(|level| catalog.model_for_level(level).ok());
        choices.into_iter().find(|choice| choice.model == model).and_then(|choice| choice.price)
    }

    fn start_workflow(&self, name: &str, input: &str) -> Result<WorkflowStart, String> {
        self.start_workflow_run(name, input, None)
    }

    fn start_concurrent_workflow(
        &self,
        name: &str,
        input: &str,
        beside: ConcurrentRunMode,
    ) -> Result<WorkflowStart, String> {
        self.start_workflow_run(name, input, Some(beside))
    }

    fn set_start_breakpoints(&self, stops: BreakpointSet) {
        self.breakpoints.set_breakpoints(stops);
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
        let program =
            self.current_catalog().chat_program(role).map_err(|found| self.start_error_text(&found))?;
        let spec = run_spec(&self.current_catalog(), &self.context.project, program, Map::new(), false, true);
        self.start_run(self.current_runtime().handle.clone(), spec, || {})
    }

    fn send_command(&self, run: &RunId, command: RunCommand) {
        self.current_runtime().handle.send_command(run, command);
    }

    fn runs(&self, filter: RunFilter) -> BoxFuture<'static, Result<Vec<RunSummary>, String>> {
        let (handle, here) = (self.current_runtime().handle.clone(), self.project());
        run_blocking(move || past_runs::list_runs(&handle, &here, filter))
    }

    fn search_history(&self, words: String) -> BoxFuture<'static, Result<Vec<SearchHitLine>, String>> {
        let handle = self.current_runtime().handle.clone();
        run_blocking(move || past_runs::search_history(&handle, &words))
    }

    fn load_past_run(&self, run: String) -> BoxFuture<'static, Result<PastRun, String>> {
        // the run may have been rewound since
        *self.entries.lock().unwrap_or_else(PoisonError::into_inner) = None;
        let (wired, here, demo) = (self.current_runtime(), self.project(), self.demo.clone());
        run_blocking(move || past_runs::load_past_run(&wired, &here, &run, demo.as_deref()))
    }

    fn load_run_preview(&self, run: String) -> BoxFuture<'static, Option<PastRun>> {
        let (wired, here, demo) = (self.current_runtime(), self.project(), self.demo.clone());
        let glance = run_blocking(move || Ok(past_runs::load_preview(&wired, &here, &run, demo.as_deref())));
        Box::pin(async move { glance.await.ok().flatten() })
    }

    fn load_earlier_items(
        &self,
        run: RunId,
        before: usize,
    ) -> BoxFuture<'static, Result<Vec<TranscriptItem>, String>> {
        let (handle, data) = (self.current_runtime().handle.clone(), self.context.dirs.data.clone());
        let entries = Arc::clone(&self.entries);
        run_blocking(move || {
            let known = &mut entries.lock().unwrap_or_else(PoisonError::into_inner);
            transcript_pages::earlier_entries(&handle, &data, known, &run, before)
        })
    }

    fn load_recalled_input(&self) -> BoxFuture<'static, Result<RecalledInput, String>> {
        self.load_input_history()
    }

    fn save_input(&self, text: &str) -> Result<(), String> {
        self.save_to_input_history(text)
    }

    fn resume_run(&self, run: RunId) -> BoxFuture<'static, Result<(), String>> {
        let elsewhere = self.isolated_runs();
        run_blocking(move || past_runs::resume_run(&elsewhere, &run, false))
    }

    fn retry_run(&self, run: RunId) -> BoxFuture<'static, Result<(), String>> {
        let elsewhere = self.isolated_runs();
        run_blocking(move || past_runs::resume_run(&elsewhere, &run, true))
    }

    fn control_run(&self, run: String, control: ControlAction) -> BoxFuture<'static, Result<String, String>> {
        let handle = self.current_runtime().handle.clone();
        Box::pin(async move { past_runs::control_run(&handle, &run, control).await })
    }

    fn request_history(&self, asked: HistoryRequest) -> BoxFuture<'static, HistoryReply> {
        let (world, catalog, project) = (self.context.clone(), self.current_catalog(), self.project());
        let reader = history_queries::TuiHistoryReader {
            runtime: self.current_runtime(),
            context: world,
            catalog,
            project,
        };
        let work = run_blocking(move || Ok(reader.answer_request(asked)));
        Box::pin(async move { work.await.unwrap_or_else(|error| HistoryReply::Text(Err(error))) })
    }

    fn inspect_last_call(
        &self,
        run: RunId,
        agent: Option<String>,
    ) -> BoxFuture<'static, Result<String, String>> {
        let handle = self.current_runtime().handle.clone();
        run_blocking(move || past_runs::review_last_call(&handle, &run, agent))
    }

    fn definition(&self, run: RunId) -> BoxFuture<'static, Result<RunDefinitionView, String>> {
        let handle = self.current_runtime().handle.clone();
        run_blocking(move || ui_settings::load_definition(&handle, &run))
    }

    fn load_theme(&self, name: &str) -> Result<ColorTheme, String> {
        ui_settings::load_theme(&self.context, name)
    }

    fn verbosity(&self, wanted: Option<u8>) -> (u8, String) {
        let level = wanted.map_or_else(logs::current_verbosity, logs::set_verbosity);
        (level, logs::log_file(&self.context.dirs.data).display().to_string())
    }

    fn files(&self) -> BoxFuture<'static, Result<Vec<String>, String>> {
        let project = self.context.project.clone();
        run_blocking(move || Ok(system_context::list_files(&project, FILES).0))
    }

    fn load_lookup_page(&self, page: LookupPage) -> BoxFuture<'static, Result<(String, String), String>> {
        self.load_page(page)
    }

    fn run_shell_command(
        &self,
        command: String,
        sure: bool,
    ) -> BoxFuture<'static, Result<ShellOutcome, String>> {
        self.run_shell(command, sure)
    }

    fn suggest_shell_command(&self, words: String) -> BoxFuture<'static, ShellSuggestionReply> {
        self.suggest_command(words)
    }

    fn apply_task_list_command(
        &self,
        deed: TaskListCommand,
    ) -> BoxFuture<'static, Result<(TaskList, Option<TaskListItem>), String>> {
        self.run_task_command(deed)
    }

    fn request_indexing(&self, asked: IndexingRequest) -> BoxFuture<'static, IndexingReply> {
        self.handle_indexing(asked)
    }

    fn cancel_side_query(&self) {
        self.canceller.stop_all();
    }

    fn trust_question(&self) -> Result<UntrustedDefinitions, String> {
        self.untrusted_definitions()
    }

    fn steps(&self, run: Option<String>) -> BoxFuture<'static, Result<RunStepList, String>> {
        let (handle, here) = (self.current_runtime().handle.clone(), self.project());
        run_blocking(move || time_travel::list_steps(&handle, &here, run))
    }

    fn preview_time_travel(
        &self,
        travel: TimeTravelRequest,
    ) -> BoxFuture<'static, Result<TimeTravelPreview, String>> {
        let (wired, here) = (self.current_runtime(), self.project());
        run_blocking(move || time_travel::plan_travel(&wired, &here, travel))
    }

    fn perform_time_travel(
        &self,
        travel: TimeTravelRequest,
    ) -> BoxFuture<'static, Result<TimeTravelOutcome, String>> {
        let (wired, here) = (self.current_runtime(), self.project());
        run_blocking(move || time_travel::travel_to_step(&wired, &here, travel))
    }

    fn snapshot(&self, command: SnapshotOperation) -> BoxFuture<'static, Result<String, String>> {
        let wired = self.current_runtime();
        run_blocking(move || {
            snapshot_command::run_snapshot_command(&wired, command)
                .map_err(|error| past_runs::with_hint(&error.message, error.hint.as_deref()))
        })
    }

    fn answer_trust_question(&self, yes: bool) -> Result<Vec<String>, String> {
        if !yes {
            self.exclude_project_definitions();
            return Ok(Vec::new());
        }
        let told = |error: anyhow::Error| format!("{error:#}");
        let changed =
            || "the files changed while the question was open: restart synthdev to review them".to_owned();
        let files = trust::project_files(&self.context.project);
        if !files.same_as(&self.shown_files.lock().unwrap_or_else(PoisonError::into_inner)) {
            return Err(changed());
        }
        trust::decide_trust(&self.context, &files, true).map_err(told)?;
        let gathered = super::config_sources::gather_sources(&self.context, self.overrides.clone(), false)
            .map_err(told)?;
        if gathered.trust != TrustVerdict::Trusted {
            return Err(changed());
        }
        let catalog = ConfigCatalog::load(gathered.sources, bootstrap::tool_specs(&self.context.project));
        let known = config_problems(&self.current_catalog());
        let new = config_problems(&catalog).into_iter().filter(|line| !known.contains(line)).collect();
        self.apply_catalog(catalog);
        Ok(new)
    }

    fn request_setup(&self, asked: SetupRequest) -> BoxFuture<'static, SetupReply> {
        self.answer_setup_request(asked)
    }

    fn request_edit(&self, asked: EditorRequest) -> BoxFuture<'static, EditorReply> {
        self.answer_editor_request(asked)
    }

    fn open_external_editor(&self, name: &str, text: &str) -> Result<String, String> {
        self.edit_externally(name, text)
    }

    fn reload_changed_config(&self, asks: bool) -> Option<ConfigReload> {
        self.reload_config(asks)
    }

    fn status_line(&self) -> StatusFacts {
        let catalog = self.current_catalog();
        let role = catalog.settings().default_role().to_owned();
        let found = catalog.roles().find_role(&role).ok();
        let choice = found.map(|role| catalog.select_model(&ModelSelector::for_role(role)));
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
            branch: branch.get_or_insert_with(|| ui_settings::current_branch(&self.context.project)).clone(),
            notice,
            role,
        }
    }
}

/// Work that takes a while, on a thread of its own.
fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
) -> BoxFuture<'static, Result<T, String>> {
    Box::pin(async move {
        let done = tokio::task::spawn_blocking(work).await;
        done.unwrap_or_else(|error| Err(format!("this operation was aborted: {error}")))
    })
}
