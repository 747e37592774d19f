//! Errors for scripts: with `--json` every error is one object on stdout, too.
//!
//! Owns the form only; the text comes from the code that failed, as a message with `hint: …` on lines of its own.

use std::fmt;

use serde_json::{Value, json};

/// An error that was printed already, in more than one line: findings in a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ReportedError {
    /// The first error, in one line.
    pub message: String,
    pub hint: Option<String>,
}

impl fmt::Display for ReportedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ReportedError {}

/// The command line cannot be parsed; nothing was done.
pub const USAGE: &str = "usage";

/// `{"error": {"code", "message", "hint"}}`: `definition` for a file or setting with errors, else `refused`.
pub fn error_json(error: &anyhow::Error) -> Value {
    match error.downcast_ref::<ReportedError>() {
        Some(ReportedError { message, hint }) => error_object("definition", message, hint.as_deref()),
        None => from_text("refused", &format!("{error:#}")),
    }
}

/// The same from a text for the user.
pub fn from_text(code: &str, text: &str) -> Value {
    let text = text.trim();
    let text = text.strip_prefix("error: ").unwrap_or(text);
    let (code, text) = split_error_code(text).unwrap_or((code, text));
    match text.split_once("\nhint: ") {
        Some((message, hint)) => error_object(code, message, Some(hint)),
        None => error_object(code, text, None),
    }
}

/// What begins with a code of the protocol, as `token_expired: …` does.
fn split_error_code(text: &str) -> Option<(&str, &str)> {
    let (code, rest) = text.split_once(": ")?;
    let is_code = code.contains('_') && code.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_');
    is_code.then_some((code, rest))
}

/// Whether the arguments ask for JSON, also if they ask for nothing that there is.
pub fn is_json_requested(arguments: impl Iterator<Item = std::ffi::OsString>) -> bool {
    arguments.take_while(|argument| argument != "--").any(|argument| argument == "--json")
}

fn error_object(code: &str, message: &str, hint: Option<&str>) -> Value {
    json!({"error": {"code": code, "message": message.trim_end(), "hint": hint}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_and_its_hint_are_told_apart() {
        for (text, message, hint) in [
            ("there is no run `x`", "there is no run `x`", Value::Null),
            ("a_b c: d", "a_b c: d", Value::Null),
            ("error: no\nhint: do a\nhint: or b", "no", json!("do a\nhint: or b")),
            ("two\nlines\nhint: go", "two\nlines", json!("go")),
        ] {
            let expected = json!({"error": {"code": "refused", "message": message, "hint": hint}});
            assert_eq!(from_text("refused", text), expected, "{text}");
            assert_eq!(error_json(&anyhow::anyhow!("{text}")), expected, "{text}");
        }
        let expired = from_text("refused", "token_expired: at noon\nhint: ask");
        assert_eq!(
            (&expired["error"]["code"], &expired["error"]["message"]),
            (&json!("token_expired"), &json!("at noon"))
        );
        let told = ReportedError { message: "a.json:1:1: error[E01]: no".into(), hint: None };
        assert_eq!(error_json(&told.into())["error"]["code"], "definition");
    }

    #[test]
    fn what_follows_two_dashes_is_text() {
        let wants = |arguments: &[&str]| is_json_requested(arguments.iter().map(std::ffi::OsString::from));
        assert!(wants(&["run", "x", "--json"]) && !wants(&["run", "x", "--", "--json"]) && !wants(&[]));
    }
}
