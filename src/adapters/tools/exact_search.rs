//! `exact_search`: every occurrence of a text or of a regular expression, with the lines around it.
//! Honours ignore files; refuses binary files, files over 10 MiB, git's own directory, and to answer without end.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use serde::Deserialize;
use serde_json::json;

use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::tool_answer::ToolAnswer;
use super::tool_context::{FILE_LIMIT, ToolContext};
use super::truncated_output::shorten_line;

pub(super) const NAME: &str = "exact_search";

/// Lines shown before and after a hit, unless the call says otherwise.
const AROUND: usize = 4;
/// Bytes that a regular expression may take once it is compiled.
const COMPILED_LIMIT: usize = 10 << 20;
/// Most hits of one answer.
const HITS: usize = 200;
/// Most bytes shown of one line.
const LINE: usize = 400;

#[derive(Deserialize)]
pub(super) struct ExactSearchArguments {
    search_string: Option<String>,
    pattern: Option<String>,
    #[serde(default = "project_directory")]
    directory_path: String,
    context_lines: Option<usize>,
}

pub(super) fn project_directory() -> String {
    ".".to_owned()
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Find a text in all files of the project that are not ignored by git and not binary: an exact \
            text with `search_string`, or a regular expression with `pattern`; case matters. Under each file's name: \
            its hits as `12:text` with the lines before and after as `11-text`; `--` separates distant hits. Examples: \
            {\"search_string\": \"fn main(\"}, {\"pattern\": \"TODO|FIXME\", \"directory_path\": \"src\", \"context_lines\": 0}."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false,
            "properties": {
                "search_string": {"type": "string", "minLength": 1,
                    "description": "The exact text to find; it may contain line breaks."},
                "pattern": {"type": "string", "minLength": 1,
                    "description": "A regular expression to find instead, such as `fn \\w+_test`; `(?i)` at its \
                        start ignores case. It is matched line by line, unless it contains `\\n`."},
                "directory_path": {"type": "string", "minLength": 1, "default": ".",
                    "description": "Search only below this directory (or in this file), relative to the project's."},
                "context_lines": {"type": "integer", "minimum": 0, "maximum": 20, "default": AROUND,
                    "description": "How many lines to show before and after each hit."}}}),
        risk: ToolRisk::Read,
        repeat: None,
    }
}

/// Stops the searching thread when its future is dropped.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Why no answer of the user lets this call search there.
pub(super) fn refusal(project: &ToolContext, arguments: &ExactSearchArguments) -> Option<String> {
    project.path_guard.resolve_readable(&arguments.directory_path).err().map(|error| error.to_string())
}

pub(super) async fn run_tool(project: &Arc<ToolContext>, arguments: ExactSearchArguments) -> ToolAnswer {
    let stop = StopOnDrop(Arc::default());
    let (project, stopped) = (Arc::clone(project), Arc::clone(&stop.0));
    let searching = tokio::task::spawn_blocking(move || search_files(&project, &arguments, &stopped));
    searching.await.unwrap_or_else(|_| ToolAnswer::failure("the search could not be run"))
}

fn search_files(project: &ToolContext, arguments: &ExactSearchArguments, stopped: &AtomicBool) -> ToolAnswer {
    let start = match project.path_guard.resolve_readable(&arguments.directory_path) {
        Ok(spot) if spot.absolute.exists() => spot.absolute,
        Ok(spot) => return ToolAnswer::failure(format!("`{}` does not exist", spot.relative)),
        Err(error) => return ToolAnswer::failure(error.to_string()),
    };
    let (matcher, multi_line) = match compile_search(arguments) {
        Ok(compiled) => compiled,
        Err(problem) => return ToolAnswer::failure(problem),
    };
    let around = arguments.context_lines.unwrap_or(AROUND);
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .multi_line(multi_line)
        .before_context(around)
        .after_context(around)
        .binary_detection(BinaryDetection::quit(0))
        .build();
    let mut found = ExactSearchResults { remaining_bytes: project.cap, ..ExactSearchResults::default() };
    for entry in project.walk_files(&start, Some(FILE_LIMIT)).flatten() {
        if found.is_full() || stopped.load(Ordering::Relaxed) {
            break;
        }
        if entry.file_type().is_some_and(|kind| kind.is_file()) && !entry.path_is_symlink() {
            found.search_file(project, &mut searcher, &matcher, entry.path());
        }
    }
    found.into_answer()
}

