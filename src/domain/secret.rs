//! A secret text: an API key.
//!
//! Prints and serialises as `***`. A caller that needs the text calls `expose_secret`.

use std::fmt;

use serde::{Serialize, Serializer};

/// Replaces a key in texts that models, tools and users read. No shell and no file format reads it as a
/// pattern that matches something else, and few texts hold it by chance: a tool call that holds it is refused.
pub const REDACTION_MARK: &str = "[redacted:key]";

#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(String);

impl SecretText {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself: only for the place that sends it, never for logs, files or the screen.
    pub fn expose_secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for SecretText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Serialize for SecretText {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str("***")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_shows_nothing() {
        let secret = SecretText::new("sk-12345");
        assert_eq!(format!("{secret} {secret:?} {:?}", Some(&secret)), "*** *** Some(***)");
        assert_eq!(secret.expose_secret(), "sk-12345");
    }
}
