//! Resuming a run that paused, failed, or whose process died.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::driver::DriverStart;
use super::handle::{RuntimeHandle, WAIT_OR_SHARE_RESUMED};
use super::journal;
use super::journal_replay::{self, JournaledRun};
use super::load_for_resume::{LoadScope, LoadedRun, load_for_resume};
use super::run_project_lock::RunProjectLock;
use super::task_queue::AppliedAnswer;
use synthdev_domain::approval::{ApprovalDecision, ApprovalPolicy};
use synthdev_domain::ids::{CallId, RunId, SnapshotId, Timestamp};
use synthdev_domain::journal::{
    JournalRow, OpenPause, RunOrigin, RunOriginKind, RunProgress, RunStatus, RunSummary, TokenRedeemOutcome,
};
use synthdev_domain::tool::{InterruptedCallStatus, RerunPolicy};
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::effect::Effect;
use synthdev_engine::input::{Input, ResumeInput, UserAnswer};
use synthdev_engine::machine::{Machine, MachineOutput};
use synthdev_engine::pending_requests::PendingEffect;
use synthdev_engine::pending_requests::PendingRequests;
use synthdev_engine::run_spec::CONTINUED_SINCE;
use synthdev_engine::steering::BreakpointSet;
use synthdev_ports::run_store::StoreError;

/// What the caller gives to a run that it resumes.
#[derive(Clone, Debug, Default)]
pub struct ResumeRequest {
    /// A user can be asked from now on.
    pub user_present: bool,
    pub approvals: Option<ApprovalPolicy>,
    pub answers: Vec<(CallId, UserAnswer)>,
    pub decisions: Vec<(CallId, ApprovalDecision)>,
    /// Open questions whose time is up: the rule of the workflow for that case applies.
    pub timed_out: Vec<CallId>,
    /// Continue under this definition (`--upgrade`).
    pub program: Option<WorkflowProgram>,
    /// Breakpoints from now on, besides the present ones.
    pub breakpoints: Option<BreakpointSet>,
    /// The token that gives the right to answer; it is used up in the same write.
    pub token: Option<SpentToken>,
}

impl ResumeRequest {
    /// What the changed definition warns of; the run keeps the definition without it.
    fn take_start_warnings(&mut self) -> Vec<String> {
        let program = self.program.as_mut();
        program.map(|program| std::mem::take(&mut program.start_warnings)).unwrap_or_default()
    }
}

#[derive(Clone, Debug)]
pub struct SpentToken {
    pub hash: String,
    pub results_hash: String,
    /// What a repetition is answered.
    pub answer: String,
}

#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ResumeError {
    #[error("{}", .0.message)]
    Store(StoreError),
    /// It has ended, or is in a state that cannot be retried.
    #[error("run {run} {reason}")]
    Over { run: RunId, reason: String, hint: String },
    /// It waits for answers that were not given; nothing was changed.
    #[error("run {run} waits for {} answer{}", .open_pauses.len(), if .open_pauses.len() == 1 { "" } else { "s" })]
    Waits { run: RunId, open_pauses: Vec<OpenPause> },
    /// It was imported, and its approvals do not count on this machine; nothing was changed.
    #[error("run {0} was imported from a file, and you have not yet said what it may do here")]
    Foreign(RunId),
    /// Its stored definition differs from the one it began with; nothing was changed.
    #[error("run {0} is not taken up: its stored definition was changed after the run had begun")]
    Altered(RunId),
    /// An answer does not fit its question; nothing was changed.
    #[error("the answer for state `{state}` does not fit: {problem}")]
    Unfit { state: String, problem: String },
    /// The changed definition cannot take the run over; nothing was changed.
    #[error("the changed definition cannot take this run over:\n{}", .0.join("\n"))]
    Incompatible(Vec<String>),
    /// The token was used before, with these results.
    #[error("this token was used already, with the same results")]
    Duplicate { answer: String },
    #[error("this token was used already, with other results: the first ones count")]
    Conflict,
}

