//! `mcp add` and `mcp remove`: MCP servers in the user's settings.

use std::io::Write as _;

use anyhow::{Result, anyhow};

use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::exit;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name};
use synthdev_service::mcp_configuration::McpServerChange;
use synthdev_session::local_setup_ports::LocalSetupPorts;

pub(crate) fn change_servers(context: &StartContext, change: &McpServerChange) -> Result<u8> {
    let ports = LocalSetupPorts { context: context.clone(), overrides: context.overrides.clone() };
    let plan = change.plan(&ports).map_err(|error| anyhow!(error))?;
    for note in change.notes() {
        print_stderr(format_args!("note: {note}"));
    }
    let name = safe_name(change.server());
    let done = match change {
        McpServerChange::Add(_) => format!(
            "added `{name}`; `synthdev mcp test {name}` starts it and lists its tools; a session that is open has it from its next \
             conversation or run on"
        ),
        McpServerChange::Remove(_) => format!("removed `{name}`"),
    };
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    for path in plan.save_files(&ports).map_err(|error| anyhow!(error))? {
        writeln!(out, "{path}: {done}")?;
    }
    Ok(exit::COMPLETED)
}
