//! The transitions of each state: what can never be taken (W04), what is left open (W03).

use serde_json::{Value, json};

use super::super::script_analysis::ConditionFormula;
use super::super::source::FileDiagnostics;
use super::super::workflow_file::{NoMatchForm, OnErrorForm, StateForm, WorkForm};
use super::exhaustiveness::open_cases;
use super::{CompilationUnit, StateScripts};
use synthdev_domain::workflow::PauseKind;

pub(super) fn check_transitions(unit: &CompilationUnit, findings: &mut FileDiagnostics<'_>) {
    for (state, scripts) in unit.form.states.iter().zip(&unit.states) {
        if state.is_terminal() {
            check_stop_state(state, findings);
            continue;
        }
        let Some(transitions) = &state.transitions else { continue };
        let last = scripts.transitions.iter().position(|one| one.condition.is_none());
        // a condition that does not parse was reported and must not count as missing
        let sound = transitions.iter().zip(&scripts.transitions).all(|(form, script)| {
            script.condition.is_some()
                || form.condition.as_ref().is_none_or(|text| is_always_true(&text.value))
        });
        if !sound {
            continue;
        }
        match last {
            Some(last) => {
                for dead in transitions.iter().skip(last + 1) {
                    let message = "never taken: the transition before it always holds";
                    let hint = "move it up, or give the earlier one a condition";
                    findings.add_warning("W04", dead.target.span.clone(), message, Some(hint.to_owned()));
                }
            }
            None => open_end(unit, state, scripts, findings),
        }
    }
}

/// `stop` only gives the output; whatever else it holds does nothing.
fn check_stop_state(state: &StateForm, findings: &mut FileDiagnostics<'_>) {
    let first = state.transitions.iter().flatten().next().map(|one| &one.target);
    let idle = [(&state.agent, "agent"), (&state.script, "script"), (&state.sub_workflow, "sub-workflow")];
    let idle = idle.into_iter().filter_map(|(text, what)| Some((text.as_ref()?, what)));
    for (text, what) in idle.chain(first.map(|target| (target, "transition"))) {
        let name = state.local_name();
        let what_ends = if state.scope.is_empty() { "the workflow" } else { "the body" };
        let message = format!("`{name}` ends {what_ends}: its {what} does nothing");
        let hint = format!("move it to a state before, which then leads to `{name}`");
        findings.add_warning("W04", text.span.clone(), message, Some(hint));
    }
}

/// Whether a condition's text is one that holds always.
fn is_always_true(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text.trim_matches(['(', ')']) == "true"
}

fn open_end(
    unit: &CompilationUnit,
    state: &StateForm,
    scripts: &StateScripts,
    findings: &mut FileDiagnostics<'_>,
) {
    if unit.form.no_match != NoMatchForm::Error {
        return;
    }
    let conditions = scripts.transitions.iter().filter_map(|one| one.condition.as_ref());
    let tests: Vec<&ConditionFormula> =
        conditions.filter_map(|script| script.facts.formula.as_ref()).collect();
    let Some(cases) = open_cases(&tests, &required_decisions(unit, state, scripts), &known_schemas(state))
    else {
        return;
    };
    let name = &state.name.value;
    let message = if cases.is_empty() {
        format!("the state `{name}` may find no transition that holds")
    } else {
        format!("the state `{name}` has no transition for when {}", cases.join(" or "))
    };
    let hint = "add a last transition without a condition, or set \"on_no_match\": \"stop\"";
    findings.add_warning("W03", state.name.span.clone(), message, Some(hint.to_owned()));
}

/// What is known of the values that the transitions of a state read: what its work came to, and the same where
/// `output` keeps it.
fn known_schemas(state: &StateForm) -> Vec<(String, Value)> {
    // a failed state that continues stores nothing
    if state.on_error == Some(OnErrorForm::Continue) {
        return Vec::new();
    }
    // a fallback may replace an answer; it fits the schema of `output`, if there is one
    let answer = answer_schema(state).filter(|_| state.spec.recovery.fallback.is_none());
    let kept = state.spec.store.as_ref().and_then(|store| {
        let schema = answer.clone().or_else(|| store.schema.clone())?;
        Some((store.key.as_ref()?, schema))
    });
    let kept = kept.into_iter().flat_map(|(key, schema)| {
        let roots = ["common_data", "variables", "common_data.variables", "state"];
        roots.map(|root| (format!("{root}.{key}"), schema.clone()))
    });
    let result = answer.clone().map(|schema| ("context.result".to_owned(), schema));
    result.into_iter().chain(kept).collect()
}

/// The possible results of a question, as a schema.
fn answer_schema(state: &StateForm) -> Option<Value> {
    let WorkForm::Pause(pause) = &state.work else { return None };
    match pause.spec.kind {
        PauseKind::Approval | PauseKind::Boolean => Some(json!({"type": "boolean"})),
        PauseKind::Choice => Some(json!({"enum": pause.spec.choices})),
        PauseKind::Text | PauseKind::Number | PauseKind::Outputs => pause.spec.schema.clone(),
    }
}

/// The tools of the state's own agent that its transitions read: it has to call one of them.
fn required_decisions<'u>(
    unit: &'u CompilationUnit,
    state: &StateForm,
    scripts: &StateScripts,
) -> Vec<(&'u str, &'u Value)> {
    let cast = unit.speaker(state).and_then(|agent| unit.resolved_agents.get(agent)?.as_ref());
    let offered = cast.into_iter().flat_map(|cast| &cast.role.parsing_tools);
    offered
        .filter(|tool| {
            scripts.exit_scripts().any(|script| script.facts.calls.iter().any(|call| call.tool == tool.name))
        })
        .map(|tool| (tool.name.as_str(), &tool.parameters))
        .collect()
}