impl ResumeError {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Store(error) => error.hint.clone(),
            Self::Over { hint, .. } => Some(hint.clone()),
            Self::Incompatible(_) => {
                Some("resume it without --upgrade: it goes on as it was defined".to_owned())
            }
            Self::Foreign(run) => Some(format!("synthdev resume {run}")),
            Self::Altered(run) => Some(format!(
                "start the workflow again, or restore the run history from a copy; \
                 `synthdev runs show {run}` shows what the run did, `synthdev runs cancel {run}` ends it"
            )),
            Self::Waits { .. } | Self::Unfit { .. } | Self::Duplicate { .. } | Self::Conflict => None,
        }
    }
}

impl From<StoreError> for ResumeError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// Why a run was not resumed, and its progress if that was not known.
struct ResumeRefusal {
    error: ResumeError,
    progress: Option<RunProgress>,
}

impl<E: Into<ResumeError>> From<E> for ResumeRefusal {
    fn from(error: E) -> Self {
        Self { error: error.into(), progress: None }
    }
}

/// Open calls of a dead process, sorted by what becomes of them.
#[derive(Default)]
struct OrphanedCalls {
    finished_inputs: Vec<Input>,
    repeated_effects: Vec<(Effect, u32)>,
    uncertain_calls: Vec<(CallId, String)>,
}

impl RuntimeHandle {
    /// Resumes a run. A question without an answer is asked if a user is present; else the run pauses again. Dropping
    /// this future stops nothing: a claimed run continues, or is given back.
    ///
    /// # Errors
    /// Another living process drives it, it has ended, or an answer does not fit. Then nothing was changed.
    pub async fn resume(&self, run: &RunId, going: ResumeRequest) -> Result<(), ResumeError> {
        if let Some(server) = self.keeping_server(run)? {
            return self.resume_at_server(server, run, going).await;
        }
        let (handle, own) = (self.clone(), run.clone());
        let resumed = tokio::spawn(async move { handle.claim_and_resume(&own, going).await });
        resumed.await.unwrap_or_else(|broken| {
            // a bug before it was driven: another process must be able to claim it
            self.ports().store.release(run);
            let message = format!("taking up run {run} was broken off: {broken}");
            Err(StoreError { message, hint: None }.into())
        })
    }

    async fn claim_and_resume(&self, run: &RunId, going: ResumeRequest) -> Result<(), ResumeError> {
        let store = Arc::clone(&self.ports().store);
        let _rising = self.context.task_broker.begin_resume(run);
        self.listen_for_control();
        if !store.definition_is_intact(run)? {
            return Err(ResumeError::Altered(run.clone()));
        }
        let before = self.claim_run(run).await?;
        match self.resume_claimed(run, &before, going).await {
            Ok(()) => Ok(()),
            Err(ResumeRefusal { error, progress: stands }) => {
                self.give_back(run, stands.unwrap_or(before.progress));
                Err(error)
            }
        }
    }

    /// The open questions of a run before it is resumed, under the definition that it will continue with. Changes
    /// nothing.
    ///
    /// # Errors
    /// Unknown or unreadable, or the run cannot be upgraded to that definition.
    pub fn open_pauses(
        &self,
        run: &RunId,
        program: Option<&WorkflowProgram>,
    ) -> Result<Vec<OpenPause>, ResumeError> {
        let scope = LoadScope::for_definition(program);
        let machine = load_for_resume(&*self.ports().store, run, scope)?.machine;
        Ok(upgraded_machine(&machine, program)?.open_pauses())
    }

    /// What a changed definition would mean for the run, or why it cannot take it over. Changes nothing.
    ///
    /// # Errors
    /// Unknown or unreadable.
    pub fn try_upgrade(
        &self,
        run: &RunId,
        program: &WorkflowProgram,
    ) -> Result<Result<Vec<String>, Vec<String>>, StoreError> {
        let mut machine = journal_replay::load_journaled_run(&*self.ports().store, run)?.replay().machine;
        Ok(machine.upgrade_program(program.clone()))
    }

