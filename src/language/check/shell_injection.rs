//! Commands that a shell reads: an agent's text must not become a part of them (W11).

use std::collections::HashSet;

use super::super::source::FileDiagnostics;
use super::super::workflow_file::{StateForm, StepForm, WorkForm};
use super::{CompilationUnit, ParsedScript, StateScripts};

/// Members of the host through which words of agents come.
const SPOKEN: [&str; 6] = ["last_", "agents", "contexts", "getAgent", "getContext", "sub_workflow_result"];

pub(super) fn check_shell_injection(unit: &CompilationUnit, findings: &mut FileDiagnostics<'_>) {
    let mut given = None;
    for (state, scripts) in unit.form.states.iter().zip(&unit.states) {
        let Some(command) = computed_command(state, scripts) else { continue };
        if !given.get_or_insert_with(|| TrustedCommandKeys::from_unit(unit)).is_trusted(command) {
            let message = "what the run has put together becomes a command of the shell";
            let hint =
                "name the program in `command` and pass values in `args` or `env`, where no shell reads them";
            findings.add_warning("W11", command.text.span.clone(), message, Some(hint.to_owned()));
        }
    }
}

/// The command of a shell state without `args`, if it is computed.
fn computed_command<'u>(state: &StateForm, scripts: &'u StateScripts) -> Option<&'u ParsedScript> {
    let WorkForm::Step(StepForm { tool, arguments, .. }) = &state.work else { return None };
    let has_args = arguments.names.iter().any(|name| name.value == "args");
    if tool.value != "shell" || has_args {
        return None;
    }
    let at = arguments
        .computed_leaves
        .iter()
        .position(|(path, _)| path.first().is_some_and(|key| key == "command"))?;
    scripts.work.get(at)?.script()
}

/// Keys that nothing writes: their values come from the file or from the user who started the run.
struct TrustedCommandKeys<'u> {
    keys: HashSet<&'u str>,
    /// A script may write any key.
    opaque: bool,
}

impl<'u> TrustedCommandKeys<'u> {
    fn from_unit(unit: &'u CompilationUnit) -> Self {
        let inputs = unit.form.inputs.iter().map(|input| input.name.value.as_str());
        let variables = unit.form.variables.iter().map(|(name, _)| name.value.as_str());
        let written = unit.written_keys();
        let keys = inputs.chain(variables).filter(|key| !written.contains(key)).collect();
        Self { keys, opaque: unit.is_opaque() }
    }

    /// Whether all of a command is.
    fn is_trusted(&self, command: &ParsedScript) -> bool {
        let facts = &command.facts;
        let spoken = SPOKEN.iter().any(|name| command.text.value.contains(name));
        !facts.opaque
            && !self.opaque
            && !spoken
            && facts.calls.is_empty()
            && facts.library_names.is_empty()
            && facts.data_reads.iter().all(|key| self.keys.contains(key.name.as_str()))
    }
}
