//! What every part of the machine needs: the definition, the time, ids, the branches, and what an input has led to.
//!
//! It finds frames and states, gives ids, and collects events and effects. It knows no budgets, tools or models; it decides
//! only whether a question is shown and whether anything new may begin.

use serde::{Deserialize, Serialize};
use std::ops::Deref;
use std::sync::Arc;

use super::branch_set::BranchSet;
use super::next_handler::NextHandler;
use super::run_phase::{RunPhase, StopRequest};
use crate::branch::{Branch, PendingQuestion, WaitState};
use crate::call_frame::CallFrame;
use crate::effect::{Effect, UserQuestion};
use crate::event::{RunEvent, StepEvent};
use crate::parallel::ParallelProgress;
use crate::replay_skips::ReplaySkips;
use crate::run_spec::RunSpec;
use synthdev_domain::ids::{CallId, StateIx, Timestamp};
use synthdev_domain::run_error::RunError;
use synthdev_domain::workflow::{StateSpec, Workflow};

/// What one input led to.
#[derive(Clone, Debug, Default)]
pub struct MachineOutput {
    pub effects: Vec<Effect>,
    pub events: Vec<StepEvent>,
}

/// The definition, time, ids, branches and output of a machine.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct MachineCore {
    pub(super) spec: Arc<RunSpec>,
    /// When the input at hand came.
    pub(super) now: Timestamp,
    /// Drawn when the run started.
    pub(super) seed: u64,
    pub(super) last_call: u64,
    pub(super) last_frame_id: u64,
    pub(super) branches: BranchSet,
    /// Of the whole run; what one branch waits for is `Branch::wait_state`.
    pub(super) phase: RunPhase,
    pub(super) stop_request: StopRequest,
    /// A user can be asked.
    pub(super) user_present: bool,
    /// Calls that need not be made: see [`super::Machine::skip_calls`].
    #[serde(skip)]
    pub(super) replay_skips: Arc<ReplaySkips>,
    #[serde(skip)]
    pub(super) output: MachineOutput,
}

/// An existing state with its position.
pub(super) struct CurrentState {
    workflow: Arc<Workflow>,
    state_ix: StateIx,
}

impl Deref for CurrentState {
    type Target = StateSpec;

    fn deref(&self) -> &StateSpec {
        &self.workflow.states[self.state_ix.0]
    }
}

impl MachineCore {
    pub(super) fn new(spec: Arc<RunSpec>, root: Branch) -> Self {
        let user_present = spec.interactive;
        Self {
            spec,
            now: Timestamp(0),
            seed: 0,
            last_call: 0,
            last_frame_id: 0,
            branches: BranchSet::new(root),
            phase: RunPhase::Driven,
            stop_request: StopRequest::None,
            user_present,
            replay_skips: Arc::default(),
            output: MachineOutput::default(),
        }
    }

    /// The run is a conversation, which continues until the user ends it.
    pub(super) fn is_chat(&self) -> bool {
        self.spec.program.workflows.first().is_some_and(|root| root.conversational)
    }

    pub(super) fn next_call(&mut self) -> CallId {
        self.last_call += 1;
        CallId(self.last_call)
    }

    pub(super) fn emit_event(&mut self, event: RunEvent) {
        let at_step = self.branches.current.last_step();
        self.output.events.push(StepEvent { at_step, event });
    }

    pub(super) fn push_effect(&mut self, effect: Effect) {
        self.output.effects.push(effect);
    }

    pub(super) fn emit_warning(&mut self, code: &str, text: impl Into<String>) {
        self.emit_event(RunEvent::Warning { code: code.to_owned(), text: text.into() });
    }

    pub(super) fn frame(&self) -> Option<&CallFrame> {
        self.branches.current.frames.last()
    }

    pub(super) fn frame_mut(&mut self) -> Option<&mut CallFrame> {
        self.branches.current.frames.last_mut()
    }

    pub(super) fn workflow(&self) -> Option<Arc<Workflow>> {
        let frame = self.frame()?;
        self.spec.program.workflows.get(frame.workflow.0).cloned()
    }

    /// The current state with its workflow. Nothing is copied: a state may hold a long list of items.
    pub(super) fn current_state(&self) -> Option<(Arc<Workflow>, CurrentState)> {
        let workflow = self.workflow()?;
        let at = self.frame()?.state;
        workflow.state(at)?;
        Some((Arc::clone(&workflow), CurrentState { workflow, state_ix: at }))
    }

    /// The current state's path name.
    pub(super) fn state_name(&self) -> String {
        self.frame()
            .zip(self.workflow())
            .and_then(|(frame, workflow)| workflow.state(frame.state).map(|state| frame.path_name(state)))
            .unwrap_or_default()
    }

    /// The path name of another state of the current workflow.
    pub(super) fn state_path(&self, target: StateIx) -> String {
        let workflow = self.workflow();
        let state = workflow.as_ref().and_then(|workflow| workflow.state(target));
        state.zip(self.frame()).map(|(state, frame)| frame.path_name(state)).unwrap_or_default()
    }

