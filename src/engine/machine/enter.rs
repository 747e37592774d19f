//! Entering a state: limits, then `action.script`, then its input, then its work (§1.1).

use serde_json::Value;

use super::{Asked, Frame, Machine, Phase, RunEvent};
use crate::domain::failure::Failure;
use crate::domain::ids::{ScriptIx, StateIx, WorkflowIx};
use crate::domain::script::ScriptTask;
use crate::domain::workflow::{AgentFunction, Input, State, Work, Workflow, plain_text};
use crate::engine::effect::Question;

impl Machine {
    pub(super) fn enter(&mut self, target: StateIx) {
        let Some(frame) = self.frame_mut() else { return };
        frame.state = target;
        let Some((workflow, state)) = self.here() else { return };
        if !workflow.conversational && !self.within_limits(target, &state) {
            return;
        }
        self.lane.steps += 1;
        let step = self.lane.steps;
        let name = self.state_name();
        let Some(frame) = self.frame_mut() else { return };
        let visit = frame.visits.get_mut(target.0).map_or(1, |visits| {
            *visits += 1;
            *visits
        });
        if !workflow.conversational || visit == 1 {
            self.path.push(name.clone());
        }
        let agent = match &state.work {
            Work::Agent { agent, .. } => workflow.agent(*agent),
            Work::None
            | Work::Child { .. }
            | Work::Parallel(_)
            | Work::ForEach(_)
            | Work::Step(_)
            | Work::Pause(_)
            | Work::Wait(_)
            | Work::Fail { .. } => None,
        };
        let context = agent.and_then(|a| workflow.contexts.get(a.context.0)).map(|c| c.name.clone());
        let agent = agent.map(|agent| agent.id.clone());
        self.emit(RunEvent::StateEntered { state: name, visit, step, agent, context });
        match state.script {
            Some(script) => {
                let call = self.evaluate(ScriptTask::Run { script });
                self.lane.phase = Phase::Script(call);
            }
            None => self.after_script(),
        }
    }

    /// Reaching a limit asks for more; nobody there to ask means the run pauses (A52, FSM-16).
    fn within_limits(&mut self, target: StateIx, state: &State) -> bool {
        let root = self.spec.program.workflows.first().map(|root| root.limits).unwrap_or_default();
        let most = root.max_steps.saturating_add(self.lane.granted_steps);
        if self.lane.steps >= most {
            self.ask_limit(Asked::Steps, "max_steps", most, format!("the run has visited {most} states"));
            return false;
        }
        let Some((frame, workflow)) = self.frame().zip(self.workflow()) else { return false };
        let at = target.0;
        let visits = frame.visits.get(at).copied().unwrap_or(0);
        let visits = visits.saturating_sub(u32::from(may_continue(frame, &workflow, state)));
        let granted = frame.granted.get(at).copied().unwrap_or(0);
        let most = workflow.limits.max_visits.saturating_add(granted);
        if visits >= most && !state.terminal {
            let text = format!("state `{}` has been visited {most} times", frame.path_name(state));
            self.ask_limit(Asked::Visits(target), "max_visits", most, text);
            return false;
        }
        true
    }

    pub(super) fn ask_limit(&mut self, asked: Asked, limit: &str, value: u32, text: String) {
        if self.spec.interactive {
            return self.ask_person(asked, Question::Limit { limit: limit.to_owned(), value, text });
        }
        self.pause_at_limit(limit, &text);
    }

    pub(super) fn after_script(&mut self) {
        let Some((_, state)) = self.here() else { return };
        if state.terminal {
            return match &state.output {
                Input::Script(script) => self.evaluate_values(vec![*script]),
                Input::Text(text) => self.finish_frame(Some(Value::String(text.clone()))),
                Input::Value(value) => self.finish_frame(Some(value.clone())),
                Input::Absent | Input::Human => self.finish_frame(None),
            };
        }
        match &state.work {
            Work::None => {
                self.set_result(None, None, &[]);
                self.choose();
            }
            Work::Agent { agent, function, input } => match input {
                Input::Absent => self.begin_agent(*agent, *function, None),
                Input::Text(text) if text.trim().is_empty() => {
                    let failure = self.undefined_input(&state);
                    self.fail(failure);
                }
                Input::Text(text) => self.begin_agent(*agent, *function, Some(text.clone())),
                Input::Value(value) => self.begin_agent(*agent, *function, Some(plain_text(value))),
                Input::Script(script) => self.evaluate_values(vec![*script]),
                Input::Human => self.ask_person(Asked::Message, Question::Message),
            },
            Work::Child { workflow, inputs } => {
                let scripts: Vec<ScriptIx> =
                    inputs.iter().filter_map(|(_, input)| script_of(input)).collect();
                if scripts.is_empty() {
                    self.begin_child(*workflow, inputs, &[]);
                } else {
                    self.evaluate_values(scripts);
                }
            }
            Work::Parallel(spec) => self.begin_parallel(spec),
            Work::ForEach(spec) => match &spec.items {
                Input::Script(script) => self.evaluate_values(vec![*script]),
                Input::Value(items) => self.begin_foreach(spec, Some(items.clone())),
                Input::Text(_) | Input::Absent | Input::Human => self.begin_foreach(spec, None),
            },
            Work::Step(_) | Work::Pause(_) | Work::Wait(_) | Work::Fail { .. } => {
                self.fail(Failure::new("bug", "Not yet", ""));
            }
        }
    }