    /// Agents whose models had answered after the step to which a run was rewound, once for each answer that it gets
    /// when it is resumed.
    ///
    /// # Errors
    /// Unknown or unreadable.
    pub fn agents_answered_before_rewind(&self, run: &RunId) -> Result<Vec<String>, StoreError> {
        let journaled_run = journal_replay::load_journaled_run(&*self.ports().store, run)?;
        let agents =
            journaled_run.replay().pending().into_iter().filter_map(|PendingEffect { effect, .. }| {
                match effect {
                    Effect::CallModel { call, request } => {
                        journaled_run.answer_before_rewind(call).map(|_| request.agent.clone())
                    }
                    _ => None,
                }
            });
        Ok(agents.collect())
    }

    async fn resume_claimed(
        &self,
        run: &RunId,
        was: &RunSummary,
        mut going: ResumeRequest,
    ) -> Result<(), ResumeRefusal> {
        let foreign = was.origin.as_ref().is_some_and(RunOrigin::is_imported);
        if foreign && going.approvals.is_none() {
            return Err(ResumeError::Foreign(run.clone()).into());
        }
        let store = &*self.ports().store;
        let scope = match self.context.task_broker.is_enabled() {
            // the tasks of sub-agents are found in the inputs
            true => LoadScope::Journal,
            false => LoadScope::for_definition(going.program.as_ref()),
        };
        let LoadedRun { journaled_run, has_begun, mut machine, mut requests, recent_events, state_schedule } =
            load_for_resume(store, run, scope)?;
        // a process that died between taking the run and writing what for has left only `interrupted`
        let unsaid = was.progress.status == RunStatus::Interrupted;
        let status = if unsaid { machine.status() } else { was.progress.status };
        check_resumable(run, status, &journaled_run, &machine).map_err(|error| {
            let over = unsaid && status.is_over() && matches!(error, ResumeError::Over { .. });
            ResumeRefusal { error, progress: over.then(|| machine.progress()) }
        })?;
        check_answers(&*upgraded_machine(&machine, going.program.as_ref())?, &going)?;
        if let Some(program) = &going.program {
            self.reject_keys_in_definition(program)?;
        }
        let files = self.take_files(run, &journaled_run, foreign).await?;
        let crashed = self.classify_pending(&journaled_run, requests.pending(&machine), foreign).await;
        self.recover_resumed_tasks(&journaled_run);
        let warnings = going.take_start_warnings();
        let arrived = self.is_new_here(&journaled_run, machine.progress().snapshot).await;
        let input = Input::Resumed(Box::new(ResumeInput {
            present: going.user_present,
            approvals: going.approvals,
            answers: going.answers,
            decisions: going.decisions,
            elapsed: going.timed_out,
            again: repeated_calls(&crashed.repeated_effects),
            unclear: crashed.uncertain_calls,
            program: going.program,
            arrived,
            sub_agents: self.context.task_broker.is_enabled(),
            stops: going.breakpoints,
        }));
        let input = self.context.redactor.clean_data(input);
        let at = self.ports().clock.now();
        // a process that was killed between recording its run and the first row had only promised to begin
        let started = (!has_begun).then(|| Input::Started { seed: self.ports().ids.seed() });
        let inputs = started.into_iter().chain([input]);
        let (rows, output) = self.apply_first_inputs(run, at, &mut machine, &mut requests, inputs)?;
        self.write_resumption(run, at, &rows, &machine, going.token)?;
        let repeated_effects = crashed.repeated_effects;
        let opening = DriverStart {
            requests,
            state_schedule,
            recent_events,
            output,
            warnings,
            at,
            repeated_effects,
            is_new_run: false,
        };
        self.launch_driver(run.clone(), machine, files, opening, crashed.finished_inputs);
        Ok(())
    }

    /// What the first inputs lead to, and the journal's rows of both.
    fn apply_first_inputs(
        &self,
        run: &RunId,
        at: Timestamp,
        machine: &mut Machine,
        requests: &mut PendingRequests,
        inputs: impl Iterator<Item = Input>,
    ) -> Result<(Vec<JournalRow>, MachineOutput), ResumeError> {
        let mut rows = Vec::new();
        let mut output = MachineOutput::default();
        for input in inputs {
            let led = requests.handle_input(machine, at, input.clone());
            self.context.task_broker.apply_output(at, run, machine, AppliedAnswer::default(), &led);
            let MachineOutput { effects, events } = led;
            journal::input_rows(at, &input, &effects, &events, &mut rows)?;
            output.effects.extend(effects);
            output.events.extend(events);
        }
        Ok((rows, output))
    }

