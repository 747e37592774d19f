//! `parallel` and `foreach`: their bodies become states of the same list, under names of their own.
//!
//! A branch is `owner.branch/…`, the body of a loop `owner/…`. Each has its own `start` and `stop`; a body of one
//! sub-workflow or one agent is a single state.

use std::collections::{BTreeMap, BTreeSet};

use super::super::json::{Kind, Node};
use super::super::source::Findings;
use super::super::suggest::or_list;
use super::fields::{amount, choice, count, given, number, object, required_text, text, texts, wrong};
use super::inputs::{Inputs, sub_inputs};
use super::keys::BRANCH;
use super::{ForEachForm, InputForm, ParallelForm, Spanned, StateForm, Text, WorkForm};
use crate::domain::workflow::{BranchErrors, Join, Merge};

/// Reads the `states` of a body under a scope.
pub(super) type ReadStates<'r> = dyn Fn(&Node, &str, &mut Findings<'_>) -> Vec<StateForm> + 'r;

pub(super) struct Bodies<'b> {
    /// Full name of the state that has them.
    pub(super) owner: &'b str,
    pub(super) inputs: Inputs<'b>,
    pub(super) states: &'b ReadStates<'b>,
}

impl Bodies<'_> {
    pub(super) fn parallel(
        &self,
        node: &Node,
        inside: &mut Vec<StateForm>,
        findings: &mut Findings<'_>,
    ) -> Option<ParallelForm> {
        let branches = self.branches(node, inside, findings);
        let words = [("fail_fast", BranchErrors::FailFast), ("collect", BranchErrors::Collect)];
        let policy = text(node, "on_error", findings)
            .and_then(|word| words.iter().find(|(known, _)| *known == word.value).map(|(_, policy)| *policy));
        Some(ParallelForm {
            join: join(node, branches.as_ref().map_or(0, Vec::len), findings),
            on_error: policy.unwrap_or_default(),
            max_concurrency: places(node, findings),
            merge: merge(node, findings),
            branches: branches?,
        })
    }

    fn branches(
        &self,
        node: &Node,
        inside: &mut Vec<StateForm>,
        findings: &mut Findings<'_>,
    ) -> Option<Vec<(Text, String)>> {
        let hint = "add \"branches\": [{\"name\": \"a\", \"agent\": \"…\"}, {\"name\": \"b\", \"sub_workflow\": \"…\"}]";
        let Some(value) = given(node, "branches") else {
            missing(node, "the parallel state has no `branches`", hint, findings);
            return None;
        };
        let Some(items) = value.items() else {
            wrong(value, "`branches` must be an array", findings);
            return None;
        };
        if items.is_empty() {
            findings.error("E10", value.span.clone(), "`branches` is empty", Some(hint.to_owned()));
        }
        let mut branches: Vec<(Text, String)> = Vec::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for item in items {
            let Some(()) = object(item, &BRANCH, findings) else { continue };
            let name = required_text(item, "name", "the branch", findings);
            let known = name.as_ref().map_or("", |name| name.value.as_str());
            let scope = format!("{}.{known}/", self.owner);
            let body = self.body(item, &scope, "the branch", findings);
            let Some(name) = name else { continue };
            if !taken.insert(name.value.clone()) {
                let message = format!("the branch `{}` is already defined", name.value);
                findings.error("E03", name.span, message, Some("rename one of the two".to_owned()));
            } else {
                inside.extend(body);
                branches.push((name, format!("{scope}start")));
            }
        }
        Some(branches)
    }

    pub(super) fn foreach(
        &self,
        node: &Node,
        inside: &mut Vec<StateForm>,
        findings: &mut Findings<'_>,
    ) -> Option<ForEachForm> {
        let scope = format!("{}/", self.owner);
        inside.extend(self.body(node, &scope, LOOP, findings));
        let items = self.items(node, findings);
        let shorthand = given(node, "states").is_none();
        let named = texts(node, "needs_state", findings)
            .map(|paths| paths.into_iter().map(needed).collect::<Vec<String>>());
        let handed_out = is_task(node).then(|| named.clone().unwrap_or_default());
        let sub_agent = sub_agent(node, findings);
        let needs = named
            // a call or an agent sees only what its inputs give it: the expressions may read everything
            .unwrap_or_else(|| if shorthand { vec!["*".to_owned()] } else { Vec::new() });
        let each = variable(node, "each", "item", findings);
        let at = variable(node, "at", "index", findings);
        if each == at {
            let span =
                node.get("at").or_else(|| node.get("each")).map_or(node.span.clone(), |one| one.span.clone());
            findings.error("E10", span, "`each` and `at` need different names", None);
        }
        Some(ForEachForm {
            each,
            at,
            start: format!("{scope}start"),
            needs,
            max_concurrency: places(node, findings),
            tolerated_failures: amount(node, "tolerated_failures", findings).unwrap_or_default(),
            tolerated_percent: number(node, "tolerated_percent", (0.0, 100.0), findings).unwrap_or_default(),
            handed_out,
            sub_agent,
            items: items?,
        })
    }

    /// `in`: an expression, or the items themselves.
    fn items(&self, node: &Node, findings: &mut Findings<'_>) -> Option<InputForm> {
        let Some(value) = given(node, "in") else {
            let hint = "add \"in\": \"common_data.files\", an expression that gives an array";
            missing(node, "the foreach state has no `in`", hint, findings);
            return None;
        };
        let found = match &value.kind {
            Kind::String(text) => {
                Some(InputForm::Expression(Spanned { value: text.clone(), span: value.span.clone() }))
            }
            _ => self.inputs.auto(value, findings),
        };
        let wrong_kind = match &found {
            Some(InputForm::Value(literal)) => !literal.value.is_array(),
            Some(InputForm::Text(_) | InputForm::File(_)) => true,
            _ => false,
        };
        if wrong_kind {
            wrong(value, "`in` must be an array or an expression that gives one", findings);
        }
        found
    }

    /// The states of one body: as written, or the single state that its shorthand means.
    fn body(&self, node: &Node, scope: &str, what: &str, findings: &mut Findings<'_>) -> Vec<StateForm> {
        let ways = ["states", "sub_workflow", "agent"];
        // that names who does the work, not what it is
        let handed_out = what == LOOP && is_task(node);
        let ways = if handed_out { &ways[..2] } else { &ways[..] };
        let named: Vec<&Node> = ways.iter().filter_map(|key| given(node, key)).collect();
        let hint = "give it `states`, a `sub_workflow` or an `agent`";
        match named.as_slice() {
            [] if handed_out => {
                let span = given(node, "agent").map_or(node.span.clone(), |agent| agent.span.clone());
                let name = outside(node).unwrap_or(TASK);
                let message = format!("`@{name}` says who does the work, not what it is");
                findings.error("E10", span, message, Some("add `states` or a `sub_workflow`".to_owned()));
                return Vec::new();
            }
            [] => {
                missing(node, &format!("{what} has nothing to do"), hint, findings);
                return Vec::new();
            }
            [_] => {}
            [_, second, ..] => {
                let message = format!("{what} has more than one body");
                let hint = "keep one of `states`, `sub_workflow` and `agent`";
                findings.error("E12", second.span.clone(), message, Some(hint.to_owned()));
            }
        }
        let mut states = if given(node, "states").is_some() {
            for key in ["sub_workflow_input", "input"] {
                misplaced(node, key, "a body of `states`", findings);
            }
            (self.states)(node, scope, findings)
        } else {
            self.only(node, scope, findings).into_iter().collect()
        };
        self.start(node, scope, &states, findings);
        let stop = format!("{scope}stop");
        if !states.iter().any(|state| state.name.value == stop) {
            let span = node.span.start..node.span.start + 1;
            states.push(StateForm {
                name: Spanned { value: stop, span: span.clone() },
                scope: scope.to_owned(),
                work: WorkForm::Final,
                implied: true,
                span,
                ..StateForm::default()
            });
        }
        states
    }

    fn start(&self, node: &Node, scope: &str, states: &[StateForm], findings: &mut Findings<'_>) {
        let Some(list) = given(node, "states").and_then(Node::items) else { return };
        // a state that could not be read may be the one
        if states.iter().any(|state| state.scope == scope && state.local() == "start")
            || states.iter().filter(|state| state.scope == scope).count() < list.len()
        {
            return;
        }
        let span = node.get("states").map_or(node.span.clone(), |list| list.span.start..list.span.start + 1);
        let hint = "name its first state `start`".to_owned();
        findings.error(
            "E01",
            span,
            format!("the body of `{}` has no state named `start`", self.owner),
            Some(hint),
        );
    }

    /// The state that a body of one sub-workflow or one agent is.
    fn only(&self, node: &Node, scope: &str, findings: &mut Findings<'_>) -> Option<StateForm> {
        let agent = text(node, "agent", findings);
        let sub_workflow = text(node, "sub_workflow", findings);
        let agent = agent.filter(|agent| !agent.value.starts_with(OUTSIDE) || sub_workflow.is_none());
        match (&agent, &sub_workflow) {
            (Some(agent), _) if agent.value.starts_with(OUTSIDE) => {
                let message =
                    "only the items of a `foreach` state can be handed to sub-agents (`@task`, `@name`)";
                let hint = "name an agent of this workflow, or a `sub_workflow`";
                findings.error("E10", agent.span.clone(), message, Some(hint.to_owned()));
                return None;
            }
            (Some(_), None) => misplaced(node, "sub_workflow_input", "an agent", findings),
            (None, Some(_)) => misplaced(node, "input", "a sub-workflow", findings),
            (Some(_), Some(_)) => {}
            (None, None) => return None,
        }
        let called = agent.as_ref().or(sub_workflow.as_ref());
        let span = called.map_or(node.span.clone(), |name| name.span.clone());
        let input = given(node, "input").filter(|_| agent.is_some());
        Some(StateForm {
            name: Spanned { value: format!("{scope}start"), span },
            scope: scope.to_owned(),
            input: input.and_then(|input| self.inputs.auto(input, findings)),
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
/// Whoever the client takes for it.
const TASK: &str = "task";

fn is_task(node: &Node) -> bool {
    outside(node).is_some()
}

/// The name of a sub-agent.
fn outside(node: &Node) -> Option<&str> {
    given(node, "agent").and_then(Node::as_str)?.strip_prefix(OUTSIDE)
}

/// The kind of sub-agent that is meant, if it is a certain one.
fn sub_agent(node: &Node, findings: &mut Findings<'_>) -> Option<String> {
    let name = outside(node).filter(|name| *name != TASK)?;
    let fine = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    if let Some(value) = given(node, "agent")
        && (name.is_empty() || !name.chars().all(fine))
    {
        let message = format!("`@{name}` is no name of a sub-agent");
        let hint = "letters, digits, `_`, `-` and `.` after the `@`, or `@task` for any sub-agent";
        findings.error("E10", value.span.clone(), message, Some(hint.to_owned()));
        return None;
    }
    Some(name.to_owned())
}

fn missing(node: &Node, message: &str, hint: &str, findings: &mut Findings<'_>) {
    findings.error("E10", node.span.start..node.span.start + 1, message, Some(hint.to_owned()));
}

fn misplaced(node: &Node, key: &str, what: &str, findings: &mut Findings<'_>) {
    if let Some(value) = given(node, key) {
        let hint = "`input` belongs to an `agent`, `sub_workflow_input` to a `sub_workflow`";
        findings.error("E10", value.span.clone(), format!("{what} takes no `{key}`"), Some(hint.to_owned()));
    }
}

fn needed(path: Text) -> String {
    path.value.strip_prefix("common_data.").map_or_else(|| path.value.clone(), str::to_owned)
}

/// A name in the body's `common_data`.
fn variable(node: &Node, key: &str, usual: &str, findings: &mut Findings<'_>) -> String {
    let Some(name) = text(node, key, findings) else { return usual.to_owned() };
    let mut letters = name.value.chars();
    let first = letters.next().is_some_and(|c| c.is_alphabetic() || c == '_' || c == '$');
    if !first || !letters.all(|c| c.is_alphanumeric() || c == '_' || c == '$') {
        let message = format!("`{}` is no name that scripts can use", name.value);
        let hint = format!("for example \"{usual}\", which scripts then read as `common_data.{usual}`");
        findings.error("E10", name.span.clone(), message, Some(hint));
    }
    if ["total", "is_first", "is_last"].contains(&name.value.as_str()) {
        let message = format!("`{}` is set for every item and cannot be given to `{key}`", name.value);
        findings.error("E10", name.span.clone(), message, None);
    }
    name.value
}

fn join(node: &Node, branches: usize, findings: &mut Findings<'_>) -> Join {
    let Some(value) = given(node, "join") else { return Join::All };
    match &value.kind {
        Kind::String(_) => choice(node, "join", &[("all", Join::All), ("any", Join::Any)], findings)
            .map_or(Join::All, |found| found.value),
        Kind::Number(_) => {
            let Some(wanted) = count(node, "join", findings) else { return Join::All };
            if branches > 0 && wanted as usize > branches {
                let message = format!("`join` waits for {wanted} of {branches} branches");
                findings.error("E10", value.span.clone(), message, None);
            }
            Join::Count(wanted)
        }
        Kind::Null | Kind::Bool(_) | Kind::Array(_) | Kind::Object(_) => {
            wrong(value, "`join` must be \"all\", \"any\" or a number", findings);
            Join::All
        }
    }
}

fn places(node: &Node, findings: &mut Findings<'_>) -> Option<u32> {
    given(node, "max_concurrency")?;
    count(node, "max_concurrency", findings)
}

fn merge(node: &Node, findings: &mut Findings<'_>) -> BTreeMap<String, Merge> {
    let words = [
        ("first", Merge::First),
        ("last", Merge::Last),
        ("append", Merge::Append),
        ("sum", Merge::Sum),
        ("object", Merge::Object),
    ];
    let Some(value) = given(node, "merge") else { return BTreeMap::new() };
    let Some(members) = value.members() else {
        wrong(value, "`merge` must be an object of keys and ways, such as {\"notes\": \"append\"}", findings);
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
                let hint = or_list(member.value.as_str().unwrap_or_default(), "it is one of", &known);
                let message = format!("`{}` cannot be merged like this", member.key);
                findings.error("E10", member.value.span.clone(), message, hint);
            }
        }
    }
    all
}
