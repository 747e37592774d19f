//! Tokens of model calls, by what is charged for them.

use serde::{Deserialize, Serialize};

/// Token counts of one or more model calls. `cached` and `written` are parts of `prompt` that do not overlap,
/// `reasoning` is a part of `completion`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct TokenUsage {
    pub prompt: u64,
    pub completion: u64,
    pub cached: u64,
    pub reasoning: u64,
    /// What the server put into its cache, where it charges for that.
    #[serde(skip_serializing_if = "is_zero")]
    pub written: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TokenUsage {
    pub fn total(&self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }

    pub fn add(&mut self, other: &Self) {
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.completion = self.completion.saturating_add(other.completion);
        self.cached = self.cached.saturating_add(other.cached);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
        self.written = self.written.saturating_add(other.written);
    }

    /// The same tokens by what is charged for them: each is in one part only.
    pub fn parts(&self) -> BilledTokens {
        let cached = self.cached.min(self.prompt);
        let written = self.written.min(self.prompt - cached);
        BilledTokens {
            uncached: self.prompt - cached - written,
            cached,
            cache_writes: written,
            completion: self.completion,
        }
    }
}

/// What is charged for at one price each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct BilledTokens {
    /// Of the prompt, neither read from a cache nor written into it.
    pub uncached: u64,
    pub cached: u64,
    pub cache_writes: u64,
    /// With what was reasoned.
    pub completion: u64,
}
