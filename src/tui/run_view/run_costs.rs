//! Where a run's tokens and dollars went: sums by agent, model and state, and how the spending grew.
//!
//! Each call costs the same here, however many there were.

use std::borrow::Borrow;
use std::collections::HashMap;

use synthdev_domain::cost::{CostEntry, TokenUsage};
use synthdev_domain::ids::Timestamp;

/// Points of the curve that are kept; twice as far apart when there are more.
const POINTS: usize = 128;
/// Most names with a row of their own; further ones are summed up together.
const NAMES: usize = 500;

#[derive(Clone, PartialEq, Debug)]
pub struct CostSubtotal {
    pub name: String,
    pub calls: u64,
    pub usage: TokenUsage,
    /// `None` as soon as one price is unknown.
    pub cost_usd: Option<f64>,
}

/// Sums in order of first appearance.
#[derive(Clone, Debug, Default)]
pub struct CostSubtotals {
    list: Vec<CostSubtotal>,
    indexes: HashMap<String, usize>,
}

impl CostSubtotals {
    pub fn iter(&self) -> impl Iterator<Item = &CostSubtotal> {
        self.list.iter()
    }

    pub fn get(&self, name: &str) -> Option<&CostSubtotal> {
        self.list.get(*self.indexes.get(name)?)
    }

    fn add_usage(&mut self, name: &str, usage: &TokenUsage, cost_usd: Option<f64>) {
        let known = self.indexes.get(name).copied();
        let name = if known.is_none() && self.list.len() >= NAMES { "others" } else { name };
        let at = known.or_else(|| self.indexes.get(name).copied()).unwrap_or_else(|| {
            let sum = CostSubtotal {
                name: name.to_owned(),
                calls: 0,
                usage: TokenUsage::default(),
                cost_usd: Some(0.0),
            };
            self.list.push(sum);
            self.indexes.insert(name.to_owned(), self.list.len() - 1);
            self.list.len() - 1
        });
        let sum = &mut self.list[at];
        sum.calls += 1;
        sum.usage.add(usage);
        sum.cost_usd = sum.cost_usd.zip(cost_usd).map(|(sum, one)| sum + one);
    }
}

/// What was spent up to a moment.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CostCurvePoint {
    pub at: Timestamp,
    pub tokens: u64,
    /// Calls without a price are left out, as the budget leaves them out.
    pub cost_usd: f64,
}

#[derive(Clone, Debug, Default)]
pub struct RunCostView {
    pub agents: CostSubtotals,
    pub models: CostSubtotals,
    pub states: CostSubtotals,
    points: Vec<CostCurvePoint>,
    /// Calls between two points, and since the last one.
    point_interval: u64,
    calls_since_point: u64,
    last_point: Option<CostCurvePoint>,
    /// Counts changes.
    pub version: u64,
}

impl RunCostView {
    pub fn from_entries(entries: impl IntoIterator<Item: Borrow<CostEntry>>) -> Self {
        let mut spending = Self::default();
        entries.into_iter().for_each(|entry| spending.add_entry(entry.borrow()));
        spending
    }

    pub fn add_entry(&mut self, entry: &CostEntry) {
        self.agents.add_usage(&entry.agent, &entry.usage, entry.cost_usd);
        self.models.add_usage(&entry.model, &entry.usage, entry.cost_usd);
        self.states.add_usage(&without_items(&entry.state), &entry.usage, entry.cost_usd);
        let before = self.last_point.map_or((0, 0.0), |point| (point.tokens, point.cost_usd));
        let point = CostCurvePoint {
            at: entry.at,
            tokens: before.0.saturating_add(entry.usage.total()),
            cost_usd: before.1 + entry.cost_usd.unwrap_or(0.0),
        };
        self.last_point = Some(point);
        self.calls_since_point += 1;
        if self.calls_since_point >= self.point_interval.max(1) {
            self.calls_since_point = 0;
            self.points.push(point);
        }
        if self.points.len() > POINTS {
            let mut keep = false;
            self.points.retain(|_| {
                keep = !keep;
                keep
            });
            self.point_interval = self.point_interval.max(1) * 2;
        }
        self.version += 1;
    }

    /// Of the calls that have a price: the budget counts no others either.
    pub fn known_cost_usd(&self) -> f64 {
        self.last_point.map_or(0.0, |point| point.cost_usd)
    }

    /// The curve, oldest first, up to now.
    pub fn curve_points(&self) -> impl Iterator<Item = CostCurvePoint> {
        let last = self.last_point.filter(|last| self.points.last() != Some(last));
        self.points.iter().copied().chain(last)
    }
}

/// All items of a loop are one place: `each[3]/work` is `each/work`.
fn without_items(state: &str) -> String {
    let mut out = String::with_capacity(state.len());
    let mut rest = state;
    while let Some((before, after)) = rest.split_once('[') {
        out.push_str(before);
        match after.split_once(']').filter(|(digits, _)| digits.bytes().all(|b| b.is_ascii_digit())) {
            Some((_, behind)) => rest = behind,
            None => {
                out.push('[');
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}
