//! Everything behind a session on a screen or in lines: a request goes to the file that answers its subject. The commands
//! of the command line use some of these answers, too. Nothing here names an adapter: `bootstrap` builds those.

mod cancel;
pub mod catalog_lines;
pub mod context_windows;
mod definition_answers;
pub mod definition_files;
mod demo;
mod display_answers;
#[cfg(test)]
mod dry_run_tests;
mod editor;
mod error_text;
pub mod hinted_error;
mod history_queries;
mod index_command;
mod indexing_session;
mod input_history;
pub mod isolated_runs;
pub mod local_setup_ports;
pub mod mcp_probe;
mod model_setup;
pub mod past_runs;
mod pending_breakpoints;
pub mod probe_servers;
mod project_answers;
mod record_past_run;
pub mod recorded_program;
mod reload;
pub mod reports;
pub mod requirement_gate;
mod run_answers;
pub mod run_exporter;
pub mod sandbox_answers;
mod session;
mod silent_servers;
mod snapshot_command;
mod standing_permissions;
mod start_workflow;
mod startup;
mod suggest;
pub mod system_context;
mod task_command;
mod time_travel;
mod transcript_pages;
pub mod trust_report;
mod tui_backend;
mod ui_settings;
pub mod unlisted_servers;
mod user_commands;

use futures_util::future::BoxFuture;

use self::catalog_lines::first_error;
pub use self::startup::{ConversationStart, RunServerWiring, TuiStartup, run_interactive};
use self::tui_backend::TuiBackend;
use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_language::source::NOT_TAKEN;
use synthdev_service::session::{ServiceAnswer, SessionRequest, SessionResponse, SessionService};
use synthdev_settings::catalog::ConfigCatalog;

/// Errors of settings, roles and workflow files, and settings of the project that do not count, one line each. None of
/// them stops the session.
fn config_problems(catalog: &ConfigCatalog) -> Vec<String> {
    let told =
        |finding: &&Diagnostic| finding.severity == DiagnosticSeverity::Error || finding.code == NOT_TAKEN;
    catalog.diagnostics().iter().filter(told).map(synthdev_language::render::compact_line).collect()
}

impl SessionService for TuiBackend {
    /// Files that have changed are read again before something starts from them; if the user must trust them first, the
    /// request waits.
    fn answer(&self, request: SessionRequest) -> ServiceAnswer<SessionResponse> {
        let reload =
            if request.reads_definitions() { self.reload_config(request.may_ask_user()) } else { None };
        match reload {
            None => self.answer_subject(request),
            Some(reload) if reload.question.is_some() => {
                let held_request = Some(Box::new(request));
                ServiceAnswer::now(SessionResponse::Reloaded { reload, held_request })
            }
            Some(reload) => {
                self.answer_subject(request).after(SessionResponse::Reloaded { reload, held_request: None })
            }
        }
    }
}

impl TuiBackend {
    fn answer_subject(&self, request: SessionRequest) -> ServiceAnswer<SessionResponse> {
        match request {
            SessionRequest::Start(request) => self.answer_start_request(request).map(SessionResponse::Start),
            SessionRequest::Definitions(request) => {
                self.answer_definition_request(request).map(SessionResponse::Definitions)
            }
            SessionRequest::Runs(request) => self.answer_run_request(request).map(SessionResponse::Runs),
            SessionRequest::Project(request) => {
                self.answer_project_request(request).map(SessionResponse::Project)
            }
            SessionRequest::Lookup(request) => {
                self.answer_lookup_request(request).map(SessionResponse::Lookup)
            }
            SessionRequest::Editor(number, request) => self.answer_editor_request(number, *request),
            SessionRequest::Setup(number, request) => {
                let response = self.answer_setup_request(*request);
                ServiceAnswer::later(async move { SessionResponse::Setup(number, response.await) })
            }
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

/// The same as an answer: `respond` puts the result into words.
fn answer_blocking<T: Send + 'static, R: Send + 'static>(
    work: impl FnOnce() -> Result<T, String> + Send + 'static,
    respond: impl FnOnce(Result<T, String>) -> R + Send + 'static,
) -> ServiceAnswer<R> {
    let work = run_blocking(work);
    ServiceAnswer::later(async move { respond(work.await) })
}
