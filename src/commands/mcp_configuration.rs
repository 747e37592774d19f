//! `mcp add` and `mcp remove`: MCP servers in the user's settings.

use std::io::Write as _;

use anyhow::{Result, anyhow};

use synthdev_bootstrap::start_context::StartContext;
use synthdev_cli::exit;
use synthdev_cli::output::{TerminalSafeWriter, print_stderr, safe_name};
use synthdev_service::mcp_configuration::{McpServerAddition, plan_server_addition, plan_server_removal};
use synthdev_service::model_setup::SetupPlan;
use synthdev_session::local_setup_ports::LocalSetupPorts;

pub(crate) fn add_server(context: &StartContext, addition: &McpServerAddition) -> Result<u8> {
    let ports = LocalSetupPorts { context: context.clone(), overrides: context.overrides.clone() };
    let plan = plan_server_addition(&ports, addition).map_err(|error| anyhow!(error))?;
    for name in addition.written_out_keys() {
        print_stderr(format_args!(
            "note: the value of {} now stands in the file; `${{NAME}}` in its place names a variable of your environment",
            safe_name(&name)
        ));
    }
    let name = safe_name(&addition.name);
    save_plan(
        &plan,
        &ports,
        &format!("added `{name}`; `synthdev mcp test {name}` starts it and lists its tools"),
    )
}

pub(crate) fn remove_server(context: &StartContext, name: &str) -> Result<u8> {
    let ports = LocalSetupPorts { context: context.clone(), overrides: context.overrides.clone() };
    let plan = plan_server_removal(&ports, name).map_err(|error| anyhow!(error))?;
    save_plan(&plan, &ports, &format!("removed `{}`", safe_name(name)))
}

fn save_plan(plan: &SetupPlan, ports: &LocalSetupPorts, done: &str) -> Result<u8> {
    let mut stdout = std::io::stdout().lock();
    let mut out = TerminalSafeWriter(&mut stdout);
    for path in plan.save_files(ports).map_err(|error| anyhow!(error))? {
        writeln!(out, "{path}: {done}")?;
    }
    Ok(exit::COMPLETED)
}
