//! What a command sees of our environment: everything but secrets, and nothing that would wait for a person.

use std::ffi::OsString;

/// The variables to take away: those of `present` whose name fits one of `patterns` (`*` is any text).
pub(super) fn secrets(patterns: &[String], present: impl Iterator<Item = OsString>) -> Vec<OsString> {
    present.filter(|name| name.to_str().is_some_and(|name| patterns.iter().any(|p| fits(p, name)))).collect()
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern.eq_ignore_ascii_case(name),
        Some((start, rest)) => {
            let Some(tail) = name.get(..start.len()).filter(|head| head.eq_ignore_ascii_case(start)) else {
                return false;
            };
            let name = &name[tail.len()..];
            (0..=name.len()).any(|at| name.get(at..).is_some_and(|tail| fits(rest, tail)))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        for (pattern, name, expected) in [
            ("*_API_KEY", "OPENAI_API_KEY", true),
            ("*_API_KEY", "OPENAI_API_KEYS", false),
            ("SYNTHDEV_*", "synthdev_x", true),
            ("*", "", true),
            ("A*B*C", "AxxByyC", true),
            ("HOME", "HOME", true),
            ("HOME", "HOMES", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
