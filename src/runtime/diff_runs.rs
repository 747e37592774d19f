//! Two runs side by side: definition, inputs, path, decisions, result and cost.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use similar::{DiffOp, TextDiff};

use super::handle::RuntimeHandle;
use super::journal_replay::{self, JournaledRun};
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunOrigin, RunOriginKind, RunStatus};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::event::RunEvent;
use synthdev_engine::explain::replaced_values;
use synthdev_engine::input::Input;
use synthdev_engine::machine::Machine;
use synthdev_engine::replay::{ReplayResult, StepwiseReplay};
use synthdev_ports::run_store::StoreError;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunDiff {
    pub first: RunDiffSide,
    pub second: RunDiffSide,
    pub definition: DefinitionDiff,
    /// Only those that differ.
    pub inputs: Vec<InputDiff>,
    /// What a fork or a rewind set, where the two differ in it.
    pub data: Vec<DataDiff>,
    pub path: Vec<AlignedStep>,
    pub decisions: Vec<AlignedStep>,
    pub same_output: bool,
}

/// One of the two runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunDiffSide {
    pub run: RunId,
    pub workflow: String,
    pub definition: String,
    pub started: Timestamp,
    pub updated: Timestamp,
    pub status: RunStatus,
    pub steps: usize,
    pub usage: TokenUsage,
    pub cost_usd: Option<f64>,
    pub output: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fork_of: Option<ForkPlace>,
    /// Code and detail.
    pub error: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct DefinitionDiff {
    pub same: bool,
    /// What is different, from the first to the second.
    pub notes: Vec<String>,
}

/// An input that is not the same; absent where it was not given.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct InputDiff {
    pub name: String,
    pub first: Option<Value>,
    pub second: Option<Value>,
}

/// A path of `common_data` that a fork or a rewind set; absent where it had no value.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct DataDiff {
    pub name: String,
    pub first: Option<Value>,
    pub second: Option<Value>,
}

/// The run that a fork comes from, and the step before which it begins.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ForkPlace {
    pub run: RunId,
    pub step: Option<u32>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct AlignedStep {
    pub of: AlignedSide,
    pub text: String,
}

/// Whose it is, after both lists were laid side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AlignedSide {
    Both,
    First,
    Second,
}

/// What is different in two definitions, from the first to the second; nothing if they are the same.
pub fn definition_notes(old: &WorkflowProgram, new: &WorkflowProgram) -> Vec<String> {
    if old == new {
        return Vec::new();
    }
    let notes = Machine::program_differences(old, new);
    if notes.is_empty() {
        return vec!["only places in the files, models or tools are different".to_owned()];
    }
    notes
}

impl RuntimeHandle {
    /// Accepts unique prefixes of the ids.
    ///
    /// # Errors
    /// One of them is unknown or unreadable.
    pub fn diff_runs(&self, first: &str, second: &str) -> Result<RunDiff, StoreError> {
        let (one, other) = (self.rebuild_run(first)?, self.rebuild_run(second)?);
        let (old, new) = (&one.machine.spec().program, &other.machine.spec().program);
        Ok(RunDiff {
            definition: DefinitionDiff { same: old == new, notes: definition_notes(old, new) },
            inputs: input_differences(&one.machine, &other.machine),
            data: data_differences(&one.changes, &other.changes, is_related(&one.side, &other.side)),
            path: align_steps(&one.path, &other.path),
            decisions: align_steps(&one.decisions, &other.decisions),
            same_output: one.side.output == other.side.output,
            first: one.side,
            second: other.side,
        })
    }

    fn rebuild_run(&self, id: &str) -> Result<ComparedRun, StoreError> {
        let summary = self.ports().store.find(id)?;
        let journaled_run = journal_replay::load_journaled_run(&*self.ports().store, &summary.id)?;
        let changes = data_changes(&journaled_run);
        let ReplayResult { machine, events, .. } = journaled_run.replay();
        let (mut path, mut decisions) = (Vec::new(), Vec::new());
        for (_, event) in events {
            match event.event {
                RunEvent::StateEntered { state, .. } => path.push(state),
                RunEvent::Decided { agent, tool, arguments, .. } => {
                    decisions.push(format!("{agent}: {tool} {arguments}"));
                }
                _ => {}
            }
        }
        let side = RunDiffSide {
            run: summary.id,
            workflow: summary.workflow,
            definition: machine.spec().program.hash.clone(),
            started: summary.started,
            updated: summary.progress.updated,
            status: summary.progress.status,
            steps: path.len(),
            usage: summary.progress.usage,
            cost_usd: summary.progress.cost_usd,
            output: summary.progress.output,
            fork_of: summary.origin.and_then(fork_place),
            error: summary.progress.error.map(|error| format!("{}: {}", error.code, error.detail)),
        };
        Ok(ComparedRun { machine, side, changes, path, decisions })
    }
}

