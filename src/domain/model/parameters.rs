//! Sampling and length of an answer, and which of them can be combined.

use serde::{Deserialize, Serialize};

use crate::protocol::ModelProtocol;

/// Sampling parameters; only what the model accepts is set.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelParameters {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_p: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub top_k: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frequency_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub presence_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetition_penalty: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<String>,
}

impl ModelParameters {
    /// What the other one says instead, where both say something: what a model does not take, and what only one model
    /// needs, is no change.
    #[must_use]
    pub fn overridden_by(&self, other: &Self) -> Self {
        fn prefer_own<T: Clone>(own: &Option<T>, other: &Option<T>) -> Option<T> {
            own.as_ref().map(|own| other.clone().unwrap_or_else(|| own.clone()))
        }
        Self {
            temperature: prefer_own(&self.temperature, &other.temperature),
            top_p: prefer_own(&self.top_p, &other.top_p),
            top_k: prefer_own(&self.top_k, &other.top_k),
            frequency_penalty: prefer_own(&self.frequency_penalty, &other.frequency_penalty),
            presence_penalty: prefer_own(&self.presence_penalty, &other.presence_penalty),
            repetition_penalty: prefer_own(&self.repetition_penalty, &other.repetition_penalty),
            max_output_tokens: prefer_own(&self.max_output_tokens, &other.max_output_tokens),
            reasoning_effort: prefer_own(&self.reasoning_effort, &other.reasoning_effort),
        }
    }

    /// Whether thinking is asked for.
    pub fn requests_reasoning(&self) -> bool {
        let effort = self.reasoning_effort.as_deref().unwrap_or_default().trim();
        !["", "none", "off"].iter().any(|nothing| effort.eq_ignore_ascii_case(nothing))
    }

    /// Removes the parameters that the protocol refuses beside the others; returns each with the reason, for display.
    pub fn drop_incompatible(&mut self, protocol: ModelProtocol) -> Vec<&'static str> {
        match protocol {
            ModelProtocol::Chat => Vec::new(),
            ModelProtocol::Responses => self.for_responses(),
            ModelProtocol::Anthropic => self.for_anthropic(),
        }
    }

    fn for_responses(&mut self) -> Vec<&'static str> {
        let unknown = [
            (self.top_k.take().is_some(), "top_k (not in this protocol)"),
            (self.frequency_penalty.take().is_some(), "frequency_penalty (not in this protocol)"),
            (self.presence_penalty.take().is_some(), "presence_penalty (not in this protocol)"),
            (self.repetition_penalty.take().is_some(), "repetition_penalty (not in this protocol)"),
        ];
        let mut dropped = selected_texts(&unknown);
        dropped.extend(self.thinking_alone());
        dropped
    }

    /// A model that thinks chooses its words as it likes.
    fn thinking_alone(&mut self) -> Vec<&'static str> {
        if !self.requests_reasoning() {
            return Vec::new();
        }
        selected_texts(&[
            (self.temperature.take().is_some(), "temperature (not beside reasoning_effort)"),
            (self.top_p.take().is_some(), "top_p (not beside reasoning_effort)"),
            (self.top_k.take().is_some(), "top_k (not beside reasoning_effort)"),
        ])
    }

    fn for_anthropic(&mut self) -> Vec<&'static str> {
        let mut dropped = self.thinking_alone();
        if self.temperature.is_some() && self.top_p.take().is_some() {
            dropped.push("top_p (not beside temperature)");
        }
        if let Some(above) = self.temperature.as_mut().filter(|warmth| **warmth > 1.0) {
            *above = 1.0;
            dropped.push("a temperature above 1 (1 is)");
        }
        dropped
    }
}

fn selected_texts(taken: &[(bool, &'static str)]) -> Vec<&'static str> {
    taken.iter().filter(|(set, _)| *set).map(|(_, text)| *text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_both_have_is_a_change() {
        let of = |temperature, max_output_tokens| ModelParameters {
            temperature,
            max_output_tokens,
            ..ModelParameters::default()
        };
        for (own, other, expected) in [
            (of(Some(0.2), None), of(Some(0.9), None), of(Some(0.9), None)),
            // one that the model does not take, and one that its protocol wants
            (of(Some(0.2), None), of(None, Some(4_096)), of(Some(0.2), None)),
        ] {
            assert_eq!(own.overridden_by(&other), expected, "{own:?} {other:?}");
        }
    }

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
            (ModelProtocol::Chat, thinking.clone(), (Some(1.5), Some(0.5), Some(3)), 0),
            (ModelProtocol::Responses, thinking.clone(), (None, None, None), 3),
            (ModelProtocol::Responses, thoughtless.clone(), (Some(1.5), Some(0.5), None), 1),
            (ModelProtocol::Anthropic, thinking, (None, None, None), 3),
            (ModelProtocol::Anthropic, thoughtless, (Some(1.0), None, Some(3)), 2),
            (ModelProtocol::Anthropic, all.clone(), (Some(1.0), None, Some(3)), 2),
            (
                ModelProtocol::Anthropic,
                ModelParameters { temperature: None, ..all },
                (None, Some(0.5), Some(3)),
                0,
            ),
        ];
        for (protocol, mut parameters, left, told) in rows {
            let dropped = parameters.drop_incompatible(protocol);
            assert_eq!((parameters.temperature, parameters.top_p, parameters.top_k), left, "{dropped:?}");
            assert_eq!(dropped.len(), told, "{dropped:?}");
        }
    }
}
