//! `list_directory`: what is in a directory, nearest levels first.
//! Refuses to follow links, and to list without end: the deepest levels are left out first, and the answer says so.

use std::collections::VecDeque;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::path_guard::{ProjectPath, error_reason};
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;

pub(super) const NAME: &str = "list_directory";

/// Most entries of one answer.
const ENTRIES: usize = 2_000;

/// Most directories that are named as unreadable.
const UNREADABLE: usize = 50;

/// Left out unless the call names its own list.
const EXCLUDED: [&str; 10] = [
    "node_modules",
    ".git",
    ".svn",
    "build",
    "dist",
    ".cache",
    "__pycache__",
    ".DS_Store",
    "Thumbs.db",
    ".synthdev",
];

#[derive(Deserialize)]
pub(super) struct ListDirectoryArguments {
    directory_path: String,
    #[serde(default)]
    recursive: bool,
    #[serde(default)]
    include_hidden: bool,
    max_depth: Option<usize>,
    exclusion_list: Option<Vec<String>>,
}

#[derive(Default)]
struct DirectoryListing {
    lines: Vec<String>,
    directories: usize,
    files: usize,
    excluded: usize,
    hidden_count: usize,
    /// Directories whose content could not be read, with the reason.
    unreadable_directories: Vec<String>,
    is_truncated: bool,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description:
            "List a directory of the project, one entry per line: directories end with `/`, files are \
            followed by a tab and their size in bytes, links are shown with `->` and not followed."
                .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["directory_path"],
            "properties": {
                "directory_path": {"type": "string", "minLength": 1,
                    "description": "Path relative to the project's directory; `.` is the project itself."},
                "recursive": {"type": "boolean", "default": false, "description": "List subdirectories too."},
                "include_hidden": {"type": "boolean", "default": false,
                    "description": "Include names that begin with a dot."},
                "max_depth": {"type": "integer", "minimum": 1, "maximum": 10, "default": 5,
                    "description": "With recursive: how many levels to list; 1 is the directory itself only."},
                "exclusion_list": {"type": "array", "items": {"type": "string"}, "default": EXCLUDED,
                    "description": "Names of files and directories to leave out, instead of the default list."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

/// Why no answer of the user lets this call list that directory.
pub(super) fn refusal(project: &ToolContext, arguments: &ListDirectoryArguments) -> Option<String> {
    project.path_guard.resolve_readable(&arguments.directory_path).err().map(|error| error.to_string())
}

pub(super) async fn run_tool(project: &Arc<ToolContext>, arguments: ListDirectoryArguments) -> ToolAnswer {
    if !arguments.recursive {
        return list_entries(project, &arguments);
    }
    let project = Arc::clone(project);
    let listing = tokio::task::spawn_blocking(move || list_entries(&project, &arguments));
    listing.await.unwrap_or_else(|_| ToolAnswer::failure("the directory could not be listed"))
}

fn list_entries(project: &ToolContext, arguments: &ListDirectoryArguments) -> ToolAnswer {
    let spot = match project.path_guard.resolve_readable(&arguments.directory_path) {
        Ok(spot) => spot,
        Err(error) => return ToolAnswer::failure(error.to_string()),
    };
    let name = &spot.relative;
    match fs::metadata(&spot.absolute) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return ToolAnswer::failure(format!("`{name}` was not listed: it is a file; use read_files"));
        }
        Err(error) => {
            return ToolAnswer::failure(format!("`{name}` was not listed: {}", error_reason(&error)));
        }
    }
    let mut listing = DirectoryListing::default();
    listing.walk_levels(project, arguments, &spot);
    listing.lines.sort_unstable();
    let total = listing.lines.len();
    let mut answer = ToolAnswer::success(format!("{total} entries in {name}"))
        .with_fact("directory_path", name.as_str())
        .with_fact("total_items", total)
        .with_fact("directories", listing.directories)
        .with_fact("files", listing.files);
    for (fact, count) in [("excluded", listing.excluded), ("hidden_left_out", listing.hidden_count)] {
        if count > 0 {
            answer = answer.with_fact(fact, count);
        }
    }
    if !listing.unreadable_directories.is_empty() {
        answer = answer.with_fact("unreadable", listing.unreadable_directories);
    }
    if listing.is_truncated {
        let notice =
            format!("only the first {ENTRIES} entries, nearest levels first; list a subdirectory for more");
        answer = answer.with_fact("notice", notice);
    }
    answer.body(listing.lines.join("\n"))
}

impl DirectoryListing {
    /// Level by level, so that a flood deep down never hides what is near.
    fn walk_levels(
        &mut self,
        project: &ToolContext,
        arguments: &ListDirectoryArguments,
        start: &ProjectPath,
    ) {
        let depth = if arguments.recursive { arguments.max_depth.unwrap_or(5) } else { 1 };
        let mut waiting = VecDeque::from([(start.clone(), String::new(), 1)]);
        while let Some((directory, prefix, level)) = waiting.pop_front() {
            let held = project.path_guard.hold_directory(&directory);
            let found = held.and_then(|held| Ok((fs::read_dir(held.stable_path())?, held)));
            // held until the last entry was asked for what it is
            let (mut entries, _held): (Vec<fs::DirEntry>, _) = match found {
                Ok((entries, held)) => (entries.flatten().collect(), held),
                Err(error) if self.unreadable_directories.len() < UNREADABLE => {
                    self.unreadable_directories.push(format!("{prefix}: {}", error_reason(&error)));
                    continue;
                }
                Err(_) => continue,
            };
            entries.sort_by_key(fs::DirEntry::file_name);
            for entry in entries {
                if self.lines.len() >= ENTRIES {
                    self.is_truncated = true;
                    return;
                }
                if let Some((path, inner)) = self.add_entry(project, arguments, &entry, &directory, &prefix)
                    && level < depth
                {
                    let relative = project.path_guard.relative_path(&path).unwrap_or_default();
                    waiting.push_back((ProjectPath { absolute: path, relative }, inner, level + 1));
                }
            }
        }
    }

    /// Notes one entry; answers with the directory to descend into, if it is one.
    fn add_entry(
        &mut self,
        project: &ToolContext,
        arguments: &ListDirectoryArguments,
        entry: &fs::DirEntry,
        directory: &ProjectPath,
        prefix: &str,
    ) -> Option<(PathBuf, String)> {
        // the entry itself knows its directory by a handle
        let place = directory.absolute.join(entry.file_name());
        let name = entry.file_name().to_string_lossy().into_owned();
        let excluded = match &arguments.exclusion_list {
            Some(list) => list.iter().any(|excluded| excluded.trim_end_matches('/') == name),
            None => EXCLUDED.contains(&name.as_str()),
        };
        if excluded || project.path_guard.is_hidden(&place) {
            self.excluded += usize::from(excluded);
            return None;
        }
        if name.starts_with('.') && !arguments.include_hidden {
            self.hidden_count += 1;
            return None;
        }
        let path = format!("{prefix}{name}");
        let kind = entry.file_type().ok()?;
        if kind.is_dir() {
            self.directories += 1;
            self.lines.push(format!("{path}/"));
            return Some((place, format!("{path}/")));
        }
        self.files += 1;
        if kind.is_symlink() {
            let target =
                place.canonicalize().ok().and_then(|target| project.path_guard.relative_path(&target));
            self.lines.push(format!(
                "{path} -> {}",
                target.as_deref().unwrap_or("(outside the project or missing)")
            ));
        } else {
            self.lines.push(format!("{path}\t{}", entry.metadata().map_or(0, |found| found.len())));
        }
        None
    }
}
