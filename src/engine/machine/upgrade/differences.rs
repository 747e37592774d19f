//! What is different between two definitions, in notes for people.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::agent_differences;
use super::describe::{kind, name, of_state, on_error, source};
use super::position_map::PositionMap;
use synthdev_domain::context::ContextSpec;
use synthdev_domain::ids::{AgentIx, ContextIx, StateIx, WorkflowIx};
use synthdev_domain::script::ScriptKind;
use synthdev_domain::workflow::{NoMatch, StateSpec, Workflow, WorkflowProgram};

/// One line for each difference, the workflows in the order of the new program.
pub(super) fn between(old: &WorkflowProgram, new: &WorkflowProgram, names: &PositionMap) -> Vec<String> {
    let mut notes = Vec::new();
    let mut known = Vec::new();
    for (at, was) in old.workflows.iter().enumerate() {
        let found = names.workflow(WorkflowIx(at));
        match found.and_then(|ix| Some((ix, new.workflows.get(ix.0)?))) {
            Some((ix, now)) => {
                known.push(ix.0);
                let pair =
                    WorkflowPair { ix: WorkflowIx(at), root: at == 0, programs: (old, new), was, now, names };
                notes.extend(pair.notes());
            }
            None => notes.push(format!("workflow `{}` is gone", was.name)),
        }
    }
    let added = new.workflows.iter().enumerate().filter(|(at, _)| !known.contains(at));
    notes.extend(added.map(|(_, workflow)| format!("workflow `{}` is new", workflow.name)));
    notes
}

/// One workflow, before and after.
struct WorkflowPair<'a> {
    ix: WorkflowIx,
    root: bool,
    programs: (&'a WorkflowProgram, &'a WorkflowProgram),
    was: &'a Workflow,
    now: &'a Workflow,
    names: &'a PositionMap,
}

