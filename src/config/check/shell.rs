//! Commands that a shell reads: what an agent said must not become a part of them (W11).

use super::super::source::Findings;
use super::super::workflow_file::{StateForm, StepForm, WorkForm};
use super::{Compiled, StateScripts, Unit};

/// Members of the host through which words of agents come.
const SPOKEN: [&str; 6] = ["last_", "agents", "contexts", "getAgent", "getContext", "sub_workflow_result"];

pub(super) fn check(unit: &Unit, findings: &mut Findings<'_>) {
    for (state, scripts) in unit.form.states.iter().zip(&unit.states) {
        let Some(command) = command(state, scripts) else { continue };
        if !is_given(unit, command) {
            let message = "what the run has put together becomes a command of the shell";
            let hint =
                "name the program in `command` and pass values in `args` or `env`, where no shell reads them";
            findings.warning("W11", command.text.span.clone(), message, Some(hint.to_owned()));
        }
    }
}

/// The command of a shell state without `args`, if it is computed.
fn command<'u>(state: &StateForm, scripts: &'u StateScripts) -> Option<&'u Compiled> {
    let WorkForm::Step(StepForm { tool, arguments, .. }) = &state.work else { return None };
    let has_args = arguments.names.iter().any(|name| name.value == "args");
    if tool.value != "shell" || has_args {
        return None;
    }
    let at =
        arguments.leaves.iter().position(|(path, _)| path.first().is_some_and(|key| key == "command"))?;
    scripts.work.get(at)?.script()
}

/// Whether everything in it was given by the person who started the run, or stands in the file.
fn is_given(unit: &Unit, command: &Compiled) -> bool {
    let written = unit.written();
    let declared = |key: &str| {
        let input = unit.form.inputs.iter().any(|input| input.name.value == key);
        let variable = unit.form.variables.iter().any(|(name, _)| name.value == key);
        (input || variable) && !written.contains(key)
    };
    let facts = &command.facts;
    let spoken = SPOKEN.iter().any(|name| command.text.value.contains(name));
    !facts.opaque
        && !unit.is_opaque()
        && !spoken
        && facts.calls.is_empty()
        && facts.offered.is_empty()
        && facts.reads.iter().all(|key| declared(&key.name))
}
