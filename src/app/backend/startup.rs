//! How a session with a screen, or with lines, begins: everything is read, wired and handed over, and then it is played.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, RwLock};

use anyhow::Result;

use super::cancel::OneShotCanceller;
use super::definition_files::stamps;
use super::pending_breakpoints::PendingBreakpoints;
use super::session::{first_lines, played, question};
use super::{TuiBackend, problems, ui_settings};
use crate::cli_context::CliContext;
use crate::run_command::runtime;
use crate::{bootstrap, config_sources, logs, model_setup};
use synthdev_adapters::providers::scripted::ScriptedModel;
use synthdev_cli::exit;
use synthdev_config::catalog::ConfigCatalog;
use synthdev_tui::terminal::ExternalShutdown;
use synthdev_tui::{FirstAction, SessionOptions};

/// How the screen begins.
#[derive(Debug, Default)]
pub(crate) struct TuiStartup {
    /// Answers instead of a model, and who says so.
    pub(crate) script: Option<(ScriptedModel, &'static str)>,
    /// A workflow with its input, started at once.
    pub(crate) start: Option<(String, String)>,
    pub(crate) banner: Vec<String>,
    /// Only a model is set up.
    pub(crate) setup: bool,
}

pub(crate) fn interactive(world: CliContext, opening: TuiStartup) -> Result<u8> {
    let shown = matches!(opening.script, Some((_, "demo")));
    let demo = opening.start.as_ref().filter(|_| shown).map(|(name, _)| name.clone());
    let (script, overrides) = match opening.script {
        Some((script, who)) => (Some(script), world.scripted(who)),
        None => (None, world.overrides.clone()),
    };
    let (linear, read) = (world.linear, Mutex::new(stamps(&world)));
    let gathered = config_sources::gather(&world, overrides.clone(), world.trust)?;
    let question = question(&world, &gathered.verdict, &gathered.project);
    let mut banner = first_lines(demo.is_none(), opening.banner, &gathered.not_read());
    let asked = gathered.project;
    let catalog = ConfigCatalog::load(gathered.sources, bootstrap::specs(&world.project));
    banner.extend(problems(&catalog));
    let look = ui_settings::load_ui_settings(&world, &catalog);
    banner.extend(look.findings);
    logs::start(&world.dirs.data, catalog.settings().verbosity());
    let plays = script.is_some() || opening.start.is_some();
    let (alone, saved) = (opening.setup, Arc::new(AtomicBool::new(false)));
    let setup = model_setup::first(&catalog, opening.setup, plays);
    let wired = bootstrap::wire(&world.project, &world.dirs.data, &catalog, script);
    let handle = wired.handle.clone();
    let events = handle.subscribe(true);
    let desk = TuiBackend {
        world,
        overrides,
        demo,
        catalog: RwLock::new(Arc::new(catalog)),
        wired: RwLock::new(Arc::new(wired)),
        asked: Mutex::new(asked),
        branch: Mutex::default(),
        stops: PendingBreakpoints::default(),
        saved: Arc::clone(&saved),
        unkept: AtomicBool::new(false),
        read,
        checker: Arc::default(),
        entries: Arc::default(),
        stopper: OneShotCanceller::default(),
        indexing: Arc::default(),
    };
    let session = SessionOptions {
        backend: Arc::new(desk),
        events,
        start: opening.start.map(|(name, input)| FirstAction::Workflow { name, input }),
        trust: question,
        setup,
        banner,
        theme: look.theme,
        keymap: look.keymap,
        mouse: look.mouse,
        calm: look.calm,
        details: look.details,
        vim: look.vim,
        light: look.light,
    };
    let runtime = runtime()?;
    let ended = runtime.block_on(played(session, linear, &handle));
    // Commands that tools started end with us; nothing is waited for.
    runtime.shutdown_background();
    let left = alone && !saved.load(Ordering::Relaxed);
    Ok(exit_code(ended?, left))
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
