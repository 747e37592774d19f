//! The object of a transition.

use std::ops::Range;

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{Either, Flag, Text};
use super::super::key_declaration::{ObjectDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::error_policy::with_scope;
use super::fields::{check_object, read_text, required_text};
use super::spanned::{SpannedText, SpannedValue};

pub(super) const TRANSITION: ObjectDeclaration = ObjectDeclaration {
    name: "transition",
    noun: "a transition",
    description: "A transition out of a state.",
    keys: &[
        declared_key("target").with_value(Text, "The state to go to.").required(),
        declared_key("condition").with_value(
            Either(&[Text, Flag]),
            "JavaScript that must hold; without it the transition always applies. \
             `function.TOOL.arguments.X` reads a decision.",
        ),
        declared_key("before").with_value(
            Text,
            "JavaScript that runs when this transition is taken, before the target is entered.",
        ),
        declared_key("description").with_value(Text, "For readers of the file."),
    ],
    future_keys: &[],
};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TransitionForm {
    pub target: SpannedText,
    pub condition: Option<SpannedText>,
    pub before_script: Option<SpannedText>,
    pub span: Range<usize>,
}

pub(super) fn read_transition(
    node: &JsonNode,
    scope: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<TransitionForm> {
    check_object(node, &TRANSITION, findings)?;
    let condition = match node.get("condition").map(|condition| (&condition.kind, condition)) {
        // `"condition": true` can only mean one thing
        Some((JsonNodeKind::Bool(flag), condition)) => {
            Some(SpannedValue { value: flag.to_string(), span: condition.span.clone() })
        }
        _ => read_text(node, "condition", findings),
    };
    let before = read_text(node, "before", findings);
    let target = required_text(node, "target", "the transition", findings)?;
    Some(TransitionForm {
        target: with_scope(target, scope),
        condition,
        before_script: before,
        span: node.span.clone(),
    })
}
