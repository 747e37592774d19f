//! Runs and definitions of workflows as resources: to be looked at, never changed.

use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate,
};
use serde_json::{Value, json};

use super::backend::McpBackend;
use super::error::shorten_text;
use super::response::{self, PendingAction, RUNS};
use super::timestamp::to_rfc3339;
use synthdev_domain::journal::{RunQuery, RunStatus, RunSummary};
use synthdev_service::conversations::is_conversation;
use synthdev_service::run_list::find_runs;

const WORKFLOWS: &str = "synthdev://workflows/";
const JSON: &str = "application/json";
/// Runs on a page of the list.
const PAGE: usize = 100;

/// The definitions, then the runs of this project, newest first.
pub(super) fn list_resources(
    backend: &dyn McpBackend,
    cursor: Option<&str>,
) -> Result<ListResourcesResult, ErrorData> {
    let bad = || ErrorData::invalid_params("this cursor is unknown", None);
    let offset = cursor.map(|text| text.parse::<usize>().map_err(|_| bad())).transpose()?.unwrap_or(0);
    let project = Some(backend.project().to_owned());
    let query = RunQuery { limit: PAGE + 1, offset, project, ..RunQuery::default() };
    let found = find_runs(backend.handle(), &query);
    let mut runs = found.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let more = runs.len() > PAGE;
    runs.truncate(PAGE);
    let workflows = backend.workflows();
    let definitions = workflows.iter().filter(|_| offset == 0).map(|one| {
        Resource::new(format!("{WORKFLOWS}{}", escape_uri_part(&one.name)), one.name.clone())
            .with_title(format!("Workflow {}", one.name))
            .with_description(one.description.clone())
            .with_mime_type(JSON)
    });
    let runs = runs.iter().map(|run| {
        let status = run.progress.status.as_str();
        Resource::new(format!("{RUNS}{}", run.id), run.id.to_string())
            .with_title(format!("{} ({status})", run.workflow))
            .with_description(format!(
                "{status}, started {}: {}",
                to_rfc3339(run.started),
                shorten_text(&run.input)
            ))
            .with_mime_type(JSON)
    });
    let mut listed = ListResourcesResult::with_all_items(definitions.chain(runs).collect());
    listed.next_cursor = more.then(|| (offset + PAGE).to_string());
    Ok(listed)
}

pub(super) fn resource_templates() -> ListResourceTemplatesResult {
    ListResourceTemplatesResult::with_all_items(vec![
        ResourceTemplate::new(format!("{RUNS}{{workflowId}}"), "run")
            .with_title("A run: its status, its input and its result")
            .with_mime_type(JSON),
        ResourceTemplate::new(format!("{WORKFLOWS}{{name}}"), "workflow")
            .with_title("The definition of a workflow")
            .with_mime_type(JSON),
    ])
}

pub(super) async fn read_resource(
    backend: &dyn McpBackend,
    uri: &str,
) -> Result<ReadResourceResult, ErrorData> {
    let text = match (uri.strip_prefix(RUNS), uri.strip_prefix(WORKFLOWS)) {
        (Some(id), _) => super::calls::find_run(backend, id).await.ok().map(|run| run_text(backend, &run)),
        (None, Some(name)) => definition_text(backend, name),
        (None, None) => None,
    };
    let Some(text) = text else {
        let message = format!("There is no resource {}", shorten_text(uri));
        return Err(ErrorData::resource_not_found(message, Some(json!({"uri": shorten_text(uri)}))));
    };
    let (uri, mime_type) = (uri.to_owned(), Some(JSON.to_owned()));
    let contents = ResourceContents::TextResourceContents { uri, mime_type, text, meta: None };
    Ok(ReadResourceResult::new(vec![contents]))
}

fn definition_text(backend: &dyn McpBackend, name: &str) -> Option<String> {
    let workflows = backend.workflows();
    let one = workflows.iter().find(|one| escape_uri_part(&one.name) == name || one.name == name)?;
    backend.definition(&one.file)
}

/// Reading a resource gives no token.
fn run_text(backend: &dyn McpBackend, run: &RunSummary) -> String {
    let open = if run.progress.status == RunStatus::Paused { run.progress.pauses.as_slice() } else { &[] };
    let offers: Vec<PendingAction> = open
        .iter()
        .map(|pause| PendingAction { pause: pause.clone(), token: None, ttl_seconds: 0 })
        .collect();
    let mut told = response::run_status_json(run, &offers);
    if is_conversation(backend.handle(), run) {
        response::add_conversation_message(run, &mut told);
    } else {
        response::add_client_actions(run, backend.remote_approvals(), &mut told);
    }
    told["input"] = json!(run.input);
    told["started"] = json!(to_rfc3339(run.started));
    told["updated"] = json!(to_rfc3339(run.progress.updated));
    told["usage"] = serde_json::to_value(run.progress.usage).unwrap_or(Value::Null);
    told["costUsd"] = json!(run.progress.cost_usd);
    serde_json::to_string_pretty(&told).unwrap_or_default()
}

/// A name as a part of an address.
fn escape_uri_part(name: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    name.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_addresses() {
        for (name, expected) in [("coder_reviewer", "coder_reviewer"), ("a b/ü", "a%20b%2F%C3%BC")] {
            assert_eq!(escape_uri_part(name), expected);
        }
    }
}
