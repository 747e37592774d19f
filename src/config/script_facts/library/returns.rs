//! The texts that a function can return, if they can all be seen: a handler's next states.

use oxc_ast::ast::{
    ArrowFunctionExpression, Class, Declaration, Expression, Function, Program, ReturnStatement, Statement,
};
use oxc_ast_visit::{Visit, walk};
use oxc_syntax::scope::ScopeFlags;

use super::super::Name;

/// Texts with their offsets; `None` if something else may be returned, too.
type Returns = Option<Vec<Name>>;

pub(super) fn of_function(function: &Function<'_>) -> Returns {
    let mut returned = Returned { all: Some(Vec::new()) };
    if let Some(body) = &function.body {
        for statement in &body.statements {
            returned.visit_statement(statement);
        }
    }
    returned.all
}

/// Of a value that is a function; `None` if it is none.
pub(super) fn of_value(value: &Expression<'_>) -> Option<Returns> {
    match value.without_parentheses() {
        Expression::FunctionExpression(function) => Some(of_function(function)),
        Expression::ArrowFunctionExpression(arrow) => Some(of_arrow(arrow)),
        _ => None,
    }
}

/// Of a function that is declared at the top of the file; `None` if there is none of that name.
pub(super) fn of_name(program: &Program<'_>, name: &str) -> Option<Returns> {
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
        Some(function) => Some(of_function(function)),
        None => of_value(constant(program, name)?),
    }
}

/// The value that a variable at the top of the file begins with.
pub(super) fn constant<'p, 'a>(program: &'p Program<'a>, name: &str) -> Option<&'p Expression<'a>> {
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

fn of_arrow(arrow: &ArrowFunctionExpression<'_>) -> Returns {
    let mut returned = Returned { all: Some(Vec::new()) };
    if arrow.expression {
        match arrow.body.statements.first() {
            Some(Statement::ExpressionStatement(only)) => returned.value(&only.expression),
            _ => returned.all = None,
        }
    } else {
        for statement in &arrow.body.statements {
            returned.visit_statement(statement);
        }
    }
    returned.all
}

struct Returned {
    all: Returns,
}

impl Returned {
    fn value(&mut self, value: &Expression<'_>) {
        match value.without_parentheses() {
            Expression::StringLiteral(text) => {
                if let Some(all) = &mut self.all {
                    all.push(Name { name: text.value.to_string(), offset: text.span.start as usize + 1 });
                }
            }
            Expression::ConditionalExpression(choice) => {
                self.value(&choice.consequent);
                self.value(&choice.alternate);
            }
            Expression::NullLiteral(_) => {}
            Expression::Identifier(name) if name.name == "undefined" => {}
            _ => self.all = None,
        }
    }
}

impl<'a> Visit<'a> for Returned {
    fn visit_return_statement(&mut self, it: &ReturnStatement<'a>) {
        if let Some(value) = &it.argument {
            self.value(value);
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