impl WorkflowPair<'_> {
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.was.name != self.now.name {
            notes.push(format!("the workflow is now called `{}`", self.now.name));
        }
        notes.extend(self.states());
        notes.extend(self.agents());
        notes.extend(self.contexts());
        notes.extend(self.data());
        notes.extend(self.workflow());
        notes
    }

    /// `state`, or `child/state`.
    fn path(&self, state: &str) -> String {
        if self.root { state.to_owned() } else { format!("{}/{state}", self.now.name) }
    }

    fn states(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut known = Vec::new();
        for (at, was) in self.was.states.iter().enumerate() {
            let now = self.names.state(self.ix, StateIx(at)).and_then(|at| Some((at, self.now.state(at)?)));
            match now {
                Some((at, now)) => {
                    known.push(at.0);
                    notes.extend(self.state(was, now));
                    notes.extend(self.transitions(was, now));
                }
                None => notes.push(format!("state `{}` is gone", self.path(&was.name))),
            }
        }
        let added = self.now.states.iter().enumerate().filter(|(at, _)| !known.contains(at));
        notes.extend(added.map(|(_, state)| format!("state `{}` is new", self.path(&state.name))));
        if name(self.was, self.was.start) != name(self.now, self.now.start) {
            notes.push(format!("the first state is now `{}`", self.path(&name(self.now, self.now.start))));
        }
        notes
    }

    fn state(&self, was: &StateSpec, now: &StateSpec) -> Vec<String> {
        let path = self.path(&now.name);
        let mut notes = Vec::new();
        let kinds = (kind(&was.work), kind(&now.work));
        if kinds.0 != kinds.1 {
            notes.push(format!("state `{path}` now has {} (before: {})", kinds.1, kinds.0));
        }
        let before: BTreeMap<_, _> = of_state(self.programs.0, self.was, was).into_iter().collect();
        for (field, says) in of_state(self.programs.1, self.now, now) {
            match before.get(field) {
                Some(said) if *said != says && field == "agent" => {
                    notes.push(format!("state `{path}` now asks agent {says} (before: {said})"));
                }
                Some(said) if *said != says => notes.push(format!("`{field}` of state `{path}` changed")),
                // with the kind of the work its fields are others
                Some(_) | None => {}
            }
        }
        notes
    }

    fn transitions(&self, was: &StateSpec, now: &StateSpec) -> Vec<String> {
        let (old, new) = (ways(self.was, was), ways(self.now, now));
        let from = self.path(&now.name);
        let mut notes = Vec::new();
        for way in &new {
            let to = &way.to;
            let Some(before) = old.iter().find(|other| other.key() == way.key()) else {
                notes.push(format!("`{from}` → `{to}` is new"));
                continue;
            };
            if before.condition != way.condition {
                notes.push(format!("the condition of `{from}` → `{to}` changed"));
            }
            if before.before != way.before {
                notes.push(format!("the `before` of `{from}` → `{to}` changed"));
            }
        }
        let gone = old.iter().filter(|way| !new.iter().any(|other| other.key() == way.key()));
        notes.extend(gone.map(|way| format!("`{from}` → `{}` is gone", way.to)));
        let order = |ways: &[TransitionDescription<'_>],
                     others: &[TransitionDescription<'_>]|
         -> Vec<(String, usize)> {
            let both = ways.iter().filter(|way| others.iter().any(|other| other.key() == way.key()));
            both.map(|way| (way.to.clone(), way.nth)).collect()
        };
        if order(&old, &new) != order(&new, &old) {
            notes.push(format!("the transitions of state `{from}` are tried in another order"));
        }
        notes
    }

    fn agents(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut known = Vec::new();
        for (at, was) in self.was.agents.iter().enumerate() {
            match self.names.agent(self.ix, AgentIx(at)).and_then(|at| Some((at, self.now.agent(at)?))) {
                Some((at, now)) => {
                    known.push(at.0);
                    notes.extend(agent_differences::differences((self.was, was), (self.now, now)));
                }
                None => notes.push(format!("agent {} is gone", was.id)),
            }
        }
        let added = self.now.agents.iter().enumerate().filter(|(at, _)| !known.contains(at));
        notes.extend(added.map(|(_, agent)| format!("agent {} is new", agent.id)));
        notes
    }

    fn contexts(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut known = Vec::new();
        for (at, was) in self.was.contexts.iter().enumerate() {
            let found = self.names.context(self.ix, ContextIx(at));
            let Some((at, now)) = found.and_then(|at| Some((at.0, self.now.contexts.get(at.0)?))) else {
                notes.push(format!("context `{}` is gone", was.name));
                continue;
            };
            known.push(at);
            if was.starting_messages != now.starting_messages {
                notes.push(format!(
                    "`starting_messages` of context `{}` changed: the conversation keeps those it began with",
                    now.name
                ));
            }
            let rest = |one: &ContextSpec| ContextSpec { starting_messages: Vec::new(), ..one.clone() };
            if rest(was) != rest(now) {
                notes.push(format!("the limits of context `{}` changed", now.name));
            }
        }
        let added = self.now.contexts.iter().enumerate().filter(|(at, _)| !known.contains(at));
        notes.extend(added.map(|(_, context)| format!("context `{}` is new", context.name)));
        notes
    }

    fn data(&self) -> Vec<String> {
        let mut notes = variables(&self.was.variables, &self.now.variables);
        let names =
            |workflow: &Workflow| workflow.inputs.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        let (was, now) = (names(self.was), names(self.now));
        notes.extend(
            now.iter().filter(|name| !was.contains(name)).map(|name| format!("input `{name}` is new")),
        );
        let gone = was.iter().filter(|name| !now.contains(name));
        notes.extend(gone.map(|name| format!("input `{name}` is no longer declared: its value stays")));
        if self.was.output != self.now.output {
            notes.push("the output of the workflow is declared differently".to_owned());
        }
        notes
    }

    /// What holds for the workflow as a whole.
    fn workflow(&self) -> Vec<String> {
        let (was, now) = (self.was, self.now);
        let (before, after) = (was.limits, now.limits);
        let numbers = [
            ("max_steps", Some(before.max_steps), Some(after.max_steps)),
            ("max_visits", Some(before.max_visits), Some(after.max_visits)),
            ("max_depth", Some(before.max_depth), Some(after.max_depth)),
            ("max_model_calls", before.max_model_calls, after.max_model_calls),
            ("max_concurrency", Some(before.max_concurrency), Some(after.max_concurrency)),
        ];
        let shown =
            |number: Option<u32>| number.map_or("without a limit".to_owned(), |number| number.to_string());
        let limits = numbers.iter().filter(|(_, was, now)| was != now);
        let limits = limits.map(|(limit, was, now)| {
            format!(
                "the limit {limit} is now {} (before: {}); what was used counts",
                shown(*now),
                shown(*was)
            )
        });
        let no_match = |workflow: &Workflow| match workflow.no_match {
            NoMatch::Error => String::new(),
            NoMatch::Go(target) => name(workflow, target),
        };
        let target = |workflow: &Workflow, at: Option<StateIx>| at.map(|at| name(workflow, at));
        let fields = [
            ("`budget`", was.budget != now.budget),
            ("`timeout`", was.timeout_ms != now.timeout_ms),
            ("`on_error`", on_error(was, was.on_error) != on_error(now, now.on_error)),
            ("`on_limit`", target(was, was.on_limit) != target(now, now.on_limit)),
            ("`on_no_match`", no_match(was) != no_match(now)),
            ("`on_condition_error`", was.condition_errors_are_false != now.condition_errors_are_false),
            ("`lenient`", was.lenient != now.lenient),
            ("state `resume`", target(was, was.resume).is_some() != target(now, now.resume).is_some()),
            ("script library", libraries(was) != libraries(now)),
        ];
        let fields = fields.iter().filter(|(_, differs)| *differs);
        let whole =
            if self.root { "the workflow".to_owned() } else { format!("the workflow `{}`", now.name) };
        limits.chain(fields.map(|(what, _)| format!("the {what} of {whole} changed"))).collect()
    }
}

/// One transition: the `nth` to its target.
struct TransitionDescription<'w> {
    to: String,
    nth: usize,
    condition: Option<&'w str>,
    before: Option<&'w str>,
}

