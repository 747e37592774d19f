//! What a condition tests, as a formula over terms that are compared with constants: enough to see which cases a
//! list of conditions leaves open (W03).

use oxc_ast::ast::{
    ArrayExpressionElement, BinaryExpression, CallExpression, Expression, Statement, UnaryExpression,
};
use oxc_span::GetSpan;
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};

use super::decision::Read;
use super::{Literal, Order, Term, Test};

/// Operators inside each other that are looked through; what is deeper counts as a whole.
const DEEPEST: usize = 48;

/// The formula of a whole script; a function stands for what it returns (A1).
pub(super) fn test(root: &Expression<'_>, text: &str) -> Test {
    Builder { text }.test(returned(root), DEEPEST)
}

fn returned<'p, 'a>(root: &'p Expression<'a>) -> &'p Expression<'a> {
    let Expression::ArrowFunctionExpression(arrow) = root else { return root };
    match arrow.body.statements.as_slice() {
        [Statement::ExpressionStatement(only)] if arrow.expression => &only.expression,
        [Statement::ReturnStatement(only)] => only.argument.as_ref().unwrap_or(root),
        _ => root,
    }
}

pub(super) fn literal(expression: &Expression<'_>) -> Option<Literal> {
    Some(match expression.without_parentheses() {
        Expression::BooleanLiteral(literal) => Literal::Bool(literal.value),
        Expression::NumericLiteral(literal) => Literal::Number(literal.value),
        Expression::StringLiteral(literal) => Literal::Text(literal.value.to_string()),
        Expression::TemplateLiteral(literal) if literal.expressions.is_empty() => {
            Literal::Text(literal.quasis.first()?.value.cooked?.to_string())
        }
        Expression::NullLiteral(_) => Literal::Null,
        Expression::Identifier(name) if name.name == "undefined" => Literal::Undefined,
        Expression::UnaryExpression(minus) if minus.operator == UnaryOperator::UnaryNegation => {
            match minus.argument.without_parentheses() {
                Expression::NumericLiteral(literal) => Literal::Number(-literal.value),
                _ => return None,
            }
        }
        _ => return None,
    })
}

/// `[…].includes(x)`: the constants and `x`.
pub(super) fn membership<'p, 'a>(
    call: &'p CallExpression<'a>,
) -> Option<(Vec<&'p Expression<'a>>, &'p Expression<'a>)> {
    let Expression::StaticMemberExpression(callee) = call.callee.without_parentheses() else { return None };
    let Expression::ArrayExpression(list) = callee.object.without_parentheses() else { return None };
    let [only] = call.arguments.as_slice() else { return None };
    if callee.property.name != "includes" {
        return None;
    }
    let items =
        list.elements.iter().map(ArrayExpressionElement::as_expression).collect::<Option<Vec<_>>>()?;
    Some((items, only.as_expression()?))
}

pub(super) fn order(operator: BinaryOperator) -> Option<Order> {
    match operator {
        BinaryOperator::LessThan => Some(Order::Less),
        BinaryOperator::LessEqualThan => Some(Order::LessOrSame),
        BinaryOperator::GreaterThan => Some(Order::More),
        BinaryOperator::GreaterEqualThan => Some(Order::MoreOrSame),
        _ => None,
    }
}

struct Builder<'t> {
    text: &'t str,
}

