//! Drives one run: takes inputs in order, performs their effects, and journals each input before a snapshot, model call
//! or tool that follows from it begins.

mod event_publisher;
mod exit_failures;
mod unanswered_calls;

use std::sync::{Arc, Mutex};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

pub(super) use self::event_publisher::EventPublisher;
use self::exit_failures::{taken_over_failure, unrecorded_failure};
use super::answer_schema::add_answer_schema;
use super::command::{ControlAction, ControlOrigin, RunCommand};
use super::command_input::{input_with_images, leave_input, message_to_input};
use super::driver_message::{DriverMessage, PartialReplies, SubmittedResult};
use super::effect_executor::EffectExecutor;
use super::held_effects::HeldEffects;
use super::journal::{JournalWrite, RunJournal, needs_intent};
use super::preview::RecentEvents;
use super::progress_log::{affects_sub_agents, changed_progress, changes_questions, is_boundary};
use super::run_project_lock::RunProjectLock;
use super::running_effects::RunningEffects;
use super::runtime_context::RuntimeContext;
use super::state_schedule::StateSchedule;
use super::task_queue::{self, AppliedAnswer};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunProgress, RunStatus};
use synthdev_domain::run_error::RunError;
use synthdev_engine::effect::Effect;
use synthdev_engine::event::{RunEvent, StepEvent};
use synthdev_engine::input::Input;
use synthdev_engine::machine::{Machine, MachineOutput};
use synthdev_engine::pending_requests::PendingRequests;
use synthdev_engine::steering::SteeringAction;
use synthdev_ports::lock::{LockError, ProjectLockGuard};
use synthdev_ports::run_store::StoreError;

pub(super) struct RunDriver {
    pub(super) run: RunId,
    pub(super) context: Arc<RuntimeContext>,
    pub(super) publisher: EventPublisher,
    pub(super) machine: Machine,
    pub(super) requests: PendingRequests,
    pub(super) state_schedule: StateSchedule,
    pub(super) journal: RunJournal,
    pub(super) recent_events: RecentEvents,
    pub(super) inbox: UnboundedReceiver<DriverMessage>,
    pub(super) inbox_sender: UnboundedSender<DriverMessage>,
    pub(super) held_effects: HeldEffects,
    /// Why the store cannot be written.
    pub(super) store_error: Option<StoreError>,
    /// Another process has claimed the run.
    pub(super) claim_lost: bool,
    /// The end of the run, published once it is recorded, with the cost of all calls.
    pub(super) unpublished_end: Option<(Timestamp, Vec<StepEvent>)>,
    /// What lists know of the run, for the case that a bug ends it.
    pub(super) last_progress: Arc<Mutex<Option<RunProgress>>>,
    /// The project's lock: no other run changes the files while this one does.
    pub(super) files: RunProjectLock,
}

/// How a run starts or resumes.
pub(super) struct DriverStart {
    pub(super) requests: PendingRequests,
    pub(super) state_schedule: StateSchedule,
    /// What had happened before.
    pub(super) recent_events: RecentEvents,
    /// What its first input led to, which is in the journal already.
    pub(super) output: MachineOutput,
    /// Warnings of the definition, for subscribers.
    pub(super) warnings: Vec<String>,
    pub(super) at: Timestamp,
    /// Effects that were begun earlier and are repeated, with the number of the attempt.
    pub(super) repeated_effects: Vec<(Effect, u32)>,
    /// Nothing of it had happened before.
    pub(super) is_new_run: bool,
}

/// Why a driver releases its run.
enum DriverExit {
    /// The run has ended or is suspended, and all of it is recorded.
    Over,
    /// Its status stays as it is: the history shows it as interrupted, and it can be resumed.
    Left,
    /// The task of an effect panicked.
    Bug,
    /// Another process has claimed it: two drivers would do everything twice.
    TakenOver,
    /// The store cannot be written, and the run cannot continue without it.
    Unrecorded,
}

impl RunDriver {
    /// Drives the run until it ends, is suspended or is left; `false` after a panic.
    pub(super) async fn run(mut self, opening: DriverStart) -> bool {
        let partial: PartialReplies = Arc::default();
        let mut running = RunningEffects::new(EffectExecutor {
            run: self.run.clone(),
            context: Arc::clone(&self.context),
            inbox_sender: self.inbox_sender.clone(),
            partial_replies: Arc::clone(&partial),
            is_interactive: self.machine.is_user_present(),
            has_snapshot: Arc::default(),
            last_snapshot: Arc::default(),
            is_new_run: opening.is_new_run,
        });
        let DriverStart { output, warnings, at, repeated_effects: repeats, .. } = opening;
        self.update_preview(at, &output.events);
        self.publisher.publish_opening(at, output.events, warnings);
        self.begin_effects(output.effects, &mut running);
        let repeats: Vec<(Effect, u32)> = repeats
            .into_iter()
            .filter(|(effect, _)| effect.call().is_some_and(|call| self.machine.awaits_call(call)))
            .collect();
        let recorded =
            self.journal.record_repeats(at, repeats.iter().map(|(effect, attempt)| (effect, *attempt)));
        let held_back = self.handle_journal_write(recorded);
        let repeats = repeats.into_iter().map(|(effect, _)| effect);
        self.begin_effects(held_back.into_iter().chain(repeats), &mut running);
        let exit = self.drive_until_exit(&mut running, &partial).await;
        running.end_run(self.has_ended()).await;
        self.finish_run(&exit)
    }

