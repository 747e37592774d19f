//! Values that are looked at when a state runs: texts, expressions, templates, files, literal JSON.

use serde_json::{Map, Value};

use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::ValueShape::Text;
use super::super::key_declaration::{ObjectDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::definitions_lookup::NamedDefinitions;
use super::fields::{check_object, non_null_member, read_text, report_wrong_type};
use super::spanned::{InputForm, SpannedText, SpannedValue, StepArguments};

pub(super) const INPUT: ObjectDeclaration = ObjectDeclaration {
    name: "input",
    noun: "an input",
    description: "A value said explicitly: exactly one of these.",
    keys: &[
        declared_key("text").with_value(Text, "This text, as it is."),
        declared_key("expr").with_value(Text, "A JavaScript expression."),
        declared_key("template").with_value(Text, "A text with `{{ expressions }}` in it."),
        declared_key("file").with_value(Text, "A text file beside the workflow's file."),
        declared_key("prompt").with_value(Text, "A text of `use.prompts`."),
    ],
    future_keys: &[],
};

pub(super) const SECRET: ObjectDeclaration = ObjectDeclaration {
    name: "secret",
    noun: "a value from the environment",
    description: "A value that is read from the environment when it is needed, and never stored.",
    keys: &[
        declared_key("env").with_value(Text, "The name of the variable.").required(),
        declared_key("prefix").with_value(Text, "What is put in front of its value."),
    ],
    future_keys: &[],
};

#[derive(Clone, Copy)]
pub(super) struct InputFormReader<'n> {
    pub(super) definitions: &'n NamedDefinitions,
}

