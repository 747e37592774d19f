//! The object of a state's action, and the function that it names.

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{Either, List, Map, Object, Ref, Text, Words};
use super::super::key_declaration::{
    ObjectDeclaration, WordChoice, WordMeaning, declared_choice, declared_key, word_meanings,
};
use super::super::source::FileDiagnostics;
use super::fields::read_choice;
use super::spanned::SpannedValue;
use super::value_shapes::VALUE;
use synthdev_domain::workflow::AgentFunction;

pub(super) const ACTION: ObjectDeclaration = ObjectDeclaration {
    name: "action",
    noun: "an action",
    description: "What a state does beside its agent's input.",
    keys: &[
        declared_key("function").with_value(Words(FUNCTION_WORDS), "What is done with the agent."),
        declared_key("script").with_value(
            Text,
            "JavaScript that runs first: an expression, statements, or an arrow function. \
             `this.common_data` holds the variables.",
        ),
        declared_key("set_state").with_value(
            Either(&[Object, List(&Ref("update"))]),
            "Changes of `common_data`, one after the other.",
        ),
        declared_key("sub_workflow")
            .with_value(Text, "Another workflow, run to its end; its output is `sub_workflow_result`."),
        declared_key("sub_workflow_input").with_value(Map(&VALUE), "The inputs of that workflow, by name."),
    ],
    future_keys: &[],
};

const FUNCTION: [WordChoice<FunctionForm>; 4] = [
    declared_choice(
        "sendUserMessage",
        FunctionForm::Agent(AgentFunction::SendUserMessage),
        "The input is said to the agent, and its model answers (default).",
    ),
    declared_choice(
        "addUserMessage",
        FunctionForm::Agent(AgentFunction::AddUserMessage),
        "The input is added to the conversation; no model is called.",
    ),
    declared_choice(
        "clearConversation",
        FunctionForm::Agent(AgentFunction::ClearConversation),
        "The conversation begins anew with its starting messages.",
    ),
    declared_choice("script", FunctionForm::Script, "Only the script runs; the agent is not called."),
];
const FUNCTION_WORDS: &[WordMeaning] = &word_meanings(&FUNCTION);

/// `action.function`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FunctionForm {
    Agent(AgentFunction),
    /// Script only; the agent is not called.
    Script,
}

/// A state with a `type` may run a script first, nothing else.
pub(super) fn script_only(action: &JsonNode, word: &str, findings: &mut FileDiagnostics<'_>) {
    for member in action.members().unwrap_or_default() {
        let known = ACTION.has_key(&member.key);
        if known
            && !["script", "set_state"].contains(&member.key.as_str())
            && member.value.kind != JsonNodeKind::Null
        {
            let message = format!(
                "a state of the type `{word}` does its own work: its action can only be a script or `set_state`"
            );
            let hint = format!("move `{}` to a state without `type`", member.key);
            findings.add_error("E10", member.key_span.clone(), message, Some(hint));
        }
    }
}

pub(super) fn read_function(
    action: &JsonNode,
    findings: &mut FileDiagnostics<'_>,
) -> Option<SpannedValue<FunctionForm>> {
    read_choice(action, "function", &FUNCTION, findings)
}
