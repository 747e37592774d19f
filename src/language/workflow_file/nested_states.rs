//! `parallel` and `foreach`: their bodies become states of the same list, under names of their own.
//!
//! A branch is `owner.branch/…`, the body of a loop `owner/…`. Each has its own `start` and `stop`; a body of one
//! sub-workflow or one agent is a single state.

use std::collections::BTreeSet;

use super::super::json::JsonNode;
use super::super::key_declaration::ValueShape::{List, Map, Ref, Text};
use super::super::key_declaration::{ObjectDeclaration, declared_key};
use super::super::source::FileDiagnostics;
use super::fields::{
    check_object, non_null_member, read_text, report_missing, report_wrong_type, required_text,
};
use super::for_each_form::{ForEachForm, OUTSIDE, TASK, external_agent_name, is_task, read_for_each_form};
use super::inputs::{InputFormReader, sub_inputs};
use super::parallel_form::{ParallelForm, read_parallel_spec};
use super::spanned::{SpannedText, SpannedValue};
use super::state_form::StateForm;
use super::value_shapes::VALUE;
use super::work_forms::WorkForm;

pub(super) const BRANCH: ObjectDeclaration = ObjectDeclaration {
    name: "branch",
    noun: "a branch",
    description: "A branch: states of its own from `start` to `stop`, a workflow, or an agent.",
    keys: &[
        declared_key("name").with_value(Text, "Its key in the result.").required(),
        declared_key("description").with_value(Text, "For readers of the file."),
        declared_key("states")
            .with_value(List(&Ref("state")), "Its states, from its own `start` to its own `stop`."),
        declared_key("sub_workflow").with_value(Text, "A workflow in their place."),
        declared_key("sub_workflow_input").with_value(Map(&VALUE), "The inputs of that workflow, by name."),
        declared_key("agent").with_value(Text, "An agent in their place."),
        declared_key("input").with_value(VALUE, "What that agent is told."),
    ],
    future_keys: &[],
};

/// Reads the `states` of a body under a scope.
pub(super) type ReadStates<'r> = dyn Fn(&JsonNode, &str, &mut FileDiagnostics<'_>) -> Vec<StateForm> + 'r;

pub(super) struct BodyReader<'b> {
    /// Full name of the state that has them.
    pub(super) owner: &'b str,
    pub(super) inputs: InputFormReader<'b>,
    pub(super) states: &'b ReadStates<'b>,
}

