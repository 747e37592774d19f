//! What a workflow requires before it starts: MCP servers that answer, tools, variables.
//!
//! Owns what counts as missing, and what to do about each. Refuses nothing by itself before everything was looked at: all
//! that is missing is reported at once.

use std::fmt;

use futures_util::future::BoxFuture;

use synthdev_domain::mcp_server::{SERVER_SEPARATOR, agent_tool_name};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_domain::workflow_requirements::WorkflowRequirements;
use synthdev_language::did_you_mean::suggest_or_list;

/// What an MCP server answered when it was asked for its tools.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequiredServerAnswer {
    pub server: String,
    /// The names that agents know, or why there are none.
    pub tools: Result<Vec<String>, String>,
}

/// What is looked at outside of the program.
pub trait RequirementPorts: Send + Sync {
    /// Names of the configured MCP servers.
    fn configured_servers(&self) -> Vec<String>;

    /// Names of all tools that agents may be given, those that servers have listed included.
    fn known_tools(&self) -> Vec<String>;

    /// Asks these servers side by side, each within its own time limit.
    fn list_tools<'a>(&'a self, servers: &'a [String]) -> BoxFuture<'a, Vec<RequiredServerAnswer>>;

    /// Whether the environment has a value for it.
    fn is_variable_set(&self, name: &str) -> bool;
}

/// A requirement that is not met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MissingRequirement {
    /// No server of this name is configured.
    Server {
        name: String,
        hint: String,
    },
    /// It is configured and does not answer.
    SilentServer {
        name: String,
        reason: String,
    },
    Tool {
        name: String,
        hint: Option<String>,
    },
    Variable {
        name: String,
    },
}

impl MissingRequirement {
    /// What is missing, without what to do about it.
    pub fn text(&self) -> String {
        match self {
            Self::Server { name, .. } => format!("the MCP server `{name}` is not configured"),
            Self::SilentServer { name, reason } => {
                format!("the MCP server `{name}` gives no tools: {reason}")
            }
            Self::Tool { name, .. } => format!("there is no tool `{name}`"),
            Self::Variable { name } => format!("the variable `{name}` is not set"),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Server { hint, .. } => Some(hint.clone()),
            Self::SilentServer { name, .. } => Some(format!("`synthdev mcp test {name}` tries it again")),
            Self::Tool { hint, .. } => hint.clone(),
            Self::Variable { name } => {
                Some(format!("set `{name}` in the environment of synthdev and start again"))
            }
        }
    }
}

impl fmt::Display for MissingRequirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())?;
        self.hint().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// Everything that a workflow requires and that is missing. Nothing was started.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub struct UnmetRequirements {
    pub workflow: String,
    pub missing: Vec<MissingRequirement>,
}

impl UnmetRequirements {
    /// All that is missing, for a front end that shows hints in another place.
    pub fn text(&self) -> String {
        self.lines(self.missing.iter().map(MissingRequirement::text))
    }

    /// What to do about all of it.
    pub fn hint(&self) -> Option<String> {
        let hints: Vec<String> = self.missing.iter().filter_map(MissingRequirement::hint).collect();
        (!hints.is_empty()).then(|| hints.join("; "))
    }

    fn lines(&self, missing: impl Iterator<Item = String>) -> String {
        let first = format!("the workflow `{}` was not started: what it requires is missing", self.workflow);
        missing.fold(first, |lines, line| lines + "\n- " + &line)
    }
}

impl fmt::Display for UnmetRequirements {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.lines(self.missing.iter().map(ToString::to_string)))
    }
}

/// Those of the root and of every workflow that it can reach.
pub fn program_requirements(program: &WorkflowProgram) -> WorkflowRequirements {
    WorkflowRequirements::union(program.workflows.iter().map(|workflow| &workflow.requirements))
}

/// The servers that are asked for a program: those that it requires, and those of tools that it requires.
pub fn required_servers(requirements: &WorkflowRequirements, configured: &[String]) -> Vec<String> {
    let mut asked: Vec<String> =
        requirements.servers.iter().filter(|server| configured.contains(server)).cloned().collect();
    for tool in &requirements.tools {
        if let Some(server) = configured.iter().find(|server| is_tool_of(tool, server))
            && !asked.contains(server)
        {
            asked.push(server.clone());
        }
    }
    asked
}

/// Checks what a program requires. A program without requirements asks nothing.
///
/// # Errors
/// All that is missing.
pub async fn check_requirements(
    program: &WorkflowProgram,
    ports: &dyn RequirementPorts,
) -> Result<(), UnmetRequirements> {
    let requirements = program_requirements(program);
    if requirements.is_empty() {
        return Ok(());
    }
    let configured = ports.configured_servers();
    let asked = required_servers(&requirements, &configured);
    let answers = if asked.is_empty() { Vec::new() } else { ports.list_tools(&asked).await };
    let mut missing = missing_servers(&requirements, &configured, &answers);
    missing.extend(missing_tools(&requirements, &configured, &answers, &ports.known_tools()));
    let unset = requirements.variables.iter().filter(|name| !ports.is_variable_set(name));
    missing.extend(unset.map(|name| MissingRequirement::Variable { name: name.clone() }));
    if missing.is_empty() {
        return Ok(());
    }
    let workflow = program.workflows.first().map(|root| root.name.clone()).unwrap_or_default();
    Err(UnmetRequirements { workflow, missing })
}

