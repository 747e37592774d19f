//! Tokens and money. An unknown price stays unknown; it is never guessed (MODEL-9).

use std::ops::Deref;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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
    pub entries: CostEntries,
}

/// The lines of a ledger with their sums. Lines are added and never changed, so the sums cost nothing that grows.
#[derive(Clone, PartialEq, Debug)]
pub struct CostEntries {
    lines: Vec<CostEntry>,
    usage: Usage,
    cost_usd: Option<f64>,
}

impl Default for CostEntries {
    fn default() -> Self {
        Self { lines: Vec::new(), usage: Usage::default(), cost_usd: Some(0.0) }
    }
}

impl CostEntries {
    pub fn push(&mut self, entry: CostEntry) {
        self.usage.add(&entry.usage);
        self.cost_usd = self.cost_usd.zip(entry.cost_usd).map(|(sum, one)| sum + one);
        self.lines.push(entry);
    }
}

impl Deref for CostEntries {
    type Target = [CostEntry];

    fn deref(&self) -> &[CostEntry] {
        &self.lines
    }
}

impl FromIterator<CostEntry> for CostEntries {
    fn from_iter<I: IntoIterator<Item = CostEntry>>(entries: I) -> Self {
        let mut all = Self::default();
        for entry in entries {
            all.push(entry);
        }
        all
    }
}

impl From<Vec<CostEntry>> for CostEntries {
    fn from(entries: Vec<CostEntry>) -> Self {
        entries.into_iter().collect()
    }
}

impl IntoIterator for CostEntries {
    type Item = CostEntry;
    type IntoIter = std::vec::IntoIter<CostEntry>;

    fn into_iter(self) -> Self::IntoIter {
        self.lines.into_iter()
    }
}

impl<'a> IntoIterator for &'a CostEntries {
    type Item = &'a CostEntry;
    type IntoIter = std::slice::Iter<'a, CostEntry>;

    fn into_iter(self) -> Self::IntoIter {
        self.lines.iter()
    }
}

impl Serialize for CostEntries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.lines.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for CostEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

impl CostLedger {
    pub fn usage(&self) -> Usage {
        self.entries.usage
    }

    /// The sum, or `None` as soon as one price is unknown. Nothing called costs nothing.
    pub fn cost_usd(&self) -> Option<f64> {
        self.entries.cost_usd
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
        let known = CostLedger { entries: vec![entry(Some(0.5)), entry(Some(0.25))].into() };
        assert_eq!(known.cost_usd(), Some(0.75));
        let written = serde_json::to_string(&known).unwrap();
        assert!(written.starts_with("[{"), "{written}");
        assert_eq!(serde_json::from_str::<CostLedger>(&written).unwrap(), known);
        let unknown = CostLedger { entries: vec![entry(Some(0.5)), entry(None)].into() };
        assert_eq!(unknown.cost_usd(), None);
        assert_eq!(CostLedger::default().cost_usd(), Some(0.0));
    }
}
