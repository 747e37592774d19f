//! Computes the cost of a model call from its tokens and price; the cost ledger of a run. An unknown price stays
//! unknown; it is never guessed. Which calls and attempts are charged: `engine/machine/cost_accounting.rs`.

mod ledger_encoding;
mod token_usage;

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use ledger_encoding::{EncodedLedger, LedgerLine};

pub use token_usage::{BilledTokens, TokenUsage};

use super::ids::Timestamp;

/// US dollars per million tokens.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct TokenPrice {
    pub input: f64,
    pub output: f64,
    /// Price of a cached prompt token; `None` means the input price.
    #[serde(default)]
    pub cached: Option<f64>,
    /// Price of a prompt token that is written into the server's cache; `None` means the input price.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written: Option<f64>,
}

impl TokenPrice {
    /// Cached and written tokens are charged once, each at a price of its own.
    pub fn cost_usd(&self, usage: &TokenUsage) -> f64 {
        // divided once, at the end: sums that were recorded come out the same to the last digit
        self.cost_in_millionths(&usage.parts()).into_iter().sum::<f64>() / 1_000_000.0
    }

    /// What each part costs: fresh, cached, written, completion. US dollars.
    pub fn part_costs_usd(&self, parts: &BilledTokens) -> [f64; 4] {
        self.cost_in_millionths(parts).map(|cost| cost / 1_000_000.0)
    }

    #[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^52")]
    fn cost_in_millionths(&self, parts: &BilledTokens) -> [f64; 4] {
        let rows = [
            (parts.uncached, self.input),
            (parts.cached, self.cached.unwrap_or(self.input)),
            (parts.cache_writes, self.written.unwrap_or(self.input)),
            (parts.completion, self.output),
        ];
        rows.map(|(tokens, price)| tokens as f64 * price)
    }

    /// The higher price of each part, for what may be charged at either.
    #[must_use]
    pub fn max_per_part(self, other: Self) -> Self {
        let either = |one: Option<f64>, two: Option<f64>| match (one, two) {
            (None, None) => None,
            _ => Some(one.unwrap_or(self.input).max(two.unwrap_or(other.input))),
        };
        Self {
            input: self.input.max(other.input),
            output: self.output.max(other.output),
            cached: either(self.cached, other.cached),
            written: either(self.written, other.written),
        }
    }

    /// What a prompt token can cost, whatever the server's cache does with it. US dollars per million.
    pub fn max_input_price(&self) -> f64 {
        let others = [self.cached, self.written];
        others.into_iter().flatten().fold(self.input, f64::max)
    }
}

/// What one attempt at a model call used, whether it gave an answer or not.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct AttemptUsage {
    pub usage: TokenUsage,
    /// At least a part of it is estimated from text lengths, because the server did not report it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// The model that the server says has answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// That model's price, where it is not the one that was asked for and the catalogue knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub price: Option<TokenPrice>,
}

/// One line of the ledger: the usage of one model call, with its agent.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct CostEntry {
    pub agent: String,
    /// The role that the agent plays; empty in older runs, which did not store it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub role: String,
    /// Path name of the state, with the child workflow in front.
    pub state: String,
    pub model: String,
    pub usage: TokenUsage,
    /// `None`: the catalogue has no price for the model.
    pub cost_usd: Option<f64>,
    /// When the answer came; 0 in older runs, which did not store it.
    #[serde(default)]
    pub at: Timestamp,
    /// A part of `usage` is estimated from text lengths, because the server did not report it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
}

/// Everything a run used, in order of the calls.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CostLedger {
    pub entries: CostEntries,
}

/// The lines of a ledger with their sums. Lines are added and never changed, so the sums cost nothing that grows. A
/// hundred thousand lines have few names between them: each is kept once.
#[derive(Clone, PartialEq, Debug)]
pub struct CostEntries {
    lines: EncodedLedger,
    /// In the order in which they came.
    names: Vec<Arc<str>>,
    name_indexes: BTreeMap<Arc<str>, u32>,
    usage: TokenUsage,
    cost_usd: Option<f64>,
}

impl Default for CostEntries {
    fn default() -> Self {
        Self {
            lines: EncodedLedger::default(),
            names: Vec::new(),
            name_indexes: BTreeMap::new(),
            usage: TokenUsage::default(),
            cost_usd: Some(0.0),
        }
    }
}

impl CostEntries {
    pub fn push(&mut self, entry: &CostEntry) {
        self.usage.add(&entry.usage);
        self.cost_usd = self.cost_usd.zip(entry.cost_usd).map(|(sum, one)| sum + one);
        let line = LedgerLine {
            names: [&entry.agent, &entry.role, &entry.state, &entry.model].map(|name| self.intern_name(name)),
            usage: entry.usage,
            cost_usd: entry.cost_usd,
            at: entry.at,
            estimated: entry.estimated,
        };
        self.lines.push(&line);
    }

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.len() == 0
    }

    pub fn iter(&self) -> impl ExactSizeIterator<Item = CostEntry> + Clone + '_ {
        self.lines.iter().map(|line| self.decode_entry(&line))
    }

    fn decode_entry(&self, line: &LedgerLine) -> CostEntry {
        let [agent, role, state, model] = line.names.map(|place| self.name_at(place));
        CostEntry {
            agent,
            role,
            state,
            model,
            usage: line.usage,
            cost_usd: line.cost_usd,
            at: line.at,
            estimated: line.estimated,
        }
    }

    fn name_at(&self, place: u32) -> String {
        self.names.get(place as usize).map(|name| name.to_string()).unwrap_or_default()
    }

    fn intern_name(&mut self, name: &str) -> u32 {
        if let Some(place) = self.name_indexes.get(name) {
            return *place;
        }
        let place = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name: Arc<str> = Arc::from(name);
        self.names.push(Arc::clone(&name));
        self.name_indexes.insert(name, place);
        place
    }
}

