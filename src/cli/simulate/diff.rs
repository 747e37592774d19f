//! Two texts as lines: what both have, what was expected (`-`), what came (`+`).

use std::fmt::Write as _;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};

/// Lines that are the same and further than this from a difference are left out.
const NEAR: usize = 3;

/// The differences between two texts, each line with its mark.
pub fn lines(expected: &str, actual: &str) -> String {
    let ended = |text: &str| if text.ends_with('\n') { text.to_owned() } else { format!("{text}\n") };
    let (expected, actual) = (ended(expected), ended(actual));
    let diff = TextDiff::from_lines(&expected, &actual);
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
    out
}

/// Two JSON values as pretty lines; texts as they are if one of them has several lines.
pub fn values(expected: &Value, actual: &Value) -> String {
    match (expected, actual) {
        (Value::String(expected), Value::String(actual))
            if expected.contains('\n') || actual.contains('\n') =>
        {
            lines(expected, actual)
        }
        _ => lines(&pretty(expected), &pretty(actual)),
    }
}

/// Two lists of names, one a line.
pub fn lists(expected: &[String], actual: &[String]) -> String {
    let text = |list: &[String]| if list.is_empty() { "(none)".to_owned() } else { list.join("\n") };
    lines(&text(expected), &text(actual))
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn differences_are_marked_line_by_line() {
        let names = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(
            lists(&names("start code stop"), &names("start review stop")),
            "  start\n- code\n+ review\n  stop\n"
        );
        assert_eq!(values(&json!({"a": 1}), &json!({"a": 2})), "  {\n-   \"a\": 1\n+   \"a\": 2\n  }\n");
        assert_eq!(values(&json!("a\nb"), &json!("a\nc")), "  a\n- b\n+ c\n");
        assert_eq!(values(&json!("a"), &Value::Null), "- \"a\"\n+ null\n");
        let long: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let mut other = long.clone();
        other[0] = "x".to_owned();
        other[39] = "y".to_owned();
        let text = lists(&long, &other);
        assert!(text.contains("- 0\n+ x\n  1\n  2\n  3\n  …\n  36\n") && !text.contains("20"), "{text}");
    }
}