impl Builder<'_> {
    fn test(&self, expression: &Expression<'_>, depth: usize) -> Test {
        let expression = expression.without_parentheses();
        let Some(depth) = depth.checked_sub(1) else { return self.holds(expression) };
        match expression {
            Expression::BooleanLiteral(literal) => Test::Constant(literal.value),
            Expression::UnaryExpression(one) => self.unary(expression, one, depth),
            Expression::LogicalExpression(both) => {
                let sides = || vec![self.test(&both.left, depth), self.test(&both.right, depth)];
                match both.operator {
                    LogicalOperator::And => Test::All(sides()),
                    LogicalOperator::Or => Test::Any(sides()),
                    LogicalOperator::Coalesce => self.holds(expression),
                }
            }
            Expression::BinaryExpression(both) => self.binary(expression, both),
            Expression::CallExpression(call) => match membership(call) {
                Some((items, what)) => {
                    let literals: Option<Vec<Literal>> = items.into_iter().map(literal).collect();
                    let Some(literals) = literals else { return self.holds(expression) };
                    let term = self.term(what);
                    Test::Any(literals.into_iter().map(|one| Test::Same(term.clone(), one)).collect())
                }
                None => self.holds(expression),
            },
            _ => self.holds(expression),
        }
    }

    fn unary(&self, expression: &Expression<'_>, one: &UnaryExpression<'_>, depth: usize) -> Test {
        if one.operator == UnaryOperator::LogicalNot {
            Test::Not(Box::new(self.test(&one.argument, depth)))
        } else {
            self.holds(expression)
        }
    }

    fn binary(&self, expression: &Expression<'_>, both: &BinaryExpression<'_>) -> Test {
        if let Some(order) = order(both.operator) {
            return self.order(both, order);
        }
        let (holds, strict) = match both.operator {
            BinaryOperator::StrictEquality => (true, true),
            BinaryOperator::StrictInequality => (false, true),
            BinaryOperator::Equality => (true, false),
            BinaryOperator::Inequality => (false, false),
            _ => return self.holds(expression),
        };
        let same = match (literal(&both.left), literal(&both.right)) {
            (None, Some(literal)) => self.same(&both.left, literal, strict),
            (Some(literal), None) => self.same(&both.right, literal, strict),
            _ => {
                let operator = if strict { "===" } else { "==" };
                let text = format!("{} {operator} {}", self.slice(&both.left), self.slice(&both.right));
                Test::Holds(Term { text, argument: None })
            }
        };
        if holds { same } else { Test::Not(Box::new(same)) }
    }

    /// `x == null` holds for `undefined` too.
    fn same(&self, what: &Expression<'_>, literal: Literal, strict: bool) -> Test {
        let term = self.term(what);
        if !strict && matches!(literal, Literal::Null | Literal::Undefined) {
            let either = [Literal::Null, Literal::Undefined];
            return Test::Any(either.into_iter().map(|one| Test::Same(term.clone(), one)).collect());
        }
        Test::Same(term, literal)
    }

    /// Two terms are compared as their difference with nothing.
    fn order(&self, both: &BinaryExpression<'_>, order: Order) -> Test {
        let number = |side: &Expression<'_>| match literal(side) {
            Some(Literal::Number(number)) => Some(number),
            _ => None,
        };
        match (number(&both.left), number(&both.right)) {
            (None, Some(than)) => Test::Order(self.term(&both.left), order, than),
            (Some(than), None) => Test::Order(self.term(&both.right), order.flipped(), than),
            _ => {
                let (left, right) = (self.slice(&both.left), self.slice(&both.right));
                let (text, order) = if left <= right {
                    (format!("{left} - {right}"), order)
                } else {
                    (format!("{right} - {left}"), order.flipped())
                };
                Test::Order(Term { text, argument: None }, order, 0.0)
            }
        }
    }

    fn holds(&self, expression: &Expression<'_>) -> Test {
        Test::Holds(self.term(expression))
    }

    fn term(&self, expression: &Expression<'_>) -> Term {
        let argument = Read::of(expression).map(|read| (read.tool.clone(), read.path(&|at| at as usize)));
        Term { text: self.slice(expression), argument }
    }

    /// As written, but for blanks, `this.` and parentheses around it.
    fn slice(&self, expression: &Expression<'_>) -> String {
        let text = expression.without_parentheses().span().source_text(self.text).trim();
        let text = text.strip_prefix("this.").unwrap_or(text);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
