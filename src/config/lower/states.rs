//! Builds the states: every name becomes an index, every script an entry of the workflow's list.

use std::collections::BTreeMap;
use std::ops::Bound;

use super::super::check::{CompilationUnit, InputScript, ParsedScript, StateScripts};
use super::super::source::{LineStarts, SourceFile};
use super::super::workflow_file::{
    ForEachForm, FunctionForm, NoMatchForm, OnErrorForm, ParallelForm, PauseForm, SpannedText, StateForm,
    WorkForm, WorkflowForm,
};
use super::steps::arguments;
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

    pub(super) fn find(&self, name: &str) -> StateIx {
        StateIx(self.get(name).unwrap_or(self.1))
    }

    /// The states whose names begin so.
    fn below(&self, scope: &str) -> impl Iterator<Item = usize> {
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

    pub(super) fn place(&self, offset: usize) -> SourceLocation {
        self.lines.place(self.file, offset)
    }

    pub(super) fn state(&mut self, form: &StateForm, scripts: &StateScripts) -> StateSpec {
        let terminal = form.is_terminal();
        let script = match &scripts.script {
            Some(script) if !terminal => Some(self.script(script)),
            None if !terminal && !form.updates.is_empty() => Some(self.updates(form, scripts)),
            Some(_) | None => None,
        };
        let input = self.input(&scripts.input);
        let (work, output) = if terminal {
            (StateBody::None, input)
        } else {
            (self.work(form, scripts, input), ValueSource::Absent)
        };
        let target = |name: &SpannedText| self.states.find(&name.value);
        let on_limit = form.on_limit.as_ref().map(target);
        StateSpec {
            name: form.name.value.clone(),
            script,
            work,
            transitions: if terminal { Vec::new() } else { self.transitions(form, scripts) },
            terminal,
            output,
            expects: self.expects(form, scripts),
            store: form.store.clone(),
            recovery: self.recovery(form, scripts),
            timeout_ms: form.timeout_ms,
            budget: form.budget,
            max_visits: form.max_visits,
            on_limit,
            place: self.place(form.name.span.start),
        }
    }

    fn work(&mut self, form: &StateForm, scripts: &StateScripts, input: ValueSource) -> StateBody {
        match &form.work {
            WorkForm::Plain => self.plain(form, scripts, input),
            WorkForm::Parallel(parallel) => StateBody::Parallel(self.parallel(parallel)),
            WorkForm::ForEach(foreach) => StateBody::ForEach(self.foreach(foreach, scripts)),
            WorkForm::Step(step) => {
                let inputs: Vec<ValueSource> = scripts.work.iter().map(|input| self.input(input)).collect();
                StateBody::Step(ActionSpec {
                    tool: step.tool.value.clone(),
                    risk: step.risk.unwrap_or(ToolRisk::Execute),
                    arguments: arguments(&step.arguments, inputs),
                    expect: step.expect.clone(),
                })
            }
            WorkForm::Pause(pause) => StateBody::Pause(self.pause(pause, scripts)),
            WorkForm::Wait(wait) => {
                let input = self.first(scripts);
                StateBody::Wait(if wait.until { WaitSpec::Until(input) } else { WaitSpec::For(input) })
            }
            WorkForm::Fail { error, .. } => {
                StateBody::Fail { error: error.value.clone(), cause: self.first(scripts) }
            }
            WorkForm::Final => StateBody::None,
        }
    }

    /// A state without a `type`.
    fn plain(&mut self, form: &StateForm, scripts: &StateScripts, input: ValueSource) -> StateBody {
        if let Some(called) = &form.sub_workflow
            && let Some(workflow) = (self.index)(&called.value)
        {
            let inputs = form.sub_inputs.iter().zip(&scripts.sub_inputs);
            let inputs = inputs.map(|((key, _), input)| (key.value.clone(), self.input(input))).collect();
            return StateBody::Child { workflow: WorkflowIx(workflow), inputs };
        }
        let function = match form.function.as_ref().map(|function| function.value) {
            // script only
            Some(FunctionForm::Script) => return StateBody::None,
            Some(FunctionForm::Agent(function)) => function,
            // A16
            None => AgentFunction::SendUserMessage,
        };
        match self.unit.agent_of(form) {
            Some((agent, _)) => StateBody::Agent { agent: AgentIx(agent), function, input },
            None => StateBody::None,
        }
    }

    fn parallel(&self, form: &ParallelForm) -> ParallelSpec {
        let branches = form
            .branches
            .iter()
            .map(|(name, start)| BranchSpec { name: name.value.clone(), start: self.states.find(start) });
        ParallelSpec {
            branches: branches.collect(),
            join: form.join,
            on_error: form.on_error,
            max_concurrency: form.max_concurrency,
            merge: form.merge.clone(),
        }
    }

    fn foreach(&mut self, form: &ForEachForm, scripts: &StateScripts) -> ForEachSpec {
        ForEachSpec {
            items: self.first(scripts),
            each: form.each.clone(),
            at: form.at.clone(),
            start: self.states.find(&form.start),
            needs: self.needed(form),
            max_concurrency: form.max_concurrency,
            tolerated_failures: form.tolerated_failures,
            tolerated_percent: form.tolerated_percent,
            handed_out: form.handed_out.clone(),
            sub_agent: form.sub_agent.clone(),
        }
    }

    /// "Everything" is what the body reads, where that is known: ten thousand items do not each carry all of it.
    fn needed(&self, form: &ForEachForm) -> Vec<String> {
        if !form.needs.iter().any(|path| path == "*") {
            return form.needs.clone();
        }
        let scope = form.start.strip_suffix("start").unwrap_or(&form.start);
        let inside = self.states.below(scope);
        let inside = inside.map(|at| (&self.unit.form.states[at], &self.unit.states[at]));
        let mut needed: Vec<String> = Vec::new();
        for (state, scripts) in inside {
            let catches = scripts.catch.iter().flatten();
            for script in scripts.entering().chain(scripts.leaving()).chain(catches) {
                if script.facts.opaque || !script.facts.offered.is_empty() {
                    return form.needs.clone();
                }
                needed.extend(script.facts.reads.iter().map(|key| key.name.clone()));
            }
            let updated = state.updates.iter().filter_map(|update| update.path.value.split('.').next());
            needed.extend(updated.map(str::to_owned));
        }
        let own = [form.each.as_str(), &form.at, "total", "is_first", "is_last"];
        needed.retain(|key| !own.contains(&key.as_str()));
        needed.sort_unstable();
        needed.dedup();
        needed
    }

    fn pause(&mut self, form: &PauseForm, scripts: &StateScripts) -> PauseSpec {
        let on_timeout = form.on_timeout.as_ref().map(|name| self.states.find(&name.value));
        PauseSpec {
            kind: form.kind,
            message: self.first(scripts),
            choices: form.choices.clone(),
            schema: form.schema.clone(),
            required_outputs: form.required_outputs.clone(),
            default: form.default.clone(),
            ttl_ms: form.ttl_ms,
            on_timeout,
            request: form.request.clone(),
        }
    }

    /// The value of work that has at most one.
    fn first(&mut self, scripts: &StateScripts) -> ValueSource {
        scripts.work.first().map_or(ValueSource::Absent, |input| self.input(input))
    }

    fn recovery(&mut self, form: &StateForm, scripts: &StateScripts) -> RecoveryPolicy {
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
                before: before.as_ref().map(|before| self.script(before)),
                target: self.states.find(&rule.target.value),
            });
        }
        let target = |name: &SpannedText| self.states.find(&name.value);
        RecoveryPolicy {
            retry,
            catch,
            fallback: form.fallback.clone(),
            on_error: on_error(form.on_error.as_ref(), &target),
        }
    }

    fn transitions(&mut self, form: &StateForm, scripts: &StateScripts) -> Vec<Transition> {
        let stop = self.states.find(&form.sibling_name("stop"));
        let on = |target| Transition { target, condition: None, before: None };
        // no list at all ends the workflow, or the body
        let Some(transitions) = &form.transitions else {
            return vec![on(stop)];
        };
        let mut all = Vec::with_capacity(transitions.len());
        for (one, script) in transitions.iter().zip(&scripts.transitions) {
            let condition = script.condition.as_ref().map(|condition| self.script(condition));
            let before = script.before.as_ref().map(|before| self.script(before));
            let target = self.states.find(&one.target.value);
            all.push(Transition { target, condition, before });
        }
        // `on_no_match` of the workflow knows only the workflow's own end
        if !form.scope.is_empty() && self.unit.form.no_match == NoMatchForm::Stop {
            all.push(on(stop));
        }
        all
    }

    /// Tools that the transitions read and the state's own agent offers: it is asked again until it decides.
    fn expects(&self, form: &StateForm, scripts: &StateScripts) -> Vec<String> {
        let cast = self.unit.speaker(form).and_then(|agent| self.unit.cast.get(agent)?.as_ref());
        let Some(cast) = cast else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        let own = scripts.leaving().flat_map(|script| &script.facts.calls).map(|call| &call.tool);
        let named = scripts.leaving().flat_map(|script| &script.facts.offered);
        for tool in own.chain(named.flat_map(|name| self.unit.calls_of(&name.name))) {
            let offered = cast.role.parsing_tools.iter().any(|known| known.name == *tool);
            if offered && !names.contains(tool) {
                names.push(tool.clone());
            }
        }
        names
    }

    fn input(&mut self, input: &InputScript) -> ValueSource {
        match input {
            InputScript::Absent => ValueSource::Absent,
            InputScript::Text(text) => ValueSource::Text(text.clone()),
            InputScript::Value(value) => ValueSource::Value(value.clone()),
            InputScript::Script(script) => ValueSource::Script(self.script(script)),
        }
    }

    /// One script that reads all values, then writes all of them. It is shown as what it does.
    fn updates(&mut self, form: &StateForm, scripts: &StateScripts) -> ScriptIx {
        let mut shown: Vec<String> = Vec::new();
        let mut entries: Vec<String> = Vec::new();
        for (update, value) in form.updates.iter().zip(&scripts.updates) {
            let (written, prepared) = match value {
                InputScript::Script(script) => (script.text.value.clone(), script.facts.prepared.clone()),
                InputScript::Text(text) => (quoted(text), quoted(text)),
                InputScript::Value(value) => (value.to_string(), value.to_string()),
                InputScript::Absent => continue,
            };
            let operation = update.operation.word();
            shown.push(format!("{operation} {}: {written}", update.path.value));
            // the value stands on lines of its own: it may end in a comment
            entries.push(format!("[{},\"{operation}\",(\n{prepared}\n)]", quoted(&update.path.value)));
        }
        let place = form.updates.first().map_or(form.name.span.start, |first| first.path.span.start);
        self.scripts.push(WorkflowScript {
            kind: ScriptKind::Action,
            form: ScriptForm::Expression,
            source: shown.join("; "),
            prepared: format!("__flow.set([{}])", entries.join(",")),
            offers: Vec::new(),
            place: self.place(place),
        });
        ScriptIx(self.scripts.len() - 1)
    }

    fn script(&mut self, compiled: &ParsedScript) -> ScriptIx {
        let place = || self.place(compiled.text.span.start + 1);
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
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