    /// The project's files, for the run alone where it needs that, and all of one moment.
    async fn take_files(
        &self,
        run: &RunId,
        journaled_run: &JournaledRun,
        foreign: bool,
    ) -> Result<RunProjectLock, ResumeError> {
        let Some(restoring) = &journaled_run.pending_restore else {
            let files = self.lock_for_run(run, &journaled_run.spec, false)?;
            if journaled_run.spec.program.changes_files() {
                self.ensure_files_consistent()?;
            }
            return Ok(files);
        };
        // a restore is pending: no other run may work meanwhile
        let files =
            RunProjectLock::acquired_at_start(self.lock(run, &journaled_run.spec, WAIT_OR_SHARE_RESUMED)?);
        self.finish_files(run, restoring, foreign).await?;
        Ok(files)
    }

    /// Whether an imported run has no snapshot of this project yet: its own snapshots are on another machine.
    async fn is_new_here(&self, journaled_run: &JournaledRun, before: Option<SnapshotId>) -> bool {
        let imported =
            journaled_run.header.origin.as_ref().is_some_and(|origin| origin.kind == RunOriginKind::Import);
        let (Some(before), true) = (before, imported) else { return imported };
        let (snapshots, run) = (self.ports().snapshots.clone(), journaled_run.header.id.clone());
        let own = move || snapshots.find(before.as_str()).is_ok_and(|info| info.run == Some(run));
        !tokio::task::spawn_blocking(own).await.unwrap_or(false)
    }

    fn write_resumption(
        &self,
        run: &RunId,
        at: Timestamp,
        rows: &[JournalRow],
        machine: &Machine,
        token: Option<SpentToken>,
    ) -> Result<(), ResumeError> {
        let progress = machine.progress();
        let store = &self.ports().store;
        let Some(SpentToken { hash, results_hash, answer }) = token else {
            return Ok(store.append(run, rows, Some(&progress))?);
        };
        match store.redeem(&hash, &results_hash, &answer, at, rows, Some(&progress))? {
            TokenRedeemOutcome::Accepted => Ok(()),
            TokenRedeemOutcome::Duplicate { answer } => Err(ResumeError::Duplicate { answer }),
            TokenRedeemOutcome::Conflict => Err(ResumeError::Conflict),
        }
    }

    /// The crash rule: repeats safe calls, takes finished ones as done, and asks about the rest.
    async fn classify_pending(
        &self,
        journaled_run: &JournaledRun,
        pending: Vec<PendingEffect>,
        foreign: bool,
    ) -> OrphanedCalls {
        let mut crashed = OrphanedCalls::default();
        let now = self.ports().clock.now();
        for PendingEffect { effect, at, driven_ms } in pending {
            let known = effect.call().and_then(|call| journaled_run.answer_before_rewind(call));
            if let Some(answer) = known {
                crashed.finished_inputs.push(answer.clone());
                continue;
            }
            let attempt =
                effect.call().and_then(|call| journaled_run.attempts.get(&call)).map_or(1, |made| made + 1);
            match effect {
                // asked anew by the run itself
                Effect::AskPerson { .. } | Effect::AskApproval { .. } => {}
                Effect::SetTimer { call, delay_ms, is_wall_clock: wall } => {
                    let passed = if wall { now.0.saturating_sub(at.0) } else { driven_ms };
                    let delay_ms = delay_ms.saturating_sub(u64::try_from(passed).unwrap_or(0));
                    crashed
                        .repeated_effects
                        .push((Effect::SetTimer { call, delay_ms, is_wall_clock: wall }, 1));
                }
                Effect::RunTool { call, invocation, .. }
                    if foreign && self.ports().tools.rerun_policy(&invocation) != RerunPolicy::Safe =>
                {
                    crashed.uncertain_calls.push((call, FOREIGN.to_owned()));
                }
                effect @ Effect::RunTool { .. } => {
                    self.sort_tool(journaled_run, effect, attempt, &mut crashed).await
                }
                effect => crashed.repeated_effects.push((effect, attempt)),
            }
        }
        crashed
    }

