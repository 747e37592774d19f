//! Optional features that some servers refuse: summaries of reasoning (OpenAI offers them to verified organisations
//! only) and opaque reasoning blocks (a model may have none; those of another account cannot be decrypted). Only the
//! server knows, so the first request has them, and after a refusal all later ones do without.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use synthdev_domain::model::{ModelChoice, ModelError};

/// Features that a server refuses: a request leaves them out.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct UnsupportedFeatures {
    /// Summaries of reasoning.
    pub without_summaries: bool,
    /// Opaque reasoning blocks: the request asks for none and sends none back.
    pub without_opaque: bool,
}

/// Refused features by server and model, as far as they are known.
#[derive(Default, Debug)]
pub struct ServerQuirks(Mutex<BTreeMap<(String, String), UnsupportedFeatures>>);

impl UnsupportedFeatures {
    /// What to leave out after an error; `None` if the error is about another matter or brings nothing new.
    fn narrowed_after(self, error: &ModelError) -> Option<Self> {
        let ModelError::Protocol { detail } = error else { return None };
        let words = detail.to_lowercase();
        let found = Self {
            without_summaries: self.without_summaries
                || words.contains("reasoning summar")
                || words.contains("reasoning.summary"),
            without_opaque: self.without_opaque
                || words.contains("encrypted content")
                || words.contains("encrypted_content"),
        };
        (found != self).then_some(found)
    }
}

impl ServerQuirks {
    /// What a request to the server of this choice leaves out.
    pub fn unsupported_by(&self, choice: &ModelChoice) -> UnsupportedFeatures {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(&quirk_key(choice)).copied().unwrap_or_default()
    }

    /// Stores what an error says about refused features. Returns what the next request leaves out; `None`: the error
    /// says nothing new.
    pub fn learn_from_error(
        &self,
        choice: &ModelChoice,
        asked: UnsupportedFeatures,
        error: &ModelError,
    ) -> Option<UnsupportedFeatures> {
        let found = asked.narrowed_after(error)?;
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(quirk_key(choice), found);
        Some(found)
    }
}

fn quirk_key(choice: &ModelChoice) -> (String, String) {
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
        let unsummed = UnsupportedFeatures { without_summaries: true, ..none };
        let both = UnsupportedFeatures { without_summaries: true, without_opaque: true };
        let rows = [
            (none, "answered 400: messages: nope", None),
            (none, "answered 400: must be verified to generate reasoning summaries.", Some(unsummed)),
            (unsummed, "answered 400: must be verified to generate reasoning summaries.", None),
            (unsummed, "answered 400: Encrypted content is not supported with this model.", Some(both)),
            (both, "answered 400: The encrypted content gAAA could not be verified.", None),
        ];
        for (asked, detail, expected) in rows {
            assert_eq!(learnt.learn_from_error(&choice("a"), asked, &error(detail)), expected, "{detail}");
        }
        assert_eq!((learnt.unsupported_by(&choice("a")), learnt.unsupported_by(&choice("b"))), (both, none));
        let busy = ModelError::Overloaded { retry_after_ms: None, detail: "reasoning summaries".to_owned() };
        assert_eq!(learnt.learn_from_error(&choice("b"), none, &busy), None);
    }
}
