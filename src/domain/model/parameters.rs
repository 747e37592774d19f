//! Sampling and length of an answer, and what of them may stand together.

use serde::{Deserialize, Serialize};

use crate::domain::protocol::Protocol;

/// Sampling parameters; only what the model accepts is set (MODEL-6).
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
    /// Whether thinking is asked for.
    pub fn thinks(&self) -> bool {
        let effort = self.reasoning_effort.as_deref().unwrap_or_default().trim();
        !["", "none", "off"].iter().any(|nothing| effort.eq_ignore_ascii_case(nothing))
    }

    /// Takes out what the protocol refuses beside the rest; what and why, for people (MODEL-6).
    pub fn reconcile(&mut self, protocol: Protocol) -> Vec<&'static str> {
        let mut dropped = Vec::new();
        if protocol == Protocol::Chat {
            return dropped;
        }
        if self.thinks() {
            let taken = [
                (self.temperature.take().is_some(), "temperature (not beside reasoning_effort)"),
                (self.top_p.take().is_some(), "top_p (not beside reasoning_effort)"),
                (self.top_k.take().is_some(), "top_k (not beside reasoning_effort)"),
            ];
            dropped.extend(taken.into_iter().filter(|(set, _)| *set).map(|(_, text)| text));
        }
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
            let dropped = parameters.reconcile(protocol);
            assert_eq!((parameters.temperature, parameters.top_p, parameters.top_k), left, "{dropped:?}");
            assert_eq!(dropped.len(), told, "{dropped:?}");
        }
    }
}
