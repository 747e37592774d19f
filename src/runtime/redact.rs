//! Keys never reach a model, the journal or the screen, whatever a tool prints (CFG-20).

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The texts to hide: every key that this process holds.
#[derive(Clone, Default)]
pub(super) struct Redactor {
    secrets: Vec<String>,
}

/// Shorter texts are no keys; hiding them would eat ordinary words.
const SHORTEST: usize = 8;

impl Redactor {
    pub(super) fn new(secrets: Vec<String>) -> Self {
        Self { secrets: secrets.into_iter().filter(|secret| secret.len() >= SHORTEST).collect() }
    }

    /// Any value that is stored or shown. Keys are plain letters, so they stand in JSON as they are.
    pub(super) fn clean_data<T: Serialize + DeserializeOwned>(&self, value: T) -> T {
        if self.secrets.is_empty() {
            return value;
        }
        let cleaned = serde_json::to_string(&value)
            .ok()
            .filter(|text| self.secrets.iter().any(|secret| text.contains(secret.as_str())))
            .and_then(|text| serde_json::from_str(&self.clean(text)).ok());
        cleaned.unwrap_or(value)
    }

    pub(super) fn clean(&self, text: String) -> String {
        self.secrets.iter().fold(text, |text, secret| {
            if text.contains(secret.as_str()) { text.replace(secret.as_str(), "***") } else { text }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_disappear_and_short_words_stay() {
        let redactor = Redactor::new(vec!["sk-test-12345".into(), "ab".into()]);
        assert_eq!(redactor.clean("key=sk-test-12345 ab".into()), "key=*** ab");
        let data = redactor.clean_data(serde_json::json!({"a": ["sk-test-12345"], "b": 1}));
        assert_eq!(data, serde_json::json!({"a": ["***"], "b": 1}));
    }
}