impl BodyReader<'_> {
    pub(super) fn read_parallel(
        &self,
        node: &JsonNode,
        inside: &mut Vec<StateForm>,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<ParallelForm> {
        let branches = self.read_branches(node, inside, findings);
        let count = branches.as_ref().map_or(0, Vec::len);
        let spec = read_parallel_spec(node, count, findings);
        Some(ParallelForm { branches: branches?, spec })
    }

    fn read_branches(
        &self,
        node: &JsonNode,
        inside: &mut Vec<StateForm>,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<Vec<(SpannedText, String)>> {
        let hint = "add \"branches\": [{\"name\": \"a\", \"agent\": \"…\"}, {\"name\": \"b\", \"sub_workflow\": \"…\"}]";
        let Some(value) = non_null_member(node, "branches") else {
            report_missing(node, "the parallel state has no `branches`", hint, findings);
            return None;
        };
        let Some(items) = value.items() else {
            report_wrong_type(value, "`branches` must be an array", findings);
            return None;
        };
        if items.is_empty() {
            findings.add_error("E10", value.span.clone(), "`branches` is empty", Some(hint.to_owned()));
        }
        let mut branches: Vec<(SpannedText, String)> = Vec::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for item in items {
            let Some(()) = check_object(item, &BRANCH, findings) else { continue };
            let name = required_text(item, "name", "the branch", findings);
            let known = name.as_ref().map_or("", |name| name.value.as_str());
            let scope = format!("{}.{known}/", self.owner);
            let body = self.read_body(item, &scope, "the branch", findings);
            let Some(name) = name else { continue };
            if !taken.insert(name.value.clone()) {
                let message = format!("the branch `{}` is already defined", name.value);
                findings.add_error("E03", name.span, message, Some("rename one of the two".to_owned()));
            } else {
                inside.extend(body);
                branches.push((name, format!("{scope}start")));
            }
        }
        Some(branches)
    }

    pub(super) fn read_for_each(
        &self,
        node: &JsonNode,
        inside: &mut Vec<StateForm>,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<ForEachForm> {
        let scope = format!("{}/", self.owner);
        inside.extend(self.read_body(node, &scope, LOOP, findings));
        read_for_each_form(node, &scope, self.inputs, findings)
    }

    /// The states of one body: as written, or the single state that its shorthand means.
    fn read_body(
        &self,
        node: &JsonNode,
        scope: &str,
        what: &str,
        findings: &mut FileDiagnostics<'_>,
    ) -> Vec<StateForm> {
        let ways = ["states", "sub_workflow", "agent"];
        // that names the sub-agent, not the kind of work
        let handed_out = what == LOOP && is_task(node);
        let ways = if handed_out { &ways[..2] } else { &ways[..] };
        let named: Vec<&JsonNode> = ways.iter().filter_map(|key| non_null_member(node, key)).collect();
        let hint = "give it `states`, a `sub_workflow` or an `agent`";
        match named.as_slice() {
            [] if handed_out => {
                let span =
                    non_null_member(node, "agent").map_or(node.span.clone(), |agent| agent.span.clone());
                let name = external_agent_name(node).unwrap_or(TASK);
                let message = format!("`@{name}` says who does the work, not what it is");
                findings.add_error("E10", span, message, Some("add `states` or a `sub_workflow`".to_owned()));
                return Vec::new();
            }
            [] => {
                report_missing(node, &format!("{what} has nothing to do"), hint, findings);
                return Vec::new();
            }
            [_] => {}
            [_, second, ..] => {
                let message = format!("{what} has more than one body");
                let hint = "keep one of `states`, `sub_workflow` and `agent`";
                findings.add_error("E12", second.span.clone(), message, Some(hint.to_owned()));
            }
        }
        let mut states = if non_null_member(node, "states").is_some() {
            for key in ["sub_workflow_input", "input"] {
                report_misplaced(node, key, "a body of `states`", findings);
            }
            (self.states)(node, scope, findings)
        } else {
            self.read_single_body(node, scope, findings).into_iter().collect()
        };
        self.read_start(node, scope, &states, findings);
        let stop = format!("{scope}stop");
        if !states.iter().any(|state| state.name.value == stop) {
            let span = node.span.start..node.span.start + 1;
            states.push(StateForm {
                name: SpannedValue { value: stop, span: span.clone() },
                scope: scope.to_owned(),
                work: WorkForm::Final,
                implied: true,
                span,
                ..StateForm::default()
            });
        }
        states
    }

    fn read_start(
        &self,
        node: &JsonNode,
        scope: &str,
        states: &[StateForm],
        findings: &mut FileDiagnostics<'_>,
    ) {
        let Some(list) = non_null_member(node, "states").and_then(JsonNode::items) else { return };
        // a state that could not be read may be the one
        if states.iter().any(|state| state.scope == scope && state.local_name() == "start")
            || states.iter().filter(|state| state.scope == scope).count() < list.len()
        {
            return;
        }
        let span = node.get("states").map_or(node.span.clone(), |list| list.span.start..list.span.start + 1);
        let hint = "name its first state `start`".to_owned();
        findings.add_error(
            "E01",
            span,
            format!("the body of `{}` has no state named `start`", self.owner),
            Some(hint),
        );
    }

    /// The state that a body of one sub-workflow or one agent is.
    fn read_single_body(
        &self,
        node: &JsonNode,
        scope: &str,
        findings: &mut FileDiagnostics<'_>,
    ) -> Option<StateForm> {
        let agent = read_text(node, "agent", findings);
        let sub_workflow = read_text(node, "sub_workflow", findings);
        let agent = agent.filter(|agent| !agent.value.starts_with(OUTSIDE) || sub_workflow.is_none());
        match (&agent, &sub_workflow) {
            (Some(agent), _) if agent.value.starts_with(OUTSIDE) => {
                let message =
                    "only the items of a `foreach` state can be handed to sub-agents (`@task`, `@name`)";
                let hint = "name an agent of this workflow, or a `sub_workflow`";
                findings.add_error("E10", agent.span.clone(), message, Some(hint.to_owned()));
                return None;
            }
            (Some(_), None) => report_misplaced(node, "sub_workflow_input", "an agent", findings),
            (None, Some(_)) => report_misplaced(node, "input", "a sub-workflow", findings),
            (Some(_), Some(_)) => {}
            (None, None) => return None,
        }
        let called = agent.as_ref().or(sub_workflow.as_ref());
        let span = called.map_or(node.span.clone(), |name| name.span.clone());
        let input = non_null_member(node, "input").filter(|_| agent.is_some());
        Some(StateForm {
            name: SpannedValue { value: format!("{scope}start"), span },
            scope: scope.to_owned(),
            input: input.and_then(|input| self.inputs.read_any_input(input, findings)),
            sub_inputs: sub_inputs(node, self.inputs, findings),
            agent,
            sub_workflow,
            span: node.span.clone(),
            ..StateForm::default()
        })
    }
}

/// What a loop is called in findings.
const LOOP: &str = "the foreach state";
fn report_misplaced(node: &JsonNode, key: &str, what: &str, findings: &mut FileDiagnostics<'_>) {
    if let Some(value) = non_null_member(node, key) {
        let hint = "`input` belongs to an `agent`, `sub_workflow_input` to a `sub_workflow`";
        findings.add_error(
            "E10",
            value.span.clone(),
            format!("{what} takes no `{key}`"),
            Some(hint.to_owned()),
        );
    }
}
