//! The composition root: loads configuration, builds adapters, starts the runtime and picks a front end; and the commands
//! of the command line. No rule of a run, of a file format or of the screen is here.
#![allow(
    clippy::disallowed_methods,
    reason = "the environment, the directory and the terminal are met here, once"
)]

pub mod active_recording;
mod backend;
pub mod bootstrap;
mod breakpoints;
mod check_command;
mod cli_context;
mod config_sources;
mod configure;
mod context_windows;
mod definition_files;
mod demo;
mod diagnostics;
mod doctor;
mod graph;
mod hardening;
mod history_commands;
mod index;
mod isolation;
mod list_commands;
mod load_config;
mod logs;
mod mcp;
mod mcp_command;
mod mcp_configuration;
mod mcp_servers;
mod model_setup;
mod models;
mod new;
mod probe_servers;
mod read_only;
mod recorded_tests;
mod recordings;
mod resume_command;
mod run_command;
mod run_to_end;
mod runs_command;
mod salvage;
mod sandbox_report;
mod sandbox_setup;
mod schema;
mod simulate;
pub mod simulation_ports;
mod system_context;
mod terminal_size;
mod test_command;
mod time_travel;
mod tools_check;
mod trust;
mod trust_report;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Result;

use cli_context::CliContext;
use synthdev_adapters::sandbox::{HELPER_COMMAND, PORTS_COMMAND, remove_private_directories};
#[cfg(target_os = "linux")]
use synthdev_adapters::sandbox::{landlock_helper, port_listener};
use synthdev_cli::args::{CliArgs, CliCommand, ConfigCommand, SettingFlags, completion_script};
use synthdev_cli::{exit, limits, output};

/// This program started once more by itself: it becomes a command within the sandbox. `None`: it was started by the user.
pub fn run_sandbox_helper(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
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
            Err(error) => {
                output::print_stderr(format_args!("[sandbox] the command was not started: {error}"))
            }
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
pub fn run_cli(cli: CliArgs) -> Result<u8> {
    let done = perform(cli);
    // a thread that is not waited for may still hold a sandbox
    remove_private_directories();
    done
}

fn perform(mut cli: CliArgs) -> Result<u8> {
    hardening::forbid_process_inspection();
    hardening::outlive_file_limits();
    hardening::close_inherited_on_exec();
    if let Some(CliCommand::Completions { shell }) = cli.command {
        std::io::stdout().lock().write_all(&completion_script(shell))?;
        return Ok(exit::COMPLETED);
    }
    if matches!(cli.command, Some(CliCommand::Limits)) {
        std::io::stdout().lock().write_all(limits::limits_page().as_bytes())?;
        return Ok(exit::COMPLETED);
    }
    if matches!(cli.command, Some(CliCommand::Models { .. })) {
        // there it says whose models are listed
        cli.settings.provider = None;
    }
    if let Some(CliCommand::Configure(args)) = &mut cli.command {
        // there these flags say what is written
        args.flags = std::mem::take(&mut cli.settings);
        let (config, trust) = (args.flags.config.clone(), args.flags.trust);
        cli.settings = SettingFlags { config, trust, ..SettingFlags::default() };
    }
    let context = CliContext::find_project(&cli)?;
    hardening::close_data(&context.dirs.data);
    if cli.linear && !matches!(cli.command, None | Some(CliCommand::Demo { headless: false })) {
        anyhow::bail!("--linear is about the screen: use it without a command, or with demo");
    }
    match cli.command {
        None => backend::run_interactive(context, backend::TuiStartup::default()),
        Some(CliCommand::Run(args)) => run_command::run_workflow_command(&context, args),
        Some(CliCommand::Demo { headless }) => demo::run_demo(&context, headless),
        Some(CliCommand::Check(args)) => check_command::run_check_command(&context, &args),
        Some(CliCommand::Simulate(args)) => simulate::run_simulate_command(&context, args),
        Some(CliCommand::Test(args)) => test_command::run_test_command(&context, &args),
        Some(CliCommand::Runs(command)) => runs_command::run_runs_command(&context, *command),
        Some(CliCommand::Resume(args)) => resume_command::resume_run(&context, &args),
        Some(CliCommand::Why { run, step, json }) => time_travel::explain_step(&context, &run, step, json),
        Some(CliCommand::Snapshot(command)) => runs_command::run_snapshot_subcommand(&context, command),
        Some(CliCommand::Sandbox(args)) => sandbox_report::show_sandbox(&context, &args),
        Some(CliCommand::Mcp(args)) => mcp::run_mcp_server(&context, &args),
        Some(CliCommand::Graph(args)) => graph::show_graph(&context, &args),
        Some(CliCommand::Schema { name, write }) => schema::print_schema(name, write.as_deref()),
        Some(CliCommand::New(command)) => new::new(&context, &command),
        Some(CliCommand::Workflows { json }) => list_commands::list_workflows(&context, json),
        Some(CliCommand::Roles { json }) => list_commands::list_roles(&context, json),
        Some(CliCommand::Tools(args)) => tools_check::run_tools_command(&context, &args),
        Some(CliCommand::Models { provider, json }) => {
            models::list_models(&context, provider.as_deref(), json)
        }
        Some(CliCommand::Index(args)) => index::run_index(&context, &args),
        Some(CliCommand::Doctor { offline, json }) => doctor::run_doctor_command(&context, offline, json),
        Some(CliCommand::Trust) => trust_report::show(&context),
        Some(CliCommand::Configure(args)) => configure::run_configure_command(context, &args),
        Some(CliCommand::Config(ConfigCommand::Show { origin })) => {
            list_commands::show_config(&context, origin)
        }
        Some(CliCommand::Config(ConfigCommand::Explain { key, json })) => {
            list_commands::explain_setting(&context, &key, json)
        }
        Some(CliCommand::Completions { .. } | CliCommand::Limits) => Ok(exit::COMPLETED),
    }
}
