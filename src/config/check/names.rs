//! Names that must exist, be unique or fit together (E01–E05, E08, E10–E13).

use std::collections::HashMap;

use super::super::source::Findings;
use super::super::suggest::{closest, did_you_mean};
use super::super::workflow_file::{FunctionForm, StateForm, Text, WorkForm, WorkflowForm};
use crate::domain::failure::{ERROR_NAMES, matches};
use crate::domain::workflow::AgentFunction;

pub(super) fn check<'w>(
    form: &WorkflowForm,
    child: &dyn Fn(&str) -> Option<&'w WorkflowForm>,
    findings: &mut Findings<'_>,
) {
    unique("E03", "state", form.states.iter().map(|state| &state.name), findings);
    unique("E04", "agent", form.agents.iter().map(|agent| &agent.id), findings);
    unique("E04", "context", form.contexts.iter().map(|context| &context.name), findings);
    start(form, findings);
    agents(form, findings);
    clashes(form, findings);
    policies(form, findings);
    for state in &form.states {
        targets(form, state, findings);
        errors(form, state, findings);
        work(form, state, findings);
        if let Some(called) = &state.sub_workflow
            && let Some(callee) = child(&called.value)
        {
            keys(state, called, callee, findings);
        }
    }
}

fn unique<'t>(code: &str, what: &str, names: impl Iterator<Item = &'t Text>, findings: &mut Findings<'_>) {
    let mut seen: HashMap<&str, &Text> = HashMap::new();
    for name in names {
        match seen.get(name.value.as_str()) {
            None => {
                seen.insert(&name.value, name);
            }
            Some(first) => {
                let line = findings.file.place(first.span.start).line;
                let hint = match what {
                    "agent" => "give one of the two a `name` of its own",
                    _ => "rename one of the two",
                };
                let message = format!("the {what} `{}` is already defined in line {line}", name.value);
                findings.error(code, name.span.clone(), message, Some(hint.to_owned()));
            }
        }
    }
}

fn start(form: &WorkflowForm, findings: &mut Findings<'_>) {
    if form.states.iter().any(|state| state.name.value == "start") {
        return;
    }
    let near = form.states.iter().find(|state| closest("start", [state.name.value.as_str()]).is_some());
    let (span, hint) = match near {
        Some(state) => (state.name.span.clone(), format!("rename `{}` to `start`", state.name.value)),
        None => (form.name.span.clone(), "name the first state `start`".to_owned()),
    };
    findings.error("E01", span, "the workflow has no state named `start`", Some(hint));
}

fn agents(form: &WorkflowForm, findings: &mut Findings<'_>) {
    for agent in &form.agents {
        let known = form.contexts.iter().map(|context| context.name.value.as_str());
        unknown("E05", "context", &agent.context, known, findings);
    }
}

fn unknown<'n>(
    code: &str,
    what: &str,
    name: &Text,
    known: impl Iterator<Item = &'n str> + Clone,
    findings: &mut Findings<'_>,
) {
    if findings.is_full() || known.clone().any(|candidate| candidate == name.value) {
        return;
    }
    let hint = did_you_mean(&name.value, known.clone()).or_else(|| {
        let all: Vec<&str> = known.collect();
        Some(if all.is_empty() {
            format!("no {what} is defined")
        } else {
            format!("known: {}", all.join(", "))
        })
    });
    findings.error(code, name.span.clone(), format!("there is no {what} `{}`", name.value), hint);
}

/// A7: the input would overwrite the variable.
fn clashes(form: &WorkflowForm, findings: &mut Findings<'_>) {
    for (variable, _) in &form.variables {
        if form.inputs.iter().any(|input| input.name.value == variable.value) {
            let message = format!("`{}` is an input and a variable", variable.value);
            let hint = "the input would overwrite the variable: remove it here or rename it";
            findings.error("E13", variable.span.clone(), message, Some(hint.to_owned()));
        }
    }
}

/// Targets of a state stand in its own body, and so do the names that are suggested.
fn targets(form: &WorkflowForm, state: &StateForm, findings: &mut Findings<'_>) {
    let transitions = state.transitions.iter().flatten().map(|one| &one.target);
    for target in transitions.chain(state.detours()) {
        within(form, &state.scope, target, findings);
    }
}

