//! Servers that were never asked for their tools, asked before a workflow starts whose agents may use them.
//!
//! Refuses to wait for a server that answered once, or that no agent of the workflow may use.

use std::sync::Arc;

use synthdev_bootstrap::mcp_servers::{failure_line, unlisted_servers};
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_domain::mcp_server::SERVER_SEPARATOR;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_language::tool_patterns::ToolPattern;
use synthdev_settings::catalog::ConfigCatalog;

/// What came of asking.
pub struct ListedProgram {
    /// The program with the tools that were listed.
    pub program: WorkflowProgram,
    /// Why servers are left out, a line each.
    pub failures: Vec<String>,
    pub has_asked: bool,
}

/// Asks the servers that the program needs.
pub async fn list_for_program(
    context: &StartContext,
    catalog: &Arc<ConfigCatalog>,
    program: WorkflowProgram,
) -> ListedProgram {
    let wanted = unlisted_for_program(context, catalog, &program);
    if wanted.is_empty() {
        return ListedProgram { program, failures: Vec::new(), has_asked: false };
    }
    let listings = wiring::list_mcp_servers(context, catalog, &wanted).await;
    let failures = listings.iter().filter_map(failure_line).collect();
    let program = reload_program(context.clone(), Arc::clone(catalog), program).await;
    ListedProgram { program, failures, has_asked: true }
}

/// The program once these servers were asked for their tools. `role`: it is a conversation with this role.
pub(crate) async fn program_with_servers(
    context: StartContext,
    catalog: Arc<ConfigCatalog>,
    servers: Vec<String>,
    program: WorkflowProgram,
    role: Option<String>,
) -> WorkflowProgram {
    wiring::list_mcp_servers(&context, &catalog, &servers).await;
    let Some(role) = role else { return reload_program(context, catalog, program).await };
    let load = move || wiring::load_catalog(&context, catalog.sources().clone()).chat_program(&role).ok();
    // reading files takes the time of a disk
    tokio::task::spawn_blocking(load).await.ok().flatten().unwrap_or(program)
}

/// The program as it is with the tools that servers have listed by now.
pub(crate) async fn reload_program(
    context: StartContext,
    catalog: Arc<ConfigCatalog>,
    program: WorkflowProgram,
) -> WorkflowProgram {
    let name = program.workflows.first().map(|root| root.name.clone()).unwrap_or_default();
    let load = move || wiring::load_catalog(&context, catalog.sources().clone()).program(&name).ok();
    // reading files takes the time of a disk
    tokio::task::spawn_blocking(load).await.ok().flatten().unwrap_or(program)
}

/// Servers that were never asked, and whose tools an agent of the program may be given.
pub fn unlisted_for_program(
    context: &StartContext,
    catalog: &ConfigCatalog,
    program: &WorkflowProgram,
) -> Vec<String> {
    let unlisted = unlisted_servers(catalog, &context.dirs.data);
    if unlisted.is_empty() { unlisted } else { servers_for_program(catalog, program, unlisted) }
}

/// Those of these servers whose tools an agent of the workflow may be given.
pub(crate) fn servers_for_program(
    catalog: &ConfigCatalog,
    program: &WorkflowProgram,
    servers: Vec<String>,
) -> Vec<String> {
    let roles =
        program.workflows.iter().flat_map(|workflow| &workflow.agents).map(|agent| agent.role.as_str());
    let roles: Vec<_> = roles.filter_map(|role| catalog.roles().find_role(role).ok()).collect();
    let wants = |server: &String| {
        let first = format!("{server}{SERVER_SEPARATOR}");
        roles.iter().any(|role| match (&role.included_tools, &role.excluded_tools) {
            (Some(included), _) => included.iter().any(|text| may_name_tool_of(text, &first)),
            (None, Some(_)) => true,
            (None, None) => false,
        })
    };
    servers.into_iter().filter(wants).collect()
}

/// Whether a pattern can fit a tool whose name begins so. What a regular expression fits is not known before.
fn may_name_tool_of(pattern: &str, first: &str) -> bool {
    match ToolPattern::parse(pattern) {
        Ok(ToolPattern::Exact(name)) => name.starts_with(first),
        Ok(ToolPattern::Wildcard(pieces)) => {
            pieces.first().is_none_or(|piece| first.starts_with(piece.as_str()) || piece.starts_with(first))
        }
        Ok(ToolPattern::Regex(_)) => true,
        Err(_) => false,
    }
}
