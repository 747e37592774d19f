//! The differences between two definitions, as notes for display.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::agent_differences;
use super::describe::{describe_state, on_error, script_source, state_name, work_kind};
use super::position_map::PositionMap;
use synthdev_domain::context::ContextSpec;
use synthdev_domain::ids::{AgentIx, ContextIx, StateIx, WorkflowIx};
use synthdev_domain::script::ScriptKind;
use synthdev_domain::workflow::{NoMatch, StateSpec, Workflow, WorkflowProgram};

/// One line for each difference, the workflows in the order of the new program.
pub(super) fn program_differences(
    old: &WorkflowProgram,
    new: &WorkflowProgram,
    names: &PositionMap,
) -> Vec<String> {
    let mut notes = Vec::new();
    let mut known = Vec::new();
    for (at, was) in old.workflows.iter().enumerate() {
        let found = names.workflow(WorkflowIx(at));
        match found.and_then(|ix| Some((ix, new.workflows.get(ix.0)?))) {
            Some((ix, now)) => {
                known.push(ix.0);
                let pair = WorkflowPair {
                    ix: WorkflowIx(at),
                    root: at == 0,
                    programs: (old, new),
                    old_workflow: was,
                    new_workflow: now,
                    names,
                };
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
    old_workflow: &'a Workflow,
    new_workflow: &'a Workflow,
    names: &'a PositionMap,
}

impl WorkflowPair<'_> {
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.old_workflow.name != self.new_workflow.name {
            notes.push(format!("the workflow is now called `{}`", self.new_workflow.name));
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
        if self.root { state.to_owned() } else { format!("{}/{state}", self.new_workflow.name) }
    }

    fn states(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut known = Vec::new();
        for (at, was) in self.old_workflow.states.iter().enumerate() {
            let now = self
                .names
                .state(self.ix, StateIx(at))
                .and_then(|at| Some((at, self.new_workflow.state(at)?)));
            match now {
                Some((at, now)) => {
                    known.push(at.0);
                    notes.extend(self.state_differences(was, now));
                    notes.extend(self.transition_differences(was, now));
                }
                None => notes.push(format!("state `{}` is gone", self.path(&was.name))),
            }
        }
        let added = self.new_workflow.states.iter().enumerate().filter(|(at, _)| !known.contains(at));
        notes.extend(added.map(|(_, state)| format!("state `{}` is new", self.path(&state.name))));
        if state_name(self.old_workflow, self.old_workflow.start)
            != state_name(self.new_workflow, self.new_workflow.start)
        {
            notes.push(format!(
                "the first state is now `{}`",
                self.path(&state_name(self.new_workflow, self.new_workflow.start))
            ));
        }
        notes
    }

    fn state_differences(&self, was: &StateSpec, now: &StateSpec) -> Vec<String> {
        let path = self.path(&now.name);
        let mut notes = Vec::new();
        let kinds = (work_kind(&was.work), work_kind(&now.work));
        if kinds.0 != kinds.1 {
            notes.push(format!("state `{path}` now has {} (before: {})", kinds.1, kinds.0));
        }
        let before: BTreeMap<_, _> =
            describe_state(self.programs.0, self.old_workflow, was).into_iter().collect();
        for (field, says) in describe_state(self.programs.1, self.new_workflow, now) {
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

    fn transition_differences(&self, was: &StateSpec, now: &StateSpec) -> Vec<String> {
        let (old, new) = (describe_exits(self.old_workflow, was), describe_exits(self.new_workflow, now));
        let from = self.path(&now.name);
        let mut notes = Vec::new();
        for way in &new {
            let to = &way.target;
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
        notes.extend(gone.map(|way| format!("`{from}` → `{}` is gone", way.target)));
        let order = |ways: &[TransitionDescription<'_>],
                     others: &[TransitionDescription<'_>]|
         -> Vec<(String, usize)> {
            let both = ways.iter().filter(|way| others.iter().any(|other| other.key() == way.key()));
            both.map(|way| (way.target.clone(), way.nth)).collect()
        };
        if order(&old, &new) != order(&new, &old) {
            notes.push(format!("the transitions of state `{from}` are tried in another order"));
        }
        notes
    }

    fn agents(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut known = Vec::new();
        for (at, was) in self.old_workflow.agents.iter().enumerate() {
            match self
                .names
                .agent(self.ix, AgentIx(at))
                .and_then(|at| Some((at, self.new_workflow.agent(at)?)))
            {
                Some((at, now)) => {
                    known.push(at.0);
                    notes.extend(agent_differences::agent_differences(
                        self.old_workflow,
                        was,
                        self.new_workflow,
                        now,
                    ));
                }
                None => notes.push(format!("agent {} is gone", was.id)),
            }
        }
        let added = self.new_workflow.agents.iter().enumerate().filter(|(at, _)| !known.contains(at));
        notes.extend(added.map(|(_, agent)| format!("agent {} is new", agent.id)));
        notes
    }

    fn contexts(&self) -> Vec<String> {
        let mut notes = Vec::new();
        let mut known = Vec::new();
        for (at, was) in self.old_workflow.contexts.iter().enumerate() {
            let found = self.names.context(self.ix, ContextIx(at));
            let Some((at, now)) = found.and_then(|at| Some((at.0, self.new_workflow.contexts.get(at.0)?)))
            else {
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
        let added = self.new_workflow.contexts.iter().enumerate().filter(|(at, _)| !known.contains(at));
        notes.extend(added.map(|(_, context)| format!("context `{}` is new", context.name)));
        notes
    }

    fn data(&self) -> Vec<String> {
        let mut notes = variable_differences(&self.old_workflow.variables, &self.new_workflow.variables);
        let names =
            |workflow: &Workflow| workflow.inputs.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
        let (was, now) = (names(self.old_workflow), names(self.new_workflow));
        notes.extend(
            now.iter().filter(|name| !was.contains(name)).map(|name| format!("input `{name}` is new")),
        );
        let gone = was.iter().filter(|name| !now.contains(name));
        notes.extend(gone.map(|name| format!("input `{name}` is no longer declared: its value stays")));
        if self.old_workflow.output != self.new_workflow.output {
            notes.push("the output of the workflow is declared differently".to_owned());
        }
        notes
    }

    /// What holds for the workflow as a whole.
    fn workflow(&self) -> Vec<String> {
        let (was, now) = (self.old_workflow, self.new_workflow);
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
            NoMatch::Go(target) => state_name(workflow, target),
        };
        let target = |workflow: &Workflow, at: Option<StateIx>| at.map(|at| state_name(workflow, at));
        let fields = [
            ("`budget`", was.budget != now.budget),
            ("`timeout`", was.timeout_ms != now.timeout_ms),
            ("`on_error`", on_error(was, was.on_error) != on_error(now, now.on_error)),
            ("`on_limit`", target(was, was.on_limit) != target(now, now.on_limit)),
            ("`on_no_match`", no_match(was) != no_match(now)),
            ("`on_condition_error`", was.condition_errors_are_false != now.condition_errors_are_false),
            ("`lenient`", was.lenient != now.lenient),
            ("state `resume`", target(was, was.resume).is_some() != target(now, now.resume).is_some()),
            ("script library", library_names(was) != library_names(now)),
        ];
        let fields = fields.iter().filter(|(_, differs)| *differs);
        let whole =
            if self.root { "the workflow".to_owned() } else { format!("the workflow `{}`", now.name) };
        limits.chain(fields.map(|(what, _)| format!("the {what} of {whole} changed"))).collect()
    }
}

/// One transition: the `nth` to its target.
struct TransitionDescription<'w> {
    target: String,
    nth: usize,
    condition: Option<&'w str>,
    before: Option<&'w str>,
}

impl TransitionDescription<'_> {
    fn key(&self) -> (&str, usize) {
        (&self.target, self.nth)
    }
}

fn describe_exits<'w>(workflow: &'w Workflow, state: &StateSpec) -> Vec<TransitionDescription<'w>> {
    let mut ways: Vec<TransitionDescription<'w>> = Vec::new();
    for transition in &state.transitions {
        let to = state_name(workflow, transition.target);
        let nth = ways.iter().filter(|way| way.target == to).count();
        let (condition, before) =
            (script_source(workflow, transition.condition), script_source(workflow, transition.before));
        ways.push(TransitionDescription { target: to, nth, condition, before });
    }
    ways
}

fn variable_differences(was: &Map<String, Value>, now: &Map<String, Value>) -> Vec<String> {
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

fn library_names(workflow: &Workflow) -> Vec<&str> {
    let library = |script: &&synthdev_domain::script::WorkflowScript| script.kind == ScriptKind::Library;
    workflow.scripts.iter().filter(library).map(|script| script.source.as_str()).collect()
}
