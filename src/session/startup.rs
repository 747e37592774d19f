//! How a session with a screen, or with lines, begins: everything is read, wired and handed over, and then it is played.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use anyhow::Result;

use super::cancel::OneShotCanceller;
use super::pending_breakpoints::PendingBreakpoints;
use super::session::{first_lines, play_session, trust_question};
use super::tui_backend::FirstServers;
use super::{TuiBackend, config_problems, demo, ui_settings};
use crate::definition_files::definition_stamps;
use crate::local_setup_ports;
use synthdev_bootstrap::async_runtime::build_runtime;
use synthdev_bootstrap::scripted_models::ScriptedModel;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime};
use synthdev_bootstrap::{config_sources, logs};
use synthdev_cli::exit;
use synthdev_domain::ids::RunId;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_tui::terminal::ExternalShutdown;
use synthdev_tui::{FirstAction, SessionOptions};

/// How the screen begins.
#[derive(Debug, Default)]
pub struct TuiStartup {
    /// Answers instead of a model, with the option that named them.
    pub script: Option<(ScriptedModel, &'static str)>,
    /// A workflow with its input, started at once.
    pub start: Option<(String, String)>,
    /// The conversation with which it begins.
    pub conversation: Option<ConversationStart>,
    pub banner: Vec<String>,
    /// Only a model is set up.
    pub setup: bool,
    /// Adds the server that may keep runs.
    pub add_run_server: Option<RunServerWiring>,
}

/// The same runtime, which reaches a server of runs.
pub type RunServerWiring = fn(&StartContext, &ConfigCatalog, WiredRuntime) -> WiredRuntime;

/// What is resumed at once.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ConversationStart {
    Reopened(RunId),
    /// The user chooses.
    Chosen,
}

/// Plays a session to its end; the answer is the exit code.
///
/// # Errors
/// The configuration or the terminal cannot be used.
pub fn run_interactive(context: StartContext, opening: TuiStartup) -> Result<u8> {
    let shown = matches!(opening.script, Some((_, "demo")));
    let demo = opening.start.as_ref().filter(|_| shown).map(|(name, _)| name.clone());
    let overrides = demo::start_overrides(&context, opening.script.as_ref());
    let models = opening.script.map_or_else(RunModels::default, |(script, _)| RunModels::scripted(script));
    let (linear, read) = (context.line_mode, Mutex::new(definition_stamps(&context)));
    let gathered = config_sources::gather_sources(&context, overrides.clone(), context.trust)?;
    let question = trust_question(&context, &gathered.trust, &gathered.project);
    let mut banner = first_lines(demo.is_none(), !linear, opening.banner, &gathered.not_read());
    let catalog = wiring::load_catalog(&context, gathered.sources);
    banner.extend(config_problems(&catalog));
    let look = ui_settings::load_ui_settings(&context, &catalog);
    banner.extend(look.findings);
    logs::start_logging(&context.dirs.data, catalog.settings().verbosity());
    let plays = models.script.is_some() || opening.start.is_some() || opening.conversation.is_some();
    let (alone, saved) = (opening.setup, Arc::new(AtomicBool::new(false)));
    let setup = local_setup_ports::initial_setup_request(&catalog, opening.setup, plays);
    let wired = wire_session(&context, &catalog, models, opening.add_run_server);
    let (handle, events) = (wired.handle.clone(), wired.handle.subscribe(true));
    let backend = Arc::new(TuiBackend {
        context,
        overrides,
        demo,
        first_servers: FirstServers::from_catalog(&catalog),
        catalog: RwLock::new(Arc::new(catalog)),
        runtime: RwLock::new(Arc::new(wired)),
        shown_files: Mutex::new(gathered.project),
        branch: Mutex::default(),
        breakpoints: PendingBreakpoints::default(),
        setup_saved: Arc::clone(&saved),
        history_failure_reported: AtomicBool::new(false),
        read_stamps: read,
        checker: Arc::default(),
        entries: Arc::default(),
        canceller: OneShotCanceller::default(),
        indexing: Arc::default(),
        file_counter: Arc::default(),
        reported_servers: Arc::default(),
    });
    let session = SessionOptions {
        facts: backend.status_facts(),
        is_demo: backend.demo.is_some(),
        service: Arc::<TuiBackend>::clone(&backend),
        events,
        start: first_action(opening.start, opening.conversation),
        trust: question,
        setup,
        banner_lines: banner,
        theme: look.theme,
        keymap: look.keymap,
        hyperlinks: look.hyperlinks,
        mouse: look.mouse,
        notifications: look.notifications,
        reduced_motion: look.reduced_motion,
        details: look.details,
        vim: look.vim,
        input_prefix: look.input_prefix,
        asks_background: look.asks_background,
    };
    let ended = run_session(&backend, session, linear, &handle)?;
    Ok(exit_code(ended, alone && !saved.load(Ordering::Relaxed)))
}

fn wire_session(
    context: &StartContext,
    catalog: &ConfigCatalog,
    models: RunModels,
    add_run_server: Option<RunServerWiring>,
) -> WiredRuntime {
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, catalog, models);
    match add_run_server {
        Some(add_run_server) => add_run_server(context, catalog, wired),
        None => wired,
    }
}

fn first_action(
    start: Option<(String, String)>,
    conversation: Option<ConversationStart>,
) -> Option<FirstAction> {
    let workflow = start.map(|(name, input)| FirstAction::Workflow { name, input });
    workflow.or_else(|| {
        conversation.map(|wanted| match wanted {
            ConversationStart::Reopened(run) => FirstAction::Conversation(run),
            ConversationStart::Chosen => FirstAction::ChooseConversation,
        })
    })
}

fn run_session(
    backend: &Arc<TuiBackend>,
    session: SessionOptions,
    linear: bool,
    handle: &RuntimeHandle,
) -> Result<Option<ExternalShutdown>> {
    let runtime = build_runtime()?;
    runtime.spawn(backend.list_mcp_servers());
    let ended = runtime.block_on(play_session(session, linear, handle));
    handle.index_texts();
    // Commands that tools started end with us; nothing is waited for.
    runtime.shutdown_background();
    Ok(ended?)
}

/// As shells say it of a program that a signal has ended. `left`: what was wanted was not done.
fn exit_code(ended_by: Option<ExternalShutdown>, left: bool) -> u8 {
    match ended_by {
        Some(ExternalShutdown::Hangup) => exit::HUNG_UP,
        Some(ExternalShutdown::Terminate) => exit::TERMINATED,
        Some(ExternalShutdown::Interrupt) => exit::CANCELLED,
        None if left => exit::CANCELLED,
        None => exit::COMPLETED,
    }
}
