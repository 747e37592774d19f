//! Builds the states: every name becomes an index, every script an entry of the workflow's list.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::super::check::{CompilationUnit, InputScript, ParsedScript, StateScripts};
use super::super::source::{LineStarts, SourceFile};
use super::super::workflow_file::{
    ForEachForm, FunctionForm, NoMatchForm, OnErrorForm, ParallelForm, PauseForm, SpannedText, StateForm,
    WorkForm, WorkflowForm,
};
use super::steps::build_arguments;
use synthdev_domain::ids::{AgentIx, ScriptIx, StateIx, WorkflowIx};
use synthdev_domain::script::{ScriptForm, ScriptKind, WorkflowScript};
use synthdev_domain::source_location::SourceLocation;
use synthdev_domain::tool::ToolRisk;
use synthdev_domain::workflow::{
    ActionSpec, AgentFunction, BranchSpec, CatchRule, ForEachSpec, OnError, ParallelSpec, PauseSpec,
    RecoveryPolicy, RetryRule, StateBody, StateSpec, Transition, ValueSource, WaitSpec,
};

pub(super) struct WorkflowStateBuilder<'b> {
    unit: &'b CompilationUnit,
    file: &'b SourceFile,
    lines: LineStarts,
    states: &'b StateIndex<'b>,
    index: &'b dyn Fn(&str) -> Option<usize>,
    pub(super) scripts: Vec<WorkflowScript>,
}

/// The states of a workflow by their names. All names have been checked; `stop` may be the one that is added at the end.
pub(super) struct StateIndex<'f>(BTreeMap<&'f str, usize>, usize);

impl<'f> StateIndex<'f> {
    pub(super) fn from_form(form: &'f WorkflowForm) -> Self {
        let states = form.states.iter().enumerate().rev();
        Self(states.map(|(at, state)| (state.name.value.as_str(), at)).collect(), form.states.len())
    }

    pub(super) fn get(&self, name: &str) -> Option<usize> {
        self.0.get(name).copied()
    }

    pub(super) fn index_of(&self, name: &str) -> StateIx {
        StateIx(self.get(name).unwrap_or(self.1))
    }

    /// The states whose names begin so.
    fn states_below(&self, scope: &str) -> impl Iterator<Item = usize> {
        let from = (Bound::Included(scope), Bound::Unbounded);
        let all = self.0.range::<str, _>(from);
        all.take_while(move |(name, _)| name.starts_with(scope)).map(|(_, at)| *at)
    }
}

pub(super) fn on_error(
    form: Option<&OnErrorForm>,
    target: &dyn Fn(&SpannedText) -> StateIx,
) -> Option<OnError> {
    form.map(|form| match form {
        OnErrorForm::Fail => OnError::Fail,
        OnErrorForm::Continue => OnError::Continue,
        OnErrorForm::Go(name) => OnError::Go(target(name)),
    })
}

impl<'b> WorkflowStateBuilder<'b> {
    pub(super) fn new(
        unit: &'b CompilationUnit,
        file: &'b SourceFile,
        states: &'b StateIndex<'b>,
        index: &'b dyn Fn(&str) -> Option<usize>,
    ) -> Self {
        Self { unit, file, lines: LineStarts::from_text(&file.text), states, index, scripts: Vec::new() }
    }

    pub(super) fn location_at(&self, offset: usize) -> SourceLocation {
        self.lines.location_at(self.file, offset)
    }

    pub(super) fn build_state(&mut self, form: &StateForm, scripts: &StateScripts) -> StateSpec {
        let terminal = form.is_terminal();
        let script = match &scripts.script {
            Some(script) if !terminal => Some(self.add_script(script)),
            None if !terminal && !form.updates.is_empty() => Some(self.build_updates(form, scripts)),
            Some(_) | None => None,
        };
        let input = self.build_input(&scripts.input);
        let (work, output) = if terminal {
            (StateBody::None, input)
        } else {
            (self.build_work(form, scripts, input), ValueSource::Absent)
        };
        let target = |name: &SpannedText| self.states.index_of(&name.value);
        let on_limit = form.on_limit.as_ref().map(target);
        StateSpec {
            name: form.name.value.clone(),
            script,
            work,
            transitions: if terminal { Vec::new() } else { self.build_transitions(form, scripts) },
            terminal,
            output,
            expects: self.expected_tools(form, scripts),
            recovery: self.build_recovery(form, scripts),
            on_limit,
            place: self.location_at(form.name.span.start),
            ..form.spec.clone()
        }
    }

