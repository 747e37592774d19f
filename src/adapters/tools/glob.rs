//! `glob`: files by a pattern of their paths.
//! Honours ignore files; refuses to follow links, git's own directory, and to list without end.

use std::path::Path;
use std::sync::Arc;

use globset::GlobBuilder;
use serde::Deserialize;
use serde_json::json;

use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::path_guard::ProjectPath;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;

pub(super) const NAME: &str = "glob";

/// Most paths of one answer.
const PATHS: usize = 1_000;

#[derive(Deserialize)]
pub(super) struct GlobArguments {
    pattern: String,
    #[serde(default = "super::exact_search::project_directory")]
    directory_path: String,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Find files by a pattern of their paths, in the order of the paths, without those that git \
            ignores. `*` stands for any part of a name, `**` for any directories, `?` for one letter, `{a,b}` for \
            either. A pattern without `/` means names in any directory. Examples: `*.rs`, `src/**/*.{ts,tsx}`, \
            `**/Dockerfile`."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["pattern"],
            "properties": {
                "pattern": {"type": "string", "minLength": 1,
                    "description": "The pattern, relative to `directory_path`."},
                "directory_path": {"type": "string", "minLength": 1, "default": ".",
                    "description": "Look only below this directory, relative to the project's."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

/// Why no answer of the user lets this call look there.
pub(super) fn refusal(project: &ToolContext, arguments: &GlobArguments) -> Option<String> {
    project.path_guard.resolve_readable(&arguments.directory_path).err().map(|error| error.to_string())
}

pub(super) async fn run_tool(project: &Arc<ToolContext>, arguments: GlobArguments) -> ToolAnswer {
    let project = Arc::clone(project);
    let listing = tokio::task::spawn_blocking(move || find_files(&project, &arguments));
    listing.await.unwrap_or_else(|_| ToolAnswer::failure("the files could not be listed"))
}

fn find_files(project: &ToolContext, arguments: &GlobArguments) -> ToolAnswer {
    let start = match project.path_guard.resolve_readable(&arguments.directory_path) {
        Ok(spot) if spot.absolute.is_dir() => spot,
        Ok(spot) => return ToolAnswer::failure(format!("`{}` is not a directory", spot.relative)),
        Err(error) => return ToolAnswer::failure(error.to_string()),
    };
    match matching_paths(project, &start, &arguments.pattern) {
        Ok((paths, is_truncated)) => {
            let answer = ToolAnswer::success(match paths.len() {
                1 => "1 file".to_owned(),
                count => format!("{count} files"),
            })
            .with_fact("files", paths.len());
            let notice = match (paths.is_empty(), is_truncated) {
                (_, true) => format!("only the first {PATHS}; name a longer pattern or a subdirectory"),
                (true, false) => "no file that git does not ignore has such a path".to_owned(),
                (false, false) => return answer.body(paths.join("\n")),
            };
            answer.with_fact("notice", notice).body(paths.join("\n"))
        }
        Err(problem) => ToolAnswer::failure(problem),
    }
}

/// Relative to the project; and whether there are more.
fn matching_paths(
    project: &ToolContext,
    start: &ProjectPath,
    pattern: &str,
) -> Result<(Vec<String>, bool), String> {
    let trimmed = pattern.strip_prefix("./").unwrap_or(pattern);
    let anywhere = if trimmed.contains('/') { trimmed.to_owned() } else { format!("**/{trimmed}") };
    let glob = GlobBuilder::new(&anywhere).literal_separator(true).build();
    let matcher =
        glob.map_err(|error| format!("`pattern` cannot be understood: {}", error.kind()))?.compile_matcher();
    let is_match =
        |path: &Path| path.strip_prefix(&start.absolute).is_ok_and(|below| matcher.is_match(below));
    let mut paths = Vec::new();
    for entry in project.walk_files(&start.absolute, None).flatten() {
        let is_file = entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink());
        if !is_file || !is_match(entry.path()) {
            continue;
        }
        if paths.len() == PATHS {
            return Ok((paths, true));
        }
        paths.extend(project.path_guard.relative_path(entry.path()));
    }
    Ok((paths, false))
}
