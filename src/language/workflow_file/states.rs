//! The states of a workflow and of the bodies inside them, as one list.

use super::super::did_you_mean::suggest_or_list;
use super::super::json::{JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::definitions_lookup::NamedDefinitions;
use super::fields::{
    check_object, non_null_member, read_choice, read_count, read_list, read_text, report_wrong_type,
    required_text, unknown_key,
};
use super::inputs::{InputFormReader, sub_inputs};
use super::keys::{ACTION, PLAIN_STATE, STATE_TYPES, StateType, TRANSITION};
use super::nested_states::BodyReader;
use super::set_state::read_updates;
use super::{
    FunctionForm, HandlersForm, SpannedValue, StateForm, TransitionForm, WorkForm, actions, error_policy,
    pauses,
};
use synthdev_domain::workflow::AgentFunction;

/// Reads states; those of bodies follow the state they belong to.
#[derive(Clone, Copy)]
pub(super) struct StateFormReader<'n> {
    pub(super) definitions: &'n NamedDefinitions,
}

impl<'n> StateFormReader<'n> {
    pub(super) fn new(named: &'n NamedDefinitions) -> Self {
        Self { definitions: named }
    }

    pub(super) fn input_reader(self) -> InputFormReader<'n> {
        InputFormReader { definitions: self.definitions }
    }

    pub(super) fn read_states(self, node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Vec<StateForm> {
        if node.get("states").is_none() {
            let span = node.span.start..node.span.start + 1;
            let hint = Some("add \"states\": [ { \"name\": \"start\", … } ]".to_owned());
            findings.add_error("E10", span, "the workflow has no `states`", hint);
        }
        self.read_list(node, "", findings)
    }

    /// `states` of a workflow or body.
    pub(super) fn read_list(
        self,
        node: &JsonNode,
        scope: &str,
        findings: &mut FileDiagnostics<'_>,
    ) -> Vec<StateForm> {
        let states =
            read_list(node, "states", findings, |state, findings| self.read_state(state, scope, findings));
        states.into_iter().flatten().collect()
    }

    /// One state with the states of its bodies behind it.
    fn read_state(
        self,
        node: &JsonNode,
        scope: &str,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<Vec<StateForm>> {
        if node.members().is_none() {
            report_wrong_type(node, "a state must be an object", findings);
            return None;
        }
        let kind = read_kind(node, findings);
        if let Some(kind) = kind {
            check_keys(node, kind, findings);
        }
        let mut form = self.read_common_fields(node, scope, kind, findings);
        let name = required_text(node, "name", "the state", findings);
        form.name = error_policy::with_scope(name.clone().unwrap_or_default(), scope);
        let mut inside = Vec::new();
        form.work = self.read_work(node, kind, &form, &mut inside, findings);
        name?;
        if form.local_name() == "stop" && !matches!(form.work, WorkForm::Plain | WorkForm::Final) {
            let hint = "`stop` ends the workflow; give this state another name";
            findings.add_error("E10", form.name.span.clone(), "`stop` cannot do work", Some(hint.to_owned()));
        }
        inside.insert(0, form);
        Some(inside)
    }

    /// Everything that states of several types have.
    fn read_common_fields(
        self,
        node: &JsonNode,
        scope: &str,
        kind: Option<&StateType>,
        findings: &mut FileDiagnostics<'_>,
    ) -> StateForm {
        let plain = kind.is_none_or(|kind| kind.word.is_empty());
        let word = kind.map_or("", |kind| kind.word);
        let action = non_null_member(node, "action").filter(|_| word != "delegate");
        let action = action.filter(|action| check_object(action, &ACTION, findings).is_some());
        if let (false, Some(action)) = (plain, action) {
            script_only(action, word, findings);
        }
        let transitions = node.get("transition").map(|_| {
            read_list(node, "transition", findings, |one, findings| read_transition(one, scope, findings))
        });
        let on_error =
            if is_branch_policy(node, word) { None } else { error_policy::on_error(node, scope, findings) };
        let store = error_policy::read_output(node, self.definitions, findings);
        let own = action.filter(|_| plain);
        StateForm {
            scope: scope.to_owned(),
            agent: if plain { read_text(node, "agent", findings) } else { None },
            input: if plain || word == "final" {
                node.get("input").and_then(|input| self.input_reader().read_any_input(input, findings))
            } else {
                None
            },
            function: own.and_then(|action| read_function(action, findings)),
            script: action.and_then(|action| read_text(action, "script", findings)),
            sub_workflow: own.and_then(|action| read_text(action, "sub_workflow", findings)),
            sub_inputs: own.map_or_else(Vec::new, |action| sub_inputs(action, self.input_reader(), findings)),
            updates: own.map_or_else(Vec::new, |action| {
                let value = |node: &JsonNode, findings: &mut FileDiagnostics<'_>| {
                    self.input_reader().read_mostly_text(node, findings)
                };
                read_updates(action, &value, findings)
            }),
            handlers: if plain { read_handlers(node, findings) } else { HandlersForm::default() },
            transitions,
            retry: error_policy::read_retry(node, self.definitions, findings),
            catch: error_policy::read_catch(node, scope, findings),
            fallback: error_policy::read_fallback(node, store.as_ref(), findings),
            on_error,
            timeout_ms: error_policy::read_timeout(node, self.definitions, findings),
            budget: error_policy::read_budget(node, self.definitions, findings),
            max_visits: non_null_member(node, "max_visits")
                .and_then(|_| read_count(node, "max_visits", findings)),
            on_limit: error_policy::read_target(node, "on_limit", scope, findings),
            store,
            span: node.span.clone(),
            ..StateForm::default()
        }
    }

    fn read_work(
        self,
        node: &JsonNode,
        kind: Option<&StateType>,
        form: &StateForm,
        inside: &mut Vec<StateForm>,
        findings: &mut FileDiagnostics<'_>,
    ) -> WorkForm {
        let states = |node: &JsonNode, scope: &str, findings: &mut FileDiagnostics<'_>| {
            self.read_list(node, scope, findings)
        };
        let bodies = BodyReader { owner: &form.name.value, inputs: self.input_reader(), states: &states };
        let work = match kind.map_or("", |kind| kind.word) {
            "parallel" => bodies.read_parallel(node, inside, findings).map(WorkForm::Parallel),
            "foreach" => bodies.read_for_each(node, inside, findings).map(WorkForm::ForEach),
            "pause" => {
                pauses::read_pause(node, self.input_reader(), &form.scope, findings).map(WorkForm::Pause)
            }
            "delegate" => {
                pauses::read_delegate(node, self.input_reader(), &form.scope, findings).map(WorkForm::Pause)
            }
            "tool" => actions::read_tool(node, self.input_reader(), findings).map(WorkForm::Step),
            "mcp" => actions::read_mcp(node, self.input_reader(), findings).map(WorkForm::Step),
            "shell" => actions::read_shell(node, self.input_reader(), findings).map(WorkForm::Step),
            "http" => actions::read_http(node, self.input_reader(), findings).map(WorkForm::Step),
            "wait" => pauses::read_wait(node, self.input_reader(), findings).map(WorkForm::Wait),
            "fail" => pauses::read_fail(node, self.input_reader(), findings),
            "final" => Some(WorkForm::Final),
            _ => None,
        };
        work.unwrap_or_default()
    }
}

