//! Two runs side by side: definition, inputs, path, decisions, result and cost.

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use similar::{DiffOp, TextDiff};

use super::handle::RuntimeHandle;
use super::journal_replay;
use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunStatus;
use synthdev_engine::event::RunEvent;
use synthdev_engine::machine::Machine;
use synthdev_engine::replay::ReplayResult;
use synthdev_ports::run_store::StoreError;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct RunDiff {
    pub first: RunDiffSide,
    pub second: RunDiffSide,
    pub definition: DefinitionDiff,
    /// Only those that differ.
    pub inputs: Vec<InputDiff>,
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

impl RuntimeHandle {
    /// Accepts unique prefixes of the ids.
    ///
    /// # Errors
    /// One of them is unknown or unreadable.
    pub fn diff_runs(&self, first: &str, second: &str) -> Result<RunDiff, StoreError> {
        let (one, other) = (self.rebuild_run(first)?, self.rebuild_run(second)?);
        let (old, new) = (&one.machine.spec().program, &other.machine.spec().program);
        let same = old == new;
        let mut notes = if same { Vec::new() } else { Machine::program_differences(old, new) };
        if !same && notes.is_empty() {
            notes.push("only places in the files, models or tools are different".to_owned());
        }
        Ok(RunDiff {
            definition: DefinitionDiff { same, notes },
            inputs: input_differences(&one.machine, &other.machine),
            path: align_steps(&one.path, &other.path),
            decisions: align_steps(&one.decisions, &other.decisions),
            same_output: one.side.output == other.side.output,
            first: one.side,
            second: other.side,
        })
    }

    fn rebuild_run(&self, id: &str) -> Result<ComparedRun, StoreError> {
        let summary = self.ports().store.find(id)?;
        let ReplayResult { machine, events, .. } =
            journal_replay::load_journaled_run(&*self.ports().store, &summary.id)?.replay();
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
            error: summary.progress.error.map(|error| format!("{}: {}", error.code, error.detail)),
        };
        Ok(ComparedRun { machine, side, path, decisions })
    }
}

struct ComparedRun {
    machine: Machine,
    side: RunDiffSide,
    path: Vec<String>,
    decisions: Vec<String>,
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
