//! What a script is and touches, found once while a workflow is loaded: its form, its free names, the data it
//! reads and writes, the agents, contexts and tool decisions it names. It parses; it never runs a script.

mod condition_formula;
mod facts;
mod known_globals;
mod library;
mod nesting_limit;
mod parse;
mod tool_decision;
mod trivial;
mod visitor;

use oxc_allocator::Allocator;
use synthdev_domain::script::ScriptKind;
use synthdev_domain::script::shorthand::rewrite_script;

pub use facts::{
    ComparisonKind, ComparisonSubject, ConditionFormula, ConditionTerm, DecisionUse, LibraryExport,
    LiteralComparison, OrderOperator, ScriptFacts, ScriptLiteral, ScriptName, SyntaxError, ValuePathSegment,
};
pub use known_globals::{is_known, known_names};
pub use library::{ScriptLibrary, parse_library};

/// Finds the facts of one script. It is an expression if it parses as one, else a statement body in which
/// `return` is allowed; a condition or an input must be an expression.
///
/// # Errors
/// The text is not JavaScript of the form that its kind needs, is asynchronous, or is too long or too deeply
/// nested to be read.
pub fn analyze_script(source: &str, kind: ScriptKind) -> Result<ScriptFacts, SyntaxError> {
    ScriptAnalyzer::default().analyze_script(source, kind)
}

/// Finds the facts of scripts one after the other, in the same memory.
#[derive(Default)]
pub struct ScriptAnalyzer {
    syntax_arena: Allocator,
}

impl ScriptAnalyzer {
    /// # Errors
    /// As [`analyze_script`].
    pub fn analyze_script(&mut self, source: &str, kind: ScriptKind) -> Result<ScriptFacts, SyntaxError> {
        if let Some(facts) = trivial::trivial_facts(source) {
            return Ok(facts);
        }
        nesting_limit::check_nesting(source)?;
        let rewritten = rewrite_script(source);
        self.syntax_arena.reset();
        let arena = &self.syntax_arena;
        nesting_limit::with_stack(&rewritten.text, || parse::parse_facts(arena, source, &rewritten, kind))
    }
}

#[cfg(test)]
mod tests;
