//! Entering a state: limits, then `action.script`, then its input, then its work.

use serde_json::Value;

use super::{BranchContinuation, Machine, NextHandler, PendingQuestion, RunEvent, WaitState};
use crate::effect::UserQuestion;
use crate::state_visit::StateVisit;
use synthdev_domain::ids::{ScriptIx, StateIx};
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::{ScriptTask, WorkflowScript};
use synthdev_domain::workflow::{
    AgentFunction, ForEachSpec, PauseSpec, StateBody, StateSpec, ValueSource, WaitSpec, Workflow, plain_text,
};

/// The most state names in a run's path; all further ones are shown as one `…`.
const MOST_NAMES: usize = 500;

impl Machine {
    pub(super) fn enter_state(&mut self, target: StateIx) -> NextHandler {
        self.core.stop_visit_timers();
        self.visit_count += 1;
        let state_visit = StateVisit::new(self.visit_count, self.core.now);
        self.checkpoints.pause_clocks(&self.core);
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        frame.state = target;
        frame.visit = state_visit;
        let Some((workflow, state)) = self.core.current_state() else { return NextHandler::Wait };
        if let Err(next) = self.check_entry(&workflow, target, &state) {
            return next;
        }
        self.core.branches.current.steps += 1;
        self.step_count = self.step_count.saturating_add(1);
        let step = self.core.branches.current.steps;
        let name = self.core.state_name();
        let number = self.step_count;
        let Some(frame) = self.core.frame_mut() else { return NextHandler::Wait };
        frame.step = number;
        let visit = frame.visits.get_mut(target.0).map_or(1, |visits| {
            *visits += 1;
            *visits
        });
        if !workflow.conversational || visit == 1 {
            self.add_to_path(&name);
        }
        let agent = match &state.work {
            StateBody::Agent { agent, .. } => workflow.agent(*agent),
            StateBody::None
            | StateBody::Child { .. }
            | StateBody::Parallel(_)
            | StateBody::ForEach(_)
            | StateBody::Action(_)
            | StateBody::Pause(_)
            | StateBody::Wait(_)
            | StateBody::Fail { .. } => None,
        };
        let context = agent.and_then(|a| workflow.contexts.get(a.context.0)).map(|c| c.name.clone());
        let agent = agent.map(|agent| agent.id.clone());
        self.core.emit_event(RunEvent::StateEntered { state: name, visit, step, agent, context });
        self.core.arm_state_timer(&state);
        NextHandler::BeginState
    }

    /// The limits and budgets that a state is entered under. A conversation has neither.
    fn check_entry(
        &mut self,
        workflow: &Workflow,
        target: StateIx,
        state: &StateSpec,
    ) -> Result<(), NextHandler> {
        if workflow.conversational {
            return Ok(());
        }
        self.check_limits(target, state)?;
        if state.terminal { Ok(()) } else { self.budgets.check_budgets(&mut self.core) }
    }

