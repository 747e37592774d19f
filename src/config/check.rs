//! Judges a workflow that has been read: names, the graph, decisions, data (E01–E09, E12, E13, W01–W11, I01).
//!
//! It sees the file form with its compiled scripts and cast agents; it changes nothing and builds nothing.

mod cases;
mod compile;
mod conversions;
mod data;
mod decisions;
mod graph;
mod known;
mod literals;
mod names;
mod schema;
mod script_file;
mod shell;
mod speakers;
mod template;
mod transitions;

mod unit;

use super::source::Findings;
use super::workflow_file::WorkflowForm;

pub use compile::{Around, Beside, compile};
pub use script_file::script_file;
pub use unit::{Cast, Compiled, InputScript, ScriptFile, StateScripts, TransitionScripts, Unit};

/// Adds every finding of one workflow. `child` finds another workflow's form by name, for the keys of
/// `sub_workflow_input` (A47).
pub fn check<'w>(unit: &Unit, child: &dyn Fn(&str) -> Option<&'w WorkflowForm>, findings: &mut Findings<'_>) {
    names::check(&unit.form, child, findings);
    literals::check(unit, findings);
    let graph = graph::Graph::new(unit);
    transitions::check(unit, findings);
    graph.check(unit, findings);
    decisions::check(unit, &graph, findings);
    conversions::check(unit, child, findings);
    data::check(unit, findings);
    shell::check(unit, findings);
}
