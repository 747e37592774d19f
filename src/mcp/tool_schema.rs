//! Inputs of workflows as JSON Schema, and names that every client takes for tools.

use serde_json::{Map, Value, json};

use synthdev_domain::workflow::WorkflowParameter;

/// Clients refuse longer names.
const LONGEST: usize = 64;

/// What a workflow takes, as the schema of a tool's arguments.
pub(super) fn input_schema(inputs: &[WorkflowParameter]) -> Map<String, Value> {
    let properties: Map<String, Value> =
        inputs.iter().map(|input| (input.name.clone(), parameter_schema(input))).collect();
    let required: Vec<&str> =
        inputs.iter().filter(|input| input.required).map(|input| input.name.as_str()).collect();
    object_schema(properties.into(), &required)
}

/// An object with these properties and no others.
pub(super) fn object_schema(properties: Value, required: &[&str]) -> Map<String, Value> {
    let mut schema = Map::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    schema
}

fn parameter_schema(input: &WorkflowParameter) -> Value {
    let mut schema = match &input.schema {
        Some(Value::Object(fields)) => fields.clone(),
        Some(_) | None => Map::new(),
    };
    schema.entry("type").or_insert_with(|| json!(input.kind.as_str()));
    if !input.description.is_empty() {
        schema.entry("description").or_insert_with(|| json!(input.description));
    }
    if let Some(usual) = &input.default {
        schema.insert("default".to_owned(), usual.clone());
    }
    Value::Object(schema)
}

/// A name that clients take, like no name of `taken`.
pub(super) fn tool_name(workflow: &str, taken: &[String]) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let name: String = workflow.chars().map(plain).take(LONGEST).collect();
    let name = if name.is_empty() { "workflow".to_owned() } else { name };
    if !taken.contains(&name) {
        return name;
    }
    let numbered = |at: usize| {
        let ending = format!("_{at}");
        let room = LONGEST - ending.len();
        format!("{}{ending}", name.chars().take(room).collect::<String>())
    };
    (2..).map(numbered).find(|name| !taken.contains(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::workflow::ParameterType;

    #[test]
    fn names_are_valid_and_never_the_same() {
        let long = "x".repeat(70);
        let taken = vec!["list_runs".to_owned(), "a_b".to_owned(), "x".repeat(64)];
        for (workflow, expected) in [
            ("coder_reviewer", "coder_reviewer".to_owned()),
            ("list_runs", "list_runs_2".to_owned()),
            ("a b", "a_b_2".to_owned()),
            ("Größe.x", "Gr__e_x".to_owned()),
            ("", "workflow".to_owned()),
            (&long, format!("{}_2", "x".repeat(62))),
        ] {
            assert_eq!(tool_name(workflow, &taken), expected, "{workflow}");
        }
    }

    #[test]
    fn inputs_are_a_schema() {
        let parameter = |name: &str, kind, required, default, schema| WorkflowParameter {
            name: name.to_owned(),
            kind,
            description: "What.".to_owned(),
            required,
            default,
            schema,
        };
        let inputs = [
            parameter("task", ParameterType::String, true, None, None),
            parameter("n", ParameterType::Number, false, Some(json!(3)), Some(json!({"minimum": 1}))),
        ];
        assert_eq!(
            Value::Object(input_schema(&inputs)),
            json!({
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "What."},
                    "n": {"minimum": 1, "type": "number", "description": "What.", "default": 3},
                },
                "required": ["task"],
                "additionalProperties": false,
            })
        );
        assert_eq!(Value::Object(input_schema(&[]))["properties"], json!({}));
    }
}