    fn build_work(&mut self, form: &StateForm, scripts: &StateScripts, input: ValueSource) -> StateBody {
        match &form.work {
            WorkForm::Plain => self.build_untyped(form, scripts, input),
            WorkForm::Parallel(parallel) => StateBody::Parallel(self.build_parallel(parallel)),
            WorkForm::ForEach(foreach) => StateBody::ForEach(self.build_for_each(foreach, scripts)),
            WorkForm::Step(step) => {
                let inputs: Vec<ValueSource> =
                    scripts.work.iter().map(|input| self.build_input(input)).collect();
                StateBody::Action(ActionSpec {
                    tool: step.tool.value.clone(),
                    risk: step.risk.unwrap_or(ToolRisk::Execute),
                    arguments: build_arguments(&step.arguments, inputs),
                    expect: step.expect.clone(),
                })
            }
            WorkForm::Pause(pause) => StateBody::Pause(self.build_pause(pause, scripts)),
            WorkForm::Wait(wait) => {
                let input = self.first_value(scripts);
                StateBody::Wait(if wait.until_time { WaitSpec::Until(input) } else { WaitSpec::For(input) })
            }
            WorkForm::Fail(fail) => {
                StateBody::Fail { error: fail.error.value.clone(), cause: self.first_value(scripts) }
            }
            WorkForm::Final => StateBody::None,
        }
    }

    /// A state without a `type`.
    fn build_untyped(&mut self, form: &StateForm, scripts: &StateScripts, input: ValueSource) -> StateBody {
        if let Some(called) = &form.sub_workflow
            && let Some(workflow) = (self.index)(&called.value)
        {
            let inputs = form.sub_inputs.iter().zip(&scripts.sub_inputs);
            let inputs =
                inputs.map(|((key, _), input)| (key.value.clone(), self.build_input(input))).collect();
            return StateBody::Child { workflow: WorkflowIx(workflow), inputs };
        }
        let function = match form.function.as_ref().map(|function| function.value) {
            // script only
            Some(FunctionForm::Script) => return StateBody::None,
            Some(FunctionForm::Agent(function)) => function,
            None => AgentFunction::SendUserMessage,
        };
        match self.unit.find_agent(form) {
            Some((agent, _)) => StateBody::Agent { agent: AgentIx(agent), function, input },
            None => StateBody::None,
        }
    }

    fn build_parallel(&self, form: &ParallelForm) -> ParallelSpec {
        let branches = form
            .branches
            .iter()
            .map(|(name, start)| BranchSpec { name: name.value.clone(), start: self.states.index_of(start) });
        ParallelSpec { branches: branches.collect(), ..form.spec.clone() }
    }

    fn build_for_each(&mut self, form: &ForEachForm, scripts: &StateScripts) -> ForEachSpec {
        ForEachSpec {
            items: self.first_value(scripts),
            start: self.states.index_of(&form.start),
            needs: self.needed_paths(form),
            ..form.spec.clone()
        }
    }