/// What `type` says; `None` if it says something unknown.
fn read_kind(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<&'static StateType> {
    if non_null_member(node, "type").is_none() {
        return Some(&PLAIN_STATE);
    }
    let word = read_text(node, "type", findings)?;
    let found = STATE_TYPES.iter().find(|one| one.word == word.value);
    if found.is_none() {
        let known: Vec<&str> = STATE_TYPES.iter().map(|one| one.word).collect();
        let hint = suggest_or_list(&word.value, "types", &known);
        let hint = match word.value.as_str() {
            "agent" | "script" | "sub_workflow" => {
                Some("leave `type` out: it is seen from the other keys".to_owned())
            }
            _ => hint,
        };
        findings.add_error("E10", word.span, format!("there is no state type `{}`", word.value), hint);
    }
    found
}

/// Keys that states of this type cannot have (E14); those of other types are named with them.
fn check_keys(node: &JsonNode, kind: &StateType, findings: &mut FileDiagnostics<'_>) {
    for member in node.members().unwrap_or_default() {
        let key = member.key.as_str();
        if kind.known_keys().any(|known| known == key) || key.starts_with("x_") || key == "$schema" {
            continue;
        }
        let owners: Vec<&str> = STATE_TYPES
            .iter()
            .filter(|one| one.known_keys().any(|known| known == key))
            .map(|one| one.word)
            .collect();
        let of_plain = PLAIN_STATE.known_keys().any(|known| known == key);
        let (message, hint) = match key {
            "sub_workflow" | "sub_workflow_input" | "function" | "script" if kind.word.is_empty() => {
                let hint = format!("write \"action\": {{\"{key}\": …}}");
                (format!("`{key}` stands in the action of a state"), Some(hint))
            }
            _ if owners.is_empty() && !of_plain => unknown_key(key, kind.noun, kind.known_keys()),
            _ => {
                let types = owners.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
                let whose = match (of_plain, owners.is_empty()) {
                    (true, true) => "states without `type`".to_owned(),
                    (true, false) => format!("states without `type` or of the type {types}"),
                    (false, _) => format!("states of the type {types}"),
                };
                let hint = match owners.as_slice() {
                    [only] if kind.word.is_empty() => format!("add \"type\": \"{only}\", or remove it"),
                    _ => format!("{} has no `{key}`", kind.noun),
                };
                (format!("`{key}` belongs to {whose}"), Some(hint))
            }
        };
        findings.add_error("E14", member.key_span.clone(), message, hint);
    }
}

