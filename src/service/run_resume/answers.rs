//! Which open question of a run an answer is for.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use synthdev_domain::approval::ApprovalDecision;
use synthdev_domain::ids::{CallId, RunId};
use synthdev_domain::journal::{OpenPause, PauseReason, RunStatus, RunSummary};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_engine::input::UserAnswer;
use synthdev_runtime::resume::ResumeRequest;
use synthdev_runtime::resume_tokens::{answer_to, approval_decision, decision_word};

/// What the user gave.
#[derive(Clone, Debug, Default)]
pub struct TypedAnswers<'a> {
    /// The state whose question is meant, if there are several.
    pub state: Option<&'a str>,
    /// Every open approval is given.
    pub approves_all: bool,
    pub results: Option<Value>,
    /// What it gets of the limits that it has reached.
    pub increase: LimitIncrease,
}

/// What a run gets of the limits and budgets that it has reached. Without it, it stays where it is: no front-end passes a
/// limit by itself.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct LimitIncrease {
    /// So much more of a budget: an amount, or an object that names it.
    pub budget: Option<Value>,
    /// As much again of every limit and budget.
    pub passes_limits: bool,
}

impl LimitIncrease {
    pub fn is_none(&self) -> bool {
        self.budget.is_none() && !self.passes_limits
    }

    /// The same as the answer to one pause, which a token takes. The word could answer other questions, too: a caller
    /// checks with [`Self::fits`].
    pub(super) fn to_results(&self) -> Value {
        self.budget.clone().unwrap_or_else(|| Value::from("continue"))
    }

    /// Whether a pause has reached what gets more. So much more is for a budget alone.
    pub(super) fn fits(&self, pause: &OpenPause) -> bool {
        if self.budget.is_some() { pause.reason == PauseReason::Budget } else { is_at_limit(pause) }
    }

    /// What is said where it does not.
    pub(super) fn misfit(&self, run: &RunId) -> AnswerError {
        match self.budget {
            Some(_) => AnswerError::NoBudget(run.clone()),
            None => AnswerError::NoLimit(run.clone()),
        }
    }
}

/// Who sets a run going again without answering its questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ContinuingParty {
    User,
    /// A program, which continues no conversation of its user.
    Client,
}

/// What comes of it.
#[derive(Clone, Debug)]
pub enum AnswerPlan {
    Ready(Box<ResumeRequest>),
    /// These need an answer first: nothing can be resumed.
    Open(Vec<OpenPause>),
}

/// Why an answer is not taken.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum AnswerError {
    #[error("state `{state}` has no open question: {}", .waiting.join(", "))]
    NoQuestion { state: String, waiting: Vec<String> },
    #[error("run {0} waits for no budget there")]
    NoBudget(RunId),
    #[error("run {0} has reached no limit there")]
    NoLimit(RunId),
    #[error("run {run} waits for several kinds of budget: {}", .kinds.join("; "))]
    SeveralBudgets { run: RunId, kinds: Vec<String> },
    #[error("run {0} has no open question: it was interrupted")]
    Interrupted(RunId),
    #[error("run {0} waits for no answer")]
    NoAnswer(RunId),
    #[error("{0}")]
    Unfit(String),
}

impl AnswerError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoQuestion { .. } | Self::Unfit(_) => return None,
            Self::NoBudget(run) | Self::NoLimit(run) => {
                format!("synthdev runs show {run} says what it waits for")
            }
            Self::SeveralBudgets { .. } => {
                "choose one with --state; where a state waits for both, answer with the resume token of each"
                    .to_owned()
            }
            Self::Interrupted(_) => "resume it without --results; it asks for what it needs".to_owned(),
            Self::NoAnswer(_) => "resume it without --results".to_owned(),
        })
    }
}

impl TypedAnswers<'_> {
    fn means_state(&self, pause: &OpenPause) -> bool {
        self.state.is_none_or(|state| pause.state == state)
    }

    /// Whether a pause gets an amount of a budget.
    fn raises(&self, pause: &OpenPause) -> bool {
        pause.reason == PauseReason::Budget && self.means_state(pause)
    }

    /// What a pause at a limit gets.
    fn increase_of(&self, pause: &OpenPause) -> Option<UserAnswer> {
        let LimitIncrease { budget, passes_limits } = &self.increase;
        if !is_at_limit(pause) || !self.means_state(pause) {
            return None;
        }
        let amount = budget.clone().filter(|_| self.raises(pause)).map(|value| UserAnswer::Value { value });
        amount.or_else(|| passes_limits.then_some(UserAnswer::Continue))
    }

    /// Whether a pause stays open without an answer to it.
    fn leaves_open(&self, pause: &OpenPause) -> bool {
        match pause.reason {
            PauseReason::Approval => !self.approves_all,
            // a limit is passed only if the user says so
            PauseReason::Limit => !self.increase.passes_limits,
            PauseReason::Budget => self.increase.is_none(),
            PauseReason::Input | PauseReason::UncertainEffect => true,
            PauseReason::Error | PauseReason::User | PauseReason::Delegate => false,
        }
    }
}

