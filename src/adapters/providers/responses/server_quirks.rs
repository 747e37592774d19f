//! What is good to have and some servers refuse: summaries of thoughts (OpenAI gives them to verified organisations
//! only) and sealed thoughts (a model may have none; those of another account cannot be opened). Nobody but the server
//! knows, so it is asked with them first, and without them ever after.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use synthdev_domain::model::{ModelChoice, ModelError};

/// What has to be left out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UnsupportedFeatures {
    /// Summaries.
    pub unsummed: bool,
    /// Sealed thoughts, those to come and those from before.
    pub unsealed: bool,
}

/// Limits by server and model, as far as they are known.
#[derive(Default, Debug)]
pub struct ServerQuirks(Mutex<BTreeMap<(String, String), UnsupportedFeatures>>);

impl UnsupportedFeatures {
    /// What more to leave out after an error; `None` where that is not what it is about.
    fn after(self, error: &ModelError) -> Option<Self> {
        let ModelError::Protocol { detail } = error else { return None };
        let words = detail.to_lowercase();
        let found = Self {
            unsummed: self.unsummed
                || words.contains("reasoning summar")
                || words.contains("reasoning.summary"),
            unsealed: self.unsealed
                || words.contains("encrypted content")
                || words.contains("encrypted_content"),
        };
        (found != self).then_some(found)
    }
}

impl ServerQuirks {
    pub fn known_limits(&self, choice: &ModelChoice) -> UnsupportedFeatures {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&key(choice)).copied().unwrap_or_default()
    }

    /// Takes note of an error; the limits to ask within, where they are narrower than those it was asked within.
    pub fn learn(
        &self,
        choice: &ModelChoice,
        asked: UnsupportedFeatures,
        error: &ModelError,
    ) -> Option<UnsupportedFeatures> {
        let found = asked.after(error)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(key(choice), found);
        Some(found)
    }
}

fn key(choice: &ModelChoice) -> (String, String) {
    (choice.base_url.clone(), choice.model.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_is_learnt_once_for_its_model() {
        let choice = |model: &str| ModelChoice { model: model.to_owned(), ..ModelChoice::default() };
        let error = |detail: &str| ModelError::Protocol { detail: detail.to_owned() };
        let learnt = ServerQuirks::default();
        let none = UnsupportedFeatures::default();
        let unsummed = UnsupportedFeatures { unsummed: true, ..none };
        let both = UnsupportedFeatures { unsummed: true, unsealed: true };
        let rows = [
            (none, "answered 400: messages: nope", None),
            (none, "answered 400: must be verified to generate reasoning summaries.", Some(unsummed)),
            (unsummed, "answered 400: must be verified to generate reasoning summaries.", None),
            (unsummed, "answered 400: Encrypted content is not supported with this model.", Some(both)),
            (both, "answered 400: The encrypted content gAAA could not be verified.", None),
        ];
        for (asked, detail, expected) in rows {
            assert_eq!(learnt.learn(&choice("a"), asked, &error(detail)), expected, "{detail}");
        }
        assert_eq!((learnt.known_limits(&choice("a")), learnt.known_limits(&choice("b"))), (both, none));
        let busy = ModelError::Overloaded { retry_after_ms: None, detail: "reasoning summaries".to_owned() };
        assert_eq!(learnt.learn(&choice("b"), none, &busy), None);
    }
}
