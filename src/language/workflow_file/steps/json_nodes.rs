//! Pieces of JSON that the file does not hold: each with the place of what it was made from.

use std::ops::Range;

use super::super::super::json::{JsonMember, JsonNode, JsonNodeKind};

pub(super) fn text_node(value: impl Into<String>, span: &Range<usize>) -> JsonNode {
    JsonNode { span: span.clone(), kind: JsonNodeKind::String(value.into()) }
}

pub(super) fn number_node(value: u32, span: &Range<usize>) -> JsonNode {
    JsonNode { span: span.clone(), kind: JsonNodeKind::Number(value.to_string()) }
}

pub(super) fn flag_node(value: bool, span: &Range<usize>) -> JsonNode {
    JsonNode { span: span.clone(), kind: JsonNodeKind::Bool(value) }
}

pub(super) fn list_node(items: Vec<JsonNode>, span: &Range<usize>) -> JsonNode {
    JsonNode { span: span.clone(), kind: JsonNodeKind::Array(items) }
}

pub(super) fn object_node(members: Vec<JsonMember>, span: &Range<usize>) -> JsonNode {
    JsonNode { span: span.clone(), kind: JsonNodeKind::Object(members) }
}

/// A member whose key has the span of its value.
pub(super) fn json_member(key: &str, value: JsonNode) -> JsonMember {
    JsonMember { key: key.to_owned(), key_span: value.span.clone(), value }
}

/// A value unchanged from the file, under another key.
pub(super) fn rename_member(key: &str, from: &JsonMember) -> JsonMember {
    JsonMember { key: key.to_owned(), key_span: from.key_span.clone(), value: from.value.clone() }
}

/// Texts with `{{…}}` become templates, at every depth.
pub(super) fn with_templates(node: &JsonNode) -> JsonNode {
    let kind = match &node.kind {
        JsonNodeKind::String(text) if text.contains("{{") => {
            let template =
                JsonMember { key: "template".to_owned(), key_span: node.span.clone(), value: node.clone() };
            JsonNodeKind::Object(vec![template])
        }
        JsonNodeKind::Array(items) => JsonNodeKind::Array(items.iter().map(with_templates).collect()),
        JsonNodeKind::Object(members) if !is_form(members) => {
            let all = members.iter();
            let all = all.map(|one| JsonMember { value: with_templates(&one.value), ..one.clone() });
            JsonNodeKind::Object(all.collect())
        }
        JsonNodeKind::Null
        | JsonNodeKind::Bool(_)
        | JsonNodeKind::Number(_)
        | JsonNodeKind::String(_)
        | JsonNodeKind::Object(_) => node.kind.clone(),
    };
    JsonNode { span: node.span.clone(), kind }
}

/// An expression without optional braces around it.
pub(super) fn strip_braces(node: &JsonNode) -> JsonNode {
    let Some(text) = node.as_str() else { return node.clone() };
    let trimmed = text.trim_start();
    let inner = trimmed.strip_prefix("{{").and_then(|rest| rest.trim_end().strip_suffix("}}"));
    let Some(inner) = inner.filter(|inner| !inner.contains("}}")) else { return node.clone() };
    // offsets count from the first letter after the quote: it moves with the text
    let start = node.span.start + (text.len() - trimmed.len()) + "{{".len();
    JsonNode { span: start..node.span.end, kind: JsonNodeKind::String(inner.to_owned()) }
}

/// `{"expr": "…"}` and its like say already what they are.
fn is_form(members: &[JsonMember]) -> bool {
    let forms = ["text", "expr", "template", "file", "prompt"];
    matches!(members, [only] if forms.contains(&only.key.as_str()) && only.value.as_str().is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_around_an_expression_go_and_its_place_stays() {
        for (text, expected, moved) in [
            ("state.i < 3", "state.i < 3", 0),
            ("{{ state.i < 3 }}", " state.i < 3 ", 2),
            ("  {{a}} ", "a", 4),
            ("{{a}} + {{b}}", "{{a}} + {{b}}", 0),
        ] {
            let node = strip_braces(&self::text_node(text, &(10..40)));
            assert_eq!((node.as_str(), node.span.start), (Some(expected), 10 + moved), "{text}");
        }
    }

    #[test]
    fn texts_with_braces_become_templates() {
        let span = 0..1;
        let inner = object_node(
            vec![json_member("a", text_node("x {{y}}", &span)), json_member("b", text_node("plain", &span))],
            &span,
        );
        let found = with_templates(&list_node(vec![inner, number_node(1, &span)], &span)).to_value();
        assert_eq!(found, serde_json::json!([{"a": {"template": "x {{y}}"}, "b": "plain"}, 1]));
        let said = object_node(vec![json_member("text", text_node("{{y}}", &span))], &span);
        assert_eq!(with_templates(&said), said);
    }
}