fn within(form: &WorkflowForm, scope: &str, target: &Text, findings: &mut Findings<'_>) {
    let known = form.states.iter().filter(|state| state.scope == scope).map(StateForm::local).chain(["stop"]);
    let local = target.value.strip_prefix(scope).unwrap_or(&target.value);
    let target = Text { value: local.to_owned(), span: target.span.clone() };
    unknown("E02", "state", &target, known, findings);
}

/// `on_error`, `on_limit` and `on_no_match` of the workflow.
fn policies(form: &WorkflowForm, findings: &mut Findings<'_>) {
    for target in form.detours() {
        within(form, "", target, findings);
    }
}

/// E11: names that no error ever has. `fail` states add names of their own.
fn errors(form: &WorkflowForm, state: &StateForm, findings: &mut Findings<'_>) {
    let own = form.states.iter().filter_map(|state| match &state.work {
        WorkForm::Fail { error, .. } => Some(error.value.as_str()),
        _ => None,
    });
    let known: Vec<&str> = ERROR_NAMES.into_iter().chain(own).collect();
    let retried = state.retry.iter().flat_map(|rule| &rule.errors);
    for pattern in retried.chain(state.catch.iter().flat_map(|rule| &rule.errors)) {
        if known.iter().any(|name| matches(&pattern.value, name)) {
            continue;
        }
        let bare = pattern.value.trim_end_matches(['*', '.']);
        let hint = did_you_mean(bare, known.iter().copied()).unwrap_or_else(|| {
            "known: * (all), model.*, tool.*, parsing_tool_missing, parsing_tool_invalid, expression, script, \
             input_undefined, no_transition, sub_workflow_failed, timeout, validation, budget_exceeded, limit …"
                .to_owned()
        });
        let message = format!("no error is called `{}`", pattern.value);
        findings.error("E11", pattern.span.clone(), message, Some(hint));
    }
}

fn work(form: &WorkflowForm, state: &StateForm, findings: &mut Findings<'_>) {
    if let Some(agent) = &state.agent {
        unknown("E05", "agent", agent, form.agents.iter().map(|agent| agent.id.value.as_str()), findings);
        if let Some(called) = &state.sub_workflow {
            let message = "a state has either an agent or a sub-workflow";
            let hint = "move the sub-workflow to a state of its own";
            findings.error("E12", called.span.clone(), message, Some(hint.to_owned()));
        }
    }
    let Some(function) = &state.function else { return };
    match function.value {
        FunctionForm::Script if state.script.is_none() => {
            let hint = "add \"script\": \"…\" to the action";
            let message = "the action says `script` and has none";
            findings.error("E10", function.span.clone(), message, Some(hint.to_owned()));
        }
        FunctionForm::Agent(_) if state.agent.is_none() => {
            let message = "the action needs an agent and the state names none";
            let hint = "add \"agent\": \"…\" to the state";
            findings.error("E10", function.span.clone(), message, Some(hint.to_owned()));
        }
        FunctionForm::Agent(AgentFunction::AddUserMessage) if state.input.is_none() => {
            let message = "`addUserMessage` needs an `input`";
            findings.error("E10", function.span.clone(), message, None);
        }
        FunctionForm::Script | FunctionForm::Agent(_) => {}
    }
}

/// A47: the keys of `sub_workflow_input` are the child's inputs, all of them.
fn keys(state: &StateForm, called: &Text, callee: &WorkflowForm, findings: &mut Findings<'_>) {
    let known = callee.inputs.iter().map(|input| input.name.value.as_str());
    for (key, _) in &state.sub_inputs {
        if !known.clone().any(|name| name == key.value) {
            let message = format!("`{}` has no input `{}`", called.value, key.value);
            let hint = did_you_mean(&key.value, known.clone())
                .unwrap_or_else(|| format!("its inputs: {}", known.clone().collect::<Vec<_>>().join(", ")));
            findings.error("E08", key.span.clone(), message, Some(hint));
        }
    }
    for input in callee.inputs.iter().filter(|input| input.required) {
        if !state.sub_inputs.iter().any(|(key, _)| key.value == input.name.value) {
            let name = &input.name.value;
            let message = format!("`{}` needs the input `{name}`", called.value);
            let hint = format!("add \"{name}\": \"…\" to `sub_workflow_input`");
            findings.error("E08", called.span.clone(), message, Some(hint));
        }
    }
}