impl InputFormReader<'_> {
    /// `input` and its like: a plain string may be an expression.
    pub(super) fn read_any_input(
        self,
        node: &JsonNode,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<InputForm> {
        self.read_value(node, InputForm::Auto, findings)
    }

    /// For what is mostly plain text.
    pub(super) fn read_mostly_text(
        self,
        node: &JsonNode,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<InputForm> {
        self.read_value(node, InputForm::Words, findings)
    }

    /// As `read_mostly_text`, by key.
    pub(super) fn mostly_text_field(
        self,
        node: &JsonNode,
        key: &str,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<InputForm> {
        non_null_member(node, key).and_then(|value| self.read_mostly_text(value, findings))
    }

    /// A prompt of `use.prompts`: a template, or an explicit form.
    pub(super) fn read_prompt(
        self,
        node: &JsonNode,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<InputForm> {
        match &node.kind {
            JsonNodeKind::String(_) | JsonNodeKind::Object(_) => {
                self.read_value(node, InputForm::Template, findings)
            }
            JsonNodeKind::Null | JsonNodeKind::Bool(_) | JsonNodeKind::Number(_) | JsonNodeKind::Array(_) => {
                report_wrong_type(node, "a prompt must be a string or {\"file\": …}", findings);
                None
            }
        }
    }

    fn read_value(
        self,
        node: &JsonNode,
        plain: fn(SpannedText) -> InputForm,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<InputForm> {
        match &node.kind {
            JsonNodeKind::Null => None,
            JsonNodeKind::String(text) => {
                Some(plain(SpannedValue { value: text.clone(), span: node.span.clone() }))
            }
            JsonNodeKind::Object(members) => {
                let near = members.iter().any(|one| INPUT.has_key(&one.key));
                // an object without any of these keys is literal, unless it looks like a slip of one of them
                if near || is_misspelled_input(node) {
                    self.read_explicit_form(node, findings)
                } else {
                    Some(literal_input(node))
                }
            }
            JsonNodeKind::Bool(_) | JsonNodeKind::Number(_) | JsonNodeKind::Array(_) => {
                Some(literal_input(node))
            }
        }
    }

    /// `{text}`, `{expr}`, `{template}`, `{file}`, `{prompt}`.
    fn read_explicit_form(self, node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<InputForm> {
        check_object(node, &INPUT, findings)?;
        let mut found: Vec<(&str, SpannedText)> = Vec::new();
        for key in INPUT.key_names() {
            if let Some(text) = read_text(node, key, findings) {
                found.push((key, text));
            }
        }
        if let [_, (_, second), ..] = found.as_slice() {
            let message = format!("an input is one of {}", INPUT.key_names().collect::<Vec<_>>().join(", "));
            findings.add_error("E10", second.span.clone(), message, Some("keep one of the two".to_owned()));
            return None;
        }
        let (key, text) = found.pop()?;
        match key {
            "text" => Some(InputForm::Text(text)),
            "expr" => Some(InputForm::Expression(text)),
            "template" => Some(InputForm::Template(text)),
            "file" => Some(InputForm::File(text)),
            _ => self.definitions.find_prompt(&text.value, &text.span, findings),
        }
    }
}

fn literal_input(node: &JsonNode) -> InputForm {
    InputForm::Value(SpannedValue { value: node.to_value(), span: node.span.clone() })
}

/// An object with one text that is nearly the key of an input: `{"exp": "…"}`.
fn is_misspelled_input(node: &JsonNode) -> bool {
    match node.members() {
        Some([only]) => {
            let near = super::super::did_you_mean::closest_word(&only.key, INPUT.key_names());
            near.is_some() && only.value.as_str().is_some()
        }
        _ => false,
    }
}

/// `sub_workflow_input`: each of its values is an input.
pub(super) fn sub_inputs(
    node: &JsonNode,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<(SpannedText, InputForm)> {
    let Some(value) = non_null_member(node, "sub_workflow_input") else { return Vec::new() };
    let Some(members) = value.members() else {
        report_wrong_type(value, "`sub_workflow_input` must be an object", findings);
        return Vec::new();
    };
    members
        .iter()
        .filter_map(|member| {
            let key = SpannedValue { value: member.key.clone(), span: member.key_span.clone() };
            Some((key, inputs.read_any_input(&member.value, findings)?))
        })
        .collect()
}

/// An object of arguments: texts are read at every depth.
pub(super) fn read_arguments(
    node: &JsonNode,
    key: &str,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> StepArguments {
    let mut all = StepArguments::default();
    let Some(value) = non_null_member(node, key) else { return all };
    let Some(members) = value.members() else {
        report_wrong_type(value, &format!("`{key}` must be an object"), findings);
        return all;
    };
    for member in members {
        let name = SpannedValue { value: member.key.clone(), span: member.key_span.clone() };
        all.add_argument(name, &member.value, inputs, findings);
    }
    all
}

impl StepArguments {
    /// Adds one argument.
    pub(super) fn add_argument(
        &mut self,
        name: SpannedText,
        value: &JsonNode,
        inputs: InputFormReader<'_>,
        findings: &mut FileDiagnostics<'_>,
    ) {
        if value.kind == JsonNodeKind::Null {
            return;
        }
        let mut path = vec![name.value.clone()];
        let literal = read_tree(value, &mut path, &mut self.computed_leaves, inputs, findings);
        self.literal.insert(name.value.clone(), literal);
        self.names.push(name);
    }

    /// Fills missing arguments from the defaults.
    pub(super) fn fill_from_defaults(&mut self, usual: &Self) {
        for name in &usual.names {
            if self.literal.contains_key(&name.value) {
                continue;
            }
            if let Some(value) = usual.literal.get(&name.value) {
                self.literal.insert(name.value.clone(), value.clone());
            }
            let own = usual.computed_leaves.iter().filter(|(path, _)| path.first() == Some(&name.value));
            self.computed_leaves.extend(own.cloned());
        }
    }

    /// Adds an argument that is literal.
    pub(super) fn add_literal(&mut self, name: &str, value: Value) {
        self.literal.insert(name.to_owned(), value);
    }
}

/// The literal part of a value; what has to be looked at goes to `leaves`.
fn read_tree(
    node: &JsonNode,
    path: &mut Vec<String>,
    leaves: &mut Vec<(Vec<String>, InputForm)>,
    inputs: InputFormReader<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Value {
    match &node.kind {
        JsonNodeKind::Null | JsonNodeKind::Bool(_) | JsonNodeKind::Number(_) => node.to_value(),
        JsonNodeKind::Array(items) => {
            let mut all = Vec::with_capacity(items.len());
            for (at, item) in items.iter().enumerate() {
                path.push(at.to_string());
                all.push(read_tree(item, path, leaves, inputs, findings));
                path.pop();
            }
            Value::Array(all)
        }
        JsonNodeKind::Object(members) if !is_form(node) => {
            let mut all = Map::with_capacity(members.len());
            for member in members {
                path.push(member.key.clone());
                let value = read_tree(&member.value, path, leaves, inputs, findings);
                path.pop();
                all.insert(member.key.clone(), value);
            }
            Value::Object(all)
        }
        JsonNodeKind::String(_) | JsonNodeKind::Object(_) => {
            if let Some(input) = inputs.read_mostly_text(node, findings) {
                leaves.push((path.clone(), input));
            }
            Value::Null
        }
    }
}

/// `{"expr": "…"}` and its like, with nothing else in it.
fn is_form(node: &JsonNode) -> bool {
    match node.members() {
        Some([only]) => INPUT.has_key(&only.key) && only.value.as_str().is_some(),
        _ => false,
    }
}

/// Texts by name. With `secrets`, some may come from the environment when they are needed: `{"env": "NAME"}` is passed
/// on unchanged, so that no journal holds the value itself.
pub(super) fn texts_by_name(
    node: &JsonNode,
    key: &str,
    secrets: bool,
    inputs: InputFormReader<'_>,
    arguments: &mut StepArguments,
    findings: &mut FileDiagnostics<'_>,
) {
    let Some(value) = non_null_member(node, key) else { return };
    let Some(members) = value.members() else {
        report_wrong_type(value, &format!("`{key}` must be an object of texts"), findings);
        return;
    };
    let mut literal = Map::with_capacity(members.len());
    for member in members {
        let path = vec![key.to_owned(), member.key.clone()];
        match &member.value.kind {
            JsonNodeKind::Null => {}
            JsonNodeKind::Object(_) if member.value.get("env").is_some() => {
                if !secrets {
                    let hint = "only the headers of an http state can be read from the environment";
                    let message = format!("a value of `{key}` cannot come from the environment");
                    findings.add_error("E10", member.value.span.clone(), message, Some(hint.to_owned()));
                } else if let Some(secret) = read_secret_reference(&member.value, findings) {
                    literal.insert(member.key.clone(), secret);
                }
            }
            JsonNodeKind::String(_) | JsonNodeKind::Object(_) => {
                literal.insert(member.key.clone(), Value::Null);
                if let Some(input) = inputs.read_mostly_text(&member.value, findings) {
                    arguments.computed_leaves.push((path, input));
                }
            }
            JsonNodeKind::Bool(_) | JsonNodeKind::Number(_) => {
                let text = member.value.to_value().to_string();
                literal.insert(member.key.clone(), Value::String(text));
            }
            JsonNodeKind::Array(_) => {
                report_wrong_type(&member.value, &format!("a value of `{key}` must be a text"), findings)
            }
        }
    }
    arguments.add_literal(key, Value::Object(literal));
}

fn read_secret_reference(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<Value> {
    check_object(node, &SECRET, findings)?;
    let name = read_text(node, "env", findings)?;
    let valid = !name.value.is_empty()
        && !name.value.starts_with(|c: char| c.is_ascii_digit())
        && name.value.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if !valid {
        let hint = "write the bare name, without `$`, for example \"API_TOKEN\"";
        let message = format!("`{}` is no name of an environment variable", name.value);
        findings.add_error("E10", name.span, message, Some(hint.to_owned()));
        return None;
    }
    read_text(node, "prefix", findings);
    Some(node.to_value())
}
