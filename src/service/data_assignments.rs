//! Values that a user sets in the data of a run: `common_data.NAME=VALUE`.
//!
//! Owns the form of names and values, for options of the command line and for lines of the screen. Refuses a value that
//! begins like JSON and is none, instead of taking it for words.

use serde_json::Value;

use crate::time_travel::DataAssignment;

/// The data that can be set, as scripts call it.
const ROOT: &str = "common_data";

/// Nothing is set.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum DataAssignmentError {
    #[error("{0}: write it as NAME=VALUE")]
    NoValue(String),
    #[error("`{0}` has no `=`: write it as NAME=VALUE")]
    NoEquals(String),
    #[error("`{word}` has no `=`: a value of several words is quoted, {quoted}")]
    UnquotedWords { word: String, quoted: String },
    #[error("quotes stand around the value only: NAME=\"several words\", not {0}")]
    QuotedName(String),
    #[error("{0}: only common_data can be set: common_data.NAME=JSON")]
    NoName(String),
    #[error("{0}: a name between two dots is missing")]
    EmptyName(String),
    #[error("{name}: the value is not JSON: {problem}")]
    NoJson { name: String, problem: String },
}

/// One assignment, as an option has it: all that follows `=` is the value, JSON or a text.
///
/// # Errors
/// It has another form.
pub fn parse_assignment(text: &str) -> Result<DataAssignment, DataAssignmentError> {
    let (name, value) =
        text.split_once('=').ok_or_else(|| DataAssignmentError::NoValue(text.trim().to_owned()))?;
    let below = name.trim().strip_prefix(ROOT);
    if !below.is_some_and(|below| below.is_empty() || below.starts_with('.')) {
        return Err(DataAssignmentError::NoName(text.trim().to_owned()));
    }
    let path = parse_path(name)?;
    let value = json_or_words(value).map_err(|error| no_json(name, &error))?;
    Ok((path, value))
}

/// Several in one line: a value is JSON, or one word, and `common_data.` may be left out.
///
/// # Errors
/// The first that has another form.
pub fn parse_assignment_line(line: &str) -> Result<Vec<DataAssignment>, DataAssignmentError> {
    let mut left = line.trim();
    let mut set = Vec::new();
    // the name and the word before, if a word without `=` can belong to it
    let mut before = None;
    while !left.is_empty() {
        let (name, after) = left
            .split_once('=')
            .filter(|(name, _)| !name.contains(char::is_whitespace))
            .ok_or_else(|| no_equals(before, left))?;
        if name.starts_with(['"', '\'']) {
            return Err(DataAssignmentError::QuotedName(left.to_owned()));
        }
        let path = parse_path(name)?;
        let end = value_length(after).map_err(|error| no_json(name, &error))?;
        let value = json_or_words(&after[..end]).map_err(|error| no_json(name, &error))?;
        set.push((path, value));
        before = Some((name, &after[..end])).filter(|(_, word)| !word.is_empty() && !begins_like_json(word));
        left = after[end..].trim_start();
    }
    Ok(set)
}

/// What to write in place of a word without `=`; `before`: a name and its value of one word, before it.
fn no_equals(before: Option<(&str, &str)>, left: &str) -> DataAssignmentError {
    let mut words = left.split_whitespace().take_while(|word| !word.contains('=')).peekable();
    let word = words.peek().copied().unwrap_or(left).to_owned();
    match before {
        None => DataAssignmentError::NoEquals(word),
        Some((name, first)) => {
            let value: Vec<&str> = std::iter::once(first).chain(words).collect();
            let value = Value::String(value.join(" ").trim_matches(['"', '\'']).to_owned());
            DataAssignmentError::UnquotedWords { word, quoted: format!("{name}={value}") }
        }
    }
}

/// # Errors
/// It begins like an object, a list or a text of JSON, and is none.
pub fn json_or_words(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(text).or_else(|error| {
        if begins_like_json(text.trim_start()) { Err(error) } else { Ok(Value::String(text.to_owned())) }
    })
}

fn begins_like_json(text: &str) -> bool {
    text.starts_with(['{', '[', '"'])
}