    async fn drive_until_exit(
        &mut self,
        running: &mut RunningEffects,
        partial: &PartialReplies,
    ) -> DriverExit {
        loop {
            if let Some(exit) = self.exit_reason(running) {
                return exit;
            }
            let message = tokio::select! {
                message = self.inbox.recv() => message,
                () = self.held_effects.next_try() => {
                    let effects = self.retry_journal_write();
                    self.begin_effects(effects, running);
                    continue;
                }
            };
            let exceptions = &self.context.sandbox_exceptions;
            match message {
                // a conversation waits for its next message then
                Some(DriverMessage::Command(RunCommand::Leave))
                    if self.machine.is_chat() && !self.machine.is_over_or_suspended() =>
                {
                    self.apply_input(leave_input(partial, &self.context.redactor), running, partial);
                }
                None | Some(DriverMessage::Command(RunCommand::Leave)) => {
                    self.charge_abandoned_calls(partial);
                    return DriverExit::Left;
                }
                Some(DriverMessage::EffectPanicked) => return DriverExit::Bug,
                Some(DriverMessage::Command(RunCommand::AllowNetwork { call, answer })) => {
                    exceptions.network.answer_network(&self.run, call, answer);
                }
                Some(DriverMessage::Command(RunCommand::AllowUnsandboxed { call, allowed })) => {
                    exceptions.unsandboxed_commands.answer_permission(&self.run, call, allowed);
                }
                // the run is over or suspended, but that is not in the store yet (else the driver would have exited): a
                // command ends the wait for it
                Some(DriverMessage::Command(_)) if self.machine.is_over_or_suspended() => {
                    return DriverExit::Unrecorded;
                }
                Some(_) if self.machine.is_over_or_suspended() => {}
                Some(DriverMessage::NotBegun(effect, error)) => {
                    if effect.call().is_some_and(|call| self.machine.awaits_call(call)) {
                        self.held_effects.hold_effect(*effect);
                        self.handle_journal_error(error);
                    }
                }
                Some(DriverMessage::Submitted(submitted)) => {
                    self.apply_submission(*submitted, running, partial)
                }
                Some(DriverMessage::ProjectLock(taken)) => self.apply_lock_result(taken, running, partial),
                Some(DriverMessage::Control(control, whose, answer)) => {
                    let _ = answer.send(self.apply_control(control, whose, running, partial));
                }
                Some(DriverMessage::MayRepeat { call, answer }) => {
                    let allowed = self.charge_failed_attempts(call, running, partial);
                    let _ = answer.send(allowed);
                }
                Some(message) => {
                    if let Some(input) = input_with_images(message, partial, &self.context).await {
                        self.apply_input(input, running, partial);
                    }
                }
            }
        }
    }

    fn apply_input(&mut self, input: Input, running: &mut RunningEffects, partial: &PartialReplies) {
        let effects = self.process_input(input);
        let paid = self.charge_aborted_calls(&effects, partial);
        self.begin_effects(effects.into_iter().chain(paid), running);
    }

    /// `false`: the run is a conversation, which other processes must not control.
    fn apply_control(
        &mut self,
        control: ControlAction,
        whose: ControlOrigin,
        running: &mut RunningEffects,
        partial: &PartialReplies,
    ) -> bool {
        if self.machine.is_chat() {
            return false;
        }
        let (command, notice) = match control {
            ControlAction::Cancel => (RunCommand::End, "another process ends this run"),
            ControlAction::Pause => (
                RunCommand::Steer(SteeringAction::Park),
                "another process pauses this run: what is under way ends first",
            ),
        };
        if whose == ControlOrigin::Others {
            self.publisher.publish_warning("control", notice.to_owned());
        }
        if let Some(input) =
            message_to_input(DriverMessage::Command(command), partial, &self.context.redactor)
        {
            self.apply_input(input, running, partial);
        }
        true
    }

    /// Confirms a sub-agent's result once it is in the journal.
    fn apply_submission(
        &mut self,
        submitted: SubmittedResult,
        running: &mut RunningEffects,
        partial: &PartialReplies,
    ) {
        let SubmittedResult { call, input, dedup_mark: mark, answer } = submitted;
        let wanted = self.machine.awaits_call(call);
        if wanted {
            self.journal.set_mark(mark);
            self.apply_input(input, running, partial);
        }
        let _ = answer.send(wanted && !self.journal.is_behind());
    }

