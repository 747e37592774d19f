//! Resuming and retrying a run.
//!
//! Owns which run can be taken up from here, under which definition and approvals, and which of its questions an answer
//! is for. Refuses to guess: a question that two answers could mean stays open.

mod answers;
mod error;
mod local_models;
mod used_replies;

use crate::conversations::{ConversationError, is_conversation};
use crate::run_place::{RunOperation, RunPlace};
use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::journal::{OpenPause, PauseReason, RunOrigin, RunStatus, RunSummary};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_engine::input::UserAnswer;
use synthdev_ports::run_store::RemoteRunAction;
use synthdev_runtime::diff_runs::definition_notes;
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::catalog::context_windows::copy_known_windows;

pub use answers::{
    AnswerError, AnswerPlan, ContinuingParty, LimitIncrease, TypedAnswers, allows_rest_of_run,
    decision_scope_note,
};
pub use error::RunResumeError;
pub use synthdev_runtime::resume::{ResumeError, ResumeRequest};
pub use synthdev_runtime::resume_tokens::{
    DEFAULT_TTL_SECONDS, RedeemOutcome, ResumeToken, TokenError, answer_key,
};
pub use used_replies::count_used_replies;

/// Asks servers for the windows of their models.
pub trait WindowLookup {
    /// Sets the windows of a program that only its servers know.
    ///
    /// # Errors
    /// Nothing can be asked on this machine.
    fn set_windows(&self, program: &mut WorkflowProgram) -> Result<(), String>;
}

/// The definition under which a run continues.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ResumeDefinition {
    /// Its own.
    #[default]
    Stored,
    /// The present one of its workflow. `from_file`: the user named the file that has it.
    Present { from_file: bool },
}

/// How a run is resumed.
#[derive(Clone, Copy, Debug, Default)]
pub struct ResumeOptions {
    /// A user can be asked from now on.
    pub user_present: bool,
    /// Every call is approved from now on.
    pub approves_all: bool,
    pub definition: ResumeDefinition,
}

/// Whether a run can be taken up from this project, as far as its summary tells. `operation` is `Resume` or `Retry`.
///
/// # Errors
/// A server keeps it, it belongs to another project, its worktree is gone, it is running or has ended, or a retry is asked for and it has
/// not failed.
pub fn check_resumable(
    handle: &RuntimeHandle,
    summary: &RunSummary,
    project: &str,
    operation: RunOperation,
    is_directory: impl Fn(&str) -> bool,
) -> Result<(), RunResumeError> {
    let (id, status) = (&summary.id, summary.progress.status);
    let place = RunPlace::of_run(summary, project).on_disk(&is_directory);
    let is_chat = is_conversation(handle, summary);
    let is_retry = operation == RunOperation::Retry;
    if !is_retry && handle.is_at_server(id)? {
        return check_answerable(handle, summary);
    }
    handle.ensure_not_remote(id, if is_retry { RemoteRunAction::Retry } else { RemoteRunAction::Resume })?;
    place.check_project(id, if is_chat { RunOperation::Reopen } else { operation })?;
    place.present_worktree(id, is_directory)?;
    if is_retry {
        check_failed(id, status)?;
    }
    if is_chat && status == RunStatus::Running && !handle.running_runs().contains(id) {
        return Err(ConversationError::OpenElsewhere(id.clone()).into());
    }
    check_stopped(handle, summary)
}

/// Whether a run goes on that a server keeps: it does so wherever its files are, and one that works is only followed.
fn check_answerable(handle: &RuntimeHandle, summary: &RunSummary) -> Result<(), RunResumeError> {
    let (id, status) = (&summary.id, summary.progress.status);
    if handle.running_runs().contains(id) {
        return Err(RunResumeError::RunningHere(id.clone()));
    }
    check_open(id, status, !summary.progress.pauses.is_empty())
}

/// Whether a run stands and can go on.
fn check_stopped(handle: &RuntimeHandle, summary: &RunSummary) -> Result<(), RunResumeError> {
    let (id, status) = (&summary.id, summary.progress.status);
    if status != RunStatus::Running {
        return check_open(id, status, !summary.progress.pauses.is_empty());
    }
    let run = id.clone();
    Err(if handle.running_runs().contains(id) {
        RunResumeError::RunningHere(run)
    } else {
        RunResumeError::RunningElsewhere { run, pid: handle.driver_pid(id) }
    })
}

/// Whether a run goes on without its user, so that it is no conversation: there only the user says the next message. Of
/// another project, the error names that.
///
/// # Errors
/// It is a conversation.
pub fn check_no_conversation(
    handle: &RuntimeHandle,
    run: &RunSummary,
    project: &str,
) -> Result<(), RunResumeError> {
    if !is_conversation(handle, run) {
        return Ok(());
    }
    RunPlace::of_run(run, project).check_project(&run.id, RunOperation::Reopen)?;
    Err(RunResumeError::Conversation(run.id.clone()))
}

