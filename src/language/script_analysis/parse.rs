//! Parses a script in the form it will be compiled in, and lets `visit` collect what it touches.

use oxc_allocator::Allocator;
use oxc_ast::ast::{Expression, Program, Statement};
use oxc_ast_visit::Visit;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::SemanticBuilder;
use oxc_span::{GetSpan, SourceType};

use super::condition_formula::{condition_formula, script_literal};
use super::visitor::{ScriptVisitor, shadowable_names};
use super::{ScriptFacts, ScriptName, SyntaxError, is_known};
use synthdev_domain::script::shorthand::RewrittenScript;
use synthdev_domain::script::{ScriptForm, ScriptKind};

/// A parse error: message and offset in the text that was parsed.
type ScriptParseError = (String, usize);

pub(super) fn parse_facts(
    allocator: &Allocator,
    source: &str,
    rewritten: &RewrittenScript<'_>,
    kind: ScriptKind,
) -> Result<ScriptFacts, SyntaxError> {
    let wrapped = format!("({}\n)", rewritten.text);
    let at = |offset: usize| rewritten.original_offset(offset).min(source.len());
    let broken = match parse_expression(allocator, &wrapped) {
        Ok(program) => return collect_facts(&program, 1, rewritten, &rewritten.text, at),
        Err((message, offset)) => {
            let offset = at(offset.saturating_sub(1));
            let unfinished = offset >= source.trim_end().len();
            let message = if unfinished { "the expression is not finished".to_owned() } else { message };
            SyntaxError { message, hint: None, offset }
        }
    };
    if kind == ScriptKind::Input {
        return Err(broken);
    }
    match parse_program(allocator, &rewritten.text) {
        Ok(program) => match single_expression(&program) {
            Some(only) => {
                let end = only.span().end as usize;
                collect_facts(&program, 0, rewritten, &rewritten.text[..end], at)
            }
            None if kind == ScriptKind::Condition => Err(SyntaxError {
                message: "a condition must be one expression".to_owned(),
                hint: Some("write the bare expression, without `return` and `;`".to_owned()),
                offset: 0,
            }),
            None => collect_facts(&program, 0, rewritten, &rewritten.text, at),
        },
        Err(_) if kind == ScriptKind::Condition => Err(broken),
        Err((message, offset)) => Err(SyntaxError { message, hint: None, offset: at(offset) }),
    }
}

/// Parses `(text)`; anything but one parenthesised expression is refused.
fn parse_expression<'a>(allocator: &'a Allocator, wrapped: &'a str) -> Result<Program<'a>, ScriptParseError> {
    let program = parse_program(allocator, wrapped)?;
    let whole = matches!(single_expression(&program), Some(Expression::ParenthesizedExpression(inner))
        if inner.span.end as usize == wrapped.len());
    if whole { Ok(program) } else { Err(("not one expression".to_owned(), 1)) }
}

fn parse_program<'a>(allocator: &'a Allocator, text: &'a str) -> Result<Program<'a>, ScriptParseError> {
    let options = ParseOptions { allow_return_outside_function: true, ..ParseOptions::default() };
    let parsed = Parser::new(allocator, text, SourceType::cjs()).with_options(options).parse();
    match parsed.errors.first() {
        None => Ok(parsed.program),
        Some(error) => {
            let label = error.labels.as_ref().and_then(|labels| labels.first());
            Err((error.message.to_string(), label.map_or(0, |label| label.offset())))
        }
    }
}

fn single_expression<'p, 'a>(program: &'p Program<'a>) -> Option<&'p Expression<'a>> {
    match program.body.as_slice() {
        [Statement::ExpressionStatement(only)] if program.directives.is_empty() => Some(&only.expression),
        _ => None,
    }
}

/// `shift`: how many bytes of the parsed text come before the script.
fn collect_facts(
    program: &Program<'_>,
    shift: usize,
    rewritten: &RewrittenScript<'_>,
    prepared: &str,
    at: impl Fn(usize) -> usize,
) -> Result<ScriptFacts, SyntaxError> {
    let back = |offset: u32| at((offset as usize).saturating_sub(shift));
    let checked = SemanticBuilder::new().with_check_syntax_error(true).build(program);
    if let Some(error) = checked.errors.first() {
        let label = error.labels.as_ref().and_then(|labels| labels.first());
        let offset = at(label.map_or(0, |label| label.offset()).saturating_sub(shift));
        return Err(SyntaxError { message: error.message.to_string(), hint: None, offset });
    }
    let root = single_expression(program).map(Expression::without_parentheses);
    let form = if root.is_some() { ScriptForm::Expression } else { ScriptForm::Statements };
    let mut facts = ScriptFacts::new(form, prepared.to_owned());
    let scoping = checked.semantic.scoping();
    for (name, references) in scoping.root_unresolved_references() {
        let name = name.to_string();
        if let (false, Some(first)) = (is_known(&name), references.first()) {
            let span = checked.semantic.reference_span(scoping.get_reference(*first));
            facts.unknown_names.push(ScriptName { name, offset: back(span.start) });
        }
    }
    facts.unknown_names.sort_by_key(|name| name.offset);
    let free = shadowable_names(scoping.root_unresolved_references().keys().map(AsRef::as_ref));
    let mut visitor = ScriptVisitor::new(root, &mut facts, &back, free);
    visitor.visit_program(program);
    let data_path = root.and_then(|root| visitor.data_key(root));
    if let Some(offset) = visitor.asynchronous {
        return Err(SyntaxError {
            message: "scripts are synchronous".to_owned(),
            hint: Some("remove `async`: a promise is never waited for".to_owned()),
            offset,
        });
    }
    facts.data_path = data_path;
    if let Some(root) = root {
        facts.constant = constant_truth(root);
        facts.literal = script_literal(root);
        facts.formula = Some(condition_formula(root, program.source_text));
    }
    debug_assert!(rewritten.text.starts_with(prepared));
    Ok(facts)
}

fn constant_truth(root: &Expression<'_>) -> Option<bool> {
    if let Expression::BooleanLiteral(literal) = root { Some(literal.value) } else { None }
}
