//! MCP servers that give a run no tools, told when the first run of the session begins that would use them.
//!
//! Reads what was stored when they were asked; refuses to start one.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use synthdev_bootstrap::mcp_servers::McpToolLists;
use synthdev_domain::terminal_safe::first_line;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_ports::mcp::McpServerRecords as _;
use synthdev_settings::catalog::ConfigCatalog;

use crate::unlisted_servers::servers_for_program;

/// Letters of a reason.
const REASON_LETTERS: usize = 160;

/// Names of servers that the user has been told of.
#[derive(Default)]
pub(crate) struct ReportedServers(Mutex<BTreeSet<String>>);

impl ReportedServers {
    /// A line for each server that an agent of the program may use and that gives no tools, once in a session.
    pub(crate) fn new_lines(
        &self,
        data: &Path,
        catalog: &ConfigCatalog,
        program: impl FnOnce() -> Option<WorkflowProgram>,
    ) -> Vec<String> {
        let mut reported = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut silent = silent_servers(catalog, data);
        silent.retain(|name, _| !reported.contains(name));
        // without one, the program is not built twice
        let Some(program) = (!silent.is_empty()).then(program).flatten() else { return Vec::new() };
        let mut lines = Vec::new();
        for name in servers_for_program(catalog, &program, silent.keys().cloned().collect()) {
            lines.push(silent_server_line(&name, silent.get(&name).and_then(Option::as_deref)));
            reported.insert(name);
        }
        lines
    }
}

/// Servers without a list of tools: why there is none, if they were asked and could not give it.
fn silent_servers(catalog: &ConfigCatalog, data: &Path) -> BTreeMap<String, Option<String>> {
    let lists = McpToolLists::new(data);
    let silent = catalog.mcp_servers().values().filter_map(|server| match lists.listed_tools(server) {
        Some(Ok(_)) => None,
        Some(Err(why)) => Some((server.name.clone(), Some(why))),
        None => Some((server.name.clone(), None)),
    });
    silent.collect()
}

/// `failure`: why it gave none; `None`: it has not answered yet.
fn silent_server_line(name: &str, failure: Option<&str>) -> String {
    match failure {
        Some(why) => format!(
            "MCP server {name} gives no tools: {} · /mcp test {name} tries it again; what begins then has them",
            first_line(why, REASON_LETTERS)
        ),
        None => format!(
            "MCP server {name} has not listed its tools yet: what begins later has them · /mcp test {name} waits for it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_silent_server_is_told_with_what_to_do() {
        let failed = silent_server_line("docs", Some("it cannot be started: no such file\nmore"));
        assert!(failed.starts_with("MCP server docs gives no tools: it cannot be started: no such file · "));
        assert!(failed.contains("/mcp test docs"), "{failed}");
        assert!(silent_server_line("docs", None).contains("has not listed its tools yet"));
    }
}
