//! `function.NAME` in scripts: found by a lexer that knows strings, templates, comments and regular expressions.
//!
//! `function.review.arguments.x` becomes `__call("review")?.arguments.x`: the host's `__call` gives the first
//! parsing call of that name, or `undefined`, and `?.` then makes the whole chain `undefined`.
//! Nothing else is touched; line numbers stay. It does not judge syntax: what it cannot read it leaves alone.

mod lexer;
mod rewritten_script;

use std::borrow::Cow;

pub use rewritten_script::{FunctionRead, LOOKUP, NameRead, RewrittenScript};

/// Replaces every `function.NAME` and `function["NAME"]` outside strings, comments and regular expressions.
/// The keyword itself (`function f() {}`, `async function () {}`) and members (`call.function.name`) stay.
pub fn rewrite_script(source: &str) -> RewrittenScript<'_> {
    if !source.contains("function") {
        return RewrittenScript {
            text: Cow::Borrowed(source),
            function_reads: Vec::new(),
            edits: Vec::new(),
        };
    }
    lexer::ScriptLexer::new(source).rewrite_source()
}

/// The names in the code of a script, in order: without strings, comments, regular expressions, members and keys of
/// objects. Keywords are among them.
pub fn read_names(source: &str) -> Vec<NameRead> {
    lexer::ScriptLexer::new(source).read_names()
}

#[cfg(test)]
mod tests;
