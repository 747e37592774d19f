//! Builds the checked workflow: names become indices. Everything that can be wrong has been found before.

use super::super::check::{Cast, Compiled, InputScript, ScriptFile, StateScripts, Unit};
use super::super::source::SourceFile;
use super::super::workflow_file::{
    AgentForm, ContextForm, FunctionForm, ParameterForm, StateForm, WorkflowForm,
};
use super::places::Places;
use crate::domain::agent::{AgentSpec, DEFAULT_TOOL_ROUNDS};
use crate::domain::context::{Author, ContextSpec, Entry};
use crate::domain::ids::{AgentIx, ContextIx, ScriptIx, StateIx, WorkflowIx};
use crate::domain::message::ChatRole;
use crate::domain::place::Place;
use crate::domain::script::{Script, ScriptForm, ScriptKind};
use crate::domain::workflow::{
    AgentFunction, Budget, Declared, Input, Limits, NoMatch, OnError, State, Transition, Work, Workflow,
};

/// `index` finds another workflow of the program by name.
pub(super) fn build(unit: &Unit, file: &SourceFile, index: &dyn Fn(&str) -> Option<usize>) -> Workflow {
    let form = &unit.form;
    let places = Places::new(file);
    let mut builder = Builder { unit, places, index, scripts: Vec::new() };
    let mut states: Vec<State> =
        form.states.iter().zip(&unit.states).map(|(state, scripts)| builder.state(state, scripts)).collect();
    let place = builder.places.of(form.name.span.start);
    let stop = match form.states.iter().position(|state| state.name.value == "stop") {
        Some(at) => at,
        None => {
            states.push(terminal(&place));
            states.len() - 1
        }
    };
    builder.scripts.extend(unit.library.as_ref().map(library));
    Workflow {
        name: form.name.value.clone(),
        description: form.description.clone(),
        inputs: form.inputs.iter().map(ParameterForm::parameter).collect(),
        output: form.output.as_ref().map(ParameterForm::parameter),
        variables: form.variable_values(),
        contexts: form.contexts.iter().map(context).collect(),
        agents: form
            .agents
            .iter()
            .zip(&unit.cast)
            .filter_map(|(agent, cast)| agent_spec(form, agent, cast.as_ref()?))
            .collect(),
        states,
        scripts: builder.scripts.into(),
        start: StateIx(form.states.iter().position(|state| state.name.value == "start").unwrap_or(stop)),
        stop: StateIx(stop),
        limits: limits(unit),
        budget: Budget::default(),
        timeout_ms: None,
        on_error: OnError::default(),
        on_limit: None,
        no_match: if form.stops_on_no_match { NoMatch::Go(StateIx(stop)) } else { NoMatch::Error },
        condition_errors_are_false: form.condition_errors_are_false,
        lenient: false,
        resume: None,
        snapshot: form.snapshot,
        conversational: false,
        layer: file.layer,
        place,
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The script file as it is compiled. It has a place of its own.
fn library(found: &ScriptFile) -> Script {
    Script {
        kind: ScriptKind::Library,
        form: ScriptForm::Statements,
        source: found.file.text.to_string(),
        prepared: found.library.prepared.clone(),
        offers: found.library.offers.iter().map(|offer| offer.name.clone()).collect(),
        place: Place { file: found.file.name.clone(), line: 1, column: 1 },
    }
}

/// The implicit `stop` (A53).
fn terminal(place: &crate::domain::place::Place) -> State {
    State { name: "stop".to_owned(), terminal: true, place: place.clone(), ..State::default() }
}

fn limits(unit: &Unit) -> Limits {
    let (form, default) = (unit.form.limits, Limits::default());
    let max_visits = form.max_visits.or_else(|| unit.counted_rounds());
    Limits {
        declared: Declared { steps: form.max_steps.is_some(), visits: max_visits.is_some() },
        max_steps: form.max_steps.unwrap_or(default.max_steps),
        max_visits: max_visits.unwrap_or(default.max_visits),
        max_depth: form.max_depth.unwrap_or(default.max_depth),
        ..default
    }
}

fn context(form: &ContextForm) -> ContextSpec {
    let shared = form.messages.iter().filter(|(role, _)| *role != ChatRole::System);
    let starting_messages = shared
        .map(|(role, text)| Entry { pinned: true, ..Entry::text(Author::Start, *role, text.as_str()) })
        .collect();
    ContextSpec {
        name: form.name.value.clone(),
        starting_messages,
        max_length: form.max_length,
        max_tokens: form.max_tokens,
        trim: form.trim,
        pin_first: form.pin_first,
        tool_visibility: form.tool_visibility,
    }
}

/// The role's prompt, the agent's own words, then the context's `system` messages, which belong to every agent's
/// system text (A39, A42).
fn agent_spec(form: &WorkflowForm, agent: &AgentForm, cast: &Cast) -> Option<AgentSpec> {
    let at = form.contexts.iter().position(|context| context.name.value == agent.context.value)?;
    let system = form.contexts[at].messages.iter().filter(|(role, _)| *role == ChatRole::System);
    let parts = std::iter::once(cast.role.system_message.as_str())
        .chain(agent.system_append.as_deref())
        .chain(system.map(|(_, text)| text.as_str()));
    let system_prompt = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    Some(AgentSpec {
        id: agent.id.value.clone(),
        role: cast.role.name.clone(),
        side: agent.side,
        context: ContextIx(at),
        system_prompt,
        examples: cast.role.examples.clone(),
        choice: cast.choice.clone(),
        tools: cast.tools.clone(),
        parsing_tools: cast.role.parsing_tools.clone(),
        max_tool_rounds: agent.max_tool_rounds.unwrap_or(DEFAULT_TOOL_ROUNDS),
        tool_loop: agent.tool_loop,
        input_visibility: agent.input_visibility,
        memory: agent.memory,
        reminder: cast.role.reminder.clone(),
    })
}

struct Builder<'b> {
    unit: &'b Unit,
    places: Places<'b>,
    index: &'b dyn Fn(&str) -> Option<usize>,
    scripts: Vec<Script>,
}

impl Builder<'_> {
    fn state(&mut self, form: &StateForm, scripts: &StateScripts) -> State {
        let terminal = form.name.value == "stop";
        let script = match &scripts.script {
            Some(script) if !terminal => Some(self.script(script)),
            None if !terminal && !form.updates.is_empty() => Some(self.updates(form, scripts)),
            Some(_) | None => None,
        };
        let input = self.input(&scripts.input);
        let (work, output) =
            if terminal { (Work::None, input) } else { (self.work(form, scripts, input), Input::Absent) };
        State {
            name: form.name.value.clone(),
            script,
            work,
            transitions: if terminal { Vec::new() } else { self.transitions(form, scripts) },
            terminal,
            output,
            expects: self.expects(form, scripts),
            place: self.places.of(form.name.span.start),
            ..State::default()
        }
    }

    fn work(&mut self, form: &StateForm, scripts: &StateScripts, input: Input) -> Work {
        if let Some(called) = &form.sub_workflow
            && let Some(workflow) = (self.index)(&called.value)
        {
            let inputs = form.sub_inputs.iter().zip(&scripts.sub_inputs);
            let inputs = inputs.map(|((key, _), input)| (key.value.clone(), self.input(input))).collect();
            return Work::Child { workflow: WorkflowIx(workflow), inputs };
        }
        let function = match form.function.as_ref().map(|function| function.value) {
            // script only (A17)
            Some(FunctionForm::Script) => return Work::None,
            Some(FunctionForm::Agent(function)) => function,
            // A16
            None => AgentFunction::SendUserMessage,
        };
        match self.unit.agent_of(form) {
            Some((agent, _)) => Work::Agent { agent: AgentIx(agent), function, input },
            None => Work::None,
        }
    }

    fn transitions(&mut self, form: &StateForm, scripts: &StateScripts) -> Vec<Transition> {
        let states = &self.unit.form.states;
        let find = |name: &str| {
            StateIx(states.iter().position(|state| state.name.value == name).unwrap_or(states.len()))
        };
        // no list at all ends the workflow (A14)
        let Some(transitions) = &form.transitions else {
            return vec![Transition { target: find("stop"), condition: None, before: None }];
        };
        let mut all = Vec::with_capacity(transitions.len());
        for (one, script) in transitions.iter().zip(&scripts.transitions) {
            let condition = script.condition.as_ref().map(|condition| self.script(condition));
            let before = script.before.as_ref().map(|before| self.script(before));
            all.push(Transition { target: find(&one.target.value), condition, before });
        }
        all
    }

    /// Tools that the transitions read and the state's own agent offers: it is asked again until it decides (A34).
    fn expects(&self, form: &StateForm, scripts: &StateScripts) -> Vec<String> {
        let cast = self.unit.speaker(form).and_then(|agent| self.unit.cast.get(agent)?.as_ref());
        let Some(cast) = cast else { return Vec::new() };
        let mut names: Vec<String> = Vec::new();
        for call in scripts.leaving().flat_map(|script| &script.facts.calls) {
            let offered = cast.role.parsing_tools.iter().any(|tool| tool.name == call.tool);
            if offered && !names.contains(&call.tool) {
                names.push(call.tool.clone());
            }
        }
        names
    }

    fn input(&mut self, input: &InputScript) -> Input {
        match input {
            InputScript::Absent => Input::Absent,
            InputScript::Text(text) => Input::Text(text.clone()),
            InputScript::Script(script) => Input::Script(self.script(script)),
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
                InputScript::Absent => continue,
            };
            let operation = update.operation.word();
            shown.push(format!("{operation} {}: {written}", update.path.value));
            // the value stands on lines of its own: it may end in a comment
            entries.push(format!("[{},\"{operation}\",(\n{prepared}\n)]", quoted(&update.path.value)));
        }
        let place = form.updates.first().map_or(form.name.span.start, |first| first.path.span.start);
        self.scripts.push(Script {
            kind: ScriptKind::Action,
            form: ScriptForm::Expression,
            source: shown.join("; "),
            prepared: format!("__flow.set([{}])", entries.join(",")),
            offers: Vec::new(),
            place: self.places.of(place),
        });
        ScriptIx(self.scripts.len() - 1)
    }

    fn script(&mut self, compiled: &Compiled) -> ScriptIx {
        self.scripts.push(Script {
            kind: compiled.kind,
            form: compiled.facts.form,
            source: compiled.text.value.clone(),
            prepared: compiled.facts.prepared.clone(),
            offers: Vec::new(),
            place: self.places.of(compiled.text.span.start + 1),
        });
        ScriptIx(self.scripts.len() - 1)
    }
}
