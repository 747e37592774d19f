//! What a call would do, as approvals show it, and what it would answer without doing anything: its arguments do not fit,
//! or the change that it plans cannot be made. One arm for each tool that has a preview or a check of its own.
//!
//! Each tool makes its own preview, and answers the same where it runs. Refuses to run anything.

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::mcp_call::McpCallArguments;
use super::shell::ShellArguments;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use super::{
    ProjectTools, apply_patch, edit_file, execute_terminal, http_request, mcp_call, own_tool, send_input,
    shell, web_fetch, write_file,
};
use synthdev_domain::command_preview::command_preview;
use synthdev_domain::tool::{ToolInvocation, ToolOutcome, ToolPreview};

impl ProjectTools {
    /// `None`: the tool needs no preview.
    pub(super) async fn build_preview(&self, invocation: &ToolInvocation) -> Option<ToolPreview> {
        match invocation.tool.as_str() {
            write_file::NAME => {
                let plan =
                    |project: &ToolContext, call| Ok(write_file::plan_change(project, &call)?.to_preview());
                Some(self.change_preview(invocation, plan).await)
            }
            edit_file::NAME => {
                let plan =
                    |project: &ToolContext, call| Ok(edit_file::plan_change(project, &call)?.to_preview());
                Some(self.change_preview(invocation, plan).await)
            }
            apply_patch::NAME => {
                let plan =
                    |project: &ToolContext, call| Ok(apply_patch::plan_patch(project, &call)?.to_preview());
                Some(self.change_preview(invocation, plan).await)
            }
            execute_terminal::NAME => {
                Some(self.shown_command::<execute_terminal::ExecuteTerminalArguments>(invocation))
            }
            shell::NAME => Some(self.shown_command::<shell::ShellArguments>(invocation)),
            send_input::NAME => Some(self.preview_arguments(invocation, |arguments| {
                send_input::preview_call(&self.project, invocation, &arguments)
            })),
            web_fetch::NAME => {
                Some(self.preview_arguments(invocation, |arguments| web_fetch::preview_call(&arguments)))
            }
            http_request::NAME => {
                Some(self.preview_arguments(invocation, |arguments| http_request::preview_call(&arguments)))
            }
            mcp_call::NAME => {
                Some(self.preview_arguments(invocation, |arguments| mcp_call::preview_call(&arguments)))
            }
            other => {
                if let Some(tool) = self.project.own_tools.get(other) {
                    return Some(own_tool::preview_call(&self.project, tool, invocation));
                }
                let (address, _) = self.servers.find_tool(other)?;
                let arguments = McpCallArguments::of_agent(address, invocation.arguments.clone());
                Some(mcp_call::preview_call(&arguments))
            }
        }
    }

    fn preview_arguments<T: DeserializeOwned>(
        &self,
        invocation: &ToolInvocation,
        preview: impl FnOnce(T) -> ToolPreview,
    ) -> ToolPreview {
        self.read_arguments(invocation).map_or_else(|problem| cannot_apply(&problem), preview)
    }

    /// A preview of the command; its arguments are those that `T` accepts.
    fn shown_command<T: DeserializeOwned>(&self, invocation: &ToolInvocation) -> ToolPreview {
        let ToolInvocation { tool, arguments, .. } = invocation;
        let preview = || match command_preview(tool, arguments) {
            Some(ToolPreview::Command { command, cwd, warning, background, reach, .. }) => {
                let ports = self.project.ports_for(invocation);
                ToolPreview::Command { command, cwd, warning, ports, background, reach }
            }
            _ => cannot_apply("it has no command"),
        };
        self.read_arguments::<T>(invocation).map_or_else(|problem| cannot_apply(&problem), |_| preview())
    }

    /// Large files make slow diffs, so this never runs on the async workers.
    async fn change_preview<T: DeserializeOwned + Send + 'static>(
        &self,
        invocation: &ToolInvocation,
        plan: impl FnOnce(&ToolContext, T) -> Result<ToolPreview, String> + Send + 'static,
    ) -> ToolPreview {
        let arguments = match self.read_arguments(invocation) {
            Ok(arguments) => arguments,
            Err(problem) => return cannot_apply(&problem),
        };
        let shown = self.run_blocking(move |project| {
            plan(project, arguments).unwrap_or_else(|problem| cannot_apply(&problem))
        });
        shown.await.unwrap_or_else(|| cannot_apply("the preview could not be made"))
    }
}