    fn evaluate_values(&mut self, scripts: Vec<ScriptIx>) {
        let call = self.evaluate(ScriptTask::Values { scripts });
        self.lane.phase = Phase::Values(call);
    }

    pub(super) fn begin_agent(
        &mut self,
        agent: crate::domain::ids::AgentIx,
        function: AgentFunction,
        input: Option<String>,
    ) {
        match function {
            AgentFunction::SendUserMessage | AgentFunction::Ask => self.begin_visit(agent, input),
            AgentFunction::AddUserMessage => self.add_message(agent, input.unwrap_or_default()),
            AgentFunction::ClearConversation => self.clear_conversation(agent),
        }
    }

    /// Starts a child in isolation: it sees its inputs, the parent sees its output (A47 to A49).
    pub(super) fn begin_child(
        &mut self,
        ix: WorkflowIx,
        inputs: &[(String, Input)],
        values: &[Option<Value>],
    ) {
        let Some(child) = self.spec.program.workflows.get(ix.0).cloned() else { return };
        let depth = u32::try_from(self.lane.depth + self.lane.frames.len()).unwrap_or(u32::MAX);
        if depth > child.limits.max_depth {
            let failure = Failure::new(
                "limit",
                "Child workflows are nested too deep",
                format!(
                    "`{}` would be level {depth}, at most {} are allowed",
                    child.name, child.limits.max_depth
                ),
            );
            return self.fail(failure.hint("check the recursion's end condition"));
        }
        let mut values = values.iter();
        let mut given = serde_json::Map::new();
        for (name, input) in inputs {
            let value = match input {
                Input::Script(_) => values.next().cloned().flatten(),
                Input::Text(text) => Some(Value::String(text.clone())),
                Input::Value(value) => Some(value.clone()),
                Input::Absent | Input::Human => None,
            };
            let Some(value) = value.filter(|value| !value.is_null()) else {
                return self.fail(missing_child_input(&child.name, name));
            };
            let kind = child.inputs.iter().find(|parameter| parameter.name == *name).map(|p| p.kind);
            match kind.map_or(Ok(value.clone()), |kind| kind.convert(value)) {
                Ok(value) => {
                    given.insert(name.clone(), value);
                }
                Err(problem) => return self.fail(wrong_child_input(&child.name, name, &problem)),
            }
        }
        self.emit(RunEvent::ChildStarted {
            state: self.state_name(),
            workflow: child.name.clone(),
            inputs: given.clone(),
        });
        self.frame_ids += 1;
        let prefix = format!("{}{}/", self.frame().map(|f| f.prefix.clone()).unwrap_or_default(), child.name);
        self.lane.frames.push(Frame::new(self.frame_ids, ix, &child, prefix, given));
        self.lane.jump = Some(child.start);
    }
}

/// A29: going on after executed tools is no new visit. Whether the input is the same is known only later, so a
/// limit may be passed by one.
fn may_continue(frame: &Frame, workflow: &Workflow, state: &State) -> bool {
    let Work::Agent { agent, function: AgentFunction::SendUserMessage, .. } = &state.work else {
        return false;
    };
    let earlier = frame.agents.get(agent.0).and_then(|memory| memory.continuation.as_ref());
    let length = workflow
        .agent(*agent)
        .and_then(|spec| frame.threads.get(spec.context.0))
        .map(|thread| thread.log.entries.len());
    earlier.is_some_and(|earlier| Some(earlier.context_length) == length)
}

fn script_of(input: &Input) -> Option<ScriptIx> {
    if let Input::Script(script) = input { Some(*script) } else { None }
}

fn missing_child_input(child: &str, name: &str) -> Failure {
    Failure::new(
        "input_undefined",
        "A child workflow's input is undefined",
        format!("`sub_workflow_input.{name}` for `{child}` evaluates to undefined or null"),
    )
    .hint("set the value in an earlier state before it is passed on")
}

fn wrong_child_input(child: &str, name: &str, problem: &str) -> Failure {
    Failure::new(
        "validation",
        "A child workflow's input has the wrong type",
        format!("`sub_workflow_input.{name}` for `{child}`: {problem}"),
    )
}
