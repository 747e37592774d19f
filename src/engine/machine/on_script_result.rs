//! Script results: changes are applied, values become inputs and outputs, the chosen guard is followed.

use serde_json::Value;

use super::{BranchContinuation, CallId, Machine, NextHandler, RunEvent, WaitState};
use crate::script_scope;
use synthdev_domain::ids::StateIx;
use synthdev_domain::run_error::RunError;
use synthdev_domain::script::{
    ScopePatch, ScriptError, ScriptErrorKind, ScriptKind, ScriptOutcome, ScriptTask, TransitionGuard,
    TriedGuard,
};
use synthdev_domain::source_location::SourceLocation;
use synthdev_domain::workflow::{NoMatch, StateBody, StateSpec, Workflow, plain_text};

impl Machine {
    pub(super) fn on_evaluated(&mut self, call: CallId, outcome: ScriptOutcome) -> NextHandler {
        let expected = [WaitState::Script(call), WaitState::Values(call), WaitState::Choice(call)];
        if !expected.contains(&self.core.branches.current.wait_state) {
            return NextHandler::Wait;
        }
        let state = self.core.state_name();
        for text in outcome.logs {
            self.core.emit_event(RunEvent::ScriptLog { state: state.clone(), text });
        }
        let applied = self.apply_scope_patch(call, outcome.patch);
        self.messages.release_offer(call);
        if let Err(problem) = applied {
            return NextHandler::fail(RunError::new("script", "A script broke a conversation", problem));
        }
        match self.core.branches.current.wait_state {
            WaitState::Script(_) => self.after_run(),
            WaitState::Values(_) => self.after_values(&outcome.values),
            WaitState::Choice(_) => self.after_choice(outcome.chosen, outcome.tried),
            WaitState::New
            | WaitState::Model(_)
            | WaitState::ToolCheck(_)
            | WaitState::Approval(_)
            | WaitState::Tool(_)
            | WaitState::Person(..)
            | WaitState::ToolHeld
            | WaitState::Held
            | WaitState::Fork
            | WaitState::Agents(_)
            | WaitState::Timer(_)
            | WaitState::Ending
            | WaitState::Over => NextHandler::Wait,
        }
    }

