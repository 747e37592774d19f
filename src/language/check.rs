//! Judges a workflow that has been read: names, the graph, decisions, data (E01–E09, E12, E13, W01–W11, I01).
//!
//! It sees the file form with its compiled scripts and cast agents; it changes nothing and builds nothing.

mod common_data;
mod compile;
mod exhaustiveness;
mod known_names;
mod last_speaker;
mod literals;
mod names;
mod schema_paths;
mod script_file;
mod shell_injection;
mod state_graph;
mod template;
mod tool_decisions;
mod transitions;
mod type_checks;

mod compilation_unit;

use super::source::FileDiagnostics;
use super::workflow_file::WorkflowForm;

pub use compilation_unit::{
    CompilationUnit, InputScript, ParsedScript, ResolvedAgent, ScriptFile, StateScripts, TransitionScripts,
};
pub use compile::{CompanionLookup, CompileContext, compile_scripts};
pub use script_file::script_file;

/// Adds every finding of one workflow. `child` finds another workflow's form by name, for the keys of
/// `sub_workflow_input`.
pub fn check_workflow<'w>(
    unit: &CompilationUnit,
    child: &dyn Fn(&str) -> Option<&'w WorkflowForm>,
    findings: &mut FileDiagnostics<'_>,
) {
    names::check_names(&unit.form, child, findings);
    literals::check_literals(unit, findings);
    let graph = state_graph::StateFlowGraph::new(unit);
    transitions::check_transitions(unit, findings);
    graph.check_graph(unit, findings);
    tool_decisions::check_decisions(unit, &graph, findings);
    type_checks::check_types(unit, child, findings);
    common_data::check_common_data(unit, findings);
    shell_injection::check_shell_injection(unit, findings);
}
