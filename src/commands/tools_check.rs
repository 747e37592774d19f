//! `tools check`: what is wrong with the tools that the user and the project define.

use std::io::{IsTerminal, Write as _};

use anyhow::Result;

use super::list_commands::list_tools;
use super::load_config::load_catalog;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::args::{ToolsArgs, ToolsCommand};
use synthdev_cli::check::{CheckOutputOptions, write_check_report};
use synthdev_cli::exit;
use synthdev_cli::output::TerminalSafeWriter;
use synthdev_domain::number_format::format_count;
use synthdev_service::definition_check::CheckReport;

/// `tools`, and `tools check`.
pub(crate) fn run_tools_command(context: &StartContext, args: &ToolsArgs) -> Result<u8> {
    match args.command {
        Some(ToolsCommand::Check { json }) => check_own_tools(context, json),
        None => list_tools(context, args.json),
    }
}

pub(crate) fn check_own_tools(context: &StartContext, as_json: bool) -> Result<u8> {
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    let files = catalog.own_tool_files();
    let of_tools = |file: &str| files.iter().any(|own| own.name == file);
    let diagnostics = catalog.diagnostics().iter().filter(|finding| of_tools(&finding.place.file));
    let report = CheckReport { diagnostics: diagnostics.cloned().collect(), ..CheckReport::default() };
    let mut stdout = std::io::stdout().lock();
    if !as_json {
        let mut out = TerminalSafeWriter(&mut stdout);
        for tool in catalog.own_tools() {
            writeln!(out, "{:<18} {} ({})", tool.spec.name, tool.command.join(" "), tool.file)?;
            let needs = tool.needs_text();
            if !needs.is_empty() {
                writeln!(out, "{:<18} sandbox: {needs}", "")?;
            }
        }
        let count = format_count(files.len() as u64, "tool file");
        if files.is_empty() {
            writeln!(
                out,
                "no tools are defined: write tools/NAME.json in your configuration or below .synthdev"
            )?;
        } else if report.diagnostics.is_empty() {
            writeln!(out, "{count}, no findings")?;
        }
    }
    if as_json || !report.diagnostics.is_empty() {
        let options = CheckOutputOptions {
            json: as_json,
            is_painted: std::io::stdout().is_terminal(),
            shows_dialects: false,
            brief: None,
            text_of: &|name| catalog.printable_text(name),
        };
        write_check_report(&report, &options, &mut stdout)?;
    }
    Ok(if report.has_errors() { exit::FAILED } else { exit::COMPLETED })
}
