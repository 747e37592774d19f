//! A script with the shorthand replaced, and the way back to the places of its source.

use std::borrow::Cow;

/// The name of the host function that looks a parsing call up.
pub const LOOKUP: &str = "__call";

/// A script with the shorthand replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RewrittenScript<'s> {
    pub text: Cow<'s, str>,
    pub function_reads: Vec<FunctionRead>,
    /// In order of position.
    pub(super) edits: Vec<RewriteEdit>,
}

/// One place that reads a parsing call: `function.NAME` and the plain members that follow.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionRead {
    pub name: String,
    /// `["arguments", "improvement_needed"]`
    pub path: Vec<String>,
    /// Byte offset of the word `function` in the source.
    pub offset: usize,
}

/// A name in the code of a script and the plain members that follow: `this.common_data.x`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NameRead {
    pub name: String,
    pub path: Vec<String>,
    /// Byte offset of the name in the source.
    pub offset: usize,
    /// The last of them is called as a function.
    pub is_called: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct RewriteEdit {
    pub(super) source_range: (usize, usize),
    pub(super) text_range: (usize, usize),
}

impl RewrittenScript<'_> {
    /// The byte offset in the source of a byte offset in `text`. Inside a replacement it is the replaced word's start.
    pub fn original_offset(&self, offset: usize) -> usize {
        let after = self.edits.partition_point(|edit| edit.text_range.0 <= offset);
        match after.checked_sub(1).and_then(|last| self.edits.get(last)) {
            None => offset,
            Some(edit) if offset < edit.text_range.1 => edit.source_range.0,
            Some(edit) => offset - edit.text_range.1 + edit.source_range.1,
        }
    }
}
