//! `write_file`: makes or replaces one file. Refuses to overwrite if the call forbids it, to write through links that
//! lead outside, and to write into git's directory.

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::encoding::{self, FileEncoding};
use super::load_file::load_if_exists;
use super::planned_change::PlannedFileChange;
use super::tool_answer::ToolAnswer;
use super::tool_context::{FILE_LIMIT, ToolContext};

pub(super) const NAME: &str = "write_file";

#[derive(Deserialize)]
pub(super) struct WriteFileArguments {
    file_path: String,
    content: String,
    #[serde(default)]
    encoding: FileEncoding,
    #[serde(default = "default_create")]
    create_directories: bool,
    #[serde(default = "default_create")]
    overwrite: bool,
}

fn default_create() -> bool {
    true
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description:
            "Write a whole file of the project, new or existing, in one atomic step. To change a part of an \
            existing file, prefer edit_file."
                .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["file_path", "content"],
            "properties": {
                "file_path": {"type": "string", "minLength": 1,
                    "description": "Path relative to the project's directory, such as docs/notes.md."},
                "content": {"type": "string", "description": "The complete new content of the file."},
                "encoding": encoding::encoding_schema("How `content` stands for bytes."),
                "create_directories": {"type": "boolean", "default": true,
                    "description": "Make the directories the path needs; when false, a missing one is an error."},
                "overwrite": {"type": "boolean", "default": true,
                    "description": "Replace the file if there is one; when false, an existing file is an error."}}}),
        risk: ToolRisk::Write,
        repeat: None,
    }
}

/// Why no answer of the user lets this call write there.
pub(super) fn refusal(project: &ToolContext, arguments: &WriteFileArguments) -> Option<String> {
    project.path_guard.resolve_writable(&arguments.file_path).err().map(|error| error.to_string())
}

/// What the call would do.
pub(super) fn plan_change(
    project: &ToolContext,
    arguments: &WriteFileArguments,
) -> Result<PlannedFileChange, String> {
    let spot =
        project.path_guard.resolve_writable(&arguments.file_path).map_err(|error| error.to_string())?;
    let name = spot.relative.clone();
    let after = arguments.encoding.bytes(&arguments.content).map_err(|why| format!("`content`: {why}"))?;
    if after.len() as u64 > FILE_LIMIT {
        return Err(format!("`content` has {} bytes and the limit is {FILE_LIMIT} (10 MiB)", after.len()));
    }
    if arguments.file_path.ends_with('/') || spot.absolute.is_dir() {
        return Err(format!("`{name}` cannot be written: it is a directory"));
    }
    if spot.absolute.exists() && !arguments.overwrite {
        return Err(format!("`{name}` exists already and `overwrite` is false"));
    }
    if !arguments.create_directories && spot.absolute.parent().is_some_and(|parent| !parent.is_dir()) {
        return Err(format!("the directory of `{name}` does not exist and `create_directories` is false"));
    }
    let before = load_if_exists(&project.path_guard, &spot)
        .map_err(|why| format!("`{name}` cannot be written: {why}"))?;
    Ok(PlannedFileChange { path: spot, content_before: before, content_after: after })
}

/// What the call would do, and answer.
pub(super) fn predict_effect(
    project: &ToolContext,
    arguments: &WriteFileArguments,
) -> Result<(PlannedFileChange, ToolAnswer), String> {
    let change = plan_change(project, arguments)?;
    change.check_permitted()?;
    let told = write_answer(&change, change.missing_directories());
    Ok((change, told))
}

pub(super) fn run_tool(project: &ToolContext, arguments: &WriteFileArguments) -> ToolAnswer {
    let made = plan_change(project, arguments)
        .and_then(|change| change.apply_change(&project.path_guard).map(|made| write_answer(&change, made)));
    made.unwrap_or_else(ToolAnswer::failure)
}

fn write_answer(change: &PlannedFileChange, directories: Vec<String>) -> ToolAnswer {
    let (name, bytes) = (change.path.relative.as_str(), change.content_after.len());
    let deed = match &change.content_before {
        None => "created",
        Some(_) if change.is_unchanged() => "unchanged",
        Some(_) => "overwritten",
    };
    ToolAnswer::success(format!("{deed} {name} ({bytes} bytes)"))
        .with_fact("file_path", name)
        .with_fact("result", deed)
        .with_fact("size", bytes)
        .with_fact("created_directories", directories)
        .with_changed_paths(change.changed_paths())
}
