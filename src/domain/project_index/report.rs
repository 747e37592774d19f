//! Reports about an index: before it costs anything, and in the end.

use super::estimate::IndexCostEstimate;
use super::{IndexPlan, UnindexedFiles};
use crate::cost::{CostEntry, TokenUsage};
use crate::number_format::{format_count, format_dollars, format_thousands};
use crate::terminal_safe;

/// Names that are given of each kind; the rest is counted.
const NAMED: usize = 5;

/// How it ended.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum IndexOutcome {
    /// Everything was tried.
    #[default]
    Whole,
    Stopped,
    /// What is in the way, with what to do.
    Broken(String),
}

/// The result of a plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IndexReport {
    /// Files that were described.
    pub indexed_count: usize,
    pub directories: usize,
    /// Files that belong into the index.
    pub files: usize,
    pub unchanged_count: usize,
    pub removed_count: usize,
    /// What could not be described, with the reason.
    pub failures: Vec<(String, String)>,
    pub left_out: UnindexedFiles,
    pub costs: Vec<CostEntry>,
    pub outcome: IndexOutcome,
}

impl IndexReport {
    pub fn from_plan(plan: &IndexPlan) -> Self {
        Self {
            files: plan.files,
            unchanged_count: plan.files - plan.to_describe.len(),
            removed_count: plan.removed_file_count,
            left_out: plan.left_out.clone(),
            ..Self::default()
        }
    }

    pub fn usage(&self) -> TokenUsage {
        let mut usage = TokenUsage::default();
        self.costs.iter().for_each(|entry| usage.add(&entry.usage));
        usage
    }

    /// `None` as soon as one price is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.costs.iter().try_fold(0.0, |sum, entry| Some(sum + entry.cost_usd?))
    }

    /// `indexed 12 of 340 files (328 unchanged, 2 gone), 4,310 tokens, $0.0021`
    pub fn line(&self) -> String {
        let (indexed, of) =
            (format_thousands(self.indexed_count as u64), format_count(self.files as u64, "file"));
        let (unchanged, gone) =
            (format_thousands(self.unchanged_count as u64), format_thousands(self.removed_count as u64));
        let tokens = format_count(self.usage().total(), "token");
        format!(
            "indexed {indexed} of {of} ({unchanged} unchanged, {gone} gone), {tokens}, {}",
            format_dollars(self.cost_usd())
        )
    }

    /// Further notes, a line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = left_out_lines(&self.left_out);
        for (path, why) in self.failures.iter().take(NAMED) {
            notes.push(format!("not described: {}: {why}", terminal_safe::escape_name(path)));
        }
        if self.failures.len() > NAMED {
            notes.push(format!("and {} more were not described", self.failures.len() - NAMED));
        }
        match &self.outcome {
            IndexOutcome::Whole if self.failures.is_empty() => {}
            IndexOutcome::Whole => notes.push("the next time tries them again".to_owned()),
            IndexOutcome::Stopped => {
                notes.push("stopped: what was done is kept, the next time goes on".to_owned())
            }
            IndexOutcome::Broken(why) => {
                notes.push(why.clone());
                notes.push("what was done is kept, the next time goes on".to_owned());
            }
        }
        notes
    }
}

/// The question whether to make the index, as lines.
pub fn proposal_lines(plan: &IndexPlan, model: &str, estimate: &IndexCostEstimate) -> Vec<String> {
    let files = format_count(plan.to_describe.len() as u64, "file");
    let (of, directories) = (format_thousands(plan.files as u64), plan.directories.len());
    let directories = match directories {
        1 => "1 directory".to_owned(),
        more => format!("{} directories", format_thousands(more as u64)),
    };
    let (calls, tokens) =
        (format_count(estimate.calls, "call"), format_count(estimate.usage.total(), "token"));
    let mut lines = vec![
        format!("{files} of {of} and {directories} to describe"),
        format!(
            "about {calls} of {}, {tokens}, {}",
            terminal_safe::escape_name(model),
            format_dollars(estimate.cost_usd)
        ),
    ];
    if plan.removed_file_count > 0 {
        lines.push(format!("{} gone since", format_count(plan.removed_file_count as u64, "file")));
    }
    lines.extend(left_out_lines(&plan.left_out));
    lines
}

fn left_out_lines(left: &UnindexedFiles) -> Vec<String> {
    let rows = [
        ("no text", &left.binary),
        ("larger than the limit", &left.too_large),
        ("may hold keys", &left.secret),
        ("cannot be read", &left.unreadable),
    ];
    let line = |(why, paths): (&str, &Vec<String>)| {
        let names: Vec<String> =
            paths.iter().take(NAMED).map(|path| terminal_safe::escape_name(path).into_owned()).collect();
        let more = if paths.len() > NAMED { ", …" } else { "" };
        format!("left out, {why}: {} ({}{more})", format_count(paths.len() as u64, "file"), names.join(", "))
    };
    rows.into_iter().filter(|(_, paths)| !paths.is_empty()).map(line).collect()
}
