//! Keys that are no secrets: local servers want some text, and users give them a word.
//!
//! Hiding such a word would hide it in file names, commands and prose as well.

/// Words of which keys for servers without accounts are made. Servers' names are among them.
const WORDS: [&str; 42] = [
    "any",
    "anything",
    "api",
    "changeme",
    "cpp",
    "default",
    "demo",
    "dummy",
    "empty",
    "example",
    "fake",
    "foo",
    "bar",
    "gpt",
    "key",
    "llama",
    "lm",
    "lmstudio",
    "local",
    "localai",
    "localhost",
    "mock",
    "model",
    "my",
    "needed",
    "no",
    "none",
    "not",
    "null",
    "ollama",
    "placeholder",
    "required",
    "sk",
    "studio",
    "sample",
    "test",
    "testing",
    "token",
    "unused",
    "vllm",
    "xinference",
    "your",
];

/// Whether a key consists of nothing but such words, of one letter repeated, or of digits in a row.
pub(super) fn is_placeholder_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    key.split(|letter: char| !letter.is_ascii_alphanumeric()).all(is_placeholder_word)
}

fn is_placeholder_word(word: &str) -> bool {
    let repeated = || word.chars().all(|letter| word.starts_with(letter));
    let counted = || "12345678901234567890".starts_with(word) || "01234567890".starts_with(word);
    WORDS.contains(&word) || repeated() || counted()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_no_secrets_and_keys_are() {
        for (key, expected) in [
            ("lm-studio", true),
            ("llama.cpp", true),
            ("not-needed", true),
            ("sk-no-key-required", true),
            ("EMPTY", true),
            ("sk-xxxxxxxxxxxx", true),
            ("dummy-key-1234", true),
            ("", true),
            ("sk-a1B2c3D4e5F6", false),
            ("correct-horse-battery-staple", false),
            ("sk-test-12345-9f", false),
            ("lm-studio-9f2c41d7", false),
            ("dummyk", false),
            ("97531086", false),
        ] {
            assert_eq!(is_placeholder_key(key), expected, "{key}");
        }
    }
}
