//! JSON with comments as a tree in which every key and value knows its bytes.

use std::collections::HashSet;
use std::ops::Range;

use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, ast};
use serde_json::{Map, Value};

use super::source::{FileDiagnostics, SourceFile};

/// One value with its byte range in the file.
#[derive(Clone, PartialEq, Debug)]
pub struct JsonNode {
    pub span: Range<usize>,
    pub kind: JsonNodeKind,
}

#[derive(Clone, PartialEq, Debug)]
pub enum JsonNodeKind {
    Null,
    Bool(bool),
    /// As written.
    Number(String),
    String(String),
    Array(Vec<JsonNode>),
    Object(Vec<JsonMember>),
}

#[derive(Clone, PartialEq, Debug)]
pub struct JsonMember {
    pub key: String,
    pub key_span: Range<usize>,
    pub value: JsonNode,
}

impl JsonNode {
    /// Parses a whole file; a syntax error or duplicate key becomes a finding (C01, C02).
    /// Comments and trailing commas are accepted.
    pub fn parse(file: &SourceFile, findings: &mut FileDiagnostics<'_>) -> Option<Self> {
        let options = strict_but_commented();
        let collect = CollectOptions::default();
        // A byte order mark becomes blanks, so that every offset stays what it is in the file.
        let unmarked = file.text.strip_prefix('\u{feff}').map(|rest| format!("   {rest}"));
        match jsonc_parser::parse_to_ast(unmarked.as_deref().unwrap_or(&file.text), &collect, &options) {
            Ok(parsed) => match parsed.value {
                Some(value) => Some(to_json_node(&value, findings)),
                None => {
                    findings.add_error("C01", 0..0, "the file is empty", None);
                    None
                }
            },
            Err(error) => {
                let range = error.range();
                // text of two bytes a character, or no text at all
                let rest = file.text.get(range.start..).unwrap_or_default().trim_start_matches('-');
                let hint = if file.text.contains('\0') {
                    Some("it holds NUL bytes: store it as UTF-8 text".to_owned())
                } else if rest.starts_with("NaN") || rest.starts_with("Infinity") {
                    Some("JSON has no such number: write a number, or null".to_owned())
                } else {
                    None
                };
                if let Some(quote) = unclosed_string(&file.text, range.start) {
                    let message = "not valid JSON: this string is not closed on its line";
                    let hint = "add the closing `\"`; a line break in a text is written `\\n`";
                    findings.add_error("C01", quote..quote + 1, message, Some(hint.to_owned()));
                    return None;
                }
                let message = format!("not valid JSON: {}", error.kind());
                findings.add_error("C01", range.start..range.end, message, hint);
                None
            }
        }
    }

    pub fn kind_name(&self) -> &'static str {
        match &self.kind {
            JsonNodeKind::Null => "null",
            JsonNodeKind::Bool(_) => "a boolean",
            JsonNodeKind::Number(_) => "a number",
            JsonNodeKind::String(_) => "a string",
            JsonNodeKind::Array(_) => "an array",
            JsonNodeKind::Object(_) => "an object",
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        if let JsonNodeKind::String(text) = &self.kind { Some(text) } else { None }
    }

    pub fn members(&self) -> Option<&[JsonMember]> {
        if let JsonNodeKind::Object(members) = &self.kind { Some(members) } else { None }
    }

    pub fn items(&self) -> Option<&[Self]> {
        if let JsonNodeKind::Array(items) = &self.kind { Some(items) } else { None }
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        self.members()?.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// The value at a JSON pointer (RFC 6901), as far as there is one: of `/a/9`, `a` if it has no tenth item.
    pub fn nearest_node(&self, pointer: &str) -> &Self {
        let mut node = self;
        for step in pointer.split('/').skip(1) {
            let step = step.replace("~1", "/").replace("~0", "~");
            let below = match &node.kind {
                JsonNodeKind::Array(items) => step.parse().ok().and_then(|index: usize| items.get(index)),
                _ => node.get(&step),
            };
            let Some(below) = below else { break };
            node = below;
        }
        node
    }

    /// The plain value without positions.
    pub fn to_value(&self) -> Value {
        match &self.kind {
            JsonNodeKind::Null => Value::Null,
            JsonNodeKind::Bool(flag) => Value::Bool(*flag),
            JsonNodeKind::Number(text) => serde_json::from_str(text).unwrap_or(Value::Null),
            JsonNodeKind::String(text) => Value::String(text.clone()),
            JsonNodeKind::Array(items) => Value::Array(items.iter().map(Self::to_value).collect()),
            JsonNodeKind::Object(members) => Value::Object(
                members.iter().map(|m| (m.key.clone(), m.value.to_value())).collect::<Map<_, _>>(),
            ),
        }
    }
}

/// Where the last string before an error begins, if its line ends before it does. The parser takes the next quote for its
/// end, and finds the error behind that.
fn unclosed_string(text: &str, error: usize) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut last) = (0, None);
    while let Some(rest) = bytes.get(at..).filter(|rest| at <= error && !rest.is_empty()) {
        at += match rest {
            [b'"', ..] => {
                let length = string_length(rest);
                last = rest[..length].contains(&b'\n').then_some(at);
                length
            }
            [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
            [b'/', b'*', ..] => {
                let end = rest.windows(2).skip(2).position(|pair| pair == b"*/");
                end.map_or(rest.len(), |end| end + 4)
            }
            _ => 1,
        };
    }
    last
}

