//! Two runs side by side: definition, inputs, path, decisions, result and cost (HIST-6).

use std::collections::BTreeSet;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value;
use similar::{DiffOp, TextDiff};

use super::handle::Handle;
use super::reopen;
use crate::domain::cost::Usage;
use crate::domain::ids::{RunId, Timestamp};
use crate::domain::journal::RunStatus;
use crate::engine::event::RunEvent;
use crate::engine::machine::Machine;
use crate::ports::run_store::StoreError;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Comparison {
    pub first: Side,
    pub second: Side,
    pub definition: Definition,
    /// Only those that differ.
    pub inputs: Vec<Given>,
    pub path: Vec<Step>,
    pub decisions: Vec<Step>,
    pub same_output: bool,
}

/// One of the two runs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Side {
    pub run: RunId,
    pub workflow: String,
    pub definition: String,
    pub started: Timestamp,
    pub updated: Timestamp,
    pub status: RunStatus,
    pub steps: usize,
    pub usage: Usage,
    pub cost_usd: Option<f64>,
    pub output: Option<Value>,
    /// Code and detail.
    pub error: Option<String>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Definition {
    pub same: bool,
    /// What is different, from the first to the second.
    pub notes: Vec<String>,
}

/// An input that is not the same; absent where it was not given.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Given {
    pub name: String,
    pub first: Option<Value>,
    pub second: Option<Value>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Step {
    pub of: Of,
    pub text: String,
}

/// Whose it is, after both lists were laid side by side.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Of {
    Both,
    First,
    Second,
}

impl Handle {
    /// Accepts unique prefixes of the ids.
    ///
    /// # Errors
    /// One of them is unknown or unreadable.
    pub fn compare(&self, first: &str, second: &str) -> Result<Comparison, StoreError> {
        let (one, other) = (self.compared(first)?, self.compared(second)?);
        let (old, new) = (&one.machine.spec().program, &other.machine.spec().program);
        let same = old == new;
        let mut notes = if same { Vec::new() } else { Machine::differences(old, new) };
        if !same && notes.is_empty() {
            notes.push("only places in the files, models or tools are different".to_owned());
        }
        Ok(Comparison {
            definition: Definition { same, notes },
            inputs: inputs(&one.machine, &other.machine),
            path: aligned(&one.path, &other.path),
            decisions: aligned(&one.decisions, &other.decisions),
            same_output: one.side.output == other.side.output,
            first: one.side,
            second: other.side,
        })
    }

    fn compared(&self, id: &str) -> Result<Compared, StoreError> {
        let summary = self.ports().store.find(id)?;
        let reopen::Standing { machine, events, .. } =
            reopen::read(&*self.ports().store, &summary.id)?.play();
        let (mut path, mut decisions) = (Vec::new(), Vec::new());
        for (_, event) in events {
            match event {
                RunEvent::StateEntered { state, .. } => path.push(state),
                RunEvent::Decided { agent, tool, arguments } => {
                    decisions.push(format!("{agent}: {tool} {arguments}"));
                }
                _ => {}
            }
        }
        let side = Side {
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
        Ok(Compared { machine, side, path, decisions })
    }
}

struct Compared {
    machine: Machine,
    side: Side,
    path: Vec<String>,
    decisions: Vec<String>,
}

fn inputs(one: &Machine, other: &Machine) -> Vec<Given> {
    let (first, second) = (&one.spec().inputs, &other.spec().inputs);
    let names: BTreeSet<&String> = first.keys().chain(second.keys()).collect();
    names
        .into_iter()
        .filter(|name| first.get(*name) != second.get(*name))
        .map(|name| Given {
            name: name.clone(),
            first: first.get(name).cloned(),
            second: second.get(name).cloned(),
        })
        .collect()
}

/// Long runs that have little in common are laid side by side roughly after that.
const TIME: Duration = Duration::from_secs(2);

/// What both have once, the rest where it belongs.
fn aligned(first: &[String], second: &[String]) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut add = |of, texts: &[String]| {
        steps.extend(texts.iter().map(|text| Step { of, text: text.clone() }));
    };
    let (one, other) = (texts(first), texts(second));
    for op in TextDiff::configure().timeout(TIME).diff_slices(&one, &other).ops() {
        let (old, new) = (op.old_range(), op.new_range());
        if matches!(op, DiffOp::Equal { .. }) {
            add(Of::Both, &first[old]);
        } else {
            add(Of::First, &first[old]);
            add(Of::Second, &second[new]);
        }
    }
    steps
}

fn texts(all: &[String]) -> Vec<&str> {
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
            let steps = aligned(&list(first), &list(second)).into_iter().map(|step| {
                let mark = match step.of {
                    Of::Both => '=',
                    Of::First => '-',
                    Of::Second => '+',
                };
                format!("{mark}{}", step.text)
            });
            assert_eq!(steps.collect::<Vec<_>>().join(" "), expected, "{first} and {second}");
        }
    }
}
