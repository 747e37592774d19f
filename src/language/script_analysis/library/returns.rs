//! The texts that a function can return, if they can all be seen: a handler's next states.

use oxc_ast::ast::{
    ArrowFunctionExpression, Class, Declaration, Expression, Function, Program, ReturnStatement, Statement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_span::Span;
use oxc_syntax::scope::ScopeFlags;

use super::super::ScriptName;

/// What one function returns.
#[derive(Clone)]
pub(super) struct FunctionReturns {
    /// Texts with their offsets; `None` if something else may be returned, too.
    pub(super) texts: Option<Vec<ScriptName>>,
    /// It cannot end without returning something.
    pub(super) always_returns: bool,
    /// Position of the function.
    pub(super) span: Span,
    /// It can return `null`, `undefined` or nothing by a word.
    empty: bool,
}

impl FunctionReturns {
    fn new(span: Span) -> Self {
        Self { texts: Some(Vec::new()), always_returns: false, span, empty: false }
    }

    fn from_statements(statements: &[Statement<'_>], span: Span) -> Self {
        let mut returns = Self::new(span);
        for statement in statements {
            returns.visit_statement(statement);
        }
        returns.always_returns = always_returns(statements) && !returns.empty;
        returns
    }
}

pub(super) fn from_function(function: &Function<'_>) -> FunctionReturns {
    let body = function.body.as_ref();
    body.map_or_else(
        || FunctionReturns::new(function.span),
        |body| FunctionReturns::from_statements(&body.statements, function.span),
    )
}

/// Of a value that is a function; `None` if it is none.
pub(super) fn from_value(value: &Expression<'_>) -> Option<FunctionReturns> {
    match value.without_parentheses() {
        Expression::FunctionExpression(function) => Some(from_function(function)),
        Expression::ArrowFunctionExpression(arrow) => Some(from_arrow(arrow)),
        _ => None,
    }
}

/// Of a function that is declared at the top of the file; `None` if there is none of that name.
pub(super) fn from_declaration(program: &Program<'_>, name: &str) -> Option<FunctionReturns> {
    let declared = program.body.iter().find_map(|statement| {
        match statement {
            Statement::FunctionDeclaration(function) => Some(function),
            Statement::ExportNamedDeclaration(export) => match export.declaration.as_ref()? {
                Declaration::FunctionDeclaration(function) => Some(function),
                _ => None,
            },
            _ => None,
        }
        .filter(|function| function.id.as_ref().is_some_and(|id| id.name == name))
    });
    match declared {
        Some(function) => Some(from_function(function)),
        None => from_value(constant_initializer(program, name)?),
    }
}

/// The value that a variable at the top of the file begins with.
pub(super) fn constant_initializer<'p, 'a>(
    program: &'p Program<'a>,
    name: &str,
) -> Option<&'p Expression<'a>> {
    let declarations = program.body.iter().filter_map(|statement| match statement {
        Statement::VariableDeclaration(variables) => Some(variables),
        Statement::ExportNamedDeclaration(export) => match export.declaration.as_ref()? {
            Declaration::VariableDeclaration(variables) => Some(variables),
            _ => None,
        },
        _ => None,
    });
    let mut all = declarations.flat_map(|variables| &variables.declarations);
    all.find(|one| one.id.get_identifier_name().is_some_and(|id| id == name))?.init.as_ref()
}

fn from_arrow(arrow: &ArrowFunctionExpression<'_>) -> FunctionReturns {
    if !arrow.expression {
        return FunctionReturns::from_statements(&arrow.body.statements, arrow.span);
    }
    let mut returns = FunctionReturns::new(arrow.span);
    match arrow.body.statements.first() {
        Some(Statement::ExpressionStatement(only)) => returns.add_value(&only.expression),
        _ => returns.texts = None,
    }
    returns.always_returns = !returns.empty;
    returns
}

/// Whether a list of statements cannot be left at its end.
fn always_returns(statements: &[Statement<'_>]) -> bool {
    statements.last().is_some_and(|last| match last {
        Statement::ReturnStatement(last) => last.argument.is_some(),
        Statement::ThrowStatement(_) => true,
        Statement::BlockStatement(block) => always_returns(&block.body),
        Statement::IfStatement(choice) => {
            let other = choice.alternate.as_ref();
            always_returns(std::slice::from_ref(&choice.consequent))
                && other.is_some_and(|other| always_returns(std::slice::from_ref(other)))
        }
        Statement::TryStatement(tried) => {
            always_returns(&tried.block.body)
                && tried.handler.as_ref().is_none_or(|handler| always_returns(&handler.body.body))
        }
        _ => false,
    })
}

impl FunctionReturns {
    fn add_value(&mut self, value: &Expression<'_>) {
        match value.without_parentheses() {
            Expression::StringLiteral(text) => {
                if let Some(all) = &mut self.texts {
                    all.push(ScriptName {
                        name: text.value.to_string(),
                        offset: text.span.start as usize + 1,
                    });
                }
            }
            Expression::ConditionalExpression(choice) => {
                self.add_value(&choice.consequent);
                self.add_value(&choice.alternate);
            }
            Expression::NullLiteral(_) => self.empty = true,
            Expression::Identifier(name) if name.name == "undefined" => self.empty = true,
            _ => self.texts = None,
        }
    }
}

impl<'a> Visit<'a> for FunctionReturns {
    fn visit_return_statement(&mut self, it: &ReturnStatement<'a>) {
        match &it.argument {
            Some(value) => self.add_value(value),
            None => self.empty = true,
        }
    }

    // what inner functions return is not what this one returns
    fn visit_function(&mut self, _: &Function<'a>, _: ScopeFlags) {}

    fn visit_arrow_function_expression(&mut self, _: &ArrowFunctionExpression<'a>) {}

    fn visit_class(&mut self, _: &Class<'a>) {}

    fn visit_expression(&mut self, _: &Expression<'a>) {}

    fn visit_statement(&mut self, it: &Statement<'a>) {
        walk::walk_statement(self, it);
    }
}
