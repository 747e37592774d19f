//! A file's text with its name and layer, and the findings made in it.

use std::ops::Range;
use std::sync::Arc;

use crate::domain::diagnostic::{Diagnostic, Severity};
use crate::domain::place::{Layer, Place};

/// One file as it was read by the caller.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceFile {
    pub layer: Layer,
    /// As shown to people: `built-in:workflows/coder_reviewer.json`, `.synthdev/roles/x.json`.
    pub name: String,
    pub text: Arc<str>,
}

impl SourceFile {
    pub fn new(layer: Layer, name: impl Into<String>, text: impl Into<Arc<str>>) -> Self {
        Self { layer, name: name.into(), text: text.into() }
    }

    /// Line and column (from 1, in characters) of a byte offset; offsets past the end mean the end.
    pub fn place(&self, offset: usize) -> Place {
        let mut at = offset.min(self.text.len());
        while !self.text.is_char_boundary(at) {
            at -= 1;
        }
        let before = &self.text[..at];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Place {
            file: self.name.clone(),
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

/// Findings of one file that are kept: nobody reads more, and a file of garbage could hold millions.
const MOST: usize = 200;

/// Collects every problem of one file in one pass.
#[derive(Debug)]
pub struct Findings<'a> {
    pub file: &'a SourceFile,
    pub list: Vec<Diagnostic>,
}

impl<'a> Findings<'a> {
    pub fn new(file: &'a SourceFile) -> Self {
        Self { file, list: Vec::new() }
    }

    pub fn add(
        &mut self,
        severity: Severity,
        code: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        // an error is never hidden behind warnings
        if self.is_full() && (severity < Severity::Error || self.has_errors()) {
            return;
        }
        self.list.push(Diagnostic {
            code: code.to_owned(),
            severity,
            message: message.into(),
            place: self.file.place(span.start),
            span,
            hint,
        });
    }

    pub fn error(
        &mut self,
        code: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.add(Severity::Error, code, span, message, hint);
    }

    pub fn warning(
        &mut self,
        code: &str,
        span: Range<usize>,
        message: impl Into<String>,
        hint: Option<String>,
    ) {
        self.add(Severity::Warning, code, span, message, hint);
    }

    /// Whether more would be left out: what is costly to say need not be said.
    pub fn is_full(&self) -> bool {
        self.list.len() >= MOST
    }

    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|finding| finding.severity == Severity::Error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_characters_from_one() {
        let file = SourceFile::new(Layer::User, "x.json", "{\n  \"ä\": 1\n}");
        let at = file.text.find(':').unwrap();
        assert_eq!((file.place(at).line, file.place(at).column), (2, 6));
        assert_eq!((file.place(999).line, file.place(999).column), (3, 2));
    }
}
