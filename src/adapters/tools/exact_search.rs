//! `exact_search`: every occurrence of a text, with the lines around it.
//! Honours ignore files; refuses binary files, files over 10 MiB, git's own directory, and to answer without end.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkFinish, SinkMatch};
use ignore::DirEntry;
use serde::Deserialize;
use serde_json::json;

use crate::ignore_files::walk_unignored;
use synthdev_domain::tool::{ToolRisk, ToolSpec};

use super::tool_answer::ToolAnswer;
use super::tool_context::{FILE_LIMIT, ToolContext};
use super::truncated_output::shorten_line;

pub(super) const NAME: &str = "exact_search";

/// Lines shown before and after a hit.
const AROUND: usize = 4;
/// Most hits of one answer.
const HITS: usize = 200;
/// Most bytes shown of one line.
const LINE: usize = 400;

#[derive(Deserialize)]
pub(super) struct ExactSearchArguments {
    search_string: String,
    #[serde(default = "project_directory")]
    directory_path: String,
}

fn project_directory() -> String {
    ".".to_owned()
}

pub(super) fn tool_spec() -> ToolSpec {
    ToolSpec {
        name: NAME.to_owned(),
        description: "Find an exact text (case matters, no patterns) in all files of the project that are not ignored \
            by git and not binary. Under each file's name: its hits as `12:text` with 4 lines before and after as \
            `11-text`; `--` separates distant hits."
            .to_owned(),
        parameters: json!({"type": "object", "additionalProperties": false, "required": ["search_string"],
            "properties": {
                "search_string": {"type": "string", "minLength": 1,
                    "description": "The text to find; it may contain line breaks."},
                "directory_path": {"type": "string", "minLength": 1, "default": ".",
                    "description": "Search only below this directory (or in this file), relative to the project's."}}}),
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
    let mut builder = RegexMatcherBuilder::new();
    let matcher = match builder.fixed_strings(true).build(&arguments.search_string) {
        Ok(matcher) => matcher,
        Err(error) => return ToolAnswer::failure(format!("`search_string` cannot be searched for: {error}")),
    };
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .multi_line(arguments.search_string.contains('\n'))
        .before_context(AROUND)
        .after_context(AROUND)
        .binary_detection(BinaryDetection::quit(0))
        .build();
    let mut found = ExactSearchResults { remaining_bytes: project.cap, ..ExactSearchResults::default() };
    for entry in walk_files(project, &start).flatten() {
        if found.is_full() || stopped.load(Ordering::Relaxed) {
            break;
        }
        if entry.file_type().is_some_and(|kind| kind.is_file()) && !entry.path_is_symlink() {
            found.search_file(project, &mut searcher, &matcher, entry.path());
        }
    }
    found.into_answer()
}

/// The files to look at, in the order of their paths.
fn walk_files(project: &ToolContext, start: &Path) -> ignore::Walk {
    let hidden = project.path_guard.hidden_paths().clone();
    // not `max_filesize`: with it the walk asks no filter about files
    let small = |entry: &DirEntry| {
        entry.file_type().is_none_or(|kind| !kind.is_file())
            || entry.metadata().is_ok_and(|found| found.len() <= FILE_LIMIT)
    };
    let keep = move |entry: &DirEntry| {
        entry.file_name() != ".git" && !hidden.is_path_hidden(entry.path()) && small(entry)
    };
    walk_unignored(start, true, keep).sort_by_file_path(Path::cmp).build()
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