    /// `action.script`, or the `before` of a `catch`, is done.
    fn after_run(&mut self) -> NextHandler {
        if let BranchContinuation::Catch(rule) = self.core.branches.current.continuation {
            return self.after_catch(rule);
        }
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.script_succeeded = true;
        }
        NextHandler::DoWork
    }

    /// Changes count only now that the whole script has succeeded.
    fn apply_scope_patch(&mut self, call: CallId, patch: ScopePatch) -> Result<(), String> {
        if patch.is_empty() {
            return Ok(());
        }
        let state = self.core.state_name();
        self.messages.consume_front(&mut self.core, patch.heard);
        let Some(workflow) = self.core.workflow() else { return Ok(()) };
        let Some(frame) = self.core.frame_mut() else { return Ok(()) };
        let mut rebuilt = Vec::with_capacity(patch.contexts.len());
        for (name, messages) in &patch.contexts {
            let Some(at) = workflow.contexts.iter().position(|context| context.name == *name) else {
                continue;
            };
            let Some(conversation) = frame.conversations.get_mut(at) else { continue };
            conversation.restore_compressed();
            rebuilt.push((at, script_scope::entries_from(messages, &conversation.log.entries)?));
        }
        for (at, entries) in rebuilt {
            if let Some(conversation) = frame.conversations.get_mut(at) {
                conversation.replace_entries(entries);
            }
        }
        frame.set_data(&patch.set, &patch.removed);
        self.messages.consume_offered(&mut self.core, call, patch.heard);
        if !patch.set.is_empty() || !patch.removed.is_empty() {
            self.core.emit_event(RunEvent::DataChanged { state, set: patch.set, removed: patch.removed });
        }
        Ok(())
    }

    fn after_values(&mut self, values: &[Option<Value>]) -> NextHandler {
        let Some((_, state)) = self.core.current_state() else { return NextHandler::Wait };
        if state.terminal {
            return NextHandler::FinishFrame(values.first().cloned().flatten());
        }
        match &state.work {
            StateBody::Agent { agent, function, .. } => {
                let text = values.first().and_then(Option::as_ref).filter(|v| !v.is_null()).map(plain_text);
                match text.filter(|text| !text.trim().is_empty()) {
                    Some(text) => self.begin_agent_turn(*agent, *function, Some(text)),
                    None => {
                        let failure = self.undefined_input(&state);
                        NextHandler::fail(failure)
                    }
                }
            }
            StateBody::Child { workflow, inputs } => self.enter_child_workflow(*workflow, inputs, values),
            StateBody::Action(step) => self.begin_action(step, values),
            work @ (StateBody::ForEach(_)
            | StateBody::Pause(_)
            | StateBody::Wait(_)
            | StateBody::Fail { .. }) => self.with_value(work, values.first().cloned().flatten()),
            StateBody::None | StateBody::Parallel(_) => NextHandler::Wait,
        }
    }

    /// Judges the transitions of the current state. One that holds always and does nothing needs no script.
    pub(super) fn choose_transition(&mut self) -> NextHandler {
        if let Some(frame) = self.core.frame_mut() {
            frame.visit.work_done = true;
        }
        let Some((workflow, state)) = self.core.current_state() else { return NextHandler::Wait };
        match state.transitions.first() {
            None => self.no_match(&workflow, &state, &[]),
            Some(first) if first.condition.is_none() && first.before.is_none() => {
                self.follow_transition(0, first.target, Vec::new())
            }
            Some(_) => {
                let guards = state.transitions.iter();
                let guards =
                    guards.map(|t| TransitionGuard { condition: t.condition, before: t.before }).collect();
                self.judge_transitions(&workflow, guards)
            }
        }
    }

    fn judge_transitions(&mut self, workflow: &Workflow, guards: Vec<TransitionGuard>) -> NextHandler {
        let errors_are_false = workflow.condition_errors_are_false || workflow.lenient;
        let call = self.evaluate_script(ScriptTask::Choose { guards, errors_are_false });
        self.core.branches.current.wait_state = WaitState::Choice(call);
        NextHandler::Wait
    }

    fn after_choice(&mut self, chosen: Option<usize>, tried: Vec<TriedGuard>) -> NextHandler {
        let Some((workflow, state)) = self.core.current_state() else { return NextHandler::Wait };
        match chosen.and_then(|at| state.transitions.get(at).map(|transition| (at, transition.target))) {
            Some((at, target)) => self.follow_transition(at, target, tried),
            None => self.no_match(&workflow, &state, &tried),
        }
    }

    /// Leaves the current state. A queued user message leads to `resume` instead.
    pub(super) fn follow_transition(
        &mut self,
        guard: usize,
        target: StateIx,
        tried: Vec<TriedGuard>,
    ) -> NextHandler {
        let from = self.core.state_name();
        let (guard, target) = match self.take_resume() {
            Some(resume) => {
                (self.core.current_state().map_or(guard, |(_, state)| state.transitions.len()), resume)
            }
            None => (guard, target),
        };
        let to = self.core.state_path(target);
        self.snapshots.request_after_state(&mut self.core);
        self.core.emit_event(RunEvent::Transitioned { from, to, guard, tried });
        self.core.branches.current.next_state = Some(target);
        NextHandler::Wait
    }

    /// A list of which nothing holds is an error that shows every value, never a silent end.
    fn no_match(&mut self, workflow: &Workflow, state: &StateSpec, tried: &[TriedGuard]) -> NextHandler {
        // a branch cannot continue in a state of the whole workflow; for `stop` a body has its own
        let is_branch =
            self.core.branches.current.frames.len() <= 1 && self.core.branches.current.parent.is_some();
        if let (NoMatch::Go(target), false) = (workflow.no_match, is_branch) {
            return self.follow_transition(state.transitions.len(), target, tried.to_vec());
        }
        let lines: Vec<String> = state
            .transitions
            .iter()
            .zip(tried)
            .map(|(transition, tried)| {
                let source = transition.condition.and_then(|at| workflow.scripts.get(at.0));
                format!("{} → {}", source.map_or("true", |script| script.source.as_str()), tried.value)
            })
            .collect();
        let missing = state.expects.iter().find(|name| !self.has_decision(name));
        let hint = missing.map_or_else(
            || "add a transition for this case, or \"on_no_match\": \"stop\"".to_owned(),
            |name| format!("the agent did not call `{name}`: its decision is missing"),
        );
        let detail =
            format!("no condition of state `{}` holds:\n{}", self.core.state_name(), lines.join("\n"));
        NextHandler::fail(
            RunError::new("no_transition", "No transition matches", detail)
                .with_hint(hint)
                .with_location(state.place.clone()),
        )
    }

    fn has_decision(&self, name: &str) -> bool {
        self.core.frame().is_some_and(|frame| frame.last_parsing_calls.iter().any(|call| call.name == name))
    }

    pub(super) fn on_script_failed(&mut self, call: CallId, error: &ScriptError) -> NextHandler {
        if ![WaitState::Script(call), WaitState::Values(call), WaitState::Choice(call)]
            .contains(&self.core.branches.current.wait_state)
        {
            return NextHandler::Wait;
        }
        self.messages.release_offer(call);
        let failure = self.script_failure(error);
        self.tolerate_script_error(error, &failure).unwrap_or_else(|| NextHandler::fail(failure))
    }

    /// `lenient`: a script that throws is logged and passed over, its changes are dropped. A throwing
    /// condition has counted as false already.
    /// `None`: the error counts.
    fn tolerate_script_error(&mut self, error: &ScriptError, failure: &RunError) -> Option<NextHandler> {
        let (workflow, state) = self.core.current_state().filter(|(workflow, _)| workflow.lenient)?;
        let before = self.script(error.script).is_some_and(|script| script.kind == ScriptKind::Before);
        let judged = matches!(self.core.branches.current.wait_state, WaitState::Choice(_)) && before;
        if !judged && !matches!(self.core.branches.current.wait_state, WaitState::Script(_)) {
            return None;
        }
        let at = failure.place.as_ref().map_or_else(String::new, |place| format!("{place}: "));
        self.core.emit_warning("script_passed_over", format!("{at}{}: {}", failure.title, failure.detail));
        if judged {
            let guards = state.transitions.iter();
            let guards = guards.map(|t| TransitionGuard { condition: t.condition, before: None }).collect();
            Some(self.judge_transitions(&workflow, guards))
        } else {
            Some(self.after_run())
        }
    }

    fn script_failure(&self, error: &ScriptError) -> RunError {
        let script = self.script(error.script);
        let kind = script.as_ref().map_or(ScriptKind::Action, |script| script.kind);
        let (code, what) = match kind {
            ScriptKind::Condition => ("expression", "A condition failed"),
            ScriptKind::Input => ("expression", "An input expression failed"),
            ScriptKind::Before => ("script", "A `before` script failed"),
            ScriptKind::Action | ScriptKind::Library => ("script", "A script failed"),
        };
        // what happened in a function of the library is shown there
        let script = error.library.and_then(|library| self.script(library)).or(script);
        let source = script.as_ref().map_or("", |script| script.source.as_str());
        let line = source.lines().nth(error.line.saturating_sub(1)).unwrap_or(source);
        let at = if error.line > 0 {
            format!("line {}, column {}: ", error.line, error.column)
        } else {
            String::new()
        };
        let detail = format!("{at}{}\n  {}", error.message, line.trim());
        let mut failure = RunError::new(code, what, detail).with_hint(script_hint(error.kind));
        failure.place = script.map(|script| offset_location(script.place, error));
        failure
    }
}

fn script_hint(kind: ScriptErrorKind) -> &'static str {
    match kind {
        ScriptErrorKind::Thrown => "nothing was changed; check the names and values that the script reads",
        ScriptErrorKind::Time | ScriptErrorKind::Host => {
            "scripts only decide: let them finish quickly, without endless loops"
        }
        ScriptErrorKind::Memory => "keep less data in common_data; scripts have 32 MB",
        ScriptErrorKind::Stack => "the recursion is too deep",
        ScriptErrorKind::NotData => "common_data and messages must stay plain JSON data",
    }
}

/// A JSON string is on one line of its file, whatever line breaks it encodes; a library is a file of its own.
fn offset_location(mut place: SourceLocation, error: &ScriptError) -> SourceLocation {
    if error.library.is_some() && error.line > 0 {
        place.line += error.line - 1;
        place.column = error.column.max(1);
    } else if error.line == 1 {
        place.column += error.column.saturating_sub(1);
    }
    place
}
