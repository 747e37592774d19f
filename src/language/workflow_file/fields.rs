//! Reading one field at a time: a wrong one becomes a finding and counts as absent, so that all are found at once.

use std::ops::{Range, RangeInclusive};

use super::super::did_you_mean::suggestion_hint;
use super::super::json::{JsonNode, JsonNodeKind};
use super::super::key_declaration::{ObjectDeclaration, WordChoice};
use super::super::source::{FileDiagnostics, SourceFile};
use super::spanned::{SpannedText, SpannedValue};
use synthdev_domain::duration::duration_ms;

/// Checks that a node is an object and holds only known keys (E14). The object's members, or `None`.
pub(super) fn check_object(
    node: &JsonNode,
    object: &ObjectDeclaration,
    findings: &mut FileDiagnostics<'_>,
) -> Option<()> {
    let Some(members) = node.members() else {
        report_wrong_type(node, &format!("{} must be an object", object.noun), findings);
        return None;
    };
    for member in members {
        let key = member.key.as_str();
        if object.has_key(key) || key.starts_with("x_") || key == "$schema" || findings.is_full() {
            continue;
        }
        let (message, hint) = if object.future_keys.contains(&key) {
            let message = format!("`{key}` is not supported in this version");
            (message, Some("remove it, or prefix it with `x_` to keep it as a note".to_owned()))
        } else {
            unknown_key(key, object.noun, object.key_names())
        };
        findings.add_error("E14", member.key_span.clone(), message, hint);
    }
    Some(())
}

/// Message and hint for a key that an object cannot have.
pub(super) fn unknown_key<'k>(
    key: &str,
    what: &str,
    known: impl Iterator<Item = &'k str> + Clone,
) -> (String, Option<String>) {
    let hint = suggestion_hint(key, known.clone())
        .unwrap_or_else(|| format!("its keys are {}", known.collect::<Vec<_>>().join(", ")));
    (format!("{what} has no key `{key}`"), Some(hint))
}

/// A member that is there and not `null`.
pub(super) fn non_null_member<'n>(node: &'n JsonNode, key: &str) -> Option<&'n JsonNode> {
    node.get(key).filter(|value| value.kind != JsonNodeKind::Null)
}

/// A value of the wrong type (E10).
pub(super) fn report_wrong_type(node: &JsonNode, expected: &str, findings: &mut FileDiagnostics<'_>) {
    findings.add_error("E10", node.span.clone(), format!("{expected}, this is {}", node.kind_name()), None);
}

/// Something that an object cannot do without (E10).
pub(super) fn report_missing(node: &JsonNode, message: &str, hint: &str, findings: &mut FileDiagnostics<'_>) {
    findings.add_error("E10", node.span.start..node.span.start + 1, message, Some(hint.to_owned()));
}

