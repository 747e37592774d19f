//! What a workflow needs from its surroundings before its first call: MCP servers, tools, variables of the environment.
//! Names only: whether they are there is checked when a run starts.

use serde::{Deserialize, Serialize};

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct WorkflowRequirements {
    /// Configured MCP servers, by name.
    #[serde(default)]
    pub servers: Vec<String>,
    /// Tools by the names that agents know.
    #[serde(default)]
    pub tools: Vec<String>,
    /// Variables of the environment.
    #[serde(default)]
    pub variables: Vec<String>,
}

impl WorkflowRequirements {
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty() && self.tools.is_empty() && self.variables.is_empty()
    }

    /// Those of several workflows, each name once.
    pub fn union<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut union = Self::default();
        for one in all {
            add_new_names(&mut union.servers, &one.servers);
            add_new_names(&mut union.tools, &one.tools);
            add_new_names(&mut union.variables, &one.variables);
        }
        union
    }
}

fn add_new_names(names: &mut Vec<String>, more: &[String]) {
    for name in more {
        if !names.contains(name) {
            names.push(name.clone());
        }
    }
}