    async fn sort_tool(
        &self,
        journaled_run: &JournaledRun,
        effect: Effect,
        attempt: u32,
        crashed: &mut OrphanedCalls,
    ) {
        let Effect::RunTool { call, invocation, .. } = &effect else { return };
        let tools = &self.ports().tools;
        let standing = match (tools.rerun_policy(invocation), journaled_run.begun_effects.get(call)) {
            (RerunPolicy::Safe, _) | (_, None) | (RerunPolicy::Compare, Some(None)) => {
                InterruptedCallStatus::NotBegun
            }
            (RerunPolicy::Compare, Some(Some(planned))) => {
                tools.check_interrupted_call(invocation, planned).await
            }
            (RerunPolicy::Ask, Some(_)) => InterruptedCallStatus::Unclear {
                reason: "it may have done nothing, a part, or all of its work".to_owned(),
            },
        };
        match standing {
            InterruptedCallStatus::NotBegun => crashed.repeated_effects.push((effect, attempt)),
            InterruptedCallStatus::Done(outcome) => {
                let outcome = self.context.redactor.clean_data(outcome);
                crashed.finished_inputs.push(Input::ToolDone { call: *call, outcome });
            }
            InterruptedCallStatus::Unclear { reason } => crashed.uncertain_calls.push((*call, reason)),
        }
    }
}

/// Why a call that was open in a file is not made without a question.
const FOREIGN: &str = "it was allowed where the run was recorded, and the user here has not agreed to it";

/// Calls that are made once more, with the attempt that comes next.
fn repeated_calls(effects: &[(Effect, u32)]) -> Vec<(CallId, u32)> {
    let repeated = effects.iter().filter(|(_, attempt)| *attempt > 1);
    repeated.filter_map(|(effect, attempt)| Some((effect.call()?, *attempt))).collect()
}

pub(super) fn check_resumable(
    run: &RunId,
    status: RunStatus,
    journaled_run: &JournaledRun,
    machine: &Machine,
) -> Result<(), ResumeError> {
    let over =
        |why: &str, hint: String| Err(ResumeError::Over { run: run.clone(), reason: why.to_owned(), hint });
    let back = format!("go back to one of its steps: synthdev runs rewind {run} --to STEP, or fork it");
    if journaled_run.spec.machine_version < CONTINUED_SINCE {
        return over(
            "was made by an older version of the program, which cannot be continued exactly",
            "start it again; `synthdev runs show` still tells what it did".to_owned(),
        );
    }
    if !machine.is_over_or_suspended() || !machine.open_pauses().is_empty() {
        return Ok(());
    }
    match status {
        RunStatus::Completed => over("is completed", back),
        RunStatus::Cancelled => over("is cancelled", back),
        _ => over("failed and cannot be retried", back),
    }
}

/// The machine under the definition that it will continue with, which decides whether answers fit.
pub(super) fn upgraded_machine<'m>(
    machine: &'m Machine,
    program: Option<&WorkflowProgram>,
) -> Result<Cow<'m, Machine>, ResumeError> {
    let mut machine = Cow::Borrowed(machine);
    if let Some(program) = program {
        machine.to_mut().upgrade_program(program.clone()).map_err(ResumeError::Incompatible)?;
    }
    Ok(machine)
}

/// Every answer must belong to an open question, and fit it.
pub(super) fn check_answers(machine: &Machine, going: &ResumeRequest) -> Result<(), ResumeError> {
    let open = machine.open_pauses();
    let asked: BTreeSet<CallId> = open.iter().map(|pause| pause.call).collect();
    let given =
        going.answers.iter().map(|(call, _)| call).chain(going.decisions.iter().map(|(call, _)| call));
    for call in given.chain(&going.timed_out) {
        if !asked.contains(call) {
            let problem = "nothing waits for it any more".to_owned();
            return Err(ResumeError::Unfit { state: format!("of call {call}"), problem });
        }
    }
    for (call, answer) in &going.answers {
        if let Err(problem) = machine.validate_answer_to(*call, answer) {
            let state = open.iter().find(|pause| pause.call == *call).map(|pause| pause.state.clone());
            return Err(ResumeError::Unfit { state: state.unwrap_or_default(), problem });
        }
    }
    Ok(())
}