/// A text that may be absent; `null` counts as absent.
pub(super) fn read_text(
    node: &JsonNode,
    key: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<SpannedText> {
    let value = node.get(key)?;
    match &value.kind {
        JsonNodeKind::String(text) => Some(SpannedValue { value: text.clone(), span: value.span.clone() }),
        JsonNodeKind::Null => None,
        _ => {
            report_wrong_type(value, &format!("`{key}` must be a string"), findings);
            None
        }
    }
}

/// A text that must be there and must not be blank.
pub(super) fn required_text(
    node: &JsonNode,
    key: &str,
    what: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<SpannedText> {
    if node.get(key).is_none_or(|value| value.kind == JsonNodeKind::Null) {
        let span = node.span.start..node.span.start + 1;
        findings.add_error(
            "E10",
            span,
            format!("{what} has no `{key}`"),
            Some(format!("add \"{key}\": \"…\"")),
        );
        return None;
    }
    let found = read_text(node, key, findings)?;
    if found.value.trim().is_empty() {
        findings.add_error("E10", found.span, format!("`{key}` is blank"), None);
        return None;
    }
    Some(found)
}

pub(super) fn read_flag(node: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<bool> {
    let value = node.get(key)?;
    match value.kind {
        JsonNodeKind::Bool(flag) => Some(flag),
        _ => {
            report_wrong_type(value, &format!("`{key}` must be true or false"), findings);
            None
        }
    }
}

/// A whole number of at least one.
pub(super) fn read_count(node: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<u32> {
    let value = node.get(key)?;
    let parsed = match &value.kind {
        JsonNodeKind::Number(text) => text.parse::<u32>().ok().filter(|number| *number > 0),
        _ => None,
    };
    if parsed.is_none() {
        let message = format!("`{key}` must be a whole number greater than 0");
        findings.add_error("E10", value.span.clone(), message, None);
    }
    parsed
}

/// A whole number, 0 included.
pub(super) fn read_amount(node: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<u32> {
    let value = non_null_member(node, key)?;
    let parsed = if let JsonNodeKind::Number(text) = &value.kind { text.parse::<u32>().ok() } else { None };
    if parsed.is_none() {
        findings.add_error("E10", value.span.clone(), format!("`{key}` must be a whole number"), None);
    }
    parsed
}

/// A number between two bounds, both included.
pub(super) fn read_number(
    node: &JsonNode,
    key: &str,
    bounds: RangeInclusive<f64>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<f64> {
    let value = non_null_member(node, key)?;
    let parsed = if let JsonNodeKind::Number(text) = &value.kind { text.parse::<f64>().ok() } else { None };
    let fits = parsed.filter(|number| bounds.contains(number));
    if fits.is_none() {
        let (least, most) = bounds.into_inner();
        let range =
            if most.is_finite() { format!("from {least} to {most}") } else { format!("of at least {least}") };
        findings.add_error("E10", value.span.clone(), format!("`{key}` must be a number {range}"), None);
    }
    fits
}

/// A list of texts, or one text in its place.
pub(super) fn read_texts(
    node: &JsonNode,
    key: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<Vec<SpannedText>> {
    let value = non_null_member(node, key)?;
    let items = match &value.kind {
        JsonNodeKind::Array(items) => items.as_slice(),
        JsonNodeKind::String(_) => std::slice::from_ref(value),
        JsonNodeKind::Null | JsonNodeKind::Bool(_) | JsonNodeKind::Number(_) | JsonNodeKind::Object(_) => {
            report_wrong_type(value, &format!("`{key}` must be a list of strings"), findings);
            return None;
        }
    };
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        match item.as_str() {
            Some(text) if !text.trim().is_empty() => {
                all.push(SpannedValue { value: text.to_owned(), span: item.span.clone() });
            }
            Some(_) => {
                findings.add_error("E10", item.span.clone(), format!("`{key}` holds a blank text"), None);
            }
            None => report_wrong_type(item, &format!("`{key}` must be a list of strings"), findings),
        }
    }
    Some(all)
}

/// Milliseconds of a number of seconds or an ISO 8601 text; more than none.
pub(super) fn read_duration(value: &JsonNode, key: &str, findings: &mut FileDiagnostics<'_>) -> Option<u64> {
    let message = match duration_ms(&value.to_value()) {
        Ok(0) => format!("`{key}` must be more than 0"),
        Ok(milliseconds) => return Some(milliseconds),
        Err(why) => format!("`{key}`: {why}"),
    };
    let hint = "write seconds, or an ISO 8601 duration such as \"PT5M\"";
    findings.add_error("E10", value.span.clone(), message, Some(hint.to_owned()));
    None
}

/// One of a few words.
pub(super) fn read_choice<T: Copy>(
    node: &JsonNode,
    key: &str,
    words: &[WordChoice<T>],
    findings: &mut FileDiagnostics<'_>,
) -> Option<SpannedValue<T>> {
    let found = read_text(node, key, findings)?;
    if let Some(choice) = words.iter().find(|choice| choice.word == found.value) {
        return Some(SpannedValue { value: choice.value, span: found.span });
    }
    let known: Vec<&str> = words.iter().map(|choice| choice.word).collect();
    let hint = suggestion_hint(&found.value, known.iter().copied())
        .unwrap_or_else(|| format!("it is one of {}", known.join(", ")));
    findings.add_error("E10", found.span, format!("`{key}` cannot be `{}`", found.value), Some(hint));
    None
}

/// A list that may be absent; each item is read, bad ones are left out.
pub(super) fn read_list<T>(
    node: &JsonNode,
    key: &str,
    findings: &mut FileDiagnostics<'_>,
    read: impl Fn(&JsonNode, &mut FileDiagnostics<'_>) -> Option<T>,
) -> Vec<T> {
    let Some(value) = node.get(key) else { return Vec::new() };
    let Some(items) = value.items() else {
        report_wrong_type(value, &format!("`{key}` must be an array"), findings);
        return Vec::new();
    };
    items.iter().filter_map(|item| read(item, findings)).collect()
}

/// Bytes in the file of a place inside a JSON string: `offset` counts bytes of the decoded text, `span` is the
/// string with its quotes. Escapes are followed.
pub fn offset_in_string(file: &SourceFile, span: &Range<usize>, offset: usize) -> usize {
    let raw = file.text.get(span.start + 1..span.end).unwrap_or_default();
    let mut decoded = 0;
    let mut chars = raw.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        if decoded >= offset {
            return span.start + 1 + at;
        }
        if c != '\\' {
            decoded += c.len_utf8();
            continue;
        }
        match chars.next() {
            Some((at, 'u')) => {
                let unit = raw.get(at + 1..at + 5).and_then(|hex| u32::from_str_radix(hex, 16).ok());
                // half of a surrogate pair is half of a four-byte character
                let length = unit.map_or(1, |unit| char::from_u32(unit).map_or(2, char::len_utf8));
                decoded += length;
                chars.by_ref().take(4).for_each(drop);
            }
            _ => decoded += 1,
        }
    }
    span.end.saturating_sub(1).max(span.start)
}