/// Bytes of the string that the text begins with, up to the next quote.
fn string_length(text: &[u8]) -> usize {
    let mut bytes = text.iter().enumerate().skip(1);
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => return at + 1,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
    text.len()
}

/// Comments and trailing commas, nothing else: other looseness would hide slips.
/// JSON as our files are written: with comments and trailing commas, else by the book.
pub fn strict_but_commented() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn to_json_node(value: &ast::Value<'_>, findings: &mut FileDiagnostics<'_>) -> JsonNode {
    let range = value.range();
    let kind = match value {
        ast::Value::NullKeyword(_) => JsonNodeKind::Null,
        ast::Value::BooleanLit(lit) => JsonNodeKind::Bool(lit.value),
        ast::Value::NumberLit(lit) => JsonNodeKind::Number(lit.value.to_owned()),
        ast::Value::StringLit(lit) => JsonNodeKind::String(lit.value.to_string()),
        ast::Value::Array(array) => {
            JsonNodeKind::Array(array.elements.iter().map(|item| to_json_node(item, findings)).collect())
        }
        ast::Value::Object(object) => JsonNodeKind::Object(convert_members(object, findings)),
    };
    JsonNode { span: range.start..range.end, kind }
}

fn convert_members(object: &ast::Object<'_>, findings: &mut FileDiagnostics<'_>) -> Vec<JsonMember> {
    let mut members: Vec<JsonMember> = Vec::with_capacity(object.properties.len());
    let mut seen = HashSet::with_capacity(object.properties.len());
    for property in &object.properties {
        let range = property.name.range();
        let key = property.name.as_str();
        if !seen.insert(key) {
            let hint = Some("remove one of the two; only the first is used".to_owned());
            findings.add_error(
                "C02",
                range.start..range.end,
                format!("the key `{key}` stands here twice"),
                hint,
            );
            continue;
        }
        members.push(JsonMember {
            key: key.to_owned(),
            key_span: range.start..range.end,
            value: to_json_node(&property.value, findings),
        });
    }
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::source_location::ConfigLayer;

    fn codes(text: &str) -> Vec<String> {
        let file = SourceFile::new(ConfigLayer::User, "x.json", text);
        let mut findings = FileDiagnostics::new(&file);
        JsonNode::parse(&file, &mut findings);
        findings.list.into_iter().map(|finding| finding.code).collect()
    }

    #[test]
    fn comments_and_trailing_commas_are_welcome_and_nothing_else() {
        for good in ["{\"a\": [1, 2,], // why\n /* x */ \"b\": -1.5e3,}", "[]", "\u{feff}{}"] {
            assert_eq!(codes(good), Vec::<String>::new(), "{good}");
        }
        for bad in [
            "{a: 1}",
            "{'a': 1}",
            "{\"a\": 1 \"b\": 2}",
            "{\"a\": 0x10}",
            "[+1]",
            "[NaN]",
            "",
            "// x",
            "{\"a\": ",
        ] {
            assert_eq!(codes(bad), ["C01"], "{bad}");
        }
        assert_eq!(codes("{\"a\": 1, \"a\": 2}"), ["C02"]);
        assert_eq!(codes(&"[".repeat(100_000)), ["C01"]);
    }

    #[test]
    fn an_unclosed_string_is_told_where_it_begins() {
        let check = |text: &str, expected: Option<(usize, usize)>| {
            let file = SourceFile::new(ConfigLayer::User, "x.json", text);
            let mut findings = FileDiagnostics::new(&file);
            JsonNode::parse(&file, &mut findings);
            let told = findings.list.first().filter(|found| found.message.contains("is not closed"));
            let place = told.map(|found| (found.place.line, found.place.column));
            assert_eq!(place, expected, "{text}: {:?}", findings.list);
        };
        check("{\"a\": \"b,\n  \"c\": 1\n}", Some((1, 7)));
        check("// \"\n{\"a\": \"x\", /* \" */ \"b\": \"c\\\",\n\n  \"d\": \"e\"\n}", Some((2, 25)));
        check("{\"a\": 1,\n\"b\": \"c\n}", Some((2, 6)));
        check("{\"a\": 1,\n\"b: 2,\n\"c\": 3}", Some((2, 1)));
        check("{\"a\": \"b\" \"c\": 1\n}", None);
        check("{\"a\": \"b\", c: 1\n}", None);
    }
}
