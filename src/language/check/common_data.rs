//! `common_data`: an output that nothing writes (W08), names that hide the host's (W10), a `max_iterations` that no
//! script reads (I01).

use super::super::source::FileDiagnostics;
use super::super::workflow_file::{WorkflowForm, offset_in_string};
use super::CompilationUnit;
use synthdev_domain::diagnostic::DiagnosticSeverity;

/// Members of `agents` and `contexts`.
const MAP_MEMBERS: [&str; 4] = ["get", "has", "keys", "size"];

pub(super) fn check_common_data(unit: &CompilationUnit, findings: &mut FileDiagnostics<'_>) {
    check_output(unit, findings);
    check_shadowed_names(unit, findings);
    check_rounds(unit, findings);
}

fn check_output(unit: &CompilationUnit, findings: &mut FileDiagnostics<'_>) {
    let form = &unit.form;
    // a script that could not be read may be the one that writes
    if findings.has_errors() || unit.is_opaque() {
        return;
    }
    let mut written = unit.written_keys();
    written.extend(form.inputs.iter().map(|input| input.name.value.as_str()));
    written.extend(form.variables.iter().map(|(name, _)| name.value.as_str()));
    let hint = |key: &str| Some(format!("set `common_data.{key}` in a script or a `before`"));
    let stop = form.states.iter().position(|state| state.name.value == "stop");
    let input = stop.and_then(|at| form.states[at].input.as_ref().map(|_| &unit.states[at].input));
    match (input, &form.output) {
        // the output is what `stop.input` gives
        (Some(input), _) => {
            if let Some(script) = input.script() {
                for key in script.facts.data_reads.iter().filter(|key| !written.contains(key.name.as_str())) {
                    let start = offset_in_string(findings.file, &script.text.span, key.offset);
                    let span = start
                        ..offset_in_string(findings.file, &script.text.span, key.offset + key.name.len());
                    let message = format!("nothing writes `common_data.{}`", key.name);
                    findings.add_warning("W08", span, message, hint(&key.name));
                }
            }
        }
        (None, Some(output)) if !written.contains(output.name.value.as_str()) && !ends_with_a_value(form) => {
            let message = format!("nothing writes the output `{}`", output.name.value);
            findings.add_warning("W08", output.name.span.clone(), message, hint(&output.name.value));
        }
        (None, _) => {}
    }
}

/// Whether a state other than `stop` ends the workflow and gives its output.
fn ends_with_a_value(form: &WorkflowForm) -> bool {
    form.states.iter().any(|state| state.scope.is_empty() && state.is_terminal() && state.input.is_some())
}

fn check_shadowed_names(unit: &CompilationUnit, findings: &mut FileDiagnostics<'_>) {
    let form = &unit.form;
    let agents = form.agents.iter().map(|agent| ("agents", &agent.id));
    let contexts = form.contexts.iter().map(|context| ("contexts", &context.name));
    for (owner, name) in agents.chain(contexts).filter(|(_, name)| MAP_MEMBERS.contains(&name.value.as_str()))
    {
        let message = format!("`{0}` hides `{owner}.{0}`", name.value);
        let hint = format!("rename it, or reach it with `{owner}.get(\"{}\")`", name.value);
        findings.add_warning("W10", name.span.clone(), message, Some(hint));
    }
    let inputs = form.inputs.iter().map(|input| &input.name);
    let variables = form.variables.iter().map(|(name, _)| name);
    for name in inputs.chain(variables).filter(|name| name.value == "variables") {
        let message = "`common_data.variables` is another way to write `common_data`; this name hides it";
        findings.add_warning("W10", name.span.clone(), message, Some("rename it".to_owned()));
    }
}

/// Reports a `max_iterations` that no script reads: it limits the visits of each state.
fn check_rounds(unit: &CompilationUnit, findings: &mut FileDiagnostics<'_>) {
    if let Some(limit) = unit.counted_rounds() {
        let Some((name, _)) = unit.form.variables.iter().find(|(name, _)| name.value == "max_iterations")
        else {
            return;
        };
        let message = format!("no script reads `max_iterations`: each state may be visited {limit} times");
        findings.add_diagnostic(DiagnosticSeverity::Info, "I01", name.span.clone(), message, None);
    }
}

impl CompilationUnit {
    /// `variables.max_iterations` as a limit of visits per state, if no script reads it and the file sets no
    /// such limit itself.
    pub fn counted_rounds(&self) -> Option<u32> {
        if self.form.limits.max_visits.is_some() {
            return None;
        }
        let (_, value) = self.form.variables.iter().find(|(name, _)| name.value == "max_iterations")?;
        let limit = value.as_u64().and_then(|limit| u32::try_from(limit).ok()).filter(|limit| *limit > 0)?;
        let mut all = self.scripts().map(|script| &*script.facts).chain(self.library_facts());
        let read = all.any(|facts| facts.data_reads.iter().any(|key| key.name == "max_iterations"));
        (!read).then_some(limit)
    }
}