impl ProjectTools {
    pub(super) async fn failed_check(&self, invocation: &ToolInvocation) -> Option<ToolOutcome> {
        let problem = self.call_problem(invocation).await?;
        Some(ToolAnswer::failure(problem).into_outcome(&invocation.tool, Duration::ZERO, self.project.cap))
    }

    async fn call_problem(&self, invocation: &ToolInvocation) -> Option<String> {
        match invocation.tool.as_str() {
            write_file::NAME => {
                let plan =
                    |project: &ToolContext, call| write_file::predict_effect(project, &call).map(|_| ());
                self.planned_problem(invocation, plan).await
            }
            edit_file::NAME => {
                let plan =
                    |project: &ToolContext, call| edit_file::predict_effect(project, &call).map(|_| ());
                self.planned_problem(invocation, plan).await
            }
            apply_patch::NAME => {
                let plan =
                    |project: &ToolContext, call| apply_patch::predict_effect(project, &call).map(|_| ());
                self.planned_problem(invocation, plan).await
            }
            execute_terminal::NAME => self.judged_problem(invocation, execute_terminal::call_problem),
            send_input::NAME => self.judged_problem(invocation, |project, call| {
                send_input::call_problem(project, invocation, call)
            }),
            shell::NAME => self.read_arguments::<ShellArguments>(invocation).err(),
            mcp_call::NAME => self.read_arguments::<McpCallArguments>(invocation).err(),
            other => match self.project.own_tools.get(other) {
                Some(tool) => own_tool::call_problem(tool, &invocation.arguments),
                None => match self.servers.find_tool(other) {
                    Some((_, spec)) => server_call_problem(&spec.parameters, &invocation.arguments),
                    // one that does not exist is told so where it runs
                    None if self.has_schema(other) => self.read_arguments::<Value>(invocation).err(),
                    None => None,
                },
            },
        }
    }

    fn judged_problem<T: DeserializeOwned>(
        &self,
        invocation: &ToolInvocation,
        problem: impl FnOnce(&ToolContext, &T) -> Option<String>,
    ) -> Option<String> {
        match self.read_arguments(invocation) {
            Ok(arguments) => problem(&self.project, &arguments),
            Err(wrong) => Some(wrong),
        }
    }

    /// Files are read, so this never runs on the async workers.
    async fn planned_problem<T: DeserializeOwned + Send + 'static>(
        &self,
        invocation: &ToolInvocation,
        plan: impl FnOnce(&ToolContext, T) -> Result<(), String> + Send + 'static,
    ) -> Option<String> {
        match self.read_arguments(invocation) {
            Ok(arguments) => self.run_blocking(move |project| plan(project, arguments).err()).await.flatten(),
            Err(problem) => Some(problem),
        }
    }
}

fn cannot_apply(problem: &str) -> ToolPreview {
    ToolPreview::Text { text: format!("This call would fail: {problem}") }
}

/// What does not fit the schema that a server has listed, if it is one. A null counts as absent, too, as for our own
/// tools: strict providers send it.
fn server_call_problem(schema: &Value, arguments: &Value) -> Option<String> {
    let validator = jsonschema::validator_for(schema).ok()?;
    own_tool::check_schema(&validator, arguments).err()?;
    let given = arguments.as_object()?.iter().filter(|(_, value)| !value.is_null());
    let given: Map<String, Value> = given.map(|(name, value)| (name.clone(), value.clone())).collect();
    own_tool::check_schema(&validator, &Value::Object(given)).err()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_null_is_absent_or_itself_in_a_call_of_a_server() {
        let nullable = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
        let rows = [
            (json!({"type": "string"}), true, json!({"cursor": "a"}), true),
            (json!({"type": "string"}), false, json!({"cursor": null}), true),
            (json!({"type": "string"}), true, json!({"cursor": null}), false),
            (json!({"type": "string"}), true, json!({"cursor": 1}), false),
            (nullable.clone(), true, json!({"cursor": null}), true),
            (nullable, true, json!({}), false),
        ];
        for (cursor, is_required, arguments, fits) in rows {
            let required = if is_required { json!(["cursor"]) } else { json!([]) };
            let schema = json!({"type": "object", "properties": {"cursor": cursor}, "required": required});
            let problem = server_call_problem(&schema, &arguments);
            assert_eq!(problem.is_none(), fits, "{schema} {arguments}: {problem:?}");
        }
    }
}
