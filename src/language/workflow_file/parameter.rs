//! The object of a parameter: an input of a workflow, or its output.

use serde_json::Value;

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::{Any, Flag, Text, Words};
use super::super::key_declaration::{
    ObjectDeclaration, WordChoice, WordMeaning, declared_choice, declared_key, word_meanings,
};
use super::super::source::FileDiagnostics;
use super::definitions_lookup::NamedDefinitions;
use super::fields::{
    check_object, non_null_member, read_choice, read_flag, read_text, report_wrong_type, required_text,
};
use super::schema;
use super::spanned::SpannedText;
use super::value_shapes::SCHEMA;
use synthdev_domain::workflow::{ParameterType, WorkflowParameter};

pub(super) const PARAMETER: ObjectDeclaration = ObjectDeclaration {
    name: "parameter",
    noun: "a parameter",
    description: "A value that crosses the border of a workflow.",
    keys: &[
        declared_key("name").with_value(Text, "Its key in `common_data`.").required(),
        declared_key("type").with_value(
            Words(TYPES_WORDS),
            "Its type, checked and converted at the border. Default: string.",
        ),
        declared_key("description").with_value(Text, "What to give; shown when it is asked for."),
        declared_key("required")
            .with_value(Flag, "Whether it must be there. Default: true for inputs, false for outputs."),
        declared_key("schema").with_value(
            SCHEMA,
            "A JSON Schema that the value must fit, or the name of one in `use.schemas`.",
        ),
        declared_key("default").with_value(Any, "Taken when nothing is given; then it is not required."),
    ],
    future_keys: &[],
};

const TYPES: [WordChoice<ParameterType>; 5] = [
    declared_choice("string", ParameterType::String, "Text; anything else becomes text."),
    declared_choice("number", ParameterType::Number, "A number; text is read as one."),
    declared_choice("boolean", ParameterType::Boolean, "true or false."),
    declared_choice("object", ParameterType::Object, "A JSON object; text is read as JSON."),
    declared_choice("array", ParameterType::Array, "A JSON array; text is read as JSON."),
];
const TYPES_WORDS: &[WordMeaning] = &word_meanings(&TYPES);

#[derive(Clone, PartialEq, Debug)]
pub struct ParameterForm {
    pub name: SpannedText,
    pub kind: ParameterType,
    pub description: String,
    pub required: bool,
    pub default: Option<Value>,
    pub schema: Option<Value>,
}

impl ParameterForm {
    pub fn parameter(&self) -> WorkflowParameter {
        WorkflowParameter {
            name: self.name.value.clone(),
            kind: self.kind,
            description: self.description.clone(),
            required: self.required,
            default: self.default.clone(),
            schema: self.schema.clone(),
        }
    }
}

/// `input`: one parameter or several.
pub(super) fn read_inputs(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<ParameterForm> {
    let Some(value) = node.get("input") else { return Vec::new() };
    match &value.kind {
        JsonNodeKind::Null => Vec::new(),
        JsonNodeKind::Array(items) => {
            let mut all: Vec<ParameterForm> = Vec::new();
            for item in items {
                let Some(one) = read_parameter(item, named, findings) else { continue };
                if all.iter().any(|other| other.name.value == one.name.value) {
                    let message = format!("the input `{}` is declared twice", one.name.value);
                    findings.add_error(
                        "E13",
                        one.name.span,
                        message,
                        Some("rename one of the two".to_owned()),
                    );
                } else {
                    all.push(one);
                }
            }
            all
        }
        _ => read_parameter(value, named, findings).into_iter().collect(),
    }
}

pub(super) fn read_workflow_output(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ParameterForm> {
    let value = node.get("output").filter(|value| value.kind != JsonNodeKind::Null)?;
    // whether an output must be there is a rule of its own: by default it need not
    let required = value.get("required").is_some();
    read_parameter(value, named, findings)
        .map(|one| ParameterForm { required: one.required && required, ..one })
}

fn read_parameter(
    node: &JsonNode,
    named: &NamedDefinitions,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ParameterForm> {
    check_object(node, &PARAMETER, findings)?;
    let kind = read_choice(node, "type", &TYPES, findings).map_or(ParameterType::String, |found| found.value);
    let description = read_text(node, "description", findings).map_or_else(String::new, |text| text.value);
    let required = read_flag(node, "required", findings).unwrap_or(true);
    let schema = schema::read_schema(node, named, findings);
    let default = non_null_member(node, "default").map(|value| {
        let literal = value.to_value();
        if kind.convert_value(literal.clone()).as_ref() != Ok(&literal) {
            report_wrong_type(value, &format!("`default` must be of type {}", kind.as_str()), findings);
        } else if let Some(schema) = &schema {
            schema::check_value_fits(value, "default", schema, findings);
        }
        literal
    });
    let name = required_text(node, "name", "the parameter", findings)?;
    let required = required && default.is_none();
    Some(ParameterForm { name, kind, description, required, default, schema })
}
