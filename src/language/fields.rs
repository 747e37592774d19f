//! Reading one object of a file: known keys, right types, every problem with its place.

use std::ops::Range;

use super::did_you_mean;
use super::json::{JsonMember, JsonNode, JsonNodeKind};
use super::source::FileDiagnostics;

/// A value with its byte range.
#[derive(Clone, PartialEq, Debug)]
pub struct SpannedField<T> {
    pub value: T,
    pub span: Range<usize>,
}

/// The members of one object. `null` counts as absent.
#[derive(Clone, Copy, Debug)]
pub struct ObjectFields<'n> {
    pub members: &'n [JsonMember],
    article_noun: &'n str,
}

impl<'n> ObjectFields<'n> {
    /// `noun` names the thing in messages: `a role`. Not an object → C03.
    pub fn from_node(node: &'n JsonNode, noun: &'n str, findings: &mut FileDiagnostics<'_>) -> Option<Self> {
        let Some(members) = node.members() else {
            let message = format!("{noun} must be an object, found {}", node.kind_name());
            findings.add_error("C03", node.span.clone(), message, None);
            return None;
        };
        Some(Self { members, article_noun: noun })
    }

    /// Keys that are not in `known` are errors (C04), except `$schema` and those that begin with `x_`.
    pub fn reject_unknown_keys(&self, known: &[&str], findings: &mut FileDiagnostics<'_>) {
        for member in self.members {
            if !known.contains(&member.key.as_str()) && !is_free(&member.key) {
                let hint = did_you_mean::suggest_or_list(&member.key, "known keys", known);
                let message = format!("unknown key `{}` in {}", member.key, self.article_noun);
                findings.add_error("C04", member.key_span.clone(), message, hint);
            }
        }
    }

    /// The first of several spellings. Two spellings at once → C07.
    pub fn get(&self, names: &[&str], findings: &mut FileDiagnostics<'_>) -> Option<&'n JsonNode> {
        let mut found = self
            .members
            .iter()
            .filter(|member| names.contains(&member.key.as_str()) && member.value.kind != JsonNodeKind::Null);
        let first = found.next()?;
        if let Some(second) = found.next() {
            let message = format!("`{}` and `{}` are two names of one field", first.key, second.key);
            findings.add_error(
                "C07",
                second.key_span.clone(),
                message,
                Some("keep one of the two".to_owned()),
            );
        }
        Some(&first.value)
    }

    pub fn text(&self, names: &[&str], findings: &mut FileDiagnostics<'_>) -> Option<SpannedField<String>> {
        let node = self.get(names, findings)?;
        if let Some(text) = node.as_str() {
            return Some(SpannedField { value: text.to_owned(), span: node.span.clone() });
        }
        wrong_type_error(names[0], "a string", node, findings);
        None
    }

    pub fn flag(&self, names: &[&str], findings: &mut FileDiagnostics<'_>) -> Option<bool> {
        let node = self.get(names, findings)?;
        if let JsonNodeKind::Bool(flag) = node.kind {
            return Some(flag);
        }
        wrong_type_error(names[0], "true or false", node, findings);
        None
    }

    /// A whole number from 1.
    pub fn count(&self, names: &[&str], findings: &mut FileDiagnostics<'_>) -> Option<u64> {
        let node = self.get(names, findings)?;
        match node.to_value().as_u64() {
            Some(number) if number > 0 => Some(number),
            _ => {
                wrong_type_error(names[0], "a whole number from 1", node, findings);
                None
            }
        }
    }

    /// A number from 0.
    pub fn amount(&self, names: &[&str], findings: &mut FileDiagnostics<'_>) -> Option<f64> {
        let node = self.get(names, findings)?;
        match node.to_value().as_f64() {
            Some(number) if number >= 0.0 => Some(number),
            _ => {
                wrong_type_error(names[0], "a number from 0", node, findings);
                None
            }
        }
    }

    /// A list of strings, or one string in its place.
    pub fn texts(
        &self,
        names: &[&str],
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<Vec<SpannedField<String>>> {
        let node = self.get(names, findings)?;
        let items = match &node.kind {
            JsonNodeKind::Array(items) => items.as_slice(),
            JsonNodeKind::String(_) => std::slice::from_ref(node),
            JsonNodeKind::Null
            | JsonNodeKind::Bool(_)
            | JsonNodeKind::Number(_)
            | JsonNodeKind::Object(_) => {
                wrong_type_error(names[0], "a list of strings", node, findings);
                return None;
            }
        };
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item.as_str() {
                Some(text) => texts.push(SpannedField { value: text.to_owned(), span: item.span.clone() }),
                None => wrong_type_error(names[0], "a list of strings", item, findings),
            }
        }
        Some(texts)
    }

    /// The items of a list.
    pub fn list(&self, names: &[&str], findings: &mut FileDiagnostics<'_>) -> Option<&'n [JsonNode]> {
        let node = self.get(names, findings)?;
        let items = node.items();
        if items.is_none() {
            wrong_type_error(names[0], "a list", node, findings);
        }
        items
    }
}

/// Keys that any file may add: `$schema` and `x_…`.
pub fn is_free(key: &str) -> bool {
    key == "$schema" || key.starts_with("x_")
}

fn wrong_type_error(name: &str, expected: &str, node: &JsonNode, findings: &mut FileDiagnostics<'_>) {
    let found = if let JsonNodeKind::Number(text) = &node.kind { text.as_str() } else { node.kind_name() };
    let message = format!("`{name}` must be {expected}, found {found}");
    findings.add_error("C03", node.span.clone(), message, None);
}
