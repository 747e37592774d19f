//! What is said of an index: before anything is paid, and in the end.

use super::estimate::IndexCostEstimate;
use super::{IndexPlan, UnindexedFiles};
use crate::cost::{CostEntry, TokenUsage};
use crate::number_format::{dollars, format_count, thousands};
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

/// What came of a plan.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct IndexReport {
    /// Files that were described.
    pub indexed: usize,
    pub directories: usize,
    /// Files that belong into the index.
    pub files: usize,
    pub unchanged: usize,
    pub gone: usize,
    /// What could not be described, with the reason.
    pub failed: Vec<(String, String)>,
    pub left_out: UnindexedFiles,
    pub spent: Vec<CostEntry>,
    pub ending: IndexOutcome,
}

impl IndexReport {
    pub fn from_plan(plan: &IndexPlan) -> Self {
        Self {
            files: plan.files,
            unchanged: plan.files - plan.changed.len(),
            gone: plan.gone_files,
            left_out: plan.left_out.clone(),
            ..Self::default()
        }
    }

    pub fn usage(&self) -> TokenUsage {
        let mut usage = TokenUsage::default();
        self.spent.iter().for_each(|entry| usage.add(&entry.usage));
        usage
    }

    /// `None` as soon as one price is unknown.
    pub fn cost_usd(&self) -> Option<f64> {
        self.spent.iter().try_fold(0.0, |sum, entry| Some(sum + entry.cost_usd?))
    }

    /// `indexed 12 of 340 files (328 unchanged, 2 gone), 4,310 tokens, $0.0021`
    pub fn line(&self) -> String {
        let (indexed, of) = (thousands(self.indexed as u64), format_count(self.files as u64, "file"));
        let (unchanged, gone) = (thousands(self.unchanged as u64), thousands(self.gone as u64));
        let tokens = format_count(self.usage().total(), "token");
        format!(
            "indexed {indexed} of {of} ({unchanged} unchanged, {gone} gone), {tokens}, {}",
            dollars(self.cost_usd())
        )
    }

    /// What else is to be said, a line each.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = left_out(&self.left_out);
        for (path, why) in self.failed.iter().take(NAMED) {
            notes.push(format!("not described: {}: {why}", terminal_safe::escape_name(path)));
        }
        if self.failed.len() > NAMED {
            notes.push(format!("and {} more were not described", self.failed.len() - NAMED));
        }
        match &self.ending {
            IndexOutcome::Whole if self.failed.is_empty() => {}
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

/// What a person is asked about, a line each.
pub fn proposal(plan: &IndexPlan, model: &str, estimate: &IndexCostEstimate) -> Vec<String> {
    let files = format_count(plan.changed.len() as u64, "file");
    let (of, directories) = (thousands(plan.files as u64), plan.directories.len());
    let directories = match directories {
        1 => "1 directory".to_owned(),
        more => format!("{} directories", thousands(more as u64)),
    };
    let (calls, tokens) =
        (format_count(estimate.calls, "call"), format_count(estimate.usage.total(), "token"));
    let mut lines = vec![
        format!("{files} of {of} and {directories} to describe"),
        format!(
            "about {calls} of {}, {tokens}, {}",
            terminal_safe::escape_name(model),
            dollars(estimate.cost_usd)
        ),
    ];
    if plan.gone_files > 0 {
        lines.push(format!("{} gone since", format_count(plan.gone_files as u64, "file")));
    }
    lines.extend(left_out(&plan.left_out));
    lines
}

fn left_out(left: &UnindexedFiles) -> Vec<String> {
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
