//! What was spent, taken apart: the lines of a ledger summed up by model, agent, role, state or day.
//!
//! Calls without a known price are counted beside the dollars, never into them.

use std::borrow::Borrow;

use super::cost::{CostEntry, TokenUsage};
use super::workflow::without_item_index;

/// What lines are brought together by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostGrouping {
    Model,
    Role,
    Agent,
    State,
    Day,
}

impl CostGrouping {
    pub const ALL: [Self; 5] = [Self::Model, Self::Role, Self::Agent, Self::State, Self::Day];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Model => "model",
            Self::Role => "role",
            Self::Agent => "agent",
            Self::State => "state",
            Self::Day => "day",
        }
    }

    /// Under which name a line is counted.
    fn group_name(self, entry: &CostEntry) -> String {
        match self {
            Self::Model => entry.model.clone(),
            Self::Role if entry.role.is_empty() => "(not noted)".to_owned(),
            Self::Role => entry.role.clone(),
            Self::Agent => entry.agent.clone(),
            // ten thousand items of a loop are one line
            Self::State => without_item_index(&entry.state).into_owned(),
            Self::Day => entry.at.format_utc().chars().take(10).collect(),
        }
    }
}

/// Several calls together.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GroupedCost {
    pub name: String,
    pub calls: u64,
    pub usage: TokenUsage,
    /// Of the calls with a known price.
    pub known_cost_usd: f64,
    /// Calls without one.
    pub unpriced_calls: u64,
    /// Calls of which a part of the tokens is an estimate.
    pub estimated: u64,
}

impl GroupedCost {
    pub fn add_entry(&mut self, entry: &CostEntry) {
        self.calls += 1;
        self.usage.add(&entry.usage);
        self.estimated += u64::from(entry.estimated);
        match entry.cost_usd {
            Some(usd) => self.known_cost_usd += usd,
            None => self.unpriced_calls += 1,
        }
    }

    /// `None` as soon as one price is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        (self.unpriced_calls == 0).then_some(self.known_cost_usd)
    }
}

/// Everything in one sum.
pub fn total_cost(entries: impl IntoIterator<Item: Borrow<CostEntry>>) -> GroupedCost {
    let mut sum = GroupedCost::default();
    entries.into_iter().for_each(|entry| sum.add_entry(entry.borrow()));
    sum
}

/// Sums in order of first appearance; days in their own order.
pub fn group_costs(
    entries: impl IntoIterator<Item: Borrow<CostEntry>>,
    by: CostGrouping,
) -> Vec<GroupedCost> {
    let mut sums: Vec<GroupedCost> = Vec::new();
    let mut places = std::collections::HashMap::new();
    for entry in entries {
        let entry = entry.borrow();
        let name = by.group_name(entry);
        let at = *places.entry(name).or_insert_with_key(|name| {
            sums.push(GroupedCost { name: name.clone(), ..GroupedCost::default() });
            sums.len() - 1
        });
        sums[at].add_entry(entry);
    }
    if by == CostGrouping::Day {
        sums.sort_by(|one, other| one.name.cmp(&other.name));
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Timestamp;

    #[test]
    fn parts_add_up_to_the_whole() {
        let day = 24 * 60 * 60 * 1_000;
        let entry = |at: i64, agent: &str, state: &str, model: &str, cost_usd| CostEntry {
            agent: agent.into(),
            role: if agent == "b" { String::new() } else { "writer".into() },
            state: state.into(),
            model: model.into(),
            usage: TokenUsage { prompt: 10, completion: 3, cached: 4, reasoning: 1, written: 2 },
            cost_usd,
            at: Timestamp(at),
            estimated: agent == "c",
        };
        let entries = [
            entry(day, "a", "each[0]/work", "m", Some(0.5)),
            entry(0, "b", "each[1]/work", "m", Some(0.25)),
            entry(day + 5, "c", "end", "free", None),
        ];
        let whole = total_cost(&entries);
        assert_eq!((whole.calls, whole.unpriced_calls, whole.estimated, whole.cost_usd()), (3, 1, 1, None));
        let rows = [
            (CostGrouping::Model, &[("m", 2), ("free", 1)][..]),
            (CostGrouping::Role, &[("writer", 2), ("(not noted)", 1)]),
            (CostGrouping::Agent, &[("a", 1), ("b", 1), ("c", 1)]),
            (CostGrouping::State, &[("each/work", 2), ("end", 1)]),
            (CostGrouping::Day, &[("1970-01-01", 1), ("1970-01-02", 2)]),
        ];
        for (by, expected) in rows {
            let sums = group_costs(&entries, by);
            let named: Vec<(&str, u64)> = sums.iter().map(|sum| (sum.name.as_str(), sum.calls)).collect();
            assert_eq!(named, expected, "{by:?}");
            let mut usage = TokenUsage::default();
            sums.iter().for_each(|sum| usage.add(&sum.usage));
            assert_eq!(usage, whole.usage, "{by:?}");
            assert!((sums.iter().map(|sum| sum.known_cost_usd).sum::<f64>() - 0.75).abs() < 1e-12, "{by:?}");
            assert_eq!(sums.iter().map(|sum| sum.unpriced_calls).sum::<u64>(), 1, "{by:?}");
        }
    }
}