/// Whether a run that does not run can go on. `is_retryable`: it has a failed state that can be tried again.
///
/// # Errors
/// It has ended.
pub fn check_open(run: &RunId, status: RunStatus, is_retryable: bool) -> Result<(), RunResumeError> {
    let over = match status {
        RunStatus::Completed | RunStatus::Cancelled => true,
        RunStatus::Failed => !is_retryable,
        RunStatus::Running | RunStatus::Paused | RunStatus::Interrupted => false,
    };
    if over { Err(RunResumeError::Over { run: run.clone(), status }) } else { Ok(()) }
}

/// Only a run that has failed is retried.
///
/// # Errors
/// It has not.
pub fn check_failed(run: &RunId, status: RunStatus) -> Result<(), RunResumeError> {
    if status == RunStatus::Failed {
        return Ok(());
    }
    Err(RunResumeError::NotFailed { run: run.clone(), status })
}

/// What should be known of a run that goes on under the definition that was stored with it, where its workflow is defined
/// otherwise by now.
pub fn stored_definition_note(
    catalog: &ConfigCatalog,
    run: &RunSummary,
    stored: &WorkflowProgram,
) -> Option<String> {
    if stored.is_conversation() {
        return None;
    }
    // one that is gone or has errors is nothing to move to
    let (present, _) = catalog.check_workflow(&run.workflow).ok()?;
    (present.hash != stored.hash).then(|| {
        format!(
            "{} is defined otherwise by now ({}); this run goes on as it was defined: `synthdev resume {} --upgrade` moves it \
             to the present definition",
            escape_name(&run.workflow),
            differences_text(&definition_notes(stored, &present)),
            run.id
        )
    })
}

/// The first of them, and how many more there are.
fn differences_text(notes: &[String]) -> String {
    const SHOWN: usize = 2;
    let shown: Vec<&str> = notes.iter().take(SHOWN).map(String::as_str).collect();
    match notes.len().saturating_sub(SHOWN) {
        0 => shown.join("; "),
        more => format!("{}; {more} more", shown.join("; ")),
    }
}

/// What sets a run going again without an answer to a question.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ContinuationAnswers {
    pub answers: Vec<(CallId, UserAnswer)>,
    pub decisions: Vec<(CallId, ApprovalDecision)>,
}

impl ContinuationAnswers {
    #[must_use]
    pub fn add_to(self, mut request: ResumeRequest) -> ResumeRequest {
        request.answers.extend(self.answers);
        request.decisions.extend(self.decisions);
        request
    }
}

/// Failed states are tried again, limits are passed and open approvals given as far as `typed` says. Other pauses stay
/// open. A run that was cut off or merely paused needs none of this.
///
/// # Errors
/// It is running or has ended, needs more of a limit, or something else, is a conversation that its user does not continue,
/// or cannot be read.
pub fn continuation_answers(
    handle: &RuntimeHandle,
    run: &RunSummary,
    party: ContinuingParty,
    typed: &TypedAnswers<'_>,
) -> Result<ContinuationAnswers, RunResumeError> {
    if party == ContinuingParty::Client {
        check_no_conversation(handle, run, &run.project)?;
    }
    check_stopped(handle, run)?;
    let status = run.progress.status;
    let refused = || Err(RunResumeError::NotInterrupted { run: run.id.clone(), status });
    let open = handle.open_pauses(&run.id, None)?;
    let answers = answers::continuing_answers(run, &open, typed)?;
    let decisions = answers::approving_decisions(&open, typed);
    let is_free = match status {
        RunStatus::Interrupted => true,
        RunStatus::Paused => matches!(open.as_slice(), [only] if only.needs_no_answer()),
        _ => false,
    };
    if is_free || !answers.is_empty() || !decisions.is_empty() {
        return Ok(ContinuationAnswers { answers, decisions });
    }
    needed_increase(&run.id, &open).map_or_else(refused, Err)
}

/// What a run says that goes on only with more of what it has used up; `None`: it waits for something else, too.
pub fn needed_increase(run: &RunId, open: &[OpenPause]) -> Option<RunResumeError> {
    let is_only_limits = !open.is_empty() && open.iter().all(answers::is_at_limit);
    is_only_limits.then(|| RunResumeError::NeedsIncrease {
        run: run.clone(),
        reached: open
            .iter()
            .map(|pause| format!("in `{}`: {}", escape_name(&pause.state), pause.message))
            .collect(),
        has_budget: open.iter().any(|pause| pause.reason == PauseReason::Budget),
    })
}

/// Resumes runs with the configuration of this place.
pub struct ResumeService<'s> {
    handle: &'s RuntimeHandle,
    catalog: &'s ConfigCatalog,
    windows: &'s dyn WindowLookup,
}

impl<'s> ResumeService<'s> {
    pub fn new(handle: &'s RuntimeHandle, catalog: &'s ConfigCatalog, windows: &'s dyn WindowLookup) -> Self {
        Self { handle, catalog, windows }
    }