    /// Why the driver should exit now, if it should.
    fn exit_reason(&self, running: &RunningEffects) -> Option<DriverExit> {
        let over = self.machine.is_over_or_suspended();
        if self.claim_lost {
            return Some(DriverExit::TakenOver);
        }
        if over && !self.journal.is_behind() {
            return Some(DriverExit::Over);
        }
        let stuck = over || !self.held_effects.is_empty() && !running.are_at_work();
        let hopeless = self.journal.is_full() || stuck && self.held_effects.is_spent();
        hopeless.then_some(DriverExit::Unrecorded)
    }

    /// Feeds one input to the machine. Writes the journal before effects that need it begin, and before the end of the
    /// run is published.
    fn process_input(&mut self, input: Input) -> Vec<Effect> {
        let now = self.context.ports.clock.now();
        let input = self.context.redactor.clean_input(input);
        let output = self.requests.handle_input(&mut self.machine, now, input.clone());
        let mark = self.journal.mark();
        if output.events.iter().any(|event| matches!(event.event, RunEvent::Finished { .. })) {
            self.context.task_broker.mark_ending(&self.run);
        }
        self.update_preview(now, &output.events);
        // a late cost may be the last change of the run that lists see
        let late = matches!(input, Input::Stopped { .. });
        let boundary = late || output.events.iter().any(is_boundary) || changes_questions(&output);
        let (machine, last) = (&self.machine, &self.last_progress);
        let progress = || changed_progress(machine, last, late);
        let recorded = self.journal.record(now, &input, &output, boundary, &progress);
        let mut effects = self.handle_journal_write(recorded);
        if self.context.task_broker.is_enabled() && affects_sub_agents(&self.machine, &output.events) {
            // prompts need no effect, so no write is due; but a sub-agent that gets one must find it in the journal
            let recorded = self.journal.flush();
            effects.extend(self.handle_journal_write(recorded));
        }
        let answered = AppliedAnswer {
            call: input.answered_call(),
            dedup_mark: mark,
            is_unwritten: self.journal.is_behind(),
        };
        self.context.task_broker.apply_output(now, &self.run, &self.machine, answered, &output);
        self.state_schedule.count_input(self.journal.take_recorded_bytes());
        effects.extend(self.store_state_if_due(self.machine.is_over_or_suspended()));
        effects.extend(output.effects);
        if self.machine.is_over_or_suspended() {
            self.unpublished_end.get_or_insert((now, Vec::new())).1.extend(output.events);
        } else {
            self.publisher.publish_events(now, output.events);
        }
        effects
    }

    /// The store may be writable by now.
    fn retry_journal_write(&mut self) -> Vec<Effect> {
        let recorded = self.journal.flush();
        let mut effects = self.handle_journal_write(recorded);
        if !self.journal.is_behind() {
            effects.extend(self.released_effects());
        }
        effects
    }

    /// What had to wait, and is still wanted.
    fn released_effects(&mut self) -> Vec<Effect> {
        let mut effects = self.held_effects.drain();
        effects.retain(|effect| effect.call().is_some_and(|call| self.machine.awaits_call(call)));
        effects
    }

    /// Begins what may begin, and keeps what has to wait for the journal.
    fn begin_effects(&mut self, effects: impl IntoIterator<Item = Effect>, running: &mut RunningEffects) {
        for mut effect in effects {
            add_answer_schema(&mut effect, &self.machine);
            if let Effect::Abort { call } = &effect {
                self.held_effects.drop_call(*call);
                self.files.drop_call(*call);
            } else if self.claim_lost || self.is_delegated(&effect) {
                continue;
            }
            if self.journal.is_behind() && needs_intent(&effect) {
                self.held_effects.hold_effect(effect);
            } else if let Some(effect) = self.files.admit_effect(effect, &self.machine) {
                running.begin_effect(effect);
            }
        }
        let free = self.files.request_when_needed(&self.machine, &self.inbox_sender);
        free.into_iter().for_each(|effect| running.begin_effect(effect));
    }

    /// The project's files may be changed from now on, or it is not known whether they may.
    fn apply_lock_result(
        &mut self,
        taken: Result<ProjectLockGuard, LockError>,
        running: &mut RunningEffects,
        partial: &PartialReplies,
    ) {
        match self.files.handle_lock_result(taken) {
            Ok(effects) => self.begin_effects(effects, running),
            Err(inputs) => inputs.into_iter().for_each(|input| self.apply_input(input, running, partial)),
        }
    }

    fn is_delegated(&self, effect: &Effect) -> bool {
        self.context.task_broker.is_enabled() && task_queue::is_delegated(&self.machine, effect)
    }

