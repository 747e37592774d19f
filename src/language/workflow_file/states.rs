//! The states of a workflow and of the bodies inside them, as one list.

use super::super::did_you_mean::suggest_or_list;
use super::super::json::JsonNode;
use super::super::key_declaration::{KeyDeclaration, TypeDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::actions::{
    COMMAND, EXECUTION, EXPECTED_EXIT, EXPECTED_STATUS, MCP_ARGUMENTS, MCP_TOOL, REQUEST_PARTS, TOOL,
};
use super::definitions_lookup::NamedDefinitions;
use super::fields::{non_null_member, read_list, read_text, report_wrong_type, required_text, unknown_key};
use super::for_each_form::FOREACH;
use super::inputs::InputFormReader;
use super::nested_states::BodyReader;
use super::parallel_form::{BRANCH_ERRORS, PARALLEL};
use super::pauses::{DELEGATE, FAIL, PAUSE, WAIT};
use super::state_form::{
    FLOW, HANDLERS, MAX_VISITS, NAMED, SAFETY, SPEECH, STATE_ACTION, StateForm, TRANSITIONS,
    read_common_fields, safety_keys,
};
use super::value_shapes::VALUE;
use super::work_forms::WorkForm;
use super::{actions, error_policy, pauses};

/// A state without a `type`: an agent, a sub-workflow, a script, or only transitions.
pub const PLAIN_STATE: TypeDeclaration = TypeDeclaration {
    word: "",
    description: "Calls an agent, a script or a workflow, or only decides where to go.",
    key_groups: &[NAMED, SPEECH, FLOW, HANDLERS, SAFETY],
};

pub const STATE_TYPES: [TypeDeclaration; 11] = [
    TypeDeclaration {
        word: "parallel",
        description: "Branches that run at the same time.",
        key_groups: &[NAMED, PARALLEL, FLOW, &safety_keys(BRANCH_ERRORS)],
    },
    TypeDeclaration {
        word: "foreach",
        description: "The same body for each item of a list.",
        key_groups: &[NAMED, FOREACH, FLOW, SAFETY],
    },
    TypeDeclaration {
        word: "pause",
        description: "Waits for the user.",
        key_groups: &[NAMED, PAUSE, FLOW, SAFETY],
    },
    TypeDeclaration {
        word: "delegate",
        description: "Hands a task to the client that drives the run.",
        key_groups: &[NAMED, DELEGATE, &[TRANSITIONS], SAFETY],
    },
    TypeDeclaration {
        word: "tool",
        description: "Runs a tool, without a model.",
        key_groups: &[NAMED, TOOL, FLOW, SAFETY],
    },
    TypeDeclaration {
        word: "mcp",
        description: "Calls a tool of an MCP server, without a model.",
        key_groups: &[NAMED, MCP_TOOL, MCP_ARGUMENTS, FLOW, SAFETY],
    },
    TypeDeclaration {
        word: "shell",
        description: "Runs a command; its exit code and output decide the next transition.",
        key_groups: &[NAMED, COMMAND, EXPECTED_EXIT, EXECUTION, FLOW, SAFETY],
    },
    TypeDeclaration {
        word: "http",
        description: "Sends a request.",
        key_groups: &[NAMED, REQUEST_PARTS, EXPECTED_STATUS, FLOW, SAFETY],
    },
    TypeDeclaration {
        word: "wait",
        description: "Waits for a time.",
        key_groups: &[NAMED, WAIT, FLOW, SAFETY],
    },
    TypeDeclaration {
        word: "fail",
        description: "Fails with an error of your own.",
        key_groups: &[NAMED, FAIL, &[STATE_ACTION], SAFETY],
    },
    TypeDeclaration {
        word: "final",
        description: "Ends the workflow or body, as `stop` does.",
        key_groups: &[NAMED, OUTPUT_VALUE, &[MAX_VISITS]],
    },
];

const OUTPUT_VALUE: &[KeyDeclaration] = &[declared_key("input").with_value(VALUE, "The output.")];

/// As a state of this type is called in messages.
fn state_noun(kind: &TypeDeclaration) -> String {
    match kind.word {
        "" => "a state without `type`".to_owned(),
        word @ ("mcp" | "http") => format!("an {word} state"),
        word => format!("a {word} state"),
    }
}

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
        self.read_state_list(node, "", findings)
    }

    /// `states` of a workflow or body.
    pub(super) fn read_state_list(
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
        let mut form = read_common_fields(node, scope, kind, self.input_reader(), findings);
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

    fn read_work(
        self,
        node: &JsonNode,
        kind: Option<&TypeDeclaration>,
        form: &StateForm,
        inside: &mut Vec<StateForm>,
        findings: &mut FileDiagnostics<'_>,
    ) -> WorkForm {
        let states = |node: &JsonNode, scope: &str, findings: &mut FileDiagnostics<'_>| {
            self.read_state_list(node, scope, findings)
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
            "fail" => pauses::read_fail(node, self.input_reader(), findings).map(WorkForm::Fail),
            "final" => Some(WorkForm::Final),
            _ => None,
        };
        work.unwrap_or_default()
    }
}

/// What `type` says; `None` if it says something unknown.
fn read_kind(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<&'static TypeDeclaration> {
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
fn check_keys(node: &JsonNode, kind: &TypeDeclaration, findings: &mut FileDiagnostics<'_>) {
    for member in node.members().unwrap_or_default() {
        let key = member.key.as_str();
        if kind.key_names().any(|known| known == key) || key.starts_with("x_") || key == "$schema" {
            continue;
        }
        let owners: Vec<&str> = STATE_TYPES
            .iter()
            .filter(|one| one.key_names().any(|known| known == key))
            .map(|one| one.word)
            .collect();
        let of_plain = PLAIN_STATE.key_names().any(|known| known == key);
        let (message, hint) = match key {
            "sub_workflow" | "sub_workflow_input" | "function" | "script" if kind.word.is_empty() => {
                let hint = format!("write \"action\": {{\"{key}\": …}}");
                (format!("`{key}` stands in the action of a state"), Some(hint))
            }
            _ if owners.is_empty() && !of_plain => unknown_key(key, &state_noun(kind), kind.key_names()),
            _ => {
                let types = owners.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
                let whose = match (of_plain, owners.is_empty()) {
                    (true, true) => "states without `type`".to_owned(),
                    (true, false) => format!("states without `type` or of the type {types}"),
                    (false, _) => format!("states of the type {types}"),
                };
                let hint = match owners.as_slice() {
                    [only] if kind.word.is_empty() => format!("add \"type\": \"{only}\", or remove it"),
                    _ => format!("{} has no `{key}`", state_noun(kind)),
                };
                (format!("`{key}` belongs to {whose}"), Some(hint))
            }
        };
        findings.add_error("E14", member.key_span.clone(), message, hint);
    }
}