    /// The request to resume a run with, still without answers. Where the user is present, the run continues under the
    /// approvals of the present settings; a run that came from a file does so always, and with the models of this place.
    /// Changes nothing.
    ///
    /// # Errors
    /// It is a conversation and its user is not present, there is no such definition, it has errors, or no model is set
    /// for a level that an agent of the run uses.
    pub fn prepare(&self, run: &RunSummary, options: ResumeOptions) -> Result<ResumeRequest, RunResumeError> {
        // here every front end comes through: a conversation that goes on alone asks the model again, and ends
        if !options.user_present {
            check_no_conversation(self.handle, run, &run.project)?;
        }
        let policy = self.catalog.settings().approval_policy();
        let mut request = ResumeRequest {
            user_present: options.user_present,
            program: self.definition(run, options.definition)?,
            approvals: match options.approves_all {
                true => Some(policy.clone().approving_all()),
                // what was allowed for a session ended with it, and what the settings deny today is denied
                false => options.user_present.then(|| policy.clone()),
            },
            ..ResumeRequest::default()
        };
        if run.origin.as_ref().is_some_and(RunOrigin::is_imported) {
            request.approvals.get_or_insert(policy);
            if request.program.is_none() {
                request.program = self.definition_for_here(run)?;
            }
        }
        Ok(request)
    }

    /// What a changed definition means for the run. Changes nothing.
    ///
    /// # Errors
    /// It cannot take the run over, or the run cannot be read.
    pub fn upgrade_notes(
        &self,
        run: &RunId,
        program: &WorkflowProgram,
    ) -> Result<Vec<String>, RunResumeError> {
        let notes = self.handle.try_upgrade(run, program)?;
        notes.map_err(|problems| ResumeError::Incompatible(problems).into())
    }

    /// Puts what the user gave into the request. Changes nothing.
    ///
    /// # Errors
    /// An answer is for no question, or does not fit.
    pub fn place_answers(
        &self,
        run: &RunSummary,
        typed: TypedAnswers<'_>,
        request: ResumeRequest,
    ) -> Result<AnswerPlan, RunResumeError> {
        let open = self.handle.open_pauses(&run.id, request.program.as_ref())?;
        Ok(answers::place_answers(run, open, typed, request)?)
    }

    fn stored(&self, run: &RunSummary) -> Result<WorkflowProgram, RunResumeError> {
        Ok(self.handle.load_record(run.id.as_str())?.program)
    }

    fn definition(
        &self,
        run: &RunSummary,
        wanted: ResumeDefinition,
    ) -> Result<Option<WorkflowProgram>, RunResumeError> {
        let ResumeDefinition::Present { from_file } = wanted else { return Ok(None) };
        match self.catalog.check_workflow(&run.workflow) {
            Ok((mut program, _)) => {
                self.set_windows(&mut program)?;
                copy_known_windows(&mut program, &self.stored(run)?);
                Ok(Some(program))
            }
            Err(_) if !from_file && self.catalog.workflow(&run.workflow).is_none() => {
                Err(RunResumeError::UnknownWorkflow(run.workflow.clone()))
            }
            Err(found) => Err(RunResumeError::Definition(found)),
        }
    }

    /// `None`: it asks the same models there and here.
    fn definition_for_here(&self, run: &RunSummary) -> Result<Option<WorkflowProgram>, RunResumeError> {
        let stored = self.stored(run)?;
        let mut ours = local_models::with_local_models(self.catalog, stored.clone())?;
        self.set_windows(&mut ours)?;
        Ok(Some(ours).filter(|ours| *ours != stored))
    }

    fn set_windows(&self, program: &mut WorkflowProgram) -> Result<(), RunResumeError> {
        self.windows.set_windows(program).map_err(RunResumeError::Windows)
    }
}

/// Resumes a run.
///
/// # Errors
/// Another living process drives it, it has ended, or an answer does not fit. Then nothing was changed.
pub async fn resume_run(
    handle: &RuntimeHandle,
    run: &RunId,
    request: ResumeRequest,
) -> Result<(), RunResumeError> {
    Ok(handle.resume(run, request).await?)
}

/// Gives the pause of a token more of the limit or budget that it has reached, and resumes its run. Other questions are not
/// answered so.
///
/// # Errors
/// The pause has reached no such limit, or as [`redeem_token`]: nothing was changed.
pub async fn redeem_increase(
    handle: &RuntimeHandle,
    token: &str,
    increase: &LimitIncrease,
    request: ResumeRequest,
) -> Result<RedeemOutcome, RunResumeError> {
    let fits = |pause: &OpenPause| increase.fits(pause);
    let done = redeem_token(handle, token, increase.to_results(), request, &fits).await;
    match done {
        Err(TokenError::Forbidden(_)) => Err(increase.misfit(&handle.run_for_token(token)?).into()),
        done => Ok(done?),
    }
}

/// Answers the pause of a token and resumes its run. `may_answer` is asked about the pause in its present state.
///
/// # Errors
/// The token or the results are not accepted: nothing was changed.
pub async fn redeem_token(
    handle: &RuntimeHandle,
    token: &str,
    results: serde_json::Value,
    request: ResumeRequest,
    may_answer: &(dyn Fn(&OpenPause) -> bool + Sync),
) -> Result<RedeemOutcome, TokenError> {
    handle.redeem(token, results, request, may_answer).await
}