struct ComparedRun {
    machine: Machine,
    side: RunDiffSide,
    changes: DataChanges,
    path: Vec<String>,
    decisions: Vec<String>,
}

/// What forks and rewinds set, by path: what was there before the first of them, and what the last one set.
type DataChanges = BTreeMap<String, (Option<Value>, Value)>;

fn fork_place(origin: RunOrigin) -> Option<ForkPlace> {
    let is_fork = matches!(origin.kind, RunOriginKind::Fork | RunOriginKind::ForkOfImport);
    is_fork.then_some(ForkPlace { run: origin.run, step: origin.step })
}

fn data_changes(journaled_run: &JournaledRun) -> DataChanges {
    let sets_data = |input: &Input| matches!(input, Input::Rewound(returned) if !returned.set.is_empty());
    let Some(last) = journaled_run.entries.iter().rposition(|entry| sets_data(&entry.input)) else {
        return DataChanges::new();
    };
    let mut changes = DataChanges::new();
    let mut replay = StepwiseReplay::new(Arc::clone(&journaled_run.spec));
    let mut entries = journaled_run.entries.iter().take(last + 1).peekable();
    while let Some(entry) = entries.next() {
        for replaced in replaced_values(&entry.input, &replay.machine.data()) {
            let first = changes.get(&replaced.path).map_or(replaced.old, |(old, _)| old.clone());
            changes.insert(replaced.path, (first, replaced.new));
        }
        replay.feed_input(entry.at, entry.input.clone(), entries.peek().map(|next| &next.input));
    }
    changes
}

/// One is a fork of the other, or both are of the same run.
fn is_related(one: &RunDiffSide, other: &RunDiffSide) -> bool {
    let source = |side: &RunDiffSide| side.fork_of.as_ref().map(|fork| fork.run.clone());
    let (first, second) = (source(one), source(other));
    first.as_ref() == Some(&other.run)
        || second.as_ref() == Some(&one.run)
        || first.is_some() && first == second
        || one.run == other.run
}

/// A path that only one of the two set had in the other what was there before, if both have the same past; else what the
/// other had there is not known.
fn data_differences(one: &DataChanges, other: &DataChanges, is_related: bool) -> Vec<DataDiff> {
    let value = |own: &DataChanges, beside: &DataChanges, name: &String| match own.get(name) {
        Some((_, new)) => Some(new.clone()),
        None => beside.get(name).and_then(|(old, _)| old.clone()),
    };
    let is_known = |name: &&String| is_related || one.contains_key(*name) && other.contains_key(*name);
    let names: BTreeSet<&String> = one.keys().chain(other.keys()).filter(is_known).collect();
    let differences = names.into_iter().map(|name| DataDiff {
        name: name.clone(),
        first: value(one, other, name),
        second: value(other, one, name),
    });
    differences.filter(|diff| diff.first != diff.second).collect()
}

fn input_differences(one: &Machine, other: &Machine) -> Vec<InputDiff> {
    let (first, second) = (&one.spec().inputs, &other.spec().inputs);
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    names
        .into_iter()
        .filter(|name| first.get(*name) != second.get(*name))
        .map(|name| InputDiff {
            name: name.clone(),
            first: first.get(name).cloned(),
            second: second.get(name).cloned(),
        })
        .collect()
}

/// Long runs that have little in common are laid side by side roughly after that.
const TIME: Duration = Duration::from_secs(2);

/// What both have once, the rest where it belongs.
fn align_steps(first: &[String], second: &[String]) -> Vec<AlignedStep> {
    let mut steps = Vec::new();
    let mut add = |of, texts: &[String]| {
        steps.extend(texts.iter().map(|text| AlignedStep { of, text: text.clone() }));
    };
    let (one, other) = (text_refs(first), text_refs(second));
    for op in TextDiff::configure().timeout(TIME).diff_slices(&one, &other).ops() {
        let (old, new) = (op.old_range(), op.new_range());
        if matches!(op, DiffOp::Equal { .. }) {
            add(AlignedSide::Both, &first[old]);
        } else {
            add(AlignedSide::First, &first[old]);
            add(AlignedSide::Second, &second[new]);
        }
    }
    steps
}

fn text_refs(all: &[String]) -> Vec<&str> {
    all.iter().map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_laid_side_by_side() {
        let list = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for (first, second, expected) in [
            ("a b c", "a b c", "=a =b =c"),
            ("a b c", "a x c", "=a -b +x =c"),
            ("a", "", "-a"),
            ("", "a", "+a"),
            (
                "start code review stop",
                "start code review code review stop",
                "=start =code =review +code +review =stop",
            ),
        ] {
            let steps = align_steps(&list(first), &list(second)).into_iter().map(|step| {
                let mark = match step.of {
                    AlignedSide::Both => '=',
                    AlignedSide::First => '-',
                    AlignedSide::Second => '+',
                };
                format!("{mark}{}", step.text)
            });
            assert_eq!(steps.collect::<Vec<_>>().join(" "), expected, "{first} and {second}");
        }
    }
}
