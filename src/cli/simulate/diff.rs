//! Two texts as lines: what both have, what was expected (`-`), what came (`+`).

use serde_json::Value;

pub use synthdev_domain::line_diff::diff_lines;

/// Two JSON values as pretty lines; texts as they are if one of them has several lines.
pub fn diff_values(expected: &Value, actual: &Value) -> String {
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
pub fn diff_lists(expected: &[String], actual: &[String]) -> String {
    let text = |list: &[String]| if list.is_empty() { "(none)".to_owned() } else { list.join("\n") };
    diff_lines(&text(expected), &text(actual))
}

/// With removed lines in red and added ones in green, for a terminal.
pub fn paint_diff(text: &str) -> String {
    let paint = |line: &str| match line.trim_start().get(..2) {
        Some("- ") => format!("\x1b[31m{line}\x1b[0m"),
        Some("+ ") => format!("\x1b[32m{line}\x1b[0m"),
        _ => line.to_owned(),
    };
    text.lines().map(paint).collect::<Vec<_>>().join("\n")
}

fn pretty_json(value: &Value) -> String {
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
            diff_lists(&names("start code stop"), &names("start review stop")),
            "  start\n- code\n+ review\n  stop\n"
        );
        assert_eq!(diff_values(&json!({"a": 1}), &json!({"a": 2})), "  {\n-   \"a\": 1\n+   \"a\": 2\n  }\n");
        assert_eq!(diff_values(&json!("a\nb"), &json!("a\nc")), "  a\n- b\n+ c\n");
        assert_eq!(diff_values(&json!("a"), &Value::Null), "- \"a\"\n+ null\n");
        assert_eq!(paint_diff("  a\n- b\n+ c"), "  a\n\x1b[31m- b\x1b[0m\n\x1b[32m+ c\x1b[0m");
        let long: Vec<String> = (0..40).map(|number| number.to_string()).collect();
        let mut other = long.clone();
        other[0] = "x".to_owned();
        other[39] = "y".to_owned();
        let text = diff_lists(&long, &other);
        assert!(text.contains("- 0\n+ x\n  1\n  2\n  3\n  …\n  36\n") && !text.contains("20"), "{text}");
    }
}