/// A state with a `type` may run a script first, nothing else.
fn script_only(action: &JsonNode, word: &str, findings: &mut FileDiagnostics<'_>) {
    for member in action.members().unwrap_or_default() {
        let known = ACTION.known_keys.contains(&member.key.as_str());
        if known
            && !["script", "set_state"].contains(&member.key.as_str())
            && member.value.kind != JsonNodeKind::Null
        {
            let message = format!(
                "a state of the type `{word}` does its own work: its action can only be a script or `set_state`"
            );
            let hint = format!("move `{}` to a state without `type`", member.key);
            findings.add_error("E10", member.key_span.clone(), message, Some(hint));
        }
    }
}

/// `on_error` of a parallel state can also say what a failing branch means to the others.
fn is_branch_policy(node: &JsonNode, word: &str) -> bool {
    word == "parallel"
        && matches!(node.get("on_error").and_then(JsonNode::as_str), Some("fail_fast" | "collect"))
}

fn read_handlers(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> HandlersForm {
    HandlersForm {
        before_handler: read_text(node, "pre_handler", findings),
        after_handler: read_text(node, "post_handler", findings),
        decide_handler: read_text(node, "transition_handler", findings),
    }
}

fn read_function(
    action: &JsonNode,
    findings: &mut FileDiagnostics<'_>,
) -> Option<SpannedValue<FunctionForm>> {
    let words = [
        ("sendUserMessage", FunctionForm::Agent(AgentFunction::SendUserMessage)),
        ("addUserMessage", FunctionForm::Agent(AgentFunction::AddUserMessage)),
        ("clearConversation", FunctionForm::Agent(AgentFunction::ClearConversation)),
        ("script", FunctionForm::Script),
    ];
    read_choice(action, "function", &words, findings)
}

fn read_transition(
    node: &JsonNode,
    scope: &str,
    findings: &mut FileDiagnostics<'_>,
) -> Option<TransitionForm> {
    check_object(node, &TRANSITION, findings)?;
    let condition = match node.get("condition").map(|condition| (&condition.kind, condition)) {
        // `"condition": true` can only mean one thing
        Some((JsonNodeKind::Bool(flag), condition)) => {
            Some(SpannedValue { value: flag.to_string(), span: condition.span.clone() })
        }
        _ => read_text(node, "condition", findings),
    };
    let before = read_text(node, "before", findings);
    let target = required_text(node, "target", "the transition", findings)?;
    Some(TransitionForm {
        target: error_policy::with_scope(target, scope),
        condition,
        before_script: before,
        span: node.span.clone(),
    })
}
