//! The last runs of one workflow in short: how they ended, how long they took, and what they cost.

use std::collections::HashMap;

use super::run_list::RunRow;
use synthdev_domain::journal::RunStatus;

/// Runs of a workflow that are compared.
pub const TREND_RUNS: usize = 50;

#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TrendRun {
    pub status: RunStatus,
    /// A conversation that its user has left: it counts as no paused run.
    pub is_left: bool,
    /// From its start to its last change, in milliseconds.
    pub took_ms: u64,
    pub cost_usd: Option<f64>,
}

/// The oldest run first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct WorkflowTrend {
    pub workflow: String,
    pub runs: Vec<TrendRun>,
}

/// Trends that were read, by workflow.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct TrendCache {
    known: HashMap<String, WorkflowTrend>,
    /// Read before the history changed.
    outdated: HashMap<String, WorkflowTrend>,
    /// The one that is being read, with the number of its request.
    pub pending: Option<(u64, String)>,
}

impl WorkflowTrend {
    /// `rows` are the newest runs of the workflow, the newest first.
    pub fn from_rows(workflow: &str, rows: &[RunRow]) -> Self {
        let run = |row: &RunRow| TrendRun {
            status: row.status,
            is_left: row.is_left,
            took_ms: u64::try_from(row.updated.0.saturating_sub(row.started.0)).unwrap_or(0),
            cost_usd: row.cost_usd,
        };
        Self { workflow: workflow.to_owned(), runs: rows.iter().rev().map(run).collect() }
    }

    pub fn count(&self, status: RunStatus) -> usize {
        self.runs.iter().filter(|run| run.status == status && !run.is_left).count()
    }

    pub fn left_count(&self) -> usize {
        self.runs.iter().filter(|run| run.is_left).count()
    }

    /// The middle (of two in the middle what lies between them) and the most of all that have this value.
    pub fn typical_and_most(&self, value: impl Fn(&TrendRun) -> Option<f64>) -> Option<(f64, f64)> {
        let mut values: Vec<f64> = self.runs.iter().filter_map(value).collect();
        values.sort_by(f64::total_cmp);
        let (upper, lower) = (values.get(values.len() / 2)?, values.get((values.len() - 1) / 2)?);
        Some((f64::midpoint(*lower, *upper), *values.last()?))
    }
}

impl TrendCache {
    pub fn get(&self, workflow: &str) -> Option<&WorkflowTrend> {
        self.known.get(workflow).or_else(|| self.outdated.get(workflow))
    }

    pub fn needs(&self, workflow: &str) -> bool {
        self.pending.is_none() && !self.known.contains_key(workflow)
    }

    /// An answer; one that cannot be read is asked for again after the next change.
    pub fn add(&mut self, number: u64, trend: Option<WorkflowTrend>) {
        let Some((_, workflow)) = self.pending.take_if(|(asked, _)| *asked == number) else { return };
        self.outdated.remove(&workflow);
        self.known.insert(workflow, trend.unwrap_or_default());
    }

    /// The history has changed.
    pub fn mark_outdated(&mut self) {
        self.outdated = std::mem::take(&mut self.known);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn typical_is_the_run_in_the_middle() {
        let check = |values: &[Option<f64>], expected: Option<(f64, f64)>| {
            let run = |cost_usd: &Option<f64>| TrendRun {
                status: RunStatus::Completed,
                is_left: false,
                took_ms: 0,
                cost_usd: *cost_usd,
            };
            let runs = values.iter().map(run).collect();
            let trend = WorkflowTrend { workflow: String::new(), runs };
            assert_eq!(trend.typical_and_most(|run| run.cost_usd), expected, "{values:?}");
        };
        check(&[], None);
        check(&[None], None);
        check(&[Some(2.0)], Some((2.0, 2.0)));
        check(&[Some(9.0), Some(3.0)], Some((6.0, 9.0)));
        check(&[Some(9.0), None, Some(1.0), Some(2.0)], Some((2.0, 9.0)));
    }

    #[test]
    fn an_outdated_trend_is_shown_until_it_was_read_again() {
        let mut cache = TrendCache { pending: Some((1, "code".into())), ..TrendCache::default() };
        assert!(!cache.needs("code"));
        cache.add(2, Some(WorkflowTrend::default()));
        assert_eq!(cache.get("code"), None, "of another request");
        cache.add(1, Some(WorkflowTrend::default()));
        assert!(!cache.needs("code") && cache.needs("other"));
        cache.mark_outdated();
        assert!(cache.needs("code") && cache.get("code").is_some());
    }
}
