//! Two texts as lines: what both have, what was expected (`-`), what came (`+`).

use std::fmt::Write as _;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Lines that are the same and further than this from a difference are left out.
const NEAR: usize = 3;

/// What is compared of each text: two that have nothing in common take the product of their lengths.
const MOST: usize = 5_000;

/// The differences between two texts, each line with its mark.
pub fn diff_lines(expected: &str, actual: &str) -> String {
    let ended = |text: &str| if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let (expected, actual) = (ended(expected), ended(actual));
    let (expected, more) = first_lines(&expected);
    let (actual, more_actual) = first_lines(&actual);
    let diff = TextDiff::from_lines(expected, actual);
    let mut out = String::new();
    for (at, group) in diff.grouped_ops(NEAR).iter().enumerate() {
        if at > 0 {
            out.push_str("  …\n");
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            let _ = write!(out, "{mark} {change}");
        }
    }
    if more || more_actual {
        let _ = writeln!(out, "  … only the first {MOST} lines were compared");
    }
    out
}

/// Two JSON values as pretty lines; texts as they are if one of them has several lines.
pub fn diff_json_values(expected: &Value, actual: &Value) -> String {
    match (expected, actual) {
        (Value::String(expected), Value::String(actual))
            if expected.contains('\n') || actual.contains('\n') =>
        {
            diff_lines(expected, actual)
        }
        _ => diff_lines(&pretty_json(expected), &pretty_json(actual)),
    }
}

/// Two lists of names, one a line.
pub fn diff_name_lists(expected: &[String], actual: &[String]) -> String {
    let text = |list: &[String]| if list.is_empty() { "(none)".to_owned() } else { list.join("\n") };
    diff_lines(&text(expected), &text(actual))
}

fn pretty_json(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// The beginning that is compared, and whether there is more.
fn first_lines(text: &str) -> (&str, bool) {
    match text.match_indices('\n').nth(MOST - 1) {
        Some((at, _)) if at + 1 < text.len() => (&text[..=at], true),
        _ => (text, false),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_beginning_of_long_texts_is_compared() {
        let text =
            |word: &str, lines: usize| (0..lines).map(|at| format!("{word} {at}\n")).collect::<String>();
        let note = "only the first 5000 lines were compared";
        for (lines_of, cut) in [(MOST, false), (MOST + 1, true)] {
            let told = diff_lines(&text("a", lines_of), &(text("a", lines_of) + "b"));
            assert_eq!((told.contains(note), told.contains("+ b")), (true, false), "{lines_of}");
            assert_eq!(diff_lines(&text("a", lines_of), &text("a", lines_of)).contains(note), cut);
        }
        assert_eq!(diff_lines("a\nb", "a\nc"), "  a\n- b\n+ c\n");
    }

    #[test]
    fn differences_are_marked_line_by_line() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            diff_name_lists(&names("start code stop"), &names("start review stop")),
            "  start\n- code\n+ review\n  stop\n"
        );
        assert_eq!(
            diff_json_values(&json!({"a": 1}), &json!({"a": 2})),
            "  {\n-   \"a\": 1\n+   \"a\": 2\n  }\n"
        );
        assert_eq!(diff_json_values(&json!("a\nb"), &json!("a\nc")), "  a\n- b\n+ c\n");
        assert_eq!(diff_json_values(&json!("a"), &Value::Null), "- \"a\"\n+ null\n");
        let long: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let mut other = long.clone();
        other[0] = "x".to_owned();
        other[39] = "y".to_owned();
        let text = diff_name_lists(&long, &other);
        assert!(text.contains("- 0\n+ x\n  1\n  2\n  3\n  …\n  36\n") && !text.contains("20"), "{text}");
    }
}
