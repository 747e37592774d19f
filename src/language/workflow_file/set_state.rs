//! `action.set_state`: changes of the state without a script. All values are read before the first is
//! written, and nothing is written if one of them fails.

use super::super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{Text, Words};
use super::super::key_declaration::{
    ObjectDeclaration, WordChoice, WordMeaning, declared_choice, declared_key, word_meanings,
};
use super::super::source::FileDiagnostics;
use super::fields::{check_object, read_choice, report_wrong_type, required_text};
use super::spanned::{InputForm, SpannedText, SpannedValue};
use super::value_shapes::VALUE;

pub(super) const UPDATE: ObjectDeclaration = ObjectDeclaration {
    name: "update",
    noun: "an update",
    description: "A change of the state.",
    keys: &[
        declared_key("path").with_value(Text, "What is changed: keys with dots between them.").required(),
        declared_key("operation").with_value(Words(OPERATION_WORDS), "What is done with it. Default: set."),
        declared_key("value")
            .with_value(VALUE, "The value; for an increment or decrement 1 if it is absent."),
        declared_key("description").with_value(Text, "For readers of the file."),
    ],
    future_keys: &[],
};

const OPERATION: [WordChoice<UpdateOperation>; 6] = [
    declared_choice("set", UpdateOperation::Set, "It becomes the value."),
    declared_choice("append", UpdateOperation::Append, "The value becomes the last item of the list."),
    declared_choice("increment", UpdateOperation::Increment, "The value is added."),
    declared_choice("decrement", UpdateOperation::Decrement, "The value is subtracted."),
    declared_choice("multiply", UpdateOperation::Multiply, "It is multiplied by the value."),
    declared_choice("merge", UpdateOperation::Merge, "The keys of the value are put into the object."),
];
const OPERATION_WORDS: &[WordMeaning] = &word_meanings(&OPERATION);

/// One change of the state.
#[derive(Clone, PartialEq, Debug)]
pub struct UpdateForm {
    /// Keys with dots between them, without a root.
    pub path: SpannedText,
    pub operation: UpdateOperation,
    pub value: InputForm,
}

/// What an update does with the old value and the new one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UpdateOperation {
    Set,
    /// To a list; one that is not there yet begins.
    Append,
    /// Numbers; what is not there yet is 0.
    Increment,
    Decrement,
    Multiply,
    /// Keys of an object into another.
    Merge,
}

impl UpdateOperation {
    pub fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Append => "append",
            Self::Increment => "increment",
            Self::Decrement => "decrement",
            Self::Multiply => "multiply",
            Self::Merge => "merge",
        }
    }
}

/// Roots that all mean the same data.
const ROOTS: [&str; 3] = ["state.", "common_data.", "variables."];
/// Roots that can only be read.
const READ_ONLY: [&str; 2] = ["inputs", "loop"];

/// Reads a value: as any input.
pub(super) type ReadValue<'r> = dyn Fn(&JsonNode, &mut FileDiagnostics<'_>) -> Option<InputForm> + 'r;

/// `set_state` of an action: an object of new values by path, or a list of updates.
pub(super) fn read_updates(
    action: &JsonNode,
    value: &ReadValue<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<UpdateForm> {
    let Some(node) = action.get("set_state") else { return Vec::new() };
    match &node.kind {
        JsonNodeKind::Null => Vec::new(),
        JsonNodeKind::Object(members) => {
            members.iter().filter_map(|one| read_assignment(one, value, findings)).collect()
        }
        JsonNodeKind::Array(items) => {
            items.iter().filter_map(|item| read_update(item, value, findings)).collect()
        }
        JsonNodeKind::Bool(_) | JsonNodeKind::Number(_) | JsonNodeKind::String(_) => {
            report_wrong_type(
                node,
                "updates must be an object of values by path, or a list of updates",
                findings,
            );
            Vec::new()
        }
    }
}

/// `"path": value`
fn read_assignment(
    member: &JsonMember,
    value: &ReadValue<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<UpdateForm> {
    let path = SpannedValue { value: member.key.clone(), span: member.key_span.clone() };
    let path = parse_target(path, findings)?;
    Some(UpdateForm {
        path,
        operation: UpdateOperation::Set,
        value: read_set_state(&member.value, value, findings)?,
    })
}

/// `{path, operation, value}`
fn read_update(
    item: &JsonNode,
    value: &ReadValue<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<UpdateForm> {
    check_object(item, &UPDATE, findings)?;
    let operation = read_choice(item, "operation", &OPERATION, findings);
    let path =
        required_text(item, "path", "the update", findings).and_then(|path| parse_target(path, findings));
    let operation = match (operation, item.get("operation")) {
        (Some(found), _) => found.value,
        (None, None) => UpdateOperation::Set,
        (None, Some(_)) => return None,
    };
    let given = match item.get("value") {
        Some(given) => read_set_state(given, value, findings)?,
        None if matches!(operation, UpdateOperation::Increment | UpdateOperation::Decrement) => {
            InputForm::Expression(SpannedValue { value: "1".to_owned(), span: item.span.clone() })
        }
        None => {
            let message = format!("`{}` needs a `value`", operation.word());
            let span = item.span.start..item.span.start + 1;
            findings.add_error("E10", span, message, Some("add \"value\": …".to_owned()));
            return None;
        }
    };
    Some(UpdateForm { path: path?, operation, value: given })
}

fn read_set_state(
    node: &JsonNode,
    value: &ReadValue<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<InputForm> {
    match node.kind {
        JsonNodeKind::Null => {
            Some(InputForm::Expression(SpannedValue { value: "null".to_owned(), span: node.span.clone() }))
        }
        _ => value(node, findings),
    }
}

/// The path without its root. `inputs` and `loop` are refused (E13).
fn parse_target(path: SpannedText, findings: &mut FileDiagnostics<'_>) -> Option<SpannedText> {
    let SpannedText { value, span } = &path;
    let bare = ROOTS.iter().find_map(|root| value.strip_prefix(root)).unwrap_or(value);
    let first = bare.split('.').next().unwrap_or_default();
    if READ_ONLY.contains(&first) {
        let message = format!("`{value}` cannot be written: `{first}` is only read");
        let hint = "write to the state: \"path\": \"name\"";
        findings.add_error("E13", span.clone(), message, Some(hint.to_owned()));
        return None;
    }
    let sound = bare.split('.').all(|key| {
        !key.is_empty()
            && key != "__proto__"
            && !key.chars().any(|c| c.is_whitespace() || "[]{}()'\"`".contains(c))
    });
    if !sound {
        let hint = "keys with dots between them, as in \"result.items.0\"".to_owned();
        findings.add_error("E10", span.clone(), format!("`{value}` is no path into the state"), Some(hint));
        return None;
    }
    Some(SpannedValue { value: bare.to_owned(), span: span.clone() })
}
