//! The API protocol of a model server.

use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelProtocol {
    /// OpenAI-compatible chat completions.
    #[default]
    Chat,
    /// OpenAI's Responses, with nothing kept at the server.
    Responses,
    /// Anthropic's messages.
    Anthropic,
}

/// Where neither settings nor the catalogue say how long an answer may be.
pub const ANSWER_TOKENS: u64 = 32_000;

impl ModelProtocol {
    pub const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Anthropic];

    /// As the catalogue writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Anthropic => "anthropic",
        }
    }

    pub fn is_chat(&self) -> bool {
        *self == Self::Chat
    }

    /// The answer limit to send, in tokens, where the protocol requires one and none is configured. `most`: the longest
    /// answer that the model can give, as far as it is known.
    pub fn answer_tokens(self, most: Option<u64>) -> Option<u64> {
        match self {
            Self::Chat | Self::Responses => None,
            Self::Anthropic => Some(most.unwrap_or(ANSWER_TOKENS).min(ANSWER_TOKENS)),
        }
    }

    /// The shortest limit of an answer that its servers take: a smaller one cannot be asked for. Tokens.
    pub fn least_answer(self) -> u64 {
        match self {
            Self::Responses => 16,
            Self::Chat | Self::Anthropic => 1,
        }
    }

    /// The types of opaque reasoning blocks that are sent back to its servers; those of other protocols are left out.
    pub fn opaque_block_types(self) -> &'static [&'static str] {
        match self {
            Self::Chat => &[],
            Self::Responses => &["reasoning"],
            Self::Anthropic => &["thinking", "redacted_thinking"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_a_length_where_the_protocol_wants_one() {
        let rows = [
            (ModelProtocol::Chat, Some(9), None),
            (ModelProtocol::Responses, Some(9), None),
            (ModelProtocol::Anthropic, None, Some(32_000)),
            (ModelProtocol::Anthropic, Some(8_192), Some(8_192)),
            (ModelProtocol::Anthropic, Some(64_000), Some(32_000)),
        ];
        for (protocol, most, expected) in rows {
            assert_eq!(protocol.answer_tokens(most), expected, "{protocol:?} {most:?}");
        }
    }
}