impl TransitionDescription<'_> {
    fn key(&self) -> (&str, usize) {
        (&self.to, self.nth)
    }
}

fn ways<'w>(workflow: &'w Workflow, state: &StateSpec) -> Vec<TransitionDescription<'w>> {
    let mut ways: Vec<TransitionDescription<'w>> = Vec::new();
    for transition in &state.transitions {
        let to = name(workflow, transition.target);
        let nth = ways.iter().filter(|way| way.to == to).count();
        let (condition, before) =
            (source(workflow, transition.condition), source(workflow, transition.before));
        ways.push(TransitionDescription { to, nth, condition, before });
    }
    ways
}

fn variables(was: &Map<String, Value>, now: &Map<String, Value>) -> Vec<String> {
    let mut notes = Vec::new();
    for (name, value) in now {
        match was.get(name) {
            None => notes.push(format!("variable `{name}` is new")),
            Some(before) if before != value => {
                notes.push(format!("variable `{name}` begins differently: the run keeps its value"));
            }
            Some(_) => {}
        }
    }
    let gone = was.keys().filter(|name| !now.contains_key(*name));
    notes.extend(gone.map(|name| format!("variable `{name}` is no longer declared: its value stays")));
    notes
}

fn libraries(workflow: &Workflow) -> Vec<&str> {
    let library = |script: &&synthdev_domain::script::WorkflowScript| script.kind == ScriptKind::Library;
    workflow.scripts.iter().filter(library).map(|script| script.source.as_str()).collect()
}