    /// Nothing can follow.
    fn has_ended(&self) -> bool {
        matches!(self.machine.status(), RunStatus::Completed | RunStatus::Cancelled)
    }

    /// Stores the state of the run when it is time to. Returns effects that waited for the journal.
    fn store_state_if_due(&mut self, is_stopping: bool) -> Vec<Effect> {
        if self.claim_lost || self.has_ended() {
            return Vec::new();
        }
        let (machine, requests, recent) = (&self.machine, &self.requests, &self.recent_events);
        let Some(state) = self.state_schedule.encode_if_due(machine, requests, recent, is_stopping) else {
            return Vec::new();
        };
        let recorded = self.journal.flush();
        let effects = self.handle_journal_write(recorded);
        if !self.journal.is_behind() {
            // without a state the journal is replayed
            let stored = self.context.ports.store.save_state(&self.run, &state);
            self.state_schedule.on_attempt(stored.is_ok().then_some(state.len()));
        }
        effects
    }

    /// Updates the preview for later readers. It is written with the next rows when the run stops, and periodically.
    fn update_preview(&mut self, at: Timestamp, events: &[StepEvent]) {
        self.recent_events.record_events(at, events);
        let wanted = self.recent_events.is_due() || self.machine.is_over_or_suspended();
        self.journal.set_preview(wanted.then(|| self.recent_events.to_preview_json()).flatten());
    }

    /// Handles the outcome of a write to the journal; returns the effects that waited for it.
    #[must_use = "it is to begin"]
    fn handle_journal_write(&mut self, recorded: Result<JournalWrite, StoreError>) -> Vec<Effect> {
        match recorded {
            Ok(JournalWrite::Held) => Vec::new(),
            Ok(JournalWrite::Written) => {
                self.held_effects.on_write_succeeded();
                if self.store_error.take().is_some() {
                    self.context.task_broker.mark_written(&self.run);
                    self.publisher.publish_warning(
                        "journal",
                        "this run is recorded again, with all that happened meanwhile".to_owned(),
                    );
                }
                self.released_effects()
            }
            Err(error) => {
                self.handle_journal_error(error);
                Vec::new()
            }
        }
    }

    /// A write to the store failed. Warns once.
    fn handle_journal_error(&mut self, error: StoreError) {
        self.held_effects.on_write_failed();
        self.claim_lost |= !self.context.ports.store.is_driver_of(&self.run);
        if !self.claim_lost && self.store_error.is_none() {
            self.publisher.publish_warning("journal", format!(
                "this run cannot be recorded: {error}. Until it can, no model is called and no tool is used"
            ));
        }
        self.store_error = Some(error);
    }

    /// Publishes how the run ended; `false` after a bug.
    fn finish_run(mut self, exit: &DriverExit) -> bool {
        let trouble = self.store_error.take();
        // a user who reads that the run has ended may start the next one at once
        drop(std::mem::take(&mut self.files));
        self.context.decisions.merge(self.machine.decision_memory());
        if self.claim_lost {
            self.context.task_broker.forget_run(&self.run);
        }
        match exit {
            DriverExit::Bug => return false,
            DriverExit::Over => {
                drop(self.journal.flush());
                if self.has_ended() && self.state_schedule.is_stored() {
                    // what cannot be removed goes with the run
                    let _ = self.context.ports.store.drop_state(&self.run);
                }
            }
            DriverExit::Left => {
                self.journal.set_preview(self.recent_events.to_preview_json());
                drop(self.journal.flush());
                drop(self.store_state_if_due(true));
            }
            DriverExit::TakenOver => return self.release_interrupted(taken_over_failure(trouble)),
            DriverExit::Unrecorded => {
                let status = self.machine.progress().status;
                if !matches!(status, RunStatus::Completed | RunStatus::Cancelled) {
                    return self.release_interrupted(unrecorded_failure(&self.run, trouble));
                }
                self.context.ports.store.release(&self.run);
                self.publisher.publish_warning("unrecorded", format!(
                    "the end of this run could not be recorded: its history shows it as interrupted, and `synthdev \
                     resume {}` does again what is missing there",
                    self.run
                ));
            }
        }
        if let Some((at, events)) = self.unpublished_end.take() {
            self.publisher.publish_end(at, events, &self.machine.progress());
        }
        true
    }

    /// Releases the run at the end of its record, as interrupted.
    fn release_interrupted(&self, failure: RunError) -> bool {
        self.context.ports.store.release(&self.run);
        let now = self.context.ports.clock.now();
        let progress = self.machine.progress();
        let progress =
            RunProgress { status: RunStatus::Interrupted, error: Some(failure), output: None, ..progress };
        self.publisher.publish_events(now, vec![RunEvent::run_finished(progress).into()]);
        true
    }
}
