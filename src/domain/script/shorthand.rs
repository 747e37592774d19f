//! `function.NAME` in scripts: found by a lexer that knows strings, templates, comments and regular expressions (A3).
//!
//! `function.review.arguments.x` becomes `__call("review")?.arguments.x`: the host's `__call` gives the first
//! parsing call of that name, or `undefined`, and `?.` then makes the whole chain `undefined` (FSM-9).
//! Nothing else is touched; line numbers stay. It does not judge syntax: what it cannot read it leaves alone.

mod lexer;

use std::borrow::Cow;

/// The name of the host function that looks a parsing call up.
pub const LOOKUP: &str = "__call";

/// A script with the shorthand replaced.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Rewritten<'s> {
    pub text: Cow<'s, str>,
    pub reads: Vec<FunctionRead>,
    /// In order of position.
    edits: Vec<Edit>,
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

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Edit {
    old: (usize, usize),
    new: (usize, usize),
}

impl Rewritten<'_> {
    /// The byte offset in the source of a byte offset in `text`. Inside a replacement it is the replaced word's start.
    pub fn original(&self, offset: usize) -> usize {
        let after = self.edits.partition_point(|edit| edit.new.0 <= offset);
        match after.checked_sub(1).and_then(|last| self.edits.get(last)) {
            None => offset,
            Some(edit) if offset < edit.new.1 => edit.old.0,
            Some(edit) => offset - edit.new.1 + edit.old.1,
        }
    }
}

/// Replaces every `function.NAME` and `function["NAME"]` outside strings, comments and regular expressions.
/// The keyword itself (`function f() {}`, `async function () {}`) and members (`call.function.name`) stay.
pub fn rewrite(source: &str) -> Rewritten<'_> {
    if !source.contains("function") {
        return Rewritten { text: Cow::Borrowed(source), reads: Vec::new(), edits: Vec::new() };
    }
    lexer::Lexer::new(source).run()
}

#[cfg(test)]
mod tests;
