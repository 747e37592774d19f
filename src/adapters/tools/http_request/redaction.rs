//! Redacts the secrets of one request in its whole outcome, even where a server echoes them.

use serde_json::Value;

use synthdev_domain::secret::REDACTION_MARK;

/// A shorter text is no secret; hiding it would eat ordinary words.
const SHORTEST: usize = 4;

/// What must not be seen. Has no `Debug` on purpose.
#[derive(Default)]
pub(super) struct ResponseRedaction {
    secrets: Vec<String>,
}

impl ResponseRedaction {
    /// Also in the form in which a JSON text would quote it.
    pub(super) fn add_secret(&mut self, secret: &str) {
        let quoted = Value::from(secret).to_string();
        for form in [secret, quoted.trim_matches('"')] {
            if form.len() >= SHORTEST && !self.secrets.iter().any(|known| known == form) {
                self.secrets.push(form.to_owned());
            }
        }
        // the longest first, so that none leaves a part of another behind
        self.secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    pub(super) fn longest_secret(&self) -> usize {
        self.secrets.first().map_or(0, String::len)
    }

    pub(super) fn redact_text(&self, text: &str) -> String {
        self.secrets
            .iter()
            .fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), REDACTION_MARK))
    }

    /// Texts, keys, and numbers that spell a secret.
    pub(super) fn clean_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.redact_text(&text)),
            Value::Number(number) => {
                let text = number.to_string();
                if self.redact_text(&text) == text { Value::Number(number) } else { REDACTION_MARK.into() }
            }
            Value::Array(items) => items.into_iter().map(|item| self.clean_value(item)).collect(),
            Value::Object(map) => map
                .into_iter()
                .map(|(key, value)| (self.redact_text(&key), self.clean_value(value)))
                .collect(),
            plain @ (Value::Null | Value::Bool(_)) => plain,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn secrets_disappear_in_every_form() {
        let mut redaction = ResponseRedaction::default();
        redaction.add_secret("12345678");
        redaction.add_secret("Bearer 12345678");
        redaction.add_secret("pass\"word");
        redaction.add_secret("abc");
        let value = json!({"12345678": [12_345_678, "x 12345678 y", true, null], "said": "Bearer 12345678!"});
        let mark = REDACTION_MARK;
        let expected = json!({mark: [mark, format!("x {mark} y"), true, null], "said": format!("{mark}!")});
        assert_eq!(redaction.clean_value(value), expected);
        assert_eq!(redaction.redact_text(r#"{"a": "pass\"word"} abc"#), r#"{"a": "[redacted:key]"} abc"#);
    }
}
