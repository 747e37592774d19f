//! `read_files`: whole files, a range of lines or of bytes, or what the index says of them.
//! Refuses nothing for all because of one: each path has its own result. A file too long for the answer is cut at a
//! line, or within a line that is too long itself, and the notice says from where to read on.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::image_store::read_image_header;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::encoding::{self, FileEncoding};
use super::explain_codebase::describe_paths;
use super::load_file::load_bytes;
use super::tool_answer::ToolAnswer;
use super::tool_context::ToolContext;
use super::truncated_output::shorten_line;

pub(super) const NAME: &str = synthdev_domain::tool::READ_FILES;

/// Up to this many bytes are read where the call runs: handing over to another thread would cost more than reading.
const AT_ONCE: u64 = 512 * 1024;

/// Most failures listed in one answer; `total_read` still counts all files that were read.
const FAILURES: usize = 50;

#[derive(Deserialize)]
pub(super) struct ReadFilesArguments {
    file_paths: Vec<String>,
    #[serde(default)]
    encoding: FileEncoding,
    start_line: Option<usize>,
    end_line: Option<usize>,
    start_byte: Option<usize>,
    end_byte: Option<usize>,
    #[serde(default)]
    summary: bool,
}

/// One file's part of the answer.
struct FileExcerpt {
    /// `src/lib.rs (lines 3-9 of 120)`.
    title: String,
    text: String,
    /// First and last line; `None` for base64 and hex.
    lines: Option<(usize, usize)>,
    /// Where the text begins within the lines, counted from 1; `None`: no bytes were asked for.
    first_byte: Option<usize>,
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Read one or more files of the project, whole or a range of lines. Each file's text is given \
            exactly as it is, below a line `==> path (…)`. A file that cannot be read does not affect the others. \
            Limit per file: 10 MiB. Of a line that is too long for one answer, start_byte and end_byte give a part. With \
            summary, the answer has the descriptions of the files and directories from the project's index instead. An \
            image (png, jpg, webp, gif, up to 5 MiB) is shown to you, if your model takes images."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["file_paths"],
            "properties": {
                "file_paths": {"type": "array", "minItems": 1, "items": {"type": "string", "minLength": 1},
                    "description": "Paths relative to the project's directory, such as [\"src/main.rs\"]."},
                "encoding": encoding::encoding_schema("How the files' bytes are shown."),
                "start_line": {"type": "integer", "minimum": 1,
                    "description": "First line to read, counted from 1; the beginning when left out."},
                "end_line": {"type": "integer", "minimum": 1,
                    "description": "Last line to read, included; the end of the file when left out."},
                "start_byte": {"type": "integer", "minimum": 1,
                    "description": "First byte to read of these lines, or of the file; counted from 1."},
                "end_byte": {"type": "integer", "minimum": 1,
                    "description": "Last byte to read of these lines, or of the file; included."},
                "summary": {"type": "boolean", "default": false,
                    "description": "Give what the project's index says of each path, not its text."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

/// Why no answer of the user lets this call read any of its files.
pub(super) fn refusal(project: &ToolContext, arguments: &ReadFilesArguments) -> Option<String> {
    let refused = |path: &String| {
        let error = project.path_guard.resolve_readable(path).err()?;
        Some(shorten_line(&error.to_string(), 300))
    };
    let all: Option<Vec<String>> = arguments.file_paths.iter().map(refused).collect();
    all.filter(|reasons| !reasons.is_empty())
        .map(|reasons| reasons.into_iter().take(FAILURES).collect::<Vec<_>>().join("; "))
}

pub(super) async fn run_tool(project: &Arc<ToolContext>, arguments: ReadFilesArguments) -> ToolAnswer {
    if arguments.summary {
        return read_summaries(project, arguments).await;
    }
    let size = |path: &String| {
        let spot = project.path_guard.resolve_readable(path).ok()?;
        std::fs::metadata(spot.absolute).ok().map(|found| found.len())
    };
    let total: u64 = arguments.file_paths.iter().filter_map(size).sum();
    if total <= AT_ONCE {
        return read_all(project, &arguments);
    }
    let project = Arc::clone(project);
    let reading = tokio::task::spawn_blocking(move || read_all(&project, &arguments));
    reading.await.unwrap_or_else(|_| ToolAnswer::failure("the files could not be read"))
}

async fn read_summaries(project: &Arc<ToolContext>, arguments: ReadFilesArguments) -> ToolAnswer {
    let ranges = [arguments.start_line, arguments.end_line, arguments.start_byte, arguments.end_byte];
    if ranges.iter().any(Option::is_some) {
        return ToolAnswer::failure("`summary` is of whole files: leave the lines and bytes out");
    }
    let project = Arc::clone(project);
    let looking = tokio::task::spawn_blocking(move || describe_paths(&project, &arguments.file_paths));
    looking.await.unwrap_or_else(|_| ToolAnswer::failure("the index could not be read"))
}

fn read_all(project: &ToolContext, arguments: &ReadFilesArguments) -> ToolAnswer {
    for (unit, start, end) in [
        ("line", arguments.start_line, arguments.end_line),
        ("byte", arguments.start_byte, arguments.end_byte),
    ] {
        if let (Some(start), Some(end)) = (start, end)
            && start > end
        {
            return ToolAnswer::failure(format!("`start_{unit}` ({start}) is after `end_{unit}` ({end})"));
        }
    }
    if !arguments.encoding.is_text() && (arguments.start_line.is_some() || arguments.end_line.is_some()) {
        return ToolAnswer::failure("`start_line` and `end_line` need a text encoding, not base64 or hex");
    }
    let (mut body, mut read, mut failed) = (String::new(), Vec::new(), Vec::<Value>::new());
    let mut left = project.cap.saturating_sub(512);
    for (at, path) in arguments.file_paths.iter().enumerate() {
        match read_piece(project, path, arguments) {
            Ok(piece) => {
                // what an early short file does not use, a later long one may
                let shown = piece.to_text(left / (arguments.file_paths.len() - at));
                left = left.saturating_sub(shown.len());
                body.push_str(&shown);
                read.push(piece.title);
            }
            Err(problem) if failed.len() < FAILURES => failed.push(shorten_line(&problem, 300).into()),
            Err(_) => {}
        }
    }
    let reasons: Vec<&str> = failed.iter().filter_map(Value::as_str).collect();
    let answer = match read.as_slice() {
        [] => return ToolAnswer::failure(reasons.join("; ")),
        [only] => ToolAnswer::success(only.clone()),
        several => ToolAnswer::success(format!("{} files", several.len())),
    };
    let answer =
        answer.with_fact("total_requested", arguments.file_paths.len()).with_fact("total_read", read.len());
    if failed.is_empty() { answer.body(body) } else { answer.with_fact("failed", failed).body(body) }
}

fn read_piece(
    project: &ToolContext,
    path: &str,
    arguments: &ReadFilesArguments,
) -> Result<FileExcerpt, String> {
    let spot = project.path_guard.resolve_readable(path).map_err(|error| error.to_string())?;
    let blame = |why: String| format!("`{}` was not read: {why}", spot.relative);
    let mut bytes = load_bytes(&project.path_guard, &spot).map_err(&blame)?;
    let size = bytes.len();
    if let Some(image) = read_image(project, &spot.relative, arguments, &bytes) {
        let title = format!("{} (image)", spot.relative);
        return Ok(FileExcerpt { title, text: image.map_err(&blame)?, lines: None, first_byte: None });
    }
    let first_byte = arguments.start_byte.or(arguments.end_byte.map(|_| 1));
    if !arguments.encoding.is_text() {
        let mut title = format!("{} ({size} bytes)", spot.relative);
        if first_byte.is_some() {
            let (start, end) = byte_range(arguments, size).map_err(&blame)?;
            bytes = bytes[start..end].to_vec();
            title = format!("{} (bytes {}-{end} of {size})", spot.relative, start + 1);
        }
        let text = arguments.encoding.decode_text(bytes).map_err(&blame)?;
        return Ok(FileExcerpt { title, text, lines: None, first_byte: None });
    }
    let text = arguments.encoding.decode_text(bytes).map_err(&blame)?;
    if text.is_empty() {
        let title = format!("{} (empty)", spot.relative);
        return Ok(FileExcerpt { title, text, lines: None, first_byte: None });
    }
    // a byte order mark is no part of the text; edit_file finds what is shown here all the same
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let total = text.lines().count();
    let start = arguments.start_line.unwrap_or(1);
    let end = arguments.end_line.unwrap_or(total).min(total);
    if start > total {
        return Err(blame(format!("`start_line` is {start} and the file has {total} lines")));
    }
    let text: String = text.split_inclusive('\n').skip(start - 1).take(end + 1 - start).collect();
    if first_byte.is_none() {
        let title = format!("{} (lines {start}-{end} of {total})", spot.relative);
        return Ok(FileExcerpt { title, text, lines: Some((start, end)), first_byte });
    }
    let (from, to) = byte_range(arguments, text.len()).map_err(&blame)?;
    // whole characters: what follows another part begins where that one ends
    let (from, to) = (text.floor_char_boundary(from), text.floor_char_boundary(to));
    let title = format!(
        "{} (lines {start}-{end} of {total}, bytes {}-{to} of {})",
        spot.relative,
        from + 1,
        text.len()
    );
    let part = text[from..to].to_owned();
    Ok(FileExcerpt { title, text: part, lines: Some((start, end)), first_byte: Some(from + 1) })
}

/// What stands for an image in the answer; `None`: it is read as any other file.
fn read_image(
    project: &ToolContext,
    path: &str,
    arguments: &ReadFilesArguments,
    content: &[u8],
) -> Option<Result<String, String>> {
    let ranges = [arguments.start_line, arguments.end_line, arguments.start_byte, arguments.end_byte];
    let store = project
        .image_store
        .as_ref()
        .filter(|_| arguments.encoding == FileEncoding::Utf8 && ranges.iter().all(Option::is_none))?;
    // a text may begin as an image does
    let is_text = !content.contains(&0) && std::str::from_utf8(content).is_ok();
    read_image_header(content).filter(|_| !is_text)?;
    Some(store.keep_image(path, content).map(|image| image.to_text()))
}

/// The bytes that were asked for, of `size`: the first, and the one behind the last.
fn byte_range(arguments: &ReadFilesArguments, size: usize) -> Result<(usize, usize), String> {
    let start = arguments.start_byte.unwrap_or(1);
    if start > size {
        return Err(format!("`start_byte` is {start} and there are {size} bytes"));
    }
    Ok((start - 1, arguments.end_byte.unwrap_or(size).min(size)))
}

impl FileExcerpt {
    fn to_text(&self, cap: usize) -> String {
        let mut shown = format!("==> {}\n{}", self.title, self.text);
        if shown.len() > cap {
            let mut cut = shown.floor_char_boundary(cap);
            let first_line = shown.find('\n').map_or(0, |at| at + 1);
            // a single endless line cannot be cut at a line
            cut = shown[..cut].rfind('\n').map_or(cut, |at| at + 1).max(first_line.min(cut));
            if cut <= first_line {
                cut = shown.floor_char_boundary(cap.max(first_line));
            }
            let missing = shown.len() - cut;
            shown.truncate(cut);
            let onward = self.continuation_hint(&shown[first_line..]);
            shown.push_str(&format!("\n[… {missing} bytes left out{onward} …]"));
        }
        if !shown.ends_with('\n') {
            shown.push('\n');
        }
        shown
    }

    /// How to read what follows `kept`, if it is known.
    fn continuation_hint(&self, kept: &str) -> String {
        if let Some(first) = self.first_byte {
            return format!("; read on with start_byte {}", first + kept.len());
        }
        let whole_lines = kept.matches('\n').count();
        let within = kept.len() - kept.rfind('\n').map_or(0, |at| at + 1);
        match self.lines {
            Some((start, end)) if start + whole_lines <= end => {
                let line = start + whole_lines;
                let byte =
                    if within == 0 { String::new() } else { format!(" and start_byte {}", within + 1) };
                format!("; read on with start_line {line}{byte}")
            }
            _ => String::new(),
        }
    }
}
