//! Writes to what the host gives read only, and calls of the host's functions.

use oxc_ast::ast::Expression;
use oxc_span::GetSpan;

use super::{ExpressionMeaning, MEMBERS, ScriptVisitor};

/// Members of the host that can only be read.
const FROZEN: [&str; 2] = ["inputs", "loop"];

impl ScriptVisitor<'_> {
    /// Notes `inputs.a.b = …`; takes the object before the last member.
    pub(super) fn note_frozen(&mut self, object: &Expression<'_>) {
        let (mut at, mut members) = (object.get_inner_expression(), 0);
        while let Some(member) = at.as_member_expression().filter(|_| members < MEMBERS) {
            let host = self.expression_meaning(member.object()) == Some(ExpressionMeaning::Host);
            if host && let Some(name) = member.static_property_name().filter(|name| FROZEN.contains(name)) {
                let note = self.name(name, member.span().end - u32::try_from(name.len()).unwrap_or_default());
                return self.facts.frozen_writes.push(note);
            }
            at = member.object().get_inner_expression();
            members += 1;
        }
        if let Expression::Identifier(name) = at
            && FROZEN.contains(&name.name.as_str())
            && self.shadowable_names.contains(&name.name.as_str())
        {
            let note = self.name(name.name.as_str(), name.span.start);
            self.facts.frozen_writes.push(note);
        }
    }

    /// The host function that is called, by its bare name.
    pub(super) fn called_host_function(&self, callee: &Expression<'_>) -> Option<&'static str> {
        const FUNCTIONS: [&str; 4] = ["getAgent", "getToolCalls", "getContext", "evaluateExpression"];
        let host = |name: &str| FUNCTIONS.into_iter().find(|known| *known == name);
        match callee.get_inner_expression() {
            Expression::Identifier(name) => host(name.name.as_str()),
            Expression::StaticMemberExpression(member) => {
                let name = member.property.name.as_str();
                match self.expression_meaning(&member.object)? {
                    ExpressionMeaning::Host => host(name),
                    ExpressionMeaning::Agents if name == "get" => Some("agents.get"),
                    ExpressionMeaning::Contexts if name == "get" => Some("contexts.get"),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}
