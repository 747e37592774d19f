//! The transitions of each state: what can never be taken (W04), what is left open (W03).

use super::super::source::Findings;
use super::super::workflow_file::{NoMatchForm, StateForm};
use super::{StateScripts, Unit};
use crate::domain::role::Role;

pub(super) fn check(unit: &Unit, findings: &mut Findings<'_>) {
    for (state, scripts) in unit.form.states.iter().zip(&unit.states) {
        if state.name.value == "stop" {
            stop(state, findings);
            continue;
        }
        let Some(transitions) = &state.transitions else { continue };
        let last = scripts.transitions.iter().position(|one| one.condition.is_none());
        // a condition that does not parse was reported and must not count as missing
        let sound = transitions.iter().zip(&scripts.transitions).all(|(form, script)| {
            script.condition.is_some() || form.condition.as_ref().is_none_or(|text| always(&text.value))
        });
        if !sound {
            continue;
        }
        match last {
            Some(last) => {
                for dead in transitions.iter().skip(last + 1) {
                    let message = "never taken: the transition before it always holds";
                    let hint = "move it up, or give the earlier one a condition";
                    findings.warning("W04", dead.target.span.clone(), message, Some(hint.to_owned()));
                }
            }
            None => open_end(unit, state, scripts, findings),
        }
    }
}

/// `stop` only gives the output; whatever else it holds does nothing.
fn stop(state: &StateForm, findings: &mut Findings<'_>) {
    let first = state.transitions.iter().flatten().next().map(|one| &one.target);
    let idle = [(&state.agent, "agent"), (&state.script, "script"), (&state.sub_workflow, "sub-workflow")];
    let idle = idle.into_iter().filter_map(|(text, what)| Some((text.as_ref()?, what)));
    for (text, what) in idle.chain(first.map(|target| (target, "transition"))) {
        let message = format!("`stop` ends the workflow: its {what} does nothing");
        let hint = "move it to a state before, which then leads to `stop`";
        findings.warning("W04", text.span.clone(), message, Some(hint.to_owned()));
    }
}

/// Whether a condition's text is one that holds always.
fn always(text: &str) -> bool {
    let text = text.trim();
    text.is_empty() || text.trim_matches(['(', ')']) == "true"
}

fn open_end(unit: &Unit, state: &StateForm, scripts: &StateScripts, findings: &mut Findings<'_>) {
    if unit.form.no_match != NoMatchForm::Error || complete(unit, state, scripts) {
        return;
    }
    let message = format!("the state `{}` may find no transition that holds", state.name.value);
    let hint = "add a last transition without a condition, or set \"on_no_match\": \"stop\"";
    findings.warning("W03", state.name.span.clone(), message, Some(hint.to_owned()));
}

/// Two conditions that cannot both fail: `x` and `!x`, or both values of a required boolean of a decision.
fn complete(unit: &Unit, state: &StateForm, scripts: &StateScripts) -> bool {
    let tests: Vec<_> = scripts
        .transitions
        .iter()
        .filter_map(|one| one.condition.as_ref().and_then(|script| script.facts.test.as_ref()))
        .collect();
    tests.iter().enumerate().any(|(at, one)| {
        tests[at + 1..].iter().any(|other| {
            let opposite = one.text == other.text && one.holds != other.holds;
            let pair = match (&one.decision, &other.decision) {
                (Some((tool, argument, yes)), Some((other_tool, other_argument, other_yes))) => {
                    tool == other_tool
                        && argument == other_argument
                        && yes != other_yes
                        && decided(unit, state, tool, argument)
                }
                _ => false,
            };
            opposite || pair
        })
    })
}

/// Whether the state's own agent must give the argument, and gives it as a boolean.
fn decided(unit: &Unit, state: &StateForm, tool: &str, argument: &str) -> bool {
    let Some(Some(cast)) = unit.speaker(state).and_then(|agent| unit.cast.get(agent)) else {
        return false;
    };
    required_boolean(&cast.role, tool, argument)
}

fn required_boolean(role: &Role, tool: &str, argument: &str) -> bool {
    role.parsing_tools.iter().filter(|one| one.name == tool).any(|one| {
        let required = one.parameters["required"].as_array();
        one.parameters["properties"][argument]["type"] == "boolean"
            && required.is_some_and(|names| names.iter().any(|name| name == argument))
    })
}
