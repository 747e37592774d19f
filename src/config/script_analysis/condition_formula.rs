//! What a condition tests, as a formula over terms that are compared with constants: enough to see which cases a
//! list of conditions leaves open (W03).

use oxc_ast::ast::{
    ArrayExpressionElement, BinaryExpression, CallExpression, Expression, Statement, UnaryExpression,
};
use oxc_span::GetSpan;
use oxc_syntax::operator::{BinaryOperator, LogicalOperator, UnaryOperator};

use super::tool_decision::DecisionRead;
use super::{ConditionFormula, ConditionTerm, OrderOperator, ScriptLiteral};

/// Operators inside each other that are looked through; what is deeper counts as a whole.
const DEEPEST: usize = 48;

/// The formula of a whole script; a function stands for what it returns.
pub(super) fn test(root: &Expression<'_>, text: &str) -> ConditionFormula {
    FormulaBuilder { text }.test(returned(root), DEEPEST)
}

fn returned<'p, 'a>(root: &'p Expression<'a>) -> &'p Expression<'a> {
    let Expression::ArrowFunctionExpression(arrow) = root else { return root };
    match arrow.body.statements.as_slice() {
        [Statement::ExpressionStatement(only)] if arrow.expression => &only.expression,
        [Statement::ReturnStatement(only)] => only.argument.as_ref().unwrap_or(root),
        _ => root,
    }
}

pub(super) fn literal(expression: &Expression<'_>) -> Option<ScriptLiteral> {
    Some(match expression.without_parentheses() {
        Expression::BooleanLiteral(literal) => ScriptLiteral::Bool(literal.value),
        Expression::NumericLiteral(literal) => ScriptLiteral::Number(literal.value),
        Expression::StringLiteral(literal) => ScriptLiteral::Text(literal.value.to_string()),
        Expression::TemplateLiteral(literal) if literal.expressions.is_empty() => {
            ScriptLiteral::Text(literal.quasis.first()?.value.cooked?.to_string())
        }
        Expression::NullLiteral(_) => ScriptLiteral::Null,
        Expression::Identifier(name) if name.name == "undefined" => ScriptLiteral::Undefined,
        Expression::UnaryExpression(minus) if minus.operator == UnaryOperator::UnaryNegation => {
            match minus.argument.without_parentheses() {
                Expression::NumericLiteral(literal) => ScriptLiteral::Number(-literal.value),
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

pub(super) fn order(operator: BinaryOperator) -> Option<OrderOperator> {
    match operator {
        BinaryOperator::LessThan => Some(OrderOperator::Less),
        BinaryOperator::LessEqualThan => Some(OrderOperator::LessOrSame),
        BinaryOperator::GreaterThan => Some(OrderOperator::More),
        BinaryOperator::GreaterEqualThan => Some(OrderOperator::MoreOrSame),
        _ => None,
    }
}

struct FormulaBuilder<'t> {
    text: &'t str,
}

impl FormulaBuilder<'_> {
    fn test(&self, expression: &Expression<'_>, depth: usize) -> ConditionFormula {
        let expression = expression.without_parentheses();
        let Some(depth) = depth.checked_sub(1) else { return self.holds(expression) };
        match expression {
            Expression::BooleanLiteral(literal) => ConditionFormula::Constant(literal.value),
            Expression::UnaryExpression(one) => self.unary(expression, one, depth),
            Expression::LogicalExpression(both) => {
                let sides = || vec![self.test(&both.left, depth), self.test(&both.right, depth)];
                match both.operator {
                    LogicalOperator::And => ConditionFormula::All(sides()),
                    LogicalOperator::Or => ConditionFormula::Any(sides()),
                    LogicalOperator::Coalesce => self.holds(expression),
                }
            }
            Expression::BinaryExpression(both) => self.binary(expression, both),
            Expression::CallExpression(call) => match membership(call) {
                Some((items, what)) => {
                    let literals: Option<Vec<ScriptLiteral>> = items.into_iter().map(literal).collect();
                    let Some(literals) = literals else { return self.holds(expression) };
                    let term = self.term(what);
                    ConditionFormula::Any(
                        literals.into_iter().map(|one| ConditionFormula::Same(term.clone(), one)).collect(),
                    )
                }
                None => self.holds(expression),
            },
            _ => self.holds(expression),
        }
    }

    fn unary(
        &self,
        expression: &Expression<'_>,
        one: &UnaryExpression<'_>,
        depth: usize,
    ) -> ConditionFormula {
        if one.operator == UnaryOperator::LogicalNot {
            ConditionFormula::Not(Box::new(self.test(&one.argument, depth)))
        } else {
            self.holds(expression)
        }
    }

    fn binary(&self, expression: &Expression<'_>, both: &BinaryExpression<'_>) -> ConditionFormula {
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
                ConditionFormula::Holds(ConditionTerm { text, argument: None })
            }
        };
        if holds { same } else { ConditionFormula::Not(Box::new(same)) }
    }

    /// `x == null` holds for `undefined` too.
    fn same(&self, what: &Expression<'_>, literal: ScriptLiteral, strict: bool) -> ConditionFormula {
        let term = self.term(what);
        if !strict && matches!(literal, ScriptLiteral::Null | ScriptLiteral::Undefined) {
            let either = [ScriptLiteral::Null, ScriptLiteral::Undefined];
            return ConditionFormula::Any(
                either.into_iter().map(|one| ConditionFormula::Same(term.clone(), one)).collect(),
            );
        }
        ConditionFormula::Same(term, literal)
    }

    /// Two terms are compared as their difference with nothing.
    fn order(&self, both: &BinaryExpression<'_>, order: OrderOperator) -> ConditionFormula {
        let number = |side: &Expression<'_>| match literal(side) {
            Some(ScriptLiteral::Number(number)) => Some(number),
            _ => None,
        };
        match (number(&both.left), number(&both.right)) {
            (None, Some(than)) => ConditionFormula::Order(self.term(&both.left), order, than),
            (Some(than), None) => ConditionFormula::Order(self.term(&both.right), order.flipped(), than),
            _ => {
                let (left, right) = (self.slice(&both.left), self.slice(&both.right));
                let (text, order) = if left <= right {
                    (format!("{left} - {right}"), order)
                } else {
                    (format!("{right} - {left}"), order.flipped())
                };
                ConditionFormula::Order(ConditionTerm { text, argument: None }, order, 0.0)
            }
        }
    }

    fn holds(&self, expression: &Expression<'_>) -> ConditionFormula {
        ConditionFormula::Holds(self.term(expression))
    }

    fn term(&self, expression: &Expression<'_>) -> ConditionTerm {
        let argument = DecisionRead::from_expression(expression)
            .map(|read| (read.tool.clone(), read.path(&|at| at as usize)));
        ConditionTerm { text: self.slice(expression), argument }
    }

    /// As written, but for blanks, `this.` and parentheses around it.
    fn slice(&self, expression: &Expression<'_>) -> String {
        let text = expression.without_parentheses().span().source_text(self.text).trim();
        let text = text.strip_prefix("this.").unwrap_or(text);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
