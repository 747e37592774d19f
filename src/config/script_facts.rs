//! What a script is and touches, found once while a workflow is loaded: its form, its free names, the data it
//! reads and writes, the agents, contexts and tool decisions it names. It parses; it never runs a script.

mod decision;
mod depth;
mod found;
mod library;
mod logic;
mod names;
mod parse;
mod plain;
mod visit;

use crate::domain::script::ScriptKind;
use crate::domain::script::shorthand::rewrite;

pub use found::{
    CallRead, Compare, Compared, Comparison, Facts, Literal, Member, Name, Offer, Order, SyntaxError, Term,
    Test,
};
pub use library::{Library, library};
pub use names::{is_known, known_names};

/// Finds the facts of one script. It is an expression if it parses as one, else a statement body in which
/// `return` is allowed (A1, A2); a condition or an input must be an expression.
///
/// # Errors
/// The text is not JavaScript of the form that its kind needs, is asynchronous (A56), or is too long or too deeply
/// nested to be read.
pub fn facts(source: &str, kind: ScriptKind) -> Result<Facts, SyntaxError> {
    if let Some(facts) = plain::facts(source) {
        return Ok(facts);
    }
    depth::check(source)?;
    let rewritten = rewrite(source);
    depth::with_stack(&rewritten.text, || parse::facts(source, &rewritten, kind))
}

#[cfg(test)]
mod tests;