/// Whether an answer allows a tool for the rest of the run, not only for the call that is asked about.
pub fn allows_rest_of_run(pause: &OpenPause, results: &Value) -> bool {
    pause.reason == PauseReason::Approval && approval_decision(results) == Some(ApprovalDecision::AllowTool)
}

/// What should be known of the decision `always` about a tool: the screen means a rule in the settings by it. `state`: the
/// one that is answered, if it was named.
pub fn decision_scope_note(run: &RunSummary, state: Option<&str>, results: &Value) -> Option<&'static str> {
    let is_word = decision_word(results) == Some("always");
    let is_meant = |pause: &&OpenPause| state.is_none_or(|state| pause.state == state);
    let asks = run.progress.pauses.iter().filter(is_meant).any(|pause| pause.reason == PauseReason::Approval);
    (is_word && asks).then_some(
        "`always` counts for the rest of this run only, as `run` does; `approvals.tools.NAME` = `allow` in the settings \
         keeps it for later runs",
    )
}

/// It has reached a limit or used up a budget.
pub(super) fn is_at_limit(pause: &OpenPause) -> bool {
    matches!(pause.reason, PauseReason::Limit | PauseReason::Budget)
}

/// Whether a run goes on beside its limits, which stay reached: a branch of it was cut off, or its user stopped one.
fn goes_on_beside_limits(status: RunStatus, open: &[OpenPause]) -> bool {
    let is_stopped = |pause: &OpenPause| pause.reason == PauseReason::User;
    let goes_on = match status {
        RunStatus::Interrupted => true,
        RunStatus::Paused => open.iter().any(is_stopped),
        RunStatus::Running | RunStatus::Completed | RunStatus::Failed | RunStatus::Cancelled => false,
    };
    goes_on && open.iter().all(|pause| is_at_limit(pause) || is_stopped(pause))
}

/// What goes on without an answer, and past the limits that are raised.
///
/// # Errors
/// There is no such limit, or it is not clear which budget is meant.
pub(super) fn continuing_answers(
    run: &RunSummary,
    open: &[OpenPause],
    typed: &TypedAnswers<'_>,
) -> Result<Vec<(CallId, UserAnswer)>, AnswerError> {
    let is_over = matches!(run.progress.status, RunStatus::Completed | RunStatus::Cancelled);
    if typed.increase.budget.is_some() && !is_over {
        check_budget(run, open, typed)?;
    }
    let answer = |pause: &OpenPause| match pause.reason {
        PauseReason::Error => Some(UserAnswer::Continue),
        _ => typed.increase_of(pause),
    };
    let answers = open.iter().filter_map(|pause| Some((pause.call, answer(pause)?))).collect();
    let passes_none = !open.iter().any(|pause| typed.increase_of(pause).is_some());
    if typed.increase.passes_limits && passes_none && !is_over {
        return Err(AnswerError::NoLimit(run.id.clone()));
    }
    Ok(answers)
}

/// The open approvals, where all are given.
pub(super) fn approving_decisions(
    open: &[OpenPause],
    typed: &TypedAnswers<'_>,
) -> Vec<(CallId, ApprovalDecision)> {
    let given = |pause: &&OpenPause| pause.reason == PauseReason::Approval && typed.approves_all;
    open.iter().filter(given).map(|pause| (pause.call, ApprovalDecision::Allow)).collect()
}

pub(super) fn place_answers(
    run: &RunSummary,
    open: Vec<OpenPause>,
    mut typed: TypedAnswers<'_>,
    mut request: ResumeRequest,
) -> Result<AnswerPlan, AnswerError> {
    let id = &run.id;
    let mut chosen: Vec<&OpenPause> = open.iter().filter(|pause| typed.leaves_open(pause)).collect();
    if let Some(state) = typed.state {
        chosen.retain(|pause| typed.means_state(pause));
        if chosen.is_empty() && typed.increase.is_none() {
            return Err(AnswerError::NoQuestion { state: state.to_owned(), waiting: waiting_states(&open) });
        }
    }
    request.answers.extend(continuing_answers(run, &open, &typed)?);
    request.decisions.extend(approving_decisions(&open, &typed));
    match (chosen.as_slice(), typed.results.take()) {
        ([], None) => {}
        ([], Some(_)) if open.is_empty() && run.progress.status == RunStatus::Interrupted => {
            return Err(AnswerError::Interrupted(id.clone()));
        }
        // `resume` itself refuses a run that has ended
        ([], Some(_)) if open.is_empty() => {}
        ([], Some(_)) => return Err(AnswerError::NoAnswer(id.clone())),
        ([only], Some(results)) => answer_to(only, results, &mut request).map_err(AnswerError::Unfit)?,
        // resumes what needs no answer; the other pauses stay open
        (_, None) if !request.answers.is_empty() || !request.decisions.is_empty() => {}
        (_, None) if typed.state.is_none() && goes_on_beside_limits(run.progress.status, &open) => {}
        (several, _) => return Ok(AnswerPlan::Open(several.iter().map(|pause| (*pause).clone()).collect())),
    }
    Ok(AnswerPlan::Ready(Box::new(request)))
}

