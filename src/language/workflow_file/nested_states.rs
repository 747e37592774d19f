//! `parallel` and `foreach`: their bodies become states of the same list, under names of their own.
//!
//! A branch is `owner.branch/…`, the body of a loop `owner/…`. Each has its own `start` and `stop`; a body of one
//! sub-workflow or one agent is a single state.

use std::collections::{BTreeMap, BTreeSet};

use super::super::did_you_mean::suggest_or_list;
use super::super::json::{JsonNode, JsonNodeKind};
use super::super::source::FileDiagnostics;
use super::fields::{
    check_object, non_null_member, read_amount, read_choice, read_count, read_number, read_text, read_texts,
    report_wrong_type, required_text,
};
use super::inputs::{InputFormReader, sub_inputs};
use super::keys::BRANCH;
use super::{ForEachForm, InputForm, ParallelForm, SpannedText, SpannedValue, StateForm, WorkForm};
use synthdev_domain::workflow::{BranchErrors, JoinPolicy, MergeRule};

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
        let words = [("fail_fast", BranchErrors::FailFast), ("collect", BranchErrors::Collect)];
        let policy = read_text(node, "on_error", findings)
            .and_then(|word| words.iter().find(|(known, _)| *known == word.value).map(|(_, policy)| *policy));
        Some(ParallelForm {
            join: read_join(node, branches.as_ref().map_or(0, Vec::len), findings),
            on_error: policy.unwrap_or_default(),
            max_concurrency: read_max_concurrency(node, findings),
            merge: read_merge(node, findings),
            branches: branches?,
        })
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
        let items = self.read_items(node, findings);
        let shorthand = non_null_member(node, "states").is_none();
        let named = read_texts(node, "needs_state", findings)
            .map(|paths| paths.into_iter().map(needed_path).collect::<Vec<String>>());
        let handed_out = is_task(node).then(|| named.clone().unwrap_or_default());
        let sub_agent = sub_agent(node, findings);
        let needs = named
            // a call or an agent sees only what its inputs give it: the expressions may read everything
            .unwrap_or_else(|| if shorthand { vec!["*".to_owned()] } else { Vec::new() });
        let each = read_variable_name(node, "each", "item", findings);
        let at = read_variable_name(node, "at", "index", findings);
        if each == at {
            let span =
                node.get("at").or_else(|| node.get("each")).map_or(node.span.clone(), |one| one.span.clone());
            findings.add_error("E10", span, "`each` and `at` need different names", None);
        }
        Some(ForEachForm {
            item_name: each,
            index_name: at,
            start: format!("{scope}start"),
            needed_paths: needs,
            max_concurrency: read_max_concurrency(node, findings),
            tolerated_failures: read_amount(node, "tolerated_failures", findings).unwrap_or_default(),
            tolerated_percent: read_number(node, "tolerated_percent", 0.0..=100.0, findings)
                .unwrap_or_default(),
            delegated_inputs: handed_out,
            sub_agent,
            items: items?,
        })
    }

    /// `in`: an expression, or the items themselves.
    fn read_items(&self, node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<InputForm> {
        let Some(value) = non_null_member(node, "in") else {
            let hint = "add \"in\": \"common_data.files\", an expression that gives an array";
            report_missing(node, "the foreach state has no `in`", hint, findings);
            return None;
        };
        let found = match &value.kind {
            JsonNodeKind::String(text) => {
                Some(InputForm::Expression(SpannedValue { value: text.clone(), span: value.span.clone() }))
            }
            _ => self.inputs.read_any_input(value, findings),
        };
        let wrong_kind = match &found {
            Some(InputForm::Value(literal)) => !literal.value.is_array(),
            Some(InputForm::Text(_) | InputForm::File(_)) => true,
            _ => false,
        };
        if wrong_kind {
            report_wrong_type(value, "`in` must be an array or an expression that gives one", findings);
        }
        found
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
/// What the names of sub-agents begin with.
const OUTSIDE: char = '@';
/// The sub-agent name that leaves the choice to the client.
const TASK: &str = "task";

fn is_task(node: &JsonNode) -> bool {
    external_agent_name(node).is_some()
}

/// The name of a sub-agent.
fn external_agent_name(node: &JsonNode) -> Option<&str> {
    non_null_member(node, "agent").and_then(JsonNode::as_str)?.strip_prefix(OUTSIDE)
}

/// The kind of sub-agent that is meant, if it is a certain one.
fn sub_agent(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<String> {
    let name = external_agent_name(node).filter(|name| *name != TASK)?;
    let fine = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if let Some(value) = non_null_member(node, "agent")
        && (name.is_empty() || !name.chars().all(fine))
    {
        let message = format!("`@{name}` is no name of a sub-agent");
        let hint = "letters, digits, `_`, `-` and `.` after the `@`, or `@task` for any sub-agent";
        findings.add_error("E10", value.span.clone(), message, Some(hint.to_owned()));
        return None;
    }
    Some(name.to_owned())
}

fn report_missing(node: &JsonNode, message: &str, hint: &str, findings: &mut FileDiagnostics<'_>) {
    findings.add_error("E10", node.span.start..node.span.start + 1, message, Some(hint.to_owned()));
}

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

fn needed_path(path: SpannedText) -> String {
    path.value.strip_prefix("common_data.").map_or_else(|| path.value.clone(), str::to_owned)
}

/// A name in the body's `common_data`.
fn read_variable_name(node: &JsonNode, key: &str, usual: &str, findings: &mut FileDiagnostics<'_>) -> String {
    let Some(name) = read_text(node, key, findings) else { return usual.to_owned() };
    let mut letters = name.value.chars();
    let first = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$');
    if !first || !letters.all(|c| c.is_alphanumeric() || c == '_' || c == '$') {
        let message = format!("`{}` is no name that scripts can use", name.value);
        let hint = format!("for example \"{usual}\", which scripts then read as `common_data.{usual}`");
        findings.add_error("E10", name.span.clone(), message, Some(hint));
    }
    if ["total", "is_first", "is_last"].contains(&name.value.as_str()) {
        let message = format!("`{}` is set for every item and cannot be given to `{key}`", name.value);
        findings.add_error("E10", name.span.clone(), message, None);
    }
    name.value
}

fn read_join(node: &JsonNode, branches: usize, findings: &mut FileDiagnostics<'_>) -> JoinPolicy {
    let Some(value) = non_null_member(node, "join") else { return JoinPolicy::All };
    match &value.kind {
        JsonNodeKind::String(_) => {
            read_choice(node, "join", &[("all", JoinPolicy::All), ("any", JoinPolicy::Any)], findings)
                .map_or(JoinPolicy::All, |found| found.value)
        }
        JsonNodeKind::Number(_) => {
            let Some(wanted) = read_count(node, "join", findings) else { return JoinPolicy::All };
            if branches > 0 && wanted as usize > branches {
                let message = format!("`join` waits for {wanted} of {branches} branches");
                findings.add_error("E10", value.span.clone(), message, None);
            }
            JoinPolicy::Count(wanted)
        }
        JsonNodeKind::Null | JsonNodeKind::Bool(_) | JsonNodeKind::Array(_) | JsonNodeKind::Object(_) => {
            report_wrong_type(value, "`join` must be \"all\", \"any\" or a number", findings);
            JoinPolicy::All
        }
    }
}

fn read_max_concurrency(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> Option<u32> {
    non_null_member(node, "max_concurrency")?;
    read_count(node, "max_concurrency", findings)
}

fn read_merge(node: &JsonNode, findings: &mut FileDiagnostics<'_>) -> BTreeMap<String, MergeRule> {
    let words = [
        ("first", MergeRule::First),
        ("last", MergeRule::Last),
        ("append", MergeRule::Append),
        ("sum", MergeRule::Sum),
        ("object", MergeRule::Object),
    ];
    let Some(value) = non_null_member(node, "merge") else { return BTreeMap::new() };
    let Some(members) = value.members() else {
        report_wrong_type(
            value,
            "`merge` must be an object of keys and ways, such as {\"notes\": \"append\"}",
            findings,
        );
        return BTreeMap::new();
    };
    let mut all = BTreeMap::new();
    for member in members {
        let found = member.value.as_str().and_then(|word| words.iter().find(|(known, _)| *known == word));
        match found {
            Some((_, way)) => {
                all.insert(member.key.clone(), *way);
            }
            None => {
                let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
                let hint = suggest_or_list(member.value.as_str().unwrap_or_default(), "it is one of", &known);
                let message = format!("`{}` cannot be merged like this", member.key);
                findings.add_error("E10", member.value.span.clone(), message, hint);
            }
        }
    }
    all
}
