//! A script file: what it offers to the scripts of its workflow, and the text that is compiled from it.
//!
//! It accepts a module (`export …`), a CommonJS file (`module.exports = …`, `exports.x = …`) and a plain list of
//! declarations. Everything declared at the top may be named; so may the members of an exported object. It refuses
//! imports: a library is one file.

mod names;
mod returns;

use oxc_allocator::Allocator;
use oxc_ast::ast::Program;
use oxc_ast_visit::Visit;
use oxc_parser::Parser;
use oxc_semantic::SemanticBuilder;
use oxc_span::SourceType;

use super::visitor::{ScriptVisitor, shadowable_names};
use super::{LibraryExport, ScriptFacts, ScriptName, SyntaxError, is_known, nesting_limit};
use names::LibraryNames;
use synthdev_domain::script::shorthand::{RewrittenScript, rewrite_script};
use synthdev_domain::script::{HOST_MEMBERS, HOST_NAMES, ScriptForm};

/// A script file as read.
#[derive(Clone, PartialEq, Debug)]
pub struct ScriptLibrary {
    /// The body of a function that returns what the file offers; lines as in the file.
    pub prepared: String,
    pub exports: Vec<LibraryExport>,
    /// Names of the file that hide a member of the host: scripts cannot name them (W10).
    pub hidden_names: Vec<ScriptName>,
    /// What the file touches as a whole. `prepared` and `form` mean nothing here.
    pub facts: ScriptFacts,
}

impl ScriptLibrary {
    /// What a script takes for unknown may be a name of this file.
    pub fn resolve_names(&self, facts: &mut ScriptFacts) {
        let offers = |name: &ScriptName| self.exports.iter().any(|offer| offer.name == name.name);
        facts.library_names.extend(facts.unknown_names.extract_if(.., |name| offers(name)));
        facts.library_names.extend(facts.unknown_members.extract_if(.., |name| offers(name)));
    }
}

/// Parameters of the function that the file becomes.
const OWN: [&str; 3] = ["module", "exports", "__default"];

/// Reads a script file.
///
/// # Errors
/// Everything in it that is no JavaScript of the form described above.
pub fn parse_library(source: &str) -> Result<ScriptLibrary, Vec<SyntaxError>> {
    nesting_limit::check_nesting(source).map_err(|error| vec![error])?;
    let unmarked = source.strip_prefix('\u{feff}').map(|rest| format!("   {rest}"));
    let source = unmarked.as_deref().unwrap_or(source);
    let rewritten = rewrite_script(source);
    nesting_limit::with_stack(&rewritten.text, || read_library(source, &rewritten))
}

fn read_library(source: &str, rewritten: &RewrittenScript<'_>) -> Result<ScriptLibrary, Vec<SyntaxError>> {
    let allocator = Allocator::default();
    let at = |offset: usize| rewritten.original_offset(offset).min(source.len());
    let parsed = Parser::new(&allocator, &rewritten.text, SourceType::mjs()).parse();
    let program = parsed.program;
    let checked = SemanticBuilder::new().with_check_syntax_error(true).build(&program);
    let broken: Vec<SyntaxError> = parsed
        .errors
        .iter()
        .chain(&checked.errors)
        .map(|error| {
            let label = error.labels.as_ref().and_then(|labels| labels.first());
            let offset = at(label.map_or(0, |label| label.offset()));
            SyntaxError { message: error.message.to_string(), hint: None, offset }
        })
        .collect();
    if !broken.is_empty() {
        return Err(broken);
    }
    let names = LibraryNames::from_program(&program).map_err(|refused| {
        let moved = refused.into_iter().map(|error| SyntaxError { offset: at(error.offset), ..error });
        moved.collect::<Vec<_>>()
    })?;
    let (mut facts, asynchronous) = program_facts(&program, &checked.semantic, &names, &at);
    if let Some(offset) = asynchronous {
        let hint = Some("remove `async` and `await`: a promise is never waited for".to_owned());
        return Err(vec![SyntaxError { message: "scripts are synchronous".to_owned(), hint, offset }]);
    }
    facts.unknown_names.sort_by_key(|name| name.offset);
    let (hidden, offers): (Vec<LibraryExport>, Vec<LibraryExport>) =
        names.offered_functions(&at, &facts.calls).into_iter().partition(|offer| is_hosts(&offer.name));
    let hidden =
        hidden.into_iter().map(|offer| ScriptName { name: offer.name, offset: offer.offset }).collect();
    Ok(ScriptLibrary {
        prepared: names.to_function_body(&rewritten.text),
        exports: offers,
        hidden_names: hidden,
        facts,
    })
}

/// What the file touches, and where it is asynchronous.
fn program_facts(
    program: &Program<'_>,
    semantic: &oxc_semantic::Semantic<'_>,
    names: &LibraryNames,
    at: &dyn Fn(usize) -> usize,
) -> (ScriptFacts, Option<usize>) {
    let back = |offset: u32| at(offset as usize);
    let mut facts = ScriptFacts::new(ScriptForm::Statements, String::new());
    let scoping = semantic.scoping();
    let unresolved = scoping.root_unresolved_references();
    for (name, references) in unresolved {
        let known = is_known(name) || OWN.contains(name) || names.has_name(name);
        if let (false, Some(first)) = (known, references.first()) {
            let span = semantic.reference_span(scoping.get_reference(*first));
            facts.unknown_names.push(ScriptName { name: name.to_string(), offset: back(span.start) });
        }
    }
    let free = shadowable_names(unresolved.keys().map(AsRef::as_ref));
    let mut visitor = ScriptVisitor::for_library(&mut facts, &back, free);
    visitor.visit_program(program);
    let asynchronous = visitor.asynchronous;
    facts.unknown_members.retain(|name| !names.has_name(&name.name));
    (facts, asynchronous)
}

fn is_hosts(name: &str) -> bool {
    HOST_NAMES.contains(&name) || HOST_MEMBERS.contains(&name)
}

#[cfg(test)]
mod tests;