    /// The state's script, else its work at once.
    pub(super) fn begin_state(&mut self) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        match state.script {
            Some(script) => {
                let call = self.evaluate_script(ScriptTask::Run { script });
                self.core.branches.current.continuation = BranchContinuation::Work;
                self.core.branches.current.wait_state = WaitState::Script(call);
                NextHandler::Wait
            }
            None => self.begin_work(),
        }
    }

    /// The path is for display: a loop over ten thousand items must not make it grow without end.
    fn add_to_path(&mut self, name: &str) {
        match self.path.len() {
            0..MOST_NAMES => self.path.push(name.into()),
            MOST_NAMES => self.path.push("…".into()),
            _ => {}
        }
    }

    /// The state's work, after its script.
    pub(super) fn begin_work(&mut self) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        if state.terminal {
            return match &state.output {
                ValueSource::Script(script) => self.evaluate_values(vec![*script]),
                ValueSource::Text(text) => NextHandler::FinishFrame(Some(Value::String(text.clone()))),
                ValueSource::Value(value) => NextHandler::FinishFrame(Some(value.clone())),
                ValueSource::Absent | ValueSource::Human => NextHandler::FinishFrame(None),
            };
        }
        match &state.work {
            StateBody::None => {
                self.set_result(None, None, Vec::new());
                NextHandler::ChooseTransition
            }
            StateBody::Agent { agent, function, input } => match input {
                ValueSource::Absent => self.begin_agent_turn(*agent, *function, None),
                ValueSource::Text(text) if text.trim().is_empty() => {
                    let failure = self.undefined_input(&state);
                    NextHandler::fail(failure)
                }
                ValueSource::Text(text) => self.begin_agent_turn(*agent, *function, Some(text.clone())),
                ValueSource::Value(value) => {
                    self.begin_agent_turn(*agent, *function, Some(plain_text(value)))
                }
                ValueSource::Script(script) => self.evaluate_values(vec![*script]),
                ValueSource::Human => self.core.ask_user(PendingQuestion::Message, UserQuestion::Message),
            },
            StateBody::Child { workflow, inputs } => {
                let scripts: Vec<ScriptIx> =
                    inputs.iter().filter_map(|(_, input)| input_script(input)).collect();
                if scripts.is_empty() {
                    self.enter_child_workflow(*workflow, inputs, &[])
                } else {
                    self.evaluate_values(scripts)
                }
            }
            StateBody::Parallel(spec) => self.begin_parallel(spec),
            StateBody::ForEach(spec) => self.enter_for_each(spec),
            StateBody::Action(step) => {
                let scripts: Vec<ScriptIx> =
                    step.arguments.iter().filter_map(|(_, input)| input_script(input)).collect();
                if scripts.is_empty() { self.begin_action(step, &[]) } else { self.evaluate_values(scripts) }
            }
            StateBody::Pause(PauseSpec { message: input, .. })
            | StateBody::Wait(WaitSpec::For(input) | WaitSpec::Until(input))
            | StateBody::Fail { cause: input, .. } => match input {
                ValueSource::Script(script) => self.evaluate_values(vec![*script]),
                ValueSource::Text(text) => self.with_value(&state.work, Some(Value::String(text.clone()))),
                ValueSource::Value(value) => self.with_value(&state.work, Some(value.clone())),
                ValueSource::Absent | ValueSource::Human => self.with_value(&state.work, None),
            },
        }
    }

    fn enter_for_each(&mut self, spec: &ForEachSpec) -> NextHandler {
        match &spec.items {
            ValueSource::Script(script) => self.evaluate_values(vec![*script]),
            ValueSource::Value(items) => self.begin_for_each(spec, Some(items.clone())),
            ValueSource::Text(_) | ValueSource::Absent | ValueSource::Human => {
                self.begin_for_each(spec, None)
            }
        }
    }

    /// Begins work that needs a single value, which is known now.
    pub(super) fn with_value(&mut self, work: &StateBody, value: Option<Value>) -> NextHandler {
        match work {
            StateBody::Pause(pause) => self.begin_pause(pause, value),
            StateBody::Wait(wait) => self.begin_wait_state(wait, value),
            StateBody::Fail { error, .. } => self.begin_fail_state(error, value),
            StateBody::ForEach(spec) => self.begin_for_each(spec, value),
            StateBody::None
            | StateBody::Agent { .. }
            | StateBody::Child { .. }
            | StateBody::Parallel(_)
            | StateBody::Action(_) => NextHandler::Wait,
        }
    }

    fn evaluate_values(&mut self, scripts: Vec<ScriptIx>) -> NextHandler {
        let call = self.evaluate_script(ScriptTask::Values { scripts });
        self.core.branches.current.wait_state = WaitState::Values(call);
        NextHandler::Wait
    }

    pub(super) fn begin_agent_turn(
        &mut self,
        agent: synthdev_domain::ids::AgentIx,
        function: AgentFunction,
        input: Option<String>,
    ) -> NextHandler {
        match function {
            AgentFunction::SendUserMessage | AgentFunction::Ask => self.begin_turn(agent, input),
            AgentFunction::AddUserMessage => self.add_message(agent, input.unwrap_or_default()),
            AgentFunction::ClearConversation => self.clear_conversation(agent),
        }
    }

    pub(super) fn undefined_input(&self, state: &StateSpec) -> RunError {
        let script = match &state.work {
            StateBody::Agent { input: ValueSource::Script(script), .. } => self.script(*script),
            StateBody::Agent { .. }
            | StateBody::Child { .. }
            | StateBody::None
            | StateBody::Parallel(_)
            | StateBody::ForEach(_)
            | StateBody::Action(_)
            | StateBody::Pause(_)
            | StateBody::Wait(_)
            | StateBody::Fail { .. } => None,
        };
        let source = script.as_ref().map_or("", |script| script.source.as_str());
        let mut failure = RunError::new(
            "input_undefined",
            "The input of a state is undefined",
            format!(
                "`{source}` evaluates to undefined, null or blank text in state `{}`",
                self.core.state_name()
            ),
        )
        .with_hint("set the value in an earlier state, or in the `before` of the transition that leads here");
        failure.place = script.map(|script| script.place);
        failure
    }

    pub(super) fn script(&self, at: ScriptIx) -> Option<WorkflowScript> {
        self.core.workflow()?.scripts.get(at.0).cloned()
    }
}

fn input_script(input: &ValueSource) -> Option<ScriptIx> {
    if let ValueSource::Script(script) = input { Some(*script) } else { None }
}