/// An amount is of one kind: so many tokens are not as many dollars.
fn check_budget(run: &RunSummary, open: &[OpenPause], typed: &TypedAnswers<'_>) -> Result<(), AnswerError> {
    let raised: Vec<&OpenPause> = open.iter().filter(|pause| typed.raises(pause)).collect();
    if raised.is_empty() {
        return Err(AnswerError::NoBudget(run.id.clone()));
    }
    let mut kinds: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for pause in raised {
        let kind = match pause.kind.as_deref().unwrap_or_default() {
            "cost_usd" => "dollars",
            "duration" => "seconds",
            other => other,
        };
        kinds.entry(kind).or_default().insert(quoted_state(pause));
    }
    if kinds.len() < 2 {
        return Ok(());
    }
    let each = kinds
        .into_iter()
        .map(|(kind, states)| format!("{kind} in {}", states.into_iter().collect::<Vec<_>>().join(", ")));
    Err(AnswerError::SeveralBudgets { run: run.id.clone(), kinds: each.collect() })
}

fn waiting_states(open: &[OpenPause]) -> Vec<String> {
    open.iter().map(quoted_state).collect()
}

fn quoted_state(pause: &OpenPause) -> String {
    format!("`{}`", escape_name(&pause.state))
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::ids::Timestamp;
    use synthdev_domain::journal::RunProgress;

    fn open_pause(reason: PauseReason, at: u64) -> OpenPause {
        OpenPause {
            call: CallId(at),
            state: format!("s{at}"),
            reason,
            message: String::new(),
            kind: None,
            choices: Vec::new(),
            required_outputs: Vec::new(),
            schema: None,
            default: None,
            action: None,
            since: Timestamp(0),
        }
    }

    fn stopped_run(status: RunStatus) -> RunSummary {
        RunSummary {
            id: RunId::from("r1"),
            workflow: "flow".to_owned(),
            definition_hash: String::new(),
            input: String::new(),
            project: "/p".to_owned(),
            started: Timestamp(0),
            origin: None,
            worktree: None,
            progress: RunProgress { status, ..RunProgress::new(Timestamp(0)) },
        }
    }

    #[test]
    fn an_answer_allows_a_tool_for_the_rest_of_a_run_in_two_words() {
        let check = |reason: PauseReason, results: Value, expected: bool| {
            assert_eq!(allows_rest_of_run(&open_pause(reason, 0), &results), expected, "{results}");
        };
        check(PauseReason::Approval, serde_json::json!({"decision": "run"}), true);
        check(PauseReason::Approval, serde_json::json!({"decision": "always"}), true);
        check(PauseReason::Approval, serde_json::json!("run"), true);
        check(PauseReason::Approval, serde_json::json!({"decision": "allow"}), false);
        check(PauseReason::Approval, serde_json::json!(true), false);
        check(PauseReason::Input, serde_json::json!("run"), false);
    }

    #[test]
    fn the_word_always_is_explained_where_the_meant_state_asks_for_a_tool() {
        let (approval, input) = (open_pause(PauseReason::Approval, 0), open_pause(PauseReason::Input, 1));
        let mut run = stopped_run(RunStatus::Paused);
        run.progress.pauses = vec![approval, input];
        let check = |state: Option<&str>, word: &str, expected: bool| {
            let note = decision_scope_note(&run, state, &serde_json::json!({"decision": word}));
            assert_eq!(note.is_some(), expected, "{state:?} {word}");
        };
        check(None, "always", true);
        check(Some("s0"), "always", true);
        check(Some("s1"), "always", false);
        check(None, "run", false);
    }

    #[test]
    fn what_was_cut_off_or_stopped_goes_on_beside_limits_that_stay_reached() {
        use PauseReason::{Approval, Budget, Input, Limit, User};
        use RunStatus::{Interrupted, Paused};
        // how it stopped, what is open, the state that was named, and whether it goes on; nothing else is given
        let rows: [(RunStatus, &[PauseReason], Option<&str>, bool); 10] = [
            (Interrupted, &[], None, true),
            (Interrupted, &[Limit], None, true),
            (Interrupted, &[Limit, Budget], None, true),
            (Interrupted, &[Limit], Some("s0"), false),
            (Interrupted, &[Limit, Input], None, false),
            (Interrupted, &[Approval], None, false),
            (Paused, &[Limit], None, false),
            (Paused, &[Limit, User], None, true),
            (Paused, &[Limit, User, Input], None, false),
            (Paused, &[User], None, true),
        ];
        for (status, reasons, state, goes_on) in rows {
            let open = (0..).zip(reasons).map(|(at, reason)| open_pause(*reason, at)).collect();
            let typed = TypedAnswers { state, ..TypedAnswers::default() };
            let plan = place_answers(&stopped_run(status), open, typed, ResumeRequest::default()).unwrap();
            let name = format!("{status:?} {reasons:?} {state:?}");
            match plan {
                AnswerPlan::Ready(request) => assert!(goes_on && request.answers.is_empty(), "{name}"),
                AnswerPlan::Open(open) => assert!(!goes_on && !open.is_empty(), "{name}"),
            }
        }
    }
}
