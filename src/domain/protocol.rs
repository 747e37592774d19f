//! How a model's server is spoken to.

use serde::{Deserialize, Serialize};

use super::model::ModelParameters;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// OpenAI-compatible chat completions (MODEL-1).
    #[default]
    Chat,
    /// Anthropic's messages (MODEL-2).
    Anthropic,
}

/// Where neither settings nor the catalogue say how long an answer may be (MODEL-19).
const ANSWER_TOKENS: u64 = 32_000;

impl Protocol {
    pub const ALL: [Self; 2] = [Self::Chat, Self::Anthropic];

    /// As the catalogue writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Anthropic => "anthropic",
        }
    }

    pub fn is_chat(&self) -> bool {
        *self == Self::Chat
    }

    /// The longest answer to ask for where the protocol wants that said and nobody did; `most`: the longest that
    /// the model can give, as far as that is known. Tokens.
    pub fn answer_tokens(self, most: Option<u64>) -> Option<u64> {
        match self {
            Self::Chat => None,
            Self::Anthropic => Some(most.unwrap_or(ANSWER_TOKENS).min(ANSWER_TOKENS)),
        }
    }

    /// Takes out what this protocol refuses beside the rest; what and why, for people (MODEL-6).
    pub fn reconcile(self, parameters: &mut ModelParameters) -> Vec<&'static str> {
        let mut dropped = Vec::new();
        if self == Self::Chat {
            return dropped;
        }
        if thinks(parameters) {
            let taken = [
                (parameters.temperature.take().is_some(), "temperature (not beside reasoning_effort)"),
                (parameters.top_p.take().is_some(), "top_p (not beside reasoning_effort)"),
                (parameters.top_k.take().is_some(), "top_k (not beside reasoning_effort)"),
            ];
            dropped.extend(taken.into_iter().filter(|(set, _)| *set).map(|(_, text)| text));
        }
        if parameters.temperature.is_some() && parameters.top_p.take().is_some() {
            dropped.push("top_p (not beside temperature)");
        }
        if let Some(above) = parameters.temperature.as_mut().filter(|warmth| **warmth > 1.0) {
            *above = 1.0;
            dropped.push("a temperature above 1 (1 is)");
        }
        dropped
    }
}

/// Whether thinking is asked for.
pub fn thinks(parameters: &ModelParameters) -> bool {
    let effort = parameters.reasoning_effort.as_deref().unwrap_or_default().trim();
    !["", "none", "off"].iter().any(|nothing| effort.eq_ignore_ascii_case(nothing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_may_stand_together_is_left() {
        let all = ModelParameters {
            temperature: Some(1.5),
            top_p: Some(0.5),
            top_k: Some(3),
            ..ModelParameters::default()
        };
        let thinking = ModelParameters { reasoning_effort: Some("low".to_owned()), ..all.clone() };
        let thoughtless = ModelParameters { reasoning_effort: Some("None".to_owned()), ..all.clone() };
        let rows = [
            (Protocol::Chat, thinking.clone(), (Some(1.5), Some(0.5), Some(3)), 0),
            (Protocol::Anthropic, thinking, (None, None, None), 3),
            (Protocol::Anthropic, thoughtless, (Some(1.0), None, Some(3)), 2),
            (Protocol::Anthropic, all.clone(), (Some(1.0), None, Some(3)), 2),
            (
                Protocol::Anthropic,
                ModelParameters { temperature: None, ..all },
                (None, Some(0.5), Some(3)),
                0,
            ),
        ];
        for (protocol, mut parameters, left, told) in rows {
            let dropped = protocol.reconcile(&mut parameters);
            assert_eq!((parameters.temperature, parameters.top_p, parameters.top_k), left, "{dropped:?}");
            assert_eq!(dropped.len(), told, "{dropped:?}");
        }
    }

    #[test]
    fn an_answer_has_a_length_where_the_protocol_wants_one() {
        let rows = [
            (Protocol::Chat, Some(9), None),
            (Protocol::Anthropic, None, Some(32_000)),
            (Protocol::Anthropic, Some(8_192), Some(8_192)),
            (Protocol::Anthropic, Some(64_000), Some(32_000)),
        ];
        for (protocol, most, expected) in rows {
            assert_eq!(protocol.answer_tokens(most), expected, "{protocol:?} {most:?}");
        }
    }
}
