//! A file's text with its name and layer, and the findings made in it.

use std::cell::OnceCell;
use std::ops::Range;
use std::sync::Arc;

use synthdev_domain::diagnostic::{Diagnostic, DiagnosticSeverity};
use synthdev_domain::source_location::{ConfigLayer, SourceLocation};

/// The code of a finding about a value that is not taken from a project.
pub const NOT_TAKEN: &str = "C19";

/// One file as it was read by the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    pub layer: ConfigLayer,
    /// As shown to the user: `built-in:workflows/coder_reviewer.json`, `.synthdev/roles/x.json`.
    pub name: String,
    pub text: Arc<str>,
}

impl SourceFile {
    pub fn new(layer: ConfigLayer, name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { layer, name: name.into(), text: text.into() }
    }

    /// Line and column (from 1, in characters) of a byte offset; offsets past the end mean the end.
    pub fn location_at(&self, offset: usize) -> SourceLocation {
        let mut at = offset.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        SourceLocation {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// Bytes of a line after which its columns are noted again: a file written by a program may be one long line.
const STRIDE: usize = 512;

/// Lines and columns of a file at known offsets: places of many offsets cost no walk through the text each.
#[derive(Debug)]
pub struct LineStarts(Vec<LineMark>);

/// A known place: the offset, its line from 1, and the characters before it in this line.
#[derive(Clone, Copy, Debug)]
struct LineMark {
    offset: usize,
    line: usize,
    chars_before: usize,
}

impl LineStarts {
    pub fn from_text(text: &str) -> Self {
        let mut marks = Vec::new();
        let mut at = 0;
        for (line, part) in text.split('\n').enumerate() {
            let mut mark = LineMark { offset: at, line: line + 1, chars_before: 0 };
            marks.push(mark);
            let end = at + part.len();
            while end - mark.offset > STRIDE {
                let next = text.ceil_char_boundary(mark.offset + STRIDE);
                mark.chars_before += text[mark.offset..next].chars().count();
                mark.offset = next;
                marks.push(mark);
            }
            at = end + 1;
        }
        Self(marks)
    }

    /// As [`SourceFile::location_at`] of the file that has this text.
    pub fn location_at(&self, file: &SourceFile, offset: usize) -> SourceLocation {
        let at = file.text.floor_char_boundary(offset);
        let known = self.0.partition_point(|mark| mark.offset <= at);
        let start = LineMark { offset: 0, line: 1, chars_before: 0 };
        let mark = known.checked_sub(1).and_then(|last| self.0.get(last)).copied().unwrap_or(start);
        let after = file.text.get(mark.offset..at).unwrap_or_default();
        SourceLocation {
            file: file.name.clone(),
            line: mark.line,
            column: mark.chars_before + after.chars().count() + 1,
        }
    }
}

/// Most findings that are kept for one file: a file of garbage could cause millions.
const MOST: usize = 200;

/// Collects every problem of one file in one pass.
#[derive(Debug)]
pub struct FileDiagnostics<'a> {
    pub file: &'a SourceFile,
    pub list: Vec<Diagnostic>,
    lines: OnceCell<LineStarts>,
}

impl<'a> FileDiagnostics<'a> {
    pub fn new(file: &'a SourceFile) -> Self {
        Self { file, list: Vec::new(), lines: OnceCell::new() }
    }

    /// Line and column of an offset in the file.
    pub fn location_at(&self, offset: usize) -> SourceLocation {
        self.lines.get_or_init(|| LineStarts::from_text(&self.file.text)).location_at(self.file, offset)
    }

    pub fn add_diagnostic(
        &mut self,
        severity: DiagnosticSeverity,
        code: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        // an error is never hidden behind warnings
        if self.is_full() && (severity < DiagnosticSeverity::Error || self.has_errors()) {
            return;
        }
        self.list.push(Diagnostic {
            code: code.to_owned(),
            severity,
            message: message.into(),
            place: self.location_at(span.start),
            span,
            hint,
        });
    }

    pub fn add_error(
        &mut self,
        code: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.add_diagnostic(DiagnosticSeverity::Error, code, span, message, hint);
    }

    pub fn add_warning(
        &mut self,
        code: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.add_diagnostic(DiagnosticSeverity::Warning, code, span, message, hint);
    }

    /// Whether further findings are dropped: callers skip expensive checks then.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    /// Whether an error, too, would be left out.
    pub fn is_closed(&self) -> bool {
        self.is_full() && self.has_errors()
    }

    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|finding| finding.severity == DiagnosticSeverity::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let file = SourceFile::new(ConfigLayer::User, "x.json", "{\n  \"ä\": 1\n}");
        let at = file.text.find(':').unwrap();
        assert_eq!((file.location_at(at).line, file.location_at(at).column), (2, 6));
        assert_eq!((file.location_at(999).line, file.location_at(999).column), (3, 2));
    }

    #[test]
    fn line_starts_give_the_places_that_the_text_gives() {
        let long = "aä€".repeat(STRIDE);
        for text in ["", "\n", "a\nbä\n\n  c", &long, &format!("{long}\n{long}\nx")] {
            let file = SourceFile::new(ConfigLayer::User, "x", text);
            let lines = LineStarts::from_text(&file.text);
            for at in 0..=file.text.len() + 2 {
                assert_eq!(lines.location_at(&file, at), file.location_at(at), "{at}");
            }
            let starts = lines.0.iter().map(|mark| mark.offset).chain([text.len()]);
            let starts: Vec<usize> = starts.collect();
            let most = STRIDE + char::MAX.len_utf8();
            assert!(starts.windows(2).all(|two| two[1] - two[0] <= most), "a place costs a long walk");
        }
    }
}