impl<E: Borrow<CostEntry>> FromIterator<E> for CostEntries {
    fn from_iter<I: IntoIterator<Item = E>>(entries: I) -> Self {
        let mut all = Self::default();
        for entry in entries {
            all.push(entry.borrow());
        }
        all
    }
}

impl From<Vec<CostEntry>> for CostEntries {
    fn from(entries: Vec<CostEntry>) -> Self {
        entries.into_iter().collect()
    }
}

impl Serialize for CostEntries {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de> Deserialize<'de> for CostEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<CostEntry>::deserialize(deserializer).map(Self::from)
    }
}

/// A ledger in the form that it has in memory, for `#[serde(with = …)]`: a tenth of the size.
pub mod packed_ledger {
    use super::{
        Arc, CostEntries, CostLedger, Deserialize, Deserializer, EncodedLedger, Serialize, Serializer,
        TokenUsage,
    };

    /// # Errors
    /// Those of the serializer.
    pub fn serialize<S: Serializer>(ledger: &CostLedger, serializer: S) -> Result<S::Ok, S::Error> {
        let CostEntries { lines, names, usage, cost_usd, .. } = &ledger.entries;
        (lines, names, usage, cost_usd).serialize(serializer)
    }

    /// # Errors
    /// It is not of that form.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<CostLedger, D::Error> {
        let (lines, names, usage, cost_usd) =
            <(EncodedLedger, Vec<Arc<str>>, TokenUsage, Option<f64>)>::deserialize(deserializer)?;
        let name_indexes = names.iter().cloned().zip(0..).collect();
        Ok(CostLedger { entries: CostEntries { lines, names, name_indexes, usage, cost_usd } })
    }
}

impl CostLedger {
    pub fn usage(&self) -> TokenUsage {
        self.entries.usage
    }

    /// The sum, or `None` as soon as one price is unknown. Nothing called costs nothing.
    pub fn cost_usd(&self) -> Option<f64> {
        self.entries.cost_usd
    }

    /// Sums grouped by a key (agent, state or model), in order of first appearance.
    pub fn group_costs_by(&self, key: impl Fn(&CostEntry) -> &str) -> Vec<(String, TokenUsage, Option<f64>)> {
        let mut groups: Vec<(String, TokenUsage, Option<f64>)> = Vec::new();
        for entry in self.entries.iter() {
            let name = key(&entry);
            let found = groups.iter().position(|group| group.0 == name);
            let at = found.unwrap_or_else(|| {
                groups.push((name.to_owned(), TokenUsage::default(), Some(0.0)));
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

    /// Dollars by hand, from prices per million tokens.
    #[test]
    fn every_token_is_charged_once() {
        let plain = TokenPrice { input: 2.0, output: 10.0, ..TokenPrice::default() };
        let caching = TokenPrice { cached: Some(0.5), ..plain };
        // as Anthropic charges: a quarter more for what is written, a tenth for what is read
        let writing = TokenPrice { input: 3.0, output: 15.0, cached: Some(0.3), written: Some(3.75) };
        let usage = |prompt, completion, cached, written| TokenUsage {
            prompt,
            completion,
            cached,
            written,
            ..TokenUsage::default()
        };
        let rows = [
            ("nothing", plain, TokenUsage::default(), 0.0),
            ("prompt and answer", plain, usage(1_000_000, 100_000, 0, 0), 2.0 + 1.0),
            ("no price for cached", plain, usage(1_000_000, 0, 400_000, 0), 2.0),
            ("cached", caching, usage(1_000_000, 100_000, 400_000, 0), 1.2 + 0.2 + 1.0),
            ("no price for written", caching, usage(1_000_000, 0, 400_000, 100_000), 1.0 + 0.2 + 0.2),
            ("all of it cached", caching, usage(1_000_000, 0, 1_000_000, 0), 0.5),
            ("more cached than said", caching, usage(100, 0, 200, 50), 0.000_05),
            ("first call", writing, usage(10_000, 500, 0, 9_000), 0.003 + 0.033_75 + 0.007_5),
            ("second call", writing, usage(12_000, 500, 9_000, 2_000), 0.003 + 0.002_7 + 0.007_5 + 0.007_5),
        ];
        for (about, price, usage, expected) in rows {
            let cost = price.cost_usd(&usage);
            assert!((cost - expected).abs() < 1e-12, "{about}: {cost} instead of {expected}");
            let parts = usage.parts();
            let sum = parts.uncached + parts.cached + parts.cache_writes + parts.completion;
            assert_eq!(sum, usage.total(), "{about}");
        }
        // what was reasoned is a part of the answer
        let thought = TokenUsage { completion: 1_000, reasoning: 900, ..TokenUsage::default() };
        assert!((plain.cost_usd(&thought) - 0.01).abs() < 1e-12);
        assert!((writing.max_input_price() - 3.75).abs() < 1e-12);
    }

    #[test]
    fn records_of_before_are_read() {
        let old = r#"{"agent":"a","state":"s","model":"m","usage":{"prompt":1,"completion":2,"cached":0,"reasoning":0},
            "cost_usd":null}"#;
        let entry: CostEntry = serde_json::from_str(old).unwrap();
        assert_eq!((entry.usage.written, entry.role.as_str(), entry.at), (0, "", Timestamp(0)));
        assert!(!serde_json::to_string(&entry.usage).unwrap().contains("written"));
    }

    #[test]
    fn one_unknown_price_makes_the_sum_unknown() {
        let entry = |cost_usd| CostEntry { agent: "a".into(), cost_usd, ..CostEntry::default() };
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