fn missing_servers(
    requirements: &WorkflowRequirements,
    configured: &[String],
    answers: &[RequiredServerAnswer],
) -> Vec<MissingRequirement> {
    let names: Vec<&str> = configured.iter().map(String::as_str).collect();
    let absent = requirements.servers.iter().filter(|server| !configured.contains(server));
    let mut missing: Vec<MissingRequirement> = absent
        .map(|name| {
            let near = suggest_or_list(name, "configured", &names).map(|near| format!("{near}; "));
            let hint = format!(
                "{}`synthdev mcp add {name} PROGRAM` or a .mcp.json adds it",
                near.unwrap_or_default()
            );
            MissingRequirement::Server { name: name.clone(), hint }
        })
        .collect();
    let silent = answers.iter().filter_map(|answer| Some((answer, answer.tools.as_ref().err()?)));
    missing.extend(silent.map(|(answer, reason)| MissingRequirement::SilentServer {
        name: answer.server.clone(),
        reason: reason.clone(),
    }));
    missing
}

/// Tools of servers that are missing themselves are not reported once more.
fn missing_tools(
    requirements: &WorkflowRequirements,
    configured: &[String],
    answers: &[RequiredServerAnswer],
    known: &[String],
) -> Vec<MissingRequirement> {
    let mut missing = Vec::new();
    for tool in &requirements.tools {
        let answer = answers.iter().find(|answer| is_tool_of(tool, &answer.server));
        let names: Vec<&str> = match answer.map(|answer| &answer.tools) {
            Some(Ok(tools)) => tools.iter().map(String::as_str).collect(),
            Some(Err(_)) => continue,
            None => known.iter().map(String::as_str).collect(),
        };
        if names.contains(&tool.as_str())
            || requirements
                .servers
                .iter()
                .any(|server| is_tool_of(tool, server) && !configured.contains(server))
        {
            continue;
        }
        let server = tool.split_once(SERVER_SEPARATOR).map(|(server, _)| server);
        let hint = match (answer, server) {
            (None, Some(server)) => Some(format!(
                "no MCP server `{server}` is configured; `synthdev mcp add {server} PROGRAM` adds it"
            )),
            _ => suggest_or_list(tool, "there are", &names),
        };
        missing.push(MissingRequirement::Tool { name: tool.clone(), hint });
    }
    missing
}

/// Whether a tool has the name of this server before its own.
fn is_tool_of(tool: &str, server: &str) -> bool {
    let first = agent_tool_name(server, "");
    let plain = if first.ends_with(SERVER_SEPARATOR) {
        first
    } else {
        // a name that model servers do not take: their letters, then the separator
        format!("{}{SERVER_SEPARATOR}", server.replace('.', "_"))
    };
    tool.starts_with(&plain)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures_util::FutureExt;

    use super::*;
    use synthdev_domain::workflow::Workflow;

    /// `git` answers, `dead` does not, `dotted.one` has a name that is written in another way.
    struct FixedPorts;

    impl RequirementPorts for FixedPorts {
        fn configured_servers(&self) -> Vec<String> {
            ["dead", "dotted.one", "git"].map(str::to_owned).to_vec()
        }

        fn known_tools(&self) -> Vec<String> {
            ["read_files", "write_file"].map(str::to_owned).to_vec()
        }

        fn list_tools<'a>(&'a self, servers: &'a [String]) -> BoxFuture<'a, Vec<RequiredServerAnswer>> {
            let answer = |server: &String| RequiredServerAnswer {
                server: server.clone(),
                tools: match server.as_str() {
                    "git" => Ok(vec!["git__status".to_owned()]),
                    "dotted.one" => Ok(vec![agent_tool_name("dotted.one", "t")]),
                    _ => Err("it ended".to_owned()),
                },
            };
            std::future::ready(servers.iter().map(answer).collect()).boxed()
        }

        fn is_variable_set(&self, name: &str) -> bool {
            name == "SET"
        }
    }

    fn requirements(servers: &[&str], tools: &[&str], variables: &[&str]) -> WorkflowRequirements {
        let names = |list: &[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        WorkflowRequirements { servers: names(servers), tools: names(tools), variables: names(variables) }
    }

    #[test]
    fn everything_that_is_missing_is_named_with_what_to_do() {
        let check = |all: &[WorkflowRequirements], expected: &[&str]| {
            let workflows = all.iter().map(|one| {
                Arc::new(Workflow { name: "w".to_owned(), requirements: one.clone(), ..Workflow::default() })
            });
            let program = WorkflowProgram {
                workflows: workflows.collect(),
                hash: String::new(),
                start_warnings: Vec::new(),
            };
            let checked = check_requirements(&program, &FixedPorts).now_or_never().unwrap();
            let found = checked.map_or_else(|unmet| unmet.missing, |()| Vec::new());
            let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(lines.len(), expected.len(), "{lines:?}");
            for (line, part) in lines.iter().zip(expected) {
                assert!(line.starts_with(part), "wanted {part}\ngot {line}");
            }
        };
        let met = requirements(&["git"], &["git__status", "read_files"], &["SET"]);
        check(std::slice::from_ref(&met), &[]);
        let dotted = agent_tool_name("dotted.one", "t");
        check(&[requirements(&[], &[&dotted], &[])], &[]);
        check(
            &[
                met,
                requirements(
                    &["gti", "dead"],
                    &["git__commit", "gti__status", "other__x", "red_files", "dead__x"],
                    &["UNSET"],
                ),
            ],
            &[
                "the MCP server `gti` is not configured; did you mean `git`?",
                "the MCP server `dead` gives no tools: it ended; `synthdev mcp test dead`",
                "there is no tool `git__commit`; there are: git__status",
                "there is no tool `other__x`; no MCP server `other` is configured",
                "there is no tool `red_files`; did you mean `read_files`?",
                "the variable `UNSET` is not set",
            ],
        );
    }
}
