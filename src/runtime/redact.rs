//! Keys never reach a model, the journal or the screen, whatever a tool prints (CFG-20).

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
    }
}
