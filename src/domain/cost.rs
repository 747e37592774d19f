//! Tokens and money. An unknown price stays unknown; it is never guessed (MODEL-9).

use serde::{Deserialize, Serialize};

/// Token counts of one or more model calls. `cached` is a part of `prompt`, `reasoning` a part of `completion`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    pub prompt: u64,
    pub completion: u64,
    pub cached: u64,
    pub reasoning: u64,
}

impl Usage {
    pub fn total(&self) -> u64 {
        self.prompt.saturating_add(self.completion)
    }

    pub fn add(&mut self, other: &Self) {
        self.prompt = self.prompt.saturating_add(other.prompt);
        self.completion = self.completion.saturating_add(other.completion);
        self.cached = self.cached.saturating_add(other.cached);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// US dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Price {
    pub input: f64,
    pub output: f64,
    /// Price of a cached prompt token; `None` means the input price.
    #[serde(default)]
    pub cached: Option<f64>,
}

impl Price {
    /// Cached tokens are charged once, at the cached price.
    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^52")]
    pub fn cost_usd(&self, usage: &Usage) -> f64 {
        let cached = usage.cached.min(usage.prompt);
        let fresh = usage.prompt - cached;
        (fresh as f64 * self.input
            + cached as f64 * self.cached.unwrap_or(self.input)
            + usage.completion as f64 * self.output)
            / 1_000_000.0
    }
}

/// One line of the ledger: what one model call used, for whom.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct CostEntry {
    pub agent: String,
    /// Path name of the state, with the child workflow in front.
    pub state: String,
    pub model: String,
    pub usage: Usage,
    /// `None`: the catalogue has no price for the model.
    pub cost_usd: Option<f64>,
}

/// Everything a run used, in order of the calls (MODEL-10).
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CostLedger {
    pub entries: Vec<CostEntry>,
}

impl CostLedger {
    pub fn usage(&self) -> Usage {
        let mut total = Usage::default();
        for entry in &self.entries {
            total.add(&entry.usage);
        }
        total
    }

    /// The sum, or `None` as soon as one price is unknown. Nothing called costs nothing.
    pub fn cost_usd(&self) -> Option<f64> {
        // Not `sum()`: over nothing that is -0.0.
        self.entries.iter().try_fold(0.0, |sum, entry| Some(sum + entry.cost_usd?))
    }

    /// Sums grouped by a key (agent, state or model), in order of first appearance.
    pub fn grouped(&self, key: impl Fn(&CostEntry) -> &str) -> Vec<(String, Usage, Option<f64>)> {
        let mut groups: Vec<(String, Usage, Option<f64>)> = Vec::new();
        for entry in &self.entries {
            let name = key(entry);
            let found = groups.iter().position(|group| group.0 == name);
            let at = found.unwrap_or_else(|| {
                groups.push((name.to_owned(), Usage::default(), Some(0.0)));
                groups.len() - 1
            });
            let group = &mut groups[at];
            group.1.add(&entry.usage);
            group.2 = group.2.zip(entry.cost_usd).map(|(sum, one)| sum + one);
        }
        groups
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cached_tokens_are_charged_once() {
        let price = Price { input: 2.0, output: 10.0, cached: Some(0.5) };
        let usage = Usage { prompt: 1_000_000, completion: 100_000, cached: 400_000, reasoning: 0 };
        assert!((price.cost_usd(&usage) - (1.2 + 0.2 + 1.0)).abs() < 1e-9);
    }

    #[test]
    fn one_unknown_price_makes_the_sum_unknown() {
        let entry = |cost_usd| CostEntry {
            agent: "a".into(),
            state: "s".into(),
            model: "m".into(),
            usage: Usage::default(),
            cost_usd,
        };
        let known = CostLedger { entries: vec![entry(Some(0.5)), entry(Some(0.25))] };
        assert_eq!(known.cost_usd(), Some(0.75));
        let unknown = CostLedger { entries: vec![entry(Some(0.5)), entry(None)] };
        assert_eq!(unknown.cost_usd(), None);
        assert_eq!(CostLedger::default().cost_usd(), Some(0.0));
    }
}
