//! The commands of the command line: each parses what was typed, asks the service, and puts the outcome into words. No
//! rule of a run, of a file format or of the screen is here, and nothing names an adapter: `bootstrap` builds those.
#![allow(
    clippy::disallowed_methods,
    reason = "a command makes the files that the user asked for, and the demo its project"
)]

#[cfg(feature = "restate")]
mod backend_command;
#[cfg(feature = "restate")]
mod backend_doctor;
mod breakpoints;
mod check_command;
mod configure;
mod conversation_command;
mod demo;
mod diagnostics;
mod doctor;
mod file_progress;
mod graph;
mod history_commands;
mod index;
mod isolation;
mod list_commands;
mod load_config;
mod mcp;
mod mcp_command;
mod mcp_configuration;
mod models;
mod new;
#[cfg(feature = "restate")]
mod project_place;
mod read_only;
mod recorded_tests;
mod recordings;
#[cfg(feature = "restate")]
mod restate_runs;
mod resume_command;
mod run_command;
mod run_to_end;
mod runs_command;
mod salvage;
mod sandbox_report;
mod schema;
#[cfg(feature = "restate")]
mod server_runs;
#[cfg(feature = "restate")]
mod shared_run_files;
mod simulate;
mod start_options;
mod terminal_size;
mod test_command;
mod time_travel;
mod tools_check;
mod trust_command;
#[cfg(feature = "restate")]
mod worker_command;
#[cfg(feature = "restate")]
mod worker_host;

use std::io::Write;
use std::path::Path;

use anyhow::{Context as _, Result};

use synthdev_bootstrap::hardening;
use synthdev_bootstrap::sandbox_helper::remove_private_directories;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::{CliArgs, CliCommand, ConfigCommand, SettingFlags, completion_script};
use synthdev_cli::manual::{manual_page, write_manual_pages};
use synthdev_cli::{exit, limits, output};

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

/// Commands that need neither a project nor settings. `None`: it is none of them.
fn print_at_once(cli: &CliArgs) -> Option<Result<u8>> {
    let text = match &cli.command {
        Some(CliCommand::Completions { shell }) => completion_script(*shell),
        Some(CliCommand::Limits) => limits::limits_page().as_bytes().to_vec(),
        Some(CliCommand::Man { to }) => return Some(print_manual(to.as_deref())),
        _ => return None,
    };
    let written = std::io::stdout().lock().write_all(&text);
    Some(written.map(|()| exit::COMPLETED).map_err(Into::into))
}

/// The manual, or all its pages in a directory.
fn print_manual(directory: Option<&Path>) -> Result<u8> {
    let Some(directory) = directory else {
        std::io::stdout().lock().write_all(&manual_page()?)?;
        return Ok(exit::COMPLETED);
    };
    std::fs::create_dir_all(directory)
        .and_then(|()| write_manual_pages(directory))
        .with_context(|| format!("the manual pages cannot be written to {}", directory.display()))?;
    Ok(exit::COMPLETED)
}

fn perform(mut cli: CliArgs) -> Result<u8> {
    hardening::forbid_process_inspection();
    hardening::outlive_file_limits();
    hardening::close_inherited_on_exec();
    if let Some(done) = print_at_once(&cli) {
        return done;
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
    let context = StartContext::find_project(start_options::start_options(&cli))?;
    hardening::close_data(&context.dirs.data).iter().for_each(output::print_stderr);
    refuse_screen_options(&cli)?;
    match cli.command {
        None => conversation_command::start_session(context, &cli.reopen),
        Some(CliCommand::Run(args)) => run_command::run_workflow_command(&context, args),
        Some(CliCommand::Demo { headless }) => demo::run_demo(&context, headless),
        Some(CliCommand::Check(args)) => check_command::run_check_command(&context, &args),
        Some(CliCommand::Simulate(args)) => simulate::run_simulate_command(&context, args),
        Some(CliCommand::Test(args)) => test_command::run_test_command(&context, &args),
        Some(CliCommand::Runs(command)) => runs_command::run_runs_command(&context, *command),
        Some(CliCommand::Resume(args)) => resume_command::resume_run(&context, &args),
        #[cfg(feature = "restate")]
        Some(CliCommand::Worker(args)) => worker_command::run_worker(&context, &args),
        #[cfg(feature = "restate")]
        Some(CliCommand::Backend(command)) => backend_command::run_backend_command(&context, command),
        Some(CliCommand::Why { run, step, json }) => time_travel::explain_step(&context, &run, &step, json),
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
        Some(CliCommand::Trust) => trust_command::show_trust(&context),
        Some(CliCommand::Configure(args)) => configure::run_configure_command(context, &args),
        Some(CliCommand::Config(ConfigCommand::Show { origin })) => {
            list_commands::show_config(&context, origin)
        }
        Some(CliCommand::Config(ConfigCommand::Explain { key, json })) => {
            list_commands::explain_setting(&context, &key, json)
        }
        Some(CliCommand::Completions { .. } | CliCommand::Man { .. } | CliCommand::Limits) => {
            Ok(exit::COMPLETED)
        }
    }
}

/// Options that are about the screen make no sense with a command that has none.
fn refuse_screen_options(cli: &CliArgs) -> Result<()> {
    if cli.linear && !matches!(cli.command, None | Some(CliCommand::Demo { headless: false })) {
        anyhow::bail!("--linear is about the screen: use it without a command, or with demo");
    }
    if cli.reopen.is_wanted() && cli.command.is_some() {
        anyhow::bail!(
            "--continue and --resume reopen a conversation on the screen: use them without a command\n\
             hint: synthdev resume RUN resumes a run of a workflow"
        );
    }
    Ok(())
}