/// Bytes of the value at the beginning of a line.
fn value_length(text: &str) -> Result<usize, serde_json::Error> {
    if !begins_like_json(text) {
        return Ok(text.find(char::is_whitespace).unwrap_or(text.len()));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    values.next().transpose()?;
    Ok(values.byte_offset())
}

fn parse_path(name: &str) -> Result<Vec<String>, DataAssignmentError> {
    let name = name.trim();
    if name.is_empty() || name == ROOT {
        return Err(DataAssignmentError::NoName(name.to_owned()));
    }
    let below = name.strip_prefix(ROOT).and_then(|rest| rest.strip_prefix('.')).unwrap_or(name);
    let path: Vec<String> = below.split('.').map(str::to_owned).collect();
    if path.iter().any(String::is_empty) {
        return Err(DataAssignmentError::EmptyName(name.to_owned()));
    }
    Ok(path)
}

fn no_json(name: &str, error: &serde_json::Error) -> DataAssignmentError {
    DataAssignmentError::NoJson { name: name.trim().to_owned(), problem: error.to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_json_or_text_and_paths_are_below_common_data() {
        let rows = [
            ("common_data.x=1", json!([["x"], 1])),
            (" common_data.x =1", json!([["x"], 1])),
            ("common_data.x.y={\"a\": true}", json!([["x", "y"], {"a": true}])),
            ("common_data.x=plain words", json!([["x"], "plain words"])),
            ("common_data.x=a=b", json!([["x"], "a=b"])),
            ("common_data.list.0=null", json!([["list", "0"], null])),
            ("common_data.x=", json!([["x"], ""])),
            ("common_data.x=\"1\"", json!([["x"], "1"])),
        ];
        for (text, expected) in rows {
            let (path, value) = parse_assignment(text).unwrap();
            assert_eq!(json!([path, value]), expected, "{text}");
        }
        let broken = [
            ("common_data=1", "common_data: only common_data can be set: common_data.NAME=JSON"),
            ("common_data.x", "common_data.x: write it as NAME=VALUE"),
            ("common_data.=1", "common_data.: a name between two dots is missing"),
            ("common_data..x=1", "common_data..x: a name between two dots is missing"),
            ("common_datax=1", "common_datax=1: only common_data can be set: common_data.NAME=JSON"),
            ("x=1", "x=1: only common_data can be set: common_data.NAME=JSON"),
            ("", ": write it as NAME=VALUE"),
            ("=1", "=1: only common_data can be set: common_data.NAME=JSON"),
            (
                "common_data.x={\"a\"",
                "common_data.x: the value is not JSON: EOF while parsing an object at line 1 column 4",
            ),
        ];
        for (text, expected) in broken {
            assert_eq!(parse_assignment(text).unwrap_err().to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_line_has_several() {
        let rows = [
            ("", json!([])),
            ("x=1 y=two", json!([[["x"], 1], [["y"], "two"]])),
            (
                " common_data.x={\"a\": [1, 2]} y.z=\"a b\"",
                json!([[["x"], {"a": [1, 2]}], [["y", "z"], "a b"]]),
            ),
            ("x=null y=", json!([[["x"], null], [["y"], ""]])),
        ];
        for (line, expected) in rows {
            assert_eq!(json!(parse_assignment_line(line).unwrap()), expected, "{line}");
        }
        for broken in ["x", "x=1 y", "x y=1", "x={\"a\"", "x=1 =2", "x..y=1", "common_data=1"] {
            assert!(parse_assignment_line(broken).is_err(), "{broken}");
        }
        let told = [
            ("plan", "`plan` has no `=`: write it as NAME=VALUE"),
            ("x y=1", "`x` has no `=`: write it as NAME=VALUE"),
            ("x=\"a\" b", "`b` has no `=`: write it as NAME=VALUE"),
            ("plan=short plan", "`plan` has no `=`: a value of several words is quoted, plan=\"short plan\""),
            ("a=1 p='x y z' b=2", "`y` has no `=`: a value of several words is quoted, p=\"x y z\""),
            (
                "\"plan=a short plan\"",
                "quotes stand around the value only: NAME=\"several words\", not \"plan=a short plan\"",
            ),
        ];
        for (line, expected) in told {
            assert_eq!(parse_assignment_line(line).unwrap_err().to_string(), expected, "{line}");
        }
    }
}
