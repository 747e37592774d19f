//! MCP servers that give a run no tools, told when a run of the session begins that would use them.
//!
//! Reads what was stored when they were asked; refuses to start one.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use synthdev_bootstrap::mcp_servers::StoredMcpTools;
use synthdev_domain::terminal_safe::first_line;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_ports::mcp::McpServerRecords as _;
use synthdev_settings::catalog::ConfigCatalog;

use crate::unlisted_servers::servers_for_program;

/// Letters of a reason.
const REASON_LETTERS: usize = 160;

/// What the user was told of each server last.
#[derive(Default)]
pub(crate) struct ReportedServers(Mutex<BTreeMap<String, String>>);

/// Tells about the servers of a run that begins.
pub(crate) struct ServerReport {
    pub(crate) reported: Arc<ReportedServers>,
    pub(crate) catalog: Arc<ConfigCatalog>,
    pub(crate) data: PathBuf,
}

impl ServerReport {
    /// Servers that an agent of the program may use.
    pub(crate) fn servers_of(&self, program: &WorkflowProgram) -> Vec<String> {
        let all: Vec<String> = self.catalog.mcp_servers().keys().cloned().collect();
        if all.is_empty() { all } else { servers_for_program(&self.catalog, program, all) }
    }

    /// A line for each of these servers that gives no tools, if the user does not know it yet.
    pub(crate) fn new_lines(&self, servers: Vec<String>) -> Vec<String> {
        if servers.is_empty() {
            return Vec::new();
        }
        let silent = silent_servers(&self.catalog, &self.data);
        let mut reported = self.reported.0.lock().unwrap_or_else(PoisonError::into_inner);
        // one that gives tools again, and fails later, is told again
        reported.retain(|name, _| silent.contains_key(name));
        let lines = servers.into_iter().filter_map(|name| {
            let line = silent_server_line(&name, silent.get(&name)?.as_deref());
            note_line(&mut reported, name, &line).then_some(line)
        });
        lines.collect()
    }
}

/// Whether the line says something new of the server. Another time in it, or the number of a process, does not.
fn note_line(reported: &mut BTreeMap<String, String>, name: String, line: &str) -> bool {
    let words = line.split_whitespace().collect::<Vec<_>>();
    let is_one = |at: Option<usize>, of: &[&str]| {
        at.and_then(|at| words.get(at)).is_some_and(|word| of.contains(word))
    };
    let is_passing = |at: usize| {
        is_one(at.checked_add(1), &["s", "ms", "min"]) || is_one(at.checked_sub(1), &["process", "pid"])
    };
    let kept = words.iter().enumerate().filter(|(at, word)| is_said(word) && !is_passing(*at));
    let words = kept.map(|(_, word)| *word).collect::<Vec<_>>().join(" ");
    reported.insert(name, words.clone()).is_none_or(|before| before != words)
}

/// A short number may be the reason: the status of an answer or of a process.
fn is_said(word: &str) -> bool {
    const SHORT: usize = 3;
    let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
    bare.len() <= SHORT || !bare.starts_with(|c: char| c.is_ascii_digit())
}

/// Servers without stored tools: why there is none, if they were asked and could not give it.
fn silent_servers(catalog: &ConfigCatalog, data: &Path) -> BTreeMap<String, Option<String>> {
    let stored = StoredMcpTools::new(data);
    let silent = catalog.mcp_servers().values().filter_map(|server| match stored.stored_tools(server) {
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

    #[test]
    fn a_server_is_told_again_when_its_reason_is_another_one() {
        let mut reported = BTreeMap::new();
        let mut check = |failure: Option<&str>, expected: bool| {
            let line = silent_server_line("docs", failure);
            assert_eq!(note_line(&mut reported, "docs".to_owned(), &line), expected, "{line}");
        };
        check(None, true);
        check(None, false);
        check(Some("it cannot be started: no such file"), true);
        check(Some("it cannot be started: no such file"), false);
        check(Some("it asks for a password"), true);
        check(Some("it ended at 12:01:07, process 4711"), true);
        check(Some("it ended at 12:04:59, process 902"), false);
        check(Some("it answered 503 after 12 s"), true);
        check(Some("it answered 503 after 9 s"), false);
        check(Some("it answered 401 after 9 s"), true);
        check(Some("it ended with status 1."), true);
        check(Some("it ended with status 127."), true);
    }
}
