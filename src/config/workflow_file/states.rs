//! The states of a workflow, their actions and transitions.

use super::super::json::{Kind, Node};
use super::super::source::Findings;
use super::fields::{choice, list, object, required_text, text, wrong};
use super::keys::{ACTION, INPUT, STATE, TRANSITION};
use super::updates::updates;
use super::{FunctionForm, HandlersForm, InputForm, Spanned, StateForm, Text, TransitionForm};
use crate::domain::workflow::AgentFunction;

pub(super) fn states(node: &Node, findings: &mut Findings<'_>) -> Vec<StateForm> {
    if node.get("states").is_none() {
        let span = node.span.start..node.span.start + 1;
        let hint = Some("add \"states\": [ { \"name\": \"start\", … } ]".to_owned());
        findings.error("E10", span, "the workflow has no `states`", hint);
    }
    list(node, "states", findings, state)
}

fn state(node: &Node, findings: &mut Findings<'_>) -> Option<StateForm> {
    object(node, &STATE, findings)?;
    let action = node.get("action").filter(|action| action.kind != Kind::Null);
    let action = action.filter(|action| object(action, &ACTION, findings).is_some());
    let agent = text(node, "agent", findings);
    let input = node.get("input").and_then(|input| input_form(input, findings));
    let transitions = node.get("transition").map(|_| list(node, "transition", findings, transition));
    let (function, script, sub_workflow, sub_inputs) = match action {
        None => (None, None, None, Vec::new()),
        Some(action) => (
            function(action, findings),
            text(action, "script", findings),
            text(action, "sub_workflow", findings),
            sub_inputs(action, findings),
        ),
    };
    let handlers = HandlersForm {
        before: text(node, "pre_handler", findings),
        after: text(node, "post_handler", findings),
        decide: text(node, "transition_handler", findings),
    };
    let name = required_text(node, "name", "the state", findings)?;
    Some(StateForm {
        name,
        agent,
        input,
        function,
        script,
        sub_workflow,
        sub_inputs,
        updates: action.map_or_else(Vec::new, |action| updates(action, &input_form, findings)),
        handlers,
        transitions,
        span: node.span.clone(),
    })
}

fn function(action: &Node, findings: &mut Findings<'_>) -> Option<Spanned<FunctionForm>> {
    let words = [
        ("sendUserMessage", FunctionForm::Agent(AgentFunction::SendUserMessage)),
        ("addUserMessage", FunctionForm::Agent(AgentFunction::AddUserMessage)),
        ("clearConversation", FunctionForm::Agent(AgentFunction::ClearConversation)),
        ("script", FunctionForm::Script),
    ];
    choice(action, "function", &words, findings)
}

fn sub_inputs(action: &Node, findings: &mut Findings<'_>) -> Vec<(Text, InputForm)> {
    let Some(value) = action.get("sub_workflow_input").filter(|value| value.kind != Kind::Null) else {
        return Vec::new();
    };
    let Some(members) = value.members() else {
        wrong(value, "`sub_workflow_input` must be an object", findings);
        return Vec::new();
    };
    members
        .iter()
        .filter_map(|member| {
            let key = Spanned { value: member.key.clone(), span: member.key_span.clone() };
            Some((key, input_form(&member.value, findings)?))
        })
        .collect()
}

fn input_form(node: &Node, findings: &mut Findings<'_>) -> Option<InputForm> {
    match &node.kind {
        Kind::Null => None,
        Kind::String(text) => Some(InputForm::Auto(Spanned { value: text.clone(), span: node.span.clone() })),
        Kind::Object(_) => {
            object(node, &INPUT, findings)?;
            match (text(node, "text", findings), text(node, "expr", findings)) {
                (Some(text), None) => Some(InputForm::Text(text)),
                (None, Some(expression)) => Some(InputForm::Expression(expression)),
                (Some(_), Some(second)) => {
                    findings.error("E10", second.span, "an input is either `text` or `expr`", None);
                    None
                }
                (None, None) => {
                    let later = node.get("template").or_else(|| node.get("file")).is_some();
                    if !later {
                        findings.error("E10", node.span.clone(), "an input needs `text` or `expr`", None);
                    }
                    None
                }
            }
        }
        Kind::Bool(_) | Kind::Number(_) | Kind::Array(_) => {
            wrong(node, "an input must be a string, {\"text\"} or {\"expr\"}", findings);
            None
        }
    }
}

fn transition(node: &Node, findings: &mut Findings<'_>) -> Option<TransitionForm> {
    object(node, &TRANSITION, findings)?;
    let condition = match node.get("condition").map(|condition| (&condition.kind, condition)) {
        // `"condition": true` can only mean one thing
        Some((Kind::Bool(flag), condition)) => {
            Some(Spanned { value: flag.to_string(), span: condition.span.clone() })
        }
        _ => text(node, "condition", findings),
    };
    let before = text(node, "before", findings);
    let target = required_text(node, "target", "the transition", findings)?;
    Some(TransitionForm { target, condition, before, span: node.span.clone() })
}