/// What to look for, and whether a hit may go over several lines.
fn compile_search(arguments: &ExactSearchArguments) -> Result<(RegexMatcher, bool), String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.size_limit(COMPILED_LIMIT).dfa_size_limit(COMPILED_LIMIT).multi_line(true);
    let (name, text, multi_line) = match (&arguments.search_string, &arguments.pattern) {
        (Some(text), None) => {
            builder.fixed_strings(true);
            ("search_string", text, text.contains('\n'))
        }
        (None, Some(pattern)) => ("pattern", pattern, pattern.contains('\n') || pattern.contains("\\n")),
        (Some(_), Some(_)) | (None, None) => {
            return Err("give either `search_string` or `pattern`".to_owned());
        }
    };
    if name == "pattern" && !multi_line {
        builder.line_terminator(Some(b'\n'));
    }
    let compiled = builder.build(text);
    compiled
        .map(|matcher| (matcher, multi_line))
        .map_err(|error| format!("`{name}` cannot be searched for: {error}"))
}

#[derive(Default)]
struct ExactSearchResults {
    body: String,
    hits: usize,
    files: usize,
    unreadable_count: usize,
    /// Bytes of text the answer may carry.
    remaining_bytes: usize,
}

impl ExactSearchResults {
    fn is_full(&self) -> bool {
        self.hits >= HITS || self.body.len() >= self.remaining_bytes
    }

    fn search_file(
        &mut self,
        project: &ToolContext,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        path: &Path,
    ) {
        let room = self.remaining_bytes.saturating_sub(self.body.len());
        let mut sink = FileSearchHits {
            remaining_hits: HITS - self.hits,
            remaining_bytes: room,
            ..FileSearchHits::default()
        };
        let opened = project.path_guard.open_file(path);
        if opened.and_then(|file| searcher.search_file(matcher, &file, &mut sink)).is_err() {
            self.unreadable_count += 1;
        }
        if sink.hits > 0 && !sink.binary {
            self.files += 1;
            self.hits += sink.hits;
            self.body.push_str(&project.path_guard.relative_path(path).unwrap_or_default());
            self.body.push('\n');
            self.body.push_str(&sink.text);
            self.body.push('\n');
        }
    }

    fn into_answer(self) -> ToolAnswer {
        let summary = format!("{} hits in {} files", self.hits, self.files);
        let full = self.is_full();
        let mut answer =
            ToolAnswer::success(summary).with_fact("matches", self.hits).with_fact("files", self.files);
        if full {
            let notice =
                "there may be more hits; search for a longer text or in a subdirectory (directory_path)";
            answer = answer.with_fact("notice", notice);
        }
        if self.unreadable_count > 0 {
            answer = answer.with_fact("unreadable_files", self.unreadable_count);
        }
        answer.body(self.body)
    }
}

/// What one file has to show.
#[derive(Default)]
struct FileSearchHits {
    text: String,
    hits: usize,
    remaining_hits: usize,
    remaining_bytes: usize,
    binary: bool,
}

impl FileSearchHits {
    fn push_line(&mut self, number: u64, mark: char, bytes: &[u8]) {
        let line = String::from_utf8_lossy(bytes);
        let line = shorten_line(&line, LINE);
        self.text.push_str(&format!("{number}{mark}{line}\n"));
    }
}

impl Sink for FileSearchHits {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        let first = found.line_number().unwrap_or_default();
        for (number, line) in (first..).zip(found.lines()) {
            self.push_line(number, ':', line);
        }
        self.hits += 1;
        Ok(self.hits < self.remaining_hits && self.text.len() < self.remaining_bytes)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        self.push_line(context.line_number().unwrap_or_default(), '-', context.bytes());
        Ok(self.text.len() < self.remaining_bytes)
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.text.push_str("--\n");
        Ok(true)
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}