    /// The path name of the state that a frame of a branch is in.
    pub(super) fn state_path_in(&self, branch: &Branch, at: usize) -> String {
        let frame = branch.frames.get(at);
        let named = frame.and_then(|frame| {
            let workflow = self.spec.program.workflows.get(frame.workflow.0)?;
            workflow.state(frame.state).map(|state| frame.path_name(state))
        });
        named.unwrap_or_default()
    }

    /// How events name the agent of the current branch: one that an agent started by its own name.
    pub(super) fn speaker_name(&self, id: &str) -> String {
        let spawned = self.branches.current.spawned.as_ref();
        spawned.map_or_else(|| id.to_owned(), |spawned| spawned.name.clone())
    }

    /// With the state and agent in which it happened.
    pub(super) fn with_location(&self, mut failure: RunError) -> RunError {
        failure.state = Some(self.state_name());
        if let Some((frame, workflow)) = self.frame().zip(self.workflow())
            && let Some(turn) = &frame.agent_turn
        {
            failure.agent = workflow.agent(turn.agent).map(|agent| self.speaker_name(&agent.id));
        }
        self.with_definition(failure, self.frame())
    }

    /// With the workflow that the frame is of, and where its state is defined, unless the error names a place of its
    /// own. What a conversation runs in is no file of the user's.
    pub(super) fn with_definition(&self, mut failure: RunError, frame: Option<&CallFrame>) -> RunError {
        let frame = frame.filter(|_| self.spec.places_errors());
        let workflow = frame.and_then(|frame| self.spec.program.workflows.get(frame.workflow.0));
        let Some((frame, workflow)) = frame.zip(workflow).filter(|(_, workflow)| !workflow.conversational)
        else {
            return failure;
        };
        failure.workflow = Some(workflow.name.clone());
        if failure.place.is_none() {
            let place = workflow.state(frame.state).map(|state| state.place.clone());
            failure.place = place.filter(|place| !place.file.is_empty());
        }
        failure
    }

    /// The error was dealt with; `target` is where the run goes.
    pub(super) fn emit_caught(&mut self, error: RunError, by: &str, target: Option<String>) {
        let state = self.state_name();
        self.emit_event(RunEvent::Caught { state, error: Box::new(error), by: by.to_owned(), target });
    }

    pub(super) fn emit_joined(&mut self, fork: &ParallelProgress) {
        let state = self.state_name();
        let (succeeded, failed, stopped) = (fork.succeeded_count, fork.failed_count, fork.stopped_count());
        self.emit_event(RunEvent::Joined { state, succeeded, failed, stopped });
    }

    pub(super) fn record_files_touched(&mut self, touched: bool) {
        if let Some(frame) = self.frame_mut() {
            frame.files_touched |= touched;
        }
    }

    pub(super) fn has_pending_action(&self) -> bool {
        self.frame().is_some_and(|frame| frame.visit.step.is_some())
    }

    pub(super) fn time_after(&self, ms: u64) -> Timestamp {
        Timestamp(self.now.0.saturating_add(i64::try_from(ms).unwrap_or(i64::MAX)))
    }

    /// The run is to be paused: effects that have begun complete, none begin.
    pub(super) fn is_stopping(&self) -> bool {
        self.stop_request != StopRequest::None
    }

    pub(super) fn is_handing_over(&self) -> bool {
        self.stop_request == StopRequest::Handover
    }

    /// A question is shown at once. Without a user it is shown when one is present.
    pub(super) fn can_show_question(&self) -> bool {
        self.user_present && !self.is_stopping()
    }

    /// The branch waits for the user's answer.
    pub(super) fn ask_user(&mut self, asked: PendingQuestion, question: UserQuestion) -> NextHandler {
        let call = self.next_call();
        self.branches.current.wait_state = WaitState::Person(call, asked);
        self.branches.current.question = Some(question.clone());
        self.branches.current.waiting_since = self.now;
        // without a user it is asked when one is present
        self.branches.current.was_shown = self.can_show_question() || asked == PendingQuestion::Message;
        if self.branches.current.was_shown {
            self.emit_event(RunEvent::PersonAsked { call, question: question.clone() });
            self.push_effect(Effect::AskPerson { call, question });
        }
        NextHandler::Wait
    }

    /// Nothing new may begin: the run is about to be suspended.
    pub(super) fn starts_nothing_new(&self) -> bool {
        self.is_stopping() || !self.user_present && self.branches.first_failed().is_some()
    }

    /// Lets everything that waits for the snapshot try again.
    pub(super) fn wake_held_tools(&mut self) -> NextHandler {
        let held = self.branches.others.values().filter(|branch| branch.wait_state == WaitState::ToolHeld);
        self.branches.ready.extend(held.map(|branch| branch.id));
        if self.branches.current.wait_state == WaitState::ToolHeld {
            NextHandler::RunWaitingTool
        } else {
            NextHandler::Wait
        }
    }
}
