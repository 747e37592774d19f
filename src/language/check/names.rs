//! Names that must exist, be unique or fit together (E01–E05, E08, E10–E13).

use std::collections::{HashMap, HashSet};

use super::super::did_you_mean::{closest_word, join_limited, suggestion_hint};
use super::super::source::FileDiagnostics;
use super::super::workflow_file::{FunctionForm, SpannedText, StateForm, WorkForm, WorkflowForm};
use super::known_names::{DeclaredNames, KnownNames};
use synthdev_domain::run_error::{ERROR_NAMES, error_pattern_matches};
use synthdev_domain::workflow::AgentFunction;

pub(super) fn check_names<'w>(
    form: &WorkflowForm,
    child: &dyn Fn(&str) -> Option<&'w WorkflowForm>,
    findings: &mut FileDiagnostics<'_>,
) {
    check_unique("E03", "state", form.states.iter().map(|state| &state.name), findings);
    check_unique("E04", "agent", form.agents.iter().map(|agent| &agent.id), findings);
    check_unique("E04", "context", form.contexts.iter().map(|context| &context.name), findings);
    check_start(form, findings);
    let known = KnownNames::from_form(form);
    for agent in &form.agents {
        known.contexts.expect_name("E05", "context", &agent.context, findings);
    }
    check_input_clashes(form, findings);
    // `on_error`, `on_limit` and `on_no_match` of the workflow
    for target in form.error_targets() {
        known.check_target("", target, findings);
    }
    let mut errors = ErrorNameCheck::from_form(form);
    for state in &form.states {
        known.check_targets(state, findings);
        errors.check_state_errors(state, findings);
        check_work_names(&known, state, findings);
        if let Some(called) = &state.sub_workflow
            && let Some(callee) = child(&called.value)
        {
            check_child_input_keys(state, called, callee, findings);
        }
    }
}

fn check_unique<'t>(
    code: &str,
    what: &str,
    names: impl Iterator<Item = &'t SpannedText>,
    findings: &mut FileDiagnostics<'_>,
) {
    let mut seen: HashMap<&str, &SpannedText> = HashMap::new();
    for name in names {
        match seen.get(name.value.as_str()) {
            None => {
                seen.insert(&name.value, name);
            }
            Some(_) if findings.is_closed() => return,
            Some(first) => {
                let line = findings.location_at(first.span.start).line;
                let hint = match what {
                    "agent" => "give one of the two a `name` of its own",
                    _ => "rename one of the two",
                };
                let message = format!("the {what} `{}` is already defined in line {line}", name.value);
                findings.add_error(code, name.span.clone(), message, Some(hint.to_owned()));
            }
        }
    }
}

fn check_start(form: &WorkflowForm, findings: &mut FileDiagnostics<'_>) {
    if form.states.iter().any(|state| state.name.value == "start") {
        return;
    }
    let near = form.states.iter().find(|state| closest_word("start", [state.name.value.as_str()]).is_some());
    let (span, hint) = match near {
        Some(state) => (state.name.span.clone(), format!("rename `{}` to `start`", state.name.value)),
        None => (form.name.span.clone(), "name the first state `start`".to_owned()),
    };
    findings.add_error("E01", span, "the workflow has no state named `start`", Some(hint));
}

/// The input would overwrite the variable.
fn check_input_clashes(form: &WorkflowForm, findings: &mut FileDiagnostics<'_>) {
    let inputs: HashSet<&str> = form.inputs.iter().map(|input| input.name.value.as_str()).collect();
    for (variable, _) in &form.variables {
        if inputs.contains(variable.value.as_str()) {
            let message = format!("`{}` is an input and a variable", variable.value);
            let hint = "the input would overwrite the variable: remove it here or rename it";
            findings.add_error("E13", variable.span.clone(), message, Some(hint.to_owned()));
        }
    }
}

/// E11: names that no error ever has. `fail` states add names of their own.
struct ErrorNameCheck<'f> {
    declared_names: DeclaredNames<'f>,
    /// Patterns that were looked up: states repeat each other's.
    checked_patterns: HashMap<&'f str, bool>,
}

