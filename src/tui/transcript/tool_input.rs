//! What a tool is called with: a line with what matters, and the whole of it where the line has only a part.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::text::{clean_text, fit_to_columns, format_count, one_line};

/// What a call is about: shown without its name, and first.
const SUBJECTS: &[&str] = &[
    "file_path",
    "file_paths",
    "path",
    "paths",
    "directory",
    "command",
    "pattern",
    "query",
    "question",
    "url",
    "expression",
];

/// Texts that the line does not show: what unfolds has them.
const LONG_TEXTS: &[&str] = &["old_text", "new_text", "content", "new_content", "patch", "script", "code"];

/// The texts of an edit or a patch: its diff shows them.
const CHANGED_TEXTS: &[&str] = &["old_text", "new_text", "patch"];

/// Columns of one value in the line.
const VALUE: usize = 60;

/// Bytes of what unfolds; the history has all of it.
const REST: usize = 64 << 10;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ToolInput {
    /// `src/lib.rs start_line=3`
    pub line: String,
    /// All values, if the line has only a part of them; else empty.
    pub rest: String,
}

impl ToolInput {
    /// `has_change`: a diff shows what the call changes.
    pub fn from_arguments(arguments: &Value, has_change: bool) -> Self {
        let Value::Object(map) = arguments else {
            return Self { line: one_line(&arguments.to_string()), rest: String::new() };
        };
        let (mut subjects, mut others, mut rest) = (Vec::new(), Vec::new(), String::new());
        let mut is_partial = false;
        for (key, value) in map {
            let text = value_text(value);
            if !(has_change && CHANGED_TEXTS.contains(&key.as_str())) {
                let text = clean_text(text.trim_end());
                let gap = if text.contains('\n') { "\n" } else { " " };
                let _ = writeln!(rest, "{}:{gap}{text}", one_line(key));
                is_partial |= LONG_TEXTS.contains(&key.as_str()) || text.contains('\n');
            }
            if key == "patch" {
                subjects.extend(patched_files(&text));
            }
            if LONG_TEXTS.contains(&key.as_str()) {
                continue;
            }
            let line = one_line(&text);
            let short = fit_to_columns(&line, VALUE);
            is_partial |= short.len() < line.len();
            if SUBJECTS.contains(&key.as_str()) {
                subjects.push(short.into_owned());
            } else {
                others.push(format!("{}={short}", one_line(key)));
            }
        }
        subjects.append(&mut others);
        let rest = if is_partial { shortened_rest(rest) } else { String::new() };
        Self { line: subjects.join(" "), rest }
    }
}

/// The files that a patch names, as far as the line can hold them.
fn patched_files(patch: &str) -> Option<String> {
    let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/"];
    let name = |line: &str| marks.iter().find_map(|mark| line.strip_prefix(mark)).map(one_line);
    let names: Vec<String> = patch.lines().filter_map(name).collect();
    (!names.is_empty()).then(|| fit_to_columns(&names.join(", "), VALUE).into_owned())
}

/// A list of texts without its brackets, texts as they are, anything else as JSON.
fn value_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) if !items.is_empty() && items.iter().all(Value::is_string) => {
            items.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
        }
        other => other.to_string(),
    }
}

fn shortened_rest(rest: String) -> String {
    let text = rest.trim_end();
    if text.len() <= REST {
        return text.to_owned();
    }
    let end = text.floor_char_boundary(REST);
    let hidden = format_count((text.len() - end) as u64, "more byte");
    format!("{}\n… {hidden}: synthdev runs show has them", &text[..end])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_line_has_what_a_call_is_about_and_the_rest_unfolds() {
        let check = |arguments: Value, has_change: bool, line: &str, rest: &str| {
            let input = ToolInput::from_arguments(&arguments, has_change);
            assert_eq!((input.line.as_str(), input.rest.as_str()), (line, rest), "{arguments}");
        };
        check(json!({"file_path": "a.rs"}), false, "a.rs", "");
        check(json!({"file_paths": ["a.rs", "b.rs"]}), false, "a.rs, b.rs", "");
        check(json!({"timeout_seconds": 5, "command": "ls -l"}), false, "ls -l timeout_seconds=5", "");
        let edit = json!({"file_path": "a.rs", "old_text": "x", "new_text": "y\nz"});
        check(edit.clone(), true, "a.rs", "");
        check(edit, false, "a.rs", "file_path: a.rs\nold_text: x\nnew_text:\ny\nz");
        let two_lines = "file_path: a\ncontent:\none\ntwo";
        check(json!({"file_path": "a", "content": "one\ntwo\n"}), false, "a", two_lines);
        let patch = "*** Begin Patch\n*** Update File: a.rs\n-x\n*** Add File: b.rs\n+y\n*** End Patch";
        check(json!({"patch": patch}), true, "a.rs, b.rs", "");
        let long = "x".repeat(70);
        let cut = format!("{}…", "x".repeat(59));
        check(json!({"command": long}), false, &cut, &format!("command: {long}"));
        check(json!({"a": {"b": 1}, "n": [1, 2]}), false, "a={\"b\":1} n=[1,2]", "");
        check(json!([1]), false, "[1]", "");
        let huge = ToolInput::from_arguments(&json!({"content": "x".repeat(100_000)}), false);
        assert!(huge.rest.ends_with("more bytes: synthdev runs show has them"), "{}", huge.rest.len());
    }
}
