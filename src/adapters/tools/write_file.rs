//! `write_file`: makes or replaces one file.
//! Refuses to overwrite when told not to, to write through links that lead outside, and into git's own directory.

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
    #[serde(default = "yes")]
    create_directories: bool,
    #[serde(default = "yes")]
    overwrite: bool,
}

fn yes() -> bool {
    true
}

pub(super) fn spec() -> ToolSpec {
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
                "encoding": encoding::schema("How `content` stands for bytes."),
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
    project.fence.writable(&arguments.file_path).err().map(|error| error.to_string())
}

/// What the call would do.
pub(super) fn plan(
    project: &ToolContext,
    arguments: &WriteFileArguments,
) -> Result<PlannedFileChange, String> {
    let spot = project.fence.writable(&arguments.file_path).map_err(|error| error.to_string())?;
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
    let before =
        load_if_exists(&project.fence, &spot).map_err(|why| format!("`{name}` cannot be written: {why}"))?;
    Ok(PlannedFileChange { spot, before, after })
}

/// What the call would do, and answer.
pub(super) fn predict_effect(
    project: &ToolContext,
    arguments: &WriteFileArguments,
) -> Result<(PlannedFileChange, ToolAnswer), String> {
    let change = plan(project, arguments)?;
    change.permitted()?;
    let told = write_answer(&change, change.missing_directories());
    Ok((change, told))
}

pub(super) fn run(project: &ToolContext, arguments: &WriteFileArguments) -> ToolAnswer {
    let made = plan(project, arguments)
        .and_then(|change| change.make(&project.fence).map(|made| write_answer(&change, made)));
    made.unwrap_or_else(ToolAnswer::failed)
}

fn write_answer(change: &PlannedFileChange, directories: Vec<String>) -> ToolAnswer {
    let (name, bytes) = (change.spot.relative.as_str(), change.after.len());
    let deed = match &change.before {
        None => "created",
        Some(_) if change.is_nothing() => "unchanged",
        Some(_) => "overwritten",
    };
    ToolAnswer::succeeded(format!("{deed} {name} ({bytes} bytes)"))
        .fact("file_path", name)
        .fact("result", deed)
        .fact("size", bytes)
        .fact("created_directories", directories)
        .changed(change.changed())
}
