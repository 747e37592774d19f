//! `explain_codebase`: where something is in the project, from its index. No model is asked.
//! Says of what has changed since it was described that it has; refuses to answer without an index.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use crate::project_index::{ProjectIndex, file_checksum};
use synthdev_domain::project_index::search::{is_within, search_entries};
use synthdev_domain::project_index::{ProjectIndexEntries, ProjectIndexEntry};
use synthdev_domain::terminal_safe;
use synthdev_domain::tool::{ToolRisk, ToolSpec};
use synthdev_ports::project_index::ProjectIndexPort as _;

use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use super::truncated_output::shorten_line;

pub(super) const NAME: &str = "explain_codebase";

/// Most entries of one answer.
const ENTRIES: usize = 20;
/// Most files of a directory that are looked at, to know whether it has changed.
const LOOKED_AT: usize = 500;

#[derive(Deserialize)]
pub(super) struct ExplainCodebaseArguments {
    question: String,
    path: Option<String>,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Find out what is where in the project, from descriptions of its files and directories that were \
            made before. Answers with the paths that fit the words of the question best, each with its description; \
            read the files themselves before you rely on details."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["question"],
            "properties": {
                "question": {"type": "string", "minLength": 1,
                    "description": "What you look for; names and plain words help, such as \"where is the configuration read\"."},
                "path": {"type": "string", "minLength": 1,
                    "description": "Only this file, or what is below this directory, relative to the project's."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

/// Why no answer of the user lets this call look there.
pub(super) fn refusal(project: &ToolContext, arguments: &ExplainCodebaseArguments) -> Option<String> {
    let path = arguments.path.as_deref()?;
    project.path_guard.resolve_readable(path).err().map(|error| error.to_string())
}

pub(super) async fn run_tool(project: &Arc<ToolContext>, arguments: ExplainCodebaseArguments) -> ToolAnswer {
    let project = Arc::clone(project);
    let looking = tokio::task::spawn_blocking(move || search_index(&project, &arguments));
    looking.await.unwrap_or_else(|_| ToolAnswer::failure("the index could not be read"))
}

fn search_index(project: &ToolContext, arguments: &ExplainCodebaseArguments) -> ToolAnswer {
    let under = match arguments.path.as_deref().map(|path| project.path_guard.resolve_readable(path)) {
        Some(Ok(spot)) => Some(spot.relative),
        Some(Err(error)) => return ToolAnswer::failure(error.to_string()),
        None => None,
    };
    let index = match load_index(project) {
        Ok(index) => index,
        Err(error) => return ToolAnswer::failure(error),
    };
    let entries = search_entries(&index, &arguments.question, under.as_deref(), ENTRIES);
    let (mut body, mut shown, mut stale) = (String::new(), 0, 0);
    for entry in &entries {
        let state = entry_state(project, &index, entry);
        let line = entry_line(entry, state);
        if body.len() + line.len() > project.cap {
            break;
        }
        body.push_str(&line);
        shown += 1;
        stale += usize::from(state.is_some());
    }
    let summary = if shown == 1 { "1 entry".to_owned() } else { format!("{shown} entries") };
    let answer = ToolAnswer::success(summary).with_fact("entries", shown).with_fact("stale", stale);
    let notice = match (shown, stale) {
        (0, _) => "nothing in the index has these words; use exact_search or other words",
        (_, 0) => return answer.body(body),
        _ => {
            "what is marked has changed since it was described: read it; the user can renew the index with /index"
        }
    };
    answer.with_fact("notice", notice).body(body)
}

/// # Errors
/// There is none, or it cannot be read: what to do.
fn load_index(project: &ToolContext) -> Result<ProjectIndexEntries, String> {
    let index = ProjectIndex::new(&project.indexed_project, Vec::new(), Vec::new()).load()?;
    let index = without_hidden(project, index);
    if index.entries.is_empty() {
        return Err(
            "there is no index of this project: its user makes one with /index or `synthdev index`; \
                    use list_directory and exact_search meanwhile"
                .to_owned(),
        );
    }
    Ok(index)
}

/// What the index says of these files and directories: the answer of `read_files` with `summary`.
pub(super) fn describe_paths(project: &ToolContext, paths: &[String]) -> ToolAnswer {
    let index = match load_index(project) {
        Ok(index) => index,
        Err(error) => return ToolAnswer::failure(error),
    };
    let (mut body, mut described, mut failed) = (String::new(), 0, Vec::<String>::new());
    for path in paths {
        let line =
            project.path_guard.resolve_readable(path).map_err(|error| error.to_string()).and_then(|spot| {
                let entry = index.entries.get(&spot.relative);
                let entry =
                    entry.ok_or_else(|| format!("`{}` is not described in the index", spot.relative))?;
                Ok(entry_line(entry, entry_state(project, &index, entry)))
            });
        match line {
            Ok(line) if body.len() + line.len() > project.cap => {
                failed.push(format!("`{path}`: the answer has no room for more"));
                break;
            }
            Ok(line) => {
                body.push_str(&line);
                described += 1;
            }
            Err(problem) if failed.len() < ENTRIES => failed.push(shorten_line(&problem, 300)),
            Err(_) => {}
        }
    }
    if described == 0 {
        return ToolAnswer::failure(failed.join("; "));
    }
    let summary = if described == 1 { "1 summary".to_owned() } else { format!("{described} summaries") };
    let answer = ToolAnswer::success(summary)
        .with_fact("total_requested", paths.len())
        .with_fact("total_read", described);
    if failed.is_empty() { answer.body(body) } else { answer.with_fact("failed", failed).body(body) }
}

/// What was described before it was hidden is not shown.
fn without_hidden(project: &ToolContext, mut index: ProjectIndexEntries) -> ProjectIndexEntries {
    index.entries.retain(|path, _| !project.path_guard.is_hidden(&project.path_guard.root().join(path)));
    index
}

/// `src/config/ [changed since]: Reads settings.`
fn entry_line(entry: &ProjectIndexEntry, state: Option<&str>) -> String {
    let sign = if entry.directory && entry.path != "." { "/" } else { "" };
    let mark = state.map(|state| format!(" [{state}]")).unwrap_or_default();
    let (path, summary) =
        (terminal_safe::escape_name(&entry.path), terminal_safe::escape_name(&entry.summary));
    format!("{path}{sign}{mark}: {summary}\n")
}

/// How it differs from what was described, if it does. Files that came into a directory since are not looked for.
fn entry_state(
    project: &ToolContext,
    index: &ProjectIndexEntries,
    entry: &ProjectIndexEntry,
) -> Option<&'static str> {
    let is_as_described = |entry: &ProjectIndexEntry| {
        let spot = project.path_guard.resolve_readable(&entry.path).ok()?;
        file_checksum(project.path_guard.root(), &spot.absolute).map(|sum| sum == entry.sum)
    };
    if !entry.directory {
        return match is_as_described(entry) {
            Some(true) => None,
            Some(false) => Some("changed since"),
            None => Some("gone since"),
        };
    }
    let inside = index.entries.values().filter(|one| !one.directory && is_within(&one.path, &entry.path));
    let changed = inside.take(LOOKED_AT).any(|one| is_as_described(one) != Some(true));
    changed.then_some("changed since")
}
