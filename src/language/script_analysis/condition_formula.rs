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

/// The formula of a whole script; a function counts as its return value.
pub(super) fn condition_formula(root: &Expression<'_>, text: &str) -> ConditionFormula {
    FormulaBuilder { text }.build_formula(returned_expression(root), DEEPEST)
}

fn returned_expression<'p, 'a>(root: &'p Expression<'a>) -> &'p Expression<'a> {
    let Expression::ArrowFunctionExpression(arrow) = root else { return root };
    match arrow.body.statements.as_slice() {
        [Statement::ExpressionStatement(only)] if arrow.expression => &only.expression,
        [Statement::ReturnStatement(only)] => only.argument.as_ref().unwrap_or(root),
        _ => root,
    }
}

pub(super) fn script_literal(expression: &Expression<'_>) -> Option<ScriptLiteral> {
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
pub(super) fn membership_test<'p, 'a>(
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

pub(super) fn order_operator(operator: BinaryOperator) -> Option<OrderOperator> {
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
    fn build_formula(&self, expression: &Expression<'_>, depth: usize) -> ConditionFormula {
        let expression = expression.without_parentheses();
        let Some(depth) = depth.checked_sub(1) else { return self.truthiness_formula(expression) };
        match expression {
            Expression::BooleanLiteral(literal) => ConditionFormula::Constant(literal.value),
            Expression::UnaryExpression(one) => self.build_unary(expression, one, depth),
            Expression::LogicalExpression(both) => {
                let sides =
                    || vec![self.build_formula(&both.left, depth), self.build_formula(&both.right, depth)];
                match both.operator {
                    LogicalOperator::And => ConditionFormula::All(sides()),
                    LogicalOperator::Or => ConditionFormula::Any(sides()),
                    LogicalOperator::Coalesce => self.truthiness_formula(expression),
                }
            }
            Expression::BinaryExpression(both) => self.build_binary(expression, both),
            Expression::CallExpression(call) => match membership_test(call) {
                Some((items, what)) => {
                    let literals: Option<Vec<ScriptLiteral>> =
                        items.into_iter().map(script_literal).collect();
                    let Some(literals) = literals else { return self.truthiness_formula(expression) };
                    let term = self.build_term(what);
                    ConditionFormula::Any(
                        literals.into_iter().map(|one| ConditionFormula::Same(term.clone(), one)).collect(),
                    )
                }
                None => self.truthiness_formula(expression),
            },
            _ => self.truthiness_formula(expression),
        }
    }

    fn build_unary(
        &self,
        expression: &Expression<'_>,
        one: &UnaryExpression<'_>,
        depth: usize,
    ) -> ConditionFormula {
        if one.operator == UnaryOperator::LogicalNot {
            ConditionFormula::Not(Box::new(self.build_formula(&one.argument, depth)))
        } else {
            self.truthiness_formula(expression)
        }
    }

    fn build_binary(&self, expression: &Expression<'_>, both: &BinaryExpression<'_>) -> ConditionFormula {
        if let Some(order) = order_operator(both.operator) {
            return self.build_order(both, order);
        }
        let (holds, strict) = match both.operator {
            BinaryOperator::StrictEquality => (true, true),
            BinaryOperator::StrictInequality => (false, true),
            BinaryOperator::Equality => (true, false),
            BinaryOperator::Inequality => (false, false),
            _ => return self.truthiness_formula(expression),
        };
        let same = match (script_literal(&both.left), script_literal(&both.right)) {
            (None, Some(literal)) => self.equals_literal(&both.left, literal, strict),
            (Some(literal), None) => self.equals_literal(&both.right, literal, strict),
            _ => {
                let operator = if strict { "===" } else { "==" };
                let text = format!(
                    "{} {operator} {}",
                    self.source_slice(&both.left),
                    self.source_slice(&both.right)
                );
                ConditionFormula::Holds(ConditionTerm { text, argument: None })
            }
        };
        if holds { same } else { ConditionFormula::Not(Box::new(same)) }
    }

    /// `x == null` holds for `undefined` too.
    fn equals_literal(
        &self,
        what: &Expression<'_>,
        literal: ScriptLiteral,
        strict: bool,
    ) -> ConditionFormula {
        let term = self.build_term(what);
        if !strict && matches!(literal, ScriptLiteral::Null | ScriptLiteral::Undefined) {
            let either = [ScriptLiteral::Null, ScriptLiteral::Undefined];
            return ConditionFormula::Any(
                either.into_iter().map(|one| ConditionFormula::Same(term.clone(), one)).collect(),
            );
        }
        ConditionFormula::Same(term, literal)
    }

    /// Two terms are compared as their difference with nothing.
    fn build_order(&self, both: &BinaryExpression<'_>, order: OrderOperator) -> ConditionFormula {
        let number = |side: &Expression<'_>| match script_literal(side) {
            Some(ScriptLiteral::Number(number)) => Some(number),
            _ => None,
        };
        match (number(&both.left), number(&both.right)) {
            (None, Some(than)) => ConditionFormula::Order(self.build_term(&both.left), order, than),
            (Some(than), None) => {
                ConditionFormula::Order(self.build_term(&both.right), order.flip_operands(), than)
            }
            _ => {
                let (left, right) = (self.source_slice(&both.left), self.source_slice(&both.right));
                let (text, order) = if left <= right {
                    (format!("{left} - {right}"), order)
                } else {
                    (format!("{right} - {left}"), order.flip_operands())
                };
                ConditionFormula::Order(ConditionTerm { text, argument: None }, order, 0.0)
            }
        }
    }

    fn truthiness_formula(&self, expression: &Expression<'_>) -> ConditionFormula {
        ConditionFormula::Holds(self.build_term(expression))
    }

    fn build_term(&self, expression: &Expression<'_>) -> ConditionTerm {
        let argument = DecisionRead::from_expression(expression)
            .map(|read| (read.tool.clone(), read.path(&|at| at as usize)));
        ConditionTerm { text: self.source_slice(expression), argument }
    }

    /// As written, but for blanks, `this.` and parentheses around it.
    fn source_slice(&self, expression: &Expression<'_>) -> String {
        let text = expression.without_parentheses().span().source_text(self.text).trim();
        let text = text.strip_prefix("this.").unwrap_or(text);
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}
