//! `edit_file`: changes one place of one file, named by an exact text or by the two texts around it. Refuses to guess:
//! a text that is missing or not unique is an error, and the file stays untouched. Line ends follow the file: in a file
//! with CRLF, texts given with plain line feeds mean CRLF.

use serde::Deserialize;
use serde_json::json;

use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::encoding::{self, FileEncoding};
use super::load_file::load_bytes;
use super::planned_change::PlannedFileChange;
use super::tool_answer::ToolAnswer;
use super::tool_context::{FILE_LIMIT, ToolContext};
use super::unique_match::{ByteSpan, line_number_at, only_place};

pub(super) const NAME: &str = "edit_file";

#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum EditOperation {
    Replace,
    Delete,
}

#[derive(Deserialize)]
pub(super) struct EditFileArguments {
    file_path: String,
    #[serde(default)]
    operation: Option<EditOperation>,
    boundary_start: Option<String>,
    boundary_end: Option<String>,
    new_content: Option<String>,
    old_text: Option<String>,
    new_text: Option<String>,
    #[serde(default)]
    encoding: FileEncoding,
}

/// The place and what to put there.
struct SpanReplacement {
    span: ByteSpan,
    text: Vec<u8>,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Change one place of an existing file. Either give `old_text`, copied exactly from the file and \
            occurring once, and `new_text`; or give `operation`, `boundary_start` and `boundary_end` (each occurring \
            once) to replace or delete everything from the first to the second, both included. If a text occurs \
            several times or not at all nothing is changed and the answer says where it was found. Read the file first."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["file_path"],
            "properties": {
                "file_path": {"type": "string", "minLength": 1,
                    "description": "Path of the file, relative to the project's directory."},
                "old_text": {"type": "string", "description": "Exact text to replace; must occur once."},
                "new_text": {"type": "string", "description": "What `old_text` becomes; empty removes it."},
                "operation": {"type": "string", "enum": ["replace", "delete"],
                    "description": "With boundaries: put `new_content` in their place, or remove the section."},
                "boundary_start": {"type": "string",
                    "description": "Text the section begins with; must occur once; is part of what is replaced."},
                "boundary_end": {"type": "string",
                    "description": "Text the section ends with; must occur once; is part of what is replaced."},
                "new_content": {"type": "string",
                    "description": "With operation replace: what the section becomes, boundaries included."},
                "encoding": encoding::encoding_schema("How all texts of this call stand for the file's bytes.")}}),
        risk: ToolRisk::Write,
        repeat: None,
    }
}

/// Why no answer of the user lets this call write there.
pub(super) fn refusal(project: &ToolContext, arguments: &EditFileArguments) -> Option<String> {
    project.path_guard.resolve_writable(&arguments.file_path).err().map(|error| error.to_string())
}

/// What the call would do.
pub(super) fn plan_change(
    project: &ToolContext,
    arguments: &EditFileArguments,
) -> Result<PlannedFileChange, String> {
    plan_edit(project, arguments).map(|(change, _)| change)
}

/// What the call would do, and answer.
pub(super) fn predict_effect(
    project: &ToolContext,
    arguments: &EditFileArguments,
) -> Result<(PlannedFileChange, ToolAnswer), String> {
    let (change, edit) = plan_edit(project, arguments)?;
    change.check_permitted()?;
    let told = change_answer(&change, &edit);
    Ok((change, told))
}

pub(super) fn run_tool(project: &ToolContext, arguments: &EditFileArguments) -> ToolAnswer {
    let made = plan_edit(project, arguments).and_then(|(change, edit)| {
        change.apply_change(&project.path_guard).map(|_| change_answer(&change, &edit))
    });
    made.unwrap_or_else(ToolAnswer::failure)
}

fn change_answer(change: &PlannedFileChange, edit: &SpanReplacement) -> ToolAnswer {
    let before = change.content_before.as_deref().unwrap_or_default();
    let name = change.path.relative.as_str();
    let first = line_number_at(before, edit.span.start);
    let removed = count_lines(&before[edit.span.clone()]);
    let added = count_lines(&edit.text);
    ToolAnswer::success(format!("edited {name} at line {first} (-{removed} +{added} lines)"))
        .with_fact("file_path", name)
        .with_fact("line", first)
        .with_fact("lines_removed", removed)
        .with_fact("lines_added", added)
        .with_fact("size", change.content_after.len())
        .with_changed_paths(change.changed_paths())
}