    /// "Everything" is what the body reads, where that is known: ten thousand items do not each carry all of it.
    fn needed_paths(&self, form: &ForEachForm) -> Vec<String> {
        if !form.spec.needs.iter().any(|path| path == "*") {
            return form.spec.needs.clone();
        }
        let scope = form.start.strip_suffix("start").unwrap_or(&form.start);
        let inside = self.states.states_below(scope);
        let inside = inside.map(|at| (&self.unit.form.states[at], &self.unit.states[at]));
        let mut needed: Vec<String> = Vec::new();
        for (state, scripts) in inside {
            let catches = scripts.catch.iter().flatten();
            for script in scripts.entry_scripts().chain(scripts.exit_scripts()).chain(catches) {
                if script.facts.opaque || !script.facts.library_names.is_empty() {
                    return form.spec.needs.clone();
                }
                needed.extend(script.facts.data_reads.iter().map(|key| key.name.clone()));
            }
            let updated = state.updates.iter().filter_map(|update| update.path.value.split('.').next());
            needed.extend(updated.map(str::to_owned));
        }
        let own = [form.spec.each.as_str(), &form.spec.at, "total", "is_first", "is_last"];
        needed.retain(|key| !own.contains(&key.as_str()));
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    fn build_pause(&mut self, form: &PauseForm, scripts: &StateScripts) -> PauseSpec {
        let on_timeout = form.on_timeout.as_ref().map(|name| self.states.index_of(&name.value));
        PauseSpec { message: self.first_value(scripts), on_timeout, ..form.spec.clone() }
    }

    /// The value of work that has at most one.
    fn first_value(&mut self, scripts: &StateScripts) -> ValueSource {
        scripts.work.first().map_or(ValueSource::Absent, |input| self.build_input(input))
    }

    fn build_recovery(&mut self, form: &StateForm, scripts: &StateScripts) -> RecoveryPolicy {
        let names = |list: &[SpannedText]| list.iter().map(|name| name.value.clone()).collect();
        let retry = form.retry.iter().map(|rule| RetryRule {
            errors: names(&rule.errors),
            max_attempts: rule.max_attempts,
            backoff: rule.backoff,
        });
        let retry = retry.collect();
        let mut catch = Vec::with_capacity(form.catch.len());
        for (rule, before) in form.catch.iter().zip(&scripts.catch) {
            catch.push(CatchRule {
                errors: names(&rule.errors),
                key: rule.key.clone(),
                before: before.as_ref().map(|before| self.add_script(before)),
                target: self.states.index_of(&rule.target.value),
            });
        }
        let target = |name: &SpannedText| self.states.index_of(&name.value);
        RecoveryPolicy {
            retry,
            catch,
            on_error: on_error(form.on_error.as_ref(), &target),
            ..form.spec.recovery.clone()
        }
    }

    fn build_transitions(&mut self, form: &StateForm, scripts: &StateScripts) -> Vec<Transition> {
        let stop = self.states.index_of(&form.sibling_name("stop"));
        let on = |target| Transition { target, condition: None, before: None };
        // no list at all ends the workflow, or the body
        let Some(transitions) = &form.transitions else {
            return vec![on(stop)];
        };
        let mut all = Vec::with_capacity(transitions.len());
        for (one, script) in transitions.iter().zip(&scripts.transitions) {
            let condition = script.condition.as_ref().map(|condition| self.add_script(condition));
            let before = script.before_script.as_ref().map(|before| self.add_script(before));
            let target = self.states.index_of(&one.target.value);
            all.push(Transition { target, condition, before });
        }
        // `on_no_match` of the workflow knows only the workflow's own end
        if !form.scope.is_empty() && self.unit.form.no_match == NoMatchForm::Stop {
            all.push(on(stop));
        }
        all
    }

    /// Tools that the transitions read and the state's own agent offers: it is asked again until it decides.
    fn expected_tools(&self, form: &StateForm, scripts: &StateScripts) -> Vec<String> {
        let cast = self.unit.speaker(form).and_then(|agent| self.unit.resolved_agents.get(agent)?.as_ref());
        let Some(cast) = cast else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        let own = scripts.exit_scripts().flat_map(|script| &script.facts.calls).map(|call| &call.tool);
        let named = scripts.exit_scripts().flat_map(|script| &script.facts.library_names);
        for tool in own.chain(named.flat_map(|name| self.unit.decision_calls(&name.name))) {
            let offered = cast.role.parsing_tools.iter().any(|known| known.name == *tool);
            if offered && !names.contains(tool) {
                names.push(tool.clone());
            }
        }
        names
    }

    fn build_input(&mut self, input: &InputScript) -> ValueSource {
        match input {
            InputScript::Absent => ValueSource::Absent,
            InputScript::Text(text) => ValueSource::Text(text.clone()),
            InputScript::Value(value) => ValueSource::Value(value.clone()),
            InputScript::Script(script) => ValueSource::Script(self.add_script(script)),
        }
    }

    /// One script that reads all values, then writes all of them. It is shown as what it does.
    fn build_updates(&mut self, form: &StateForm, scripts: &StateScripts) -> ScriptIx {
        let mut shown: Vec<String> = Vec::new();
        let mut entries: Vec<String> = Vec::new();
        for (update, value) in form.updates.iter().zip(&scripts.updates) {
            let (written, prepared) = match value {
                InputScript::Script(script) => (script.text.value.clone(), script.facts.prepared.clone()),
                InputScript::Text(text) => (quote_js(text), quote_js(text)),
                InputScript::Value(value) => (value.to_string(), value.to_string()),
                InputScript::Absent => continue,
            };
            let operation = update.operation.word();
            shown.push(format!("{operation} {}: {written}", update.path.value));
            // the value has its own lines, because it may end in a line comment
            entries.push(format!("[{},\"{operation}\",(\n{prepared}\n)]", quote_js(&update.path.value)));
        }
        let place = form.updates.first().map_or(form.name.span.start, |first| first.path.span.start);
        self.scripts.push(WorkflowScript {
            kind: ScriptKind::Action,
            form: ScriptForm::Expression,
            source: shown.join("; "),
            prepared: format!("__flow.set([{}])", entries.join(",")),
            offers: Vec::new(),
            place: self.location_at(place),
        });
        ScriptIx(self.scripts.len() - 1)
    }

    fn add_script(&mut self, compiled: &ParsedScript) -> ScriptIx {
        let place = || self.location_at(compiled.text.span.start + 1);
        self.scripts.push(WorkflowScript {
            kind: compiled.kind,
            form: compiled.facts.form,
            source: compiled.text.value.clone(),
            prepared: compiled.facts.prepared.clone(),
            offers: Vec::new(),
            place: compiled.place.clone().unwrap_or_else(place),
        });
        ScriptIx(self.scripts.len() - 1)
    }
}

/// A JavaScript string. JSON's are such.
fn quote_js(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
