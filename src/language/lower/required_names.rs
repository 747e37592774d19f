//! Required MCP servers and tools that are not configured here (W13). A run would not start; another machine may have
//! them, so it is no error.

use super::super::did_you_mean::suggest_or_list;
use super::super::source::FileDiagnostics;
use super::super::workflow_file::WorkflowForm;
use super::LinkContext;
use synthdev_domain::mcp_server::SERVER_SEPARATOR;

pub(super) fn check_required_names(
    form: &WorkflowForm,
    surroundings: &LinkContext<'_>,
    findings: &mut FileDiagnostics<'_>,
) {
    let servers: Vec<&str> = surroundings.mcp_servers.iter().map(String::as_str).collect();
    for server in &form.requirements.servers {
        if !servers.contains(&server.value.as_str()) {
            let message = format!("the required MCP server `{}` is not configured here", server.value);
            let hint = suggest_or_list(&server.value, "configured", &servers)
                .unwrap_or_else(|| "`synthdev mcp add` adds one to your settings".to_owned());
            findings.add_warning("W13", server.span.clone(), message, Some(hint));
        }
    }
    let tools: Vec<&str> = surroundings.tools.iter().map(|tool| tool.name.as_str()).collect();
    for tool in &form.requirements.tools {
        // which tools a server has is known when it was asked
        if !tool.value.contains(SERVER_SEPARATOR) && !tools.contains(&tool.value.as_str()) {
            let message = format!("there is no tool `{}`, which is required", tool.value);
            let hint = suggest_or_list(&tool.value, "known", &tools);
            findings.add_warning("W13", tool.span.clone(), message, hint);
        }
    }
}