fn plan_edit(
    project: &ToolContext,
    arguments: &EditFileArguments,
) -> Result<(PlannedFileChange, SpanReplacement), String> {
    let spot =
        project.path_guard.resolve_writable(&arguments.file_path).map_err(|error| error.to_string())?;
    let blame = |why: String| format!("`{}` was not edited: {why}", spot.relative);
    let before = load_bytes(&project.path_guard, &spot).map_err(&blame)?;
    if arguments.encoding.is_text() {
        arguments.encoding.decode_text(before.clone()).map_err(&blame)?;
    }
    let edit = find_replacement(arguments, &before).map_err(&blame)?;
    let after = [&before[..edit.span.start], edit.text.as_slice(), &before[edit.span.end..]].concat();
    if after == before {
        return Err(blame("the new text is the same as the old".to_owned()));
    }
    if after.len() as u64 > FILE_LIMIT {
        return Err(blame(format!("it would grow over the limit of {FILE_LIMIT} bytes (10 MiB)")));
    }
    Ok((PlannedFileChange { path: spot, content_before: Some(before), content_after: after }, edit))
}

fn find_replacement(arguments: &EditFileArguments, before: &[u8]) -> Result<SpanReplacement, String> {
    let bytes = |name: &str, text: &str| {
        let bytes = arguments.encoding.bytes(text).map_err(|why| format!("`{name}`: {why}"))?;
        Ok::<_, String>(if arguments.encoding.is_text() { match_line_ends(before, bytes) } else { bytes })
    };
    let boundaries = arguments.operation.is_some() || arguments.boundary_start.is_some();
    match (&arguments.old_text, &arguments.new_text, boundaries || arguments.boundary_end.is_some()) {
        (Some(old), Some(new), false) if arguments.new_content.is_none() => {
            let span = only_place("old_text", before, &bytes("old_text", old)?)?;
            Ok(SpanReplacement { span, text: bytes("new_text", new)? })
        }
        (None, None, true) => {
            let (Some(start), Some(end)) = (&arguments.boundary_start, &arguments.boundary_end) else {
                return Err("`boundary_start` and `boundary_end` must both be given".to_owned());
            };
            let text = match (arguments.operation, arguments.new_content.as_deref()) {
                (Some(EditOperation::Replace), Some(text)) => bytes("new_content", text)?,
                (Some(EditOperation::Delete), None | Some("")) => Vec::new(),
                (Some(EditOperation::Replace), None) => return Err("`new_content` is missing".to_owned()),
                (Some(EditOperation::Delete), Some(_)) => {
                    return Err("delete takes no `new_content`".to_owned());
                }
                (None, _) => return Err("`operation` is missing: replace or delete".to_owned()),
            };
            Ok(SpanReplacement {
                span: find_between(before, &bytes("boundary_start", start)?, &bytes("boundary_end", end)?)?,
                text,
            })
        }
        _ => Err("give either `old_text` and `new_text`, or `operation`, `boundary_start`, `boundary_end` \
            (and `new_content`), not a mixture"
            .to_owned()),
    }
}

fn find_between(content: &[u8], start: &[u8], end: &[u8]) -> Result<ByteSpan, String> {
    // both problems at once: the model then needs one more attempt, not two
    let (first, last) =
        match (only_place("boundary_start", content, start), only_place("boundary_end", content, end)) {
            (Ok(first), Ok(last)) => (first, last),
            (Err(one), Err(other)) => return Err(format!("{one}; {other}")),
            (Err(problem), Ok(_)) | (Ok(_), Err(problem)) => return Err(problem),
        };
    if first == last || first.end <= last.start {
        return Ok(first.start..last.end);
    }
    let (start, end) = (line_number_at(content, first.start), line_number_at(content, last.start));
    Err(format!("`boundary_start` (line {start}) must end before `boundary_end` (line {end}) begins"))
}

/// In a file whose every line ends with CRLF, a lone line feed of the call means CRLF.
fn match_line_ends(file: &[u8], text: Vec<u8>) -> Vec<u8> {
    let feeds = file.iter().filter(|byte| **byte == b'\n').count();
    let pairs = file.windows(2).filter(|pair| *pair == b"\r\n").count();
    if feeds == 0 || feeds != pairs {
        return text;
    }
    let mut converted = Vec::with_capacity(text.len() + text.len() / 16);
    for byte in text {
        if byte == b'\n' && converted.last() != Some(&b'\r') {
            converted.push(b'\r');
        }
        converted.push(byte);
    }
    converted
}

fn count_lines(text: &[u8]) -> usize {
    let feeds = text.iter().filter(|byte| **byte == b'\n').count();
    feeds + usize::from(text.last().is_some_and(|last| *last != b'\n'))
}