impl<'f> ErrorNameCheck<'f> {
    fn from_form(form: &'f WorkflowForm) -> Self {
        let own = form.states.iter().filter_map(|state| match &state.work {
            WorkForm::Fail(fail) => Some(fail.error.value.as_str()),
            _ => None,
        });
        Self {
            declared_names: ERROR_NAMES.into_iter().chain(own).collect(),
            checked_patterns: HashMap::new(),
        }
    }

    fn check_state_errors(&mut self, state: &'f StateForm, findings: &mut FileDiagnostics<'_>) {
        let retried = state.retry.iter().flat_map(|rule| &rule.errors);
        for pattern in retried.chain(state.catch.iter().flat_map(|rule| &rule.errors)) {
            let known = &self.declared_names;
            let fits = || {
                known.has_name(&pattern.value)
                    || known.iter().any(|name| error_pattern_matches(&pattern.value, name))
            };
            if *self.checked_patterns.entry(&pattern.value).or_insert_with(fits) || findings.is_closed() {
                continue;
            }
            let bare = pattern.value.trim_end_matches(['*', '.']);
            let hint = suggestion_hint(bare, known.iter()).unwrap_or_else(|| {
                "known: * (all), model.*, tool.*, parsing_tool_missing, parsing_tool_invalid, expression, script, \
                 input_undefined, no_transition, sub_workflow_failed, timeout, validation, budget_exceeded, limit …"
                    .to_owned()
            });
            let message = format!("no error is called `{}`", pattern.value);
            findings.add_error("E11", pattern.span.clone(), message, Some(hint));
        }
    }
}

fn check_work_names(known: &KnownNames<'_>, state: &StateForm, findings: &mut FileDiagnostics<'_>) {
    if let Some(agent) = &state.agent {
        known.agents.expect_name("E05", "agent", agent, findings);
        if let Some(called) = &state.sub_workflow {
            let message = "a state has either an agent or a sub-workflow";
            let hint = "move the sub-workflow to a state of its own";
            findings.add_error("E12", called.span.clone(), message, Some(hint.to_owned()));
        }
    }
    let Some(function) = &state.function else { return };
    match function.value {
        FunctionForm::Script if state.script.is_none() => {
            let hint = "add \"script\": \"…\" to the action";
            let message = "the action says `script` and has none";
            findings.add_error("E10", function.span.clone(), message, Some(hint.to_owned()));
        }
        FunctionForm::Agent(_) if state.agent.is_none() => {
            let message = "the action needs an agent and the state names none";
            let hint = "add \"agent\": \"…\" to the state";
            findings.add_error("E10", function.span.clone(), message, Some(hint.to_owned()));
        }
        FunctionForm::Agent(AgentFunction::AddUserMessage) if state.input.is_none() => {
            let message = "`addUserMessage` needs an `input`";
            findings.add_error("E10", function.span.clone(), message, None);
        }
        FunctionForm::Script | FunctionForm::Agent(_) => {}
    }
}

/// The keys of `sub_workflow_input` are the child's inputs, all of them.
fn check_child_input_keys(
    state: &StateForm,
    called: &SpannedText,
    callee: &WorkflowForm,
    findings: &mut FileDiagnostics<'_>,
) {
    let known: DeclaredNames<'_> = callee.inputs.iter().map(|input| input.name.value.as_str()).collect();
    let given: HashSet<&str> = state.sub_inputs.iter().map(|(key, _)| key.value.as_str()).collect();
    for (key, _) in &state.sub_inputs {
        if !known.has_name(&key.value) {
            let message = format!("`{}` has no input `{}`", called.value, key.value);
            let hint = suggestion_hint(&key.value, known.iter()).unwrap_or_else(|| {
                format!("its inputs: {}", join_limited(&known.iter().collect::<Vec<_>>()))
            });
            findings.add_error("E08", key.span.clone(), message, Some(hint));
        }
    }
    for input in callee.inputs.iter().filter(|input| input.required) {
        if !given.contains(input.name.value.as_str()) {
            let name = &input.name.value;
            let message = format!("`{}` needs the input `{name}`", called.value);
            let hint = format!("add \"{name}\": \"…\" to `sub_workflow_input`");
            findings.add_error("E08", called.span.clone(), message, Some(hint));
        }
    }
}
