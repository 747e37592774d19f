//! `function.TOOL.arguments.A.B` in the tree of a script, after it was rewritten to `__call("TOOL")?.arguments.A.B`.

use oxc_ast::ast::{
    CallExpression, ChainElement, ComputedMemberExpression, Expression, StaticMemberExpression,
};
use oxc_span::GetSpan;

use super::{ScriptName, ValuePathSegment};
use synthdev_domain::script::shorthand::LOOKUP;

/// Members that are followed from a call. Without a limit, a long chain would be walked at each of its members.
const MEMBERS: usize = 32;

/// A read of a decision, with offsets of the parsed text.
pub(super) struct DecisionRead {
    pub(super) tool: String,
    /// What follows the call; the first is `arguments` if these are read.
    members: Vec<RawPathSegment>,
    /// Where the call begins.
    pub(super) start: u32,
}

enum RawPathSegment {
    Key(String, u32),
    Item,
}

impl DecisionRead {
    /// The read that this expression is, if it is one.
    pub(super) fn from_expression(expression: &Expression<'_>) -> Option<Self> {
        let mut members = Vec::new();
        let mut at = expression.without_parentheses();
        for _ in 0..MEMBERS {
            let (object, member) = match at {
                Expression::StaticMemberExpression(one) => (&one.object, member_segment(one)),
                Expression::ComputedMemberExpression(one) => (&one.object, computed_segment(one)),
                Expression::ChainExpression(chain) => match &chain.expression {
                    ChainElement::StaticMemberExpression(one) => (&one.object, member_segment(one)),
                    ChainElement::ComputedMemberExpression(one) => (&one.object, computed_segment(one)),
                    ChainElement::CallExpression(call) => return Self::from_members(call, members),
                    _ => return None,
                },
                Expression::CallExpression(call) => return Self::from_members(call, members),
                _ => return None,
            };
            members.push(member);
            at = object.without_parentheses();
        }
        None
    }

    pub(super) fn from_static_member(member: &StaticMemberExpression<'_>) -> Option<Self> {
        Self::read_below(&member.object, member_segment(member))
    }

    pub(super) fn from_computed_member(member: &ComputedMemberExpression<'_>) -> Option<Self> {
        Self::read_below(&member.object, computed_segment(member))
    }

    /// `__call("TOOL")` itself.
    pub(super) fn from_call(call: &CallExpression<'_>) -> Option<Self> {
        Self::from_members(call, Vec::new())
    }

    fn read_below(object: &Expression<'_>, member: RawPathSegment) -> Option<Self> {
        let mut read = Self::from_expression(object)?;
        read.members.push(member);
        Some(read)
    }

    fn from_members(call: &CallExpression<'_>, mut members: Vec<RawPathSegment>) -> Option<Self> {
        members.reverse();
        Some(Self { tool: called_tool_name(call)?, members, start: call.span.start })
    }

    /// Below `arguments`; nothing if something else of the call is read.
    pub(super) fn path(&self, back: &dyn Fn(u32) -> usize) -> Vec<ValuePathSegment> {
        let mut members = self.members.iter();
        if !matches!(members.next(), Some(RawPathSegment::Key(name, _)) if name == "arguments") {
            return Vec::new();
        }
        members
            .map(|member| match member {
                RawPathSegment::Key(name, at) => {
                    ValuePathSegment::Key(ScriptName { name: name.clone(), offset: back(*at) })
                }
                RawPathSegment::Item => ValuePathSegment::Item,
            })
            .collect()
    }
}

fn member_segment(one: &StaticMemberExpression<'_>) -> RawPathSegment {
    RawPathSegment::Key(one.property.name.to_string(), one.property.span.start)
}

fn computed_segment(one: &ComputedMemberExpression<'_>) -> RawPathSegment {
    match one.static_property_name() {
        Some(name) if !matches!(one.expression, Expression::NumericLiteral(_)) => {
            RawPathSegment::Key(name.to_string(), one.expression.span().start + 1)
        }
        _ => RawPathSegment::Item,
    }
}

/// The tool of `__call("TOOL")`.
fn called_tool_name(call: &CallExpression<'_>) -> Option<String> {
    let Expression::Identifier(callee) = &call.callee else { return None };
    let Some(Expression::StringLiteral(name)) =
        call.arguments.first().and_then(|first| first.as_expression())
    else {
        return None;
    };
    (callee.name == LOOKUP).then(|| name.value.to_string())
}
