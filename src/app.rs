//! The composition root: load configuration, build adapters, start the runtime, pick a front-end.
//!
//! It only wires; what it wires is in the layers.
#![allow(
    clippy::disallowed_methods,
    reason = "the environment, the directory and the terminal are met here, once"
)]

mod archive;
mod backend;
mod briefing;
mod cassettes;
mod checks;
mod configure;
mod control;
mod cut_off;
pub mod deck;
mod demo;
mod doctor;
mod driving;
mod findings;
mod foreign;
mod going;
mod graph;
mod hardening;
mod index;
mod isolation;
mod lists;
mod loading;
mod logs;
mod mcp;
mod models;
mod new;
mod own_files;
mod past;
mod reading;
mod rehearsal;
mod runs;
mod salvage;
mod sandbox_report;
mod sandboxing;
pub mod scenes;
mod schema;
mod setup;
mod simulate;
mod sources;
mod stops;
mod survey;
mod taped;
mod templates;
mod testing;
mod travel;
mod trust;
mod windows;
pub mod wiring;
mod world;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use crate::adapters::sandbox::{HELPER_COMMAND, PORTS_COMMAND};
#[cfg(target_os = "linux")]
use crate::adapters::sandbox::{landlock_helper, port_listener};
use crate::cli::args::{Cli, Command, ConfigCommand, SettingFlags, completions};
use crate::cli::{exit, limits, words};
use world::World;

/// This program started once more by itself: it becomes a command within the sandbox. `None`: it was started by the user.
pub fn helper(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let word = arguments.nth(1)?;
    if word != HELPER_COMMAND && word != PORTS_COMMAND {
        return None;
    }
    let arguments: Vec<OsString> = arguments.collect();
    #[cfg(target_os = "linux")]
    {
        let become_command = if word == PORTS_COMMAND {
            port_listener::become_command
        } else {
            landlock_helper::become_command
        };
        match become_command(&arguments) {
            Ok(code) => return Some(ExitCode::from(code)),
            Err(error) => words::tell(format_args!("[sandbox] the command was not started: {error}")),
        }
    }
    Some(ExitCode::from(NOT_STARTED))
}

/// As shells say that a command could not be executed.
const NOT_STARTED: u8 = 126;

/// Does what was typed; the answer is the exit code.
///
/// # Errors
/// What could not be done, with what to do next; exit code 2.
pub fn run(mut cli: Cli) -> Result<u8> {
    hardening::close_to_others();
    hardening::outlive_file_limits();
    hardening::keep_inherited_files();
    if let Some(Command::Completions { shell }) = cli.command {
        std::io::stdout().lock().write_all(&completions(shell))?;
        return Ok(exit::COMPLETED);
    }
    if matches!(cli.command, Some(Command::Limits)) {
        std::io::stdout().lock().write_all(limits::page().as_bytes())?;
        return Ok(exit::COMPLETED);
    }
    if matches!(cli.command, Some(Command::Models { .. })) {
        // there it says whose models are listed
        cli.settings.provider = None;
    }
    if let Some(Command::Configure(args)) = &mut cli.command {
        // there these flags say what is written
        args.flags = std::mem::take(&mut cli.settings);
        let (config, trust) = (args.flags.config.clone(), args.flags.trust);
        cli.settings = SettingFlags { config, trust, ..SettingFlags::default() };
    }
    let world = World::find(&cli)?;
    hardening::close_data(&world.dirs.data);
    if cli.linear && !matches!(cli.command, None | Some(Command::Demo { headless: false })) {
        anyhow::bail!("--linear is about the screen: use it without a command, or with demo");
    }
    match cli.command {
        None => backend::interactive(world, backend::Opening::default()),
        Some(Command::Run(args)) => runs::run(&world, args),
        Some(Command::Demo { headless }) => demo::run(&world, headless),
        Some(Command::Check(args)) => checks::check(&world, &args),
        Some(Command::Simulate(args)) => simulate::simulate(&world, args),
        Some(Command::Test(args)) => testing::test(&world, &args),
        Some(Command::Runs(command)) => past::runs(&world, *command),
        Some(Command::Resume(args)) => going::resume(&world, &args),
        Some(Command::Why { run, step, json }) => travel::why(&world, &run, step, json),
        Some(Command::Snapshot(command)) => past::snapshot(&world, command),
        Some(Command::Sandbox(args)) => sandbox_report::show(&world, &args),
        Some(Command::Mcp(args)) => mcp::mcp(&world, &args),
        Some(Command::Graph(args)) => graph::graph(&world, &args),
        Some(Command::Schema { name, write }) => schema::schema(name, write.as_deref()),
        Some(Command::New(command)) => new::new(&world, &command),
        Some(Command::Workflows { json }) => lists::workflows(&world, json),
        Some(Command::Roles { json }) => lists::roles(&world, json),
        Some(Command::Tools { json }) => lists::tools(&world, json),
        Some(Command::Models { provider, json }) => models::models(&world, provider.as_deref(), json),
        Some(Command::Index(args)) => index::index(&world, &args),
        Some(Command::Doctor { offline, json }) => doctor::doctor(&world, offline, json),
        Some(Command::Trust) => trust::trust(&world),
        Some(Command::Configure(args)) => configure::configure(world, &args),
        Some(Command::Config(ConfigCommand::Show { origin })) => lists::config(&world, origin),
        Some(Command::Config(ConfigCommand::Explain { key, json })) => lists::explain(&world, &key, json),
        Some(Command::Completions { .. } | Command::Limits) => Ok(exit::COMPLETED),
    }
}
