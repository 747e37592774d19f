//! Why a run is not resumed or retried.

use super::answers::AnswerError;
use crate::conversations::ConversationError;
use crate::run_place::RunPlaceError;
use synthdev_domain::diagnostic::Diagnostic;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunStatus;
use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::resume::ResumeError;
use synthdev_runtime::resume_tokens::TokenError;

/// Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RunResumeError {
    #[error(transparent)]
    Place(#[from] RunPlaceError),
    #[error("run {0} is running here")]
    RunningHere(RunId),
    /// `pid` is that of the process that drives it, if the history tells.
    #[error("run {run} is running in {}", driver_text(*.pid))]
    RunningElsewhere { run: RunId, pid: Option<u32> },
    #[error(transparent)]
    Reopening(#[from] ConversationError),
    #[error("run {0} is a conversation, which is reopened on the screen")]
    Conversation(RunId),
    #[error("run {run} {}", over_text(*.status))]
    Over { run: RunId, status: RunStatus },
    /// A retry is for what has failed.
    #[error("run {run} has not failed: it is {}", .status.as_str())]
    NotFailed { run: RunId, status: RunStatus },
    /// It cannot be set going without an answer.
    #[error("it is {}, and it has no step to retry", .status.as_str())]
    NotInterrupted { run: RunId, status: RunStatus },
    /// The user has not said that it may use more. `reached`: by state.
    #[error("run {run} goes on only with more of what it has used up {}", .reached.join("; "))]
    NeedsIncrease { run: RunId, reached: Vec<String>, has_budget: bool },
    #[error("there is no workflow `{}` here to continue with", escape_name(.0))]
    UnknownWorkflow(String),
    /// The present definition has errors.
    #[error("the definition has errors")]
    Definition(Vec<Diagnostic>),
    #[error("this imported run calls models configured on this machine: {message}")]
    NoModel { message: String, hint: Option<String> },
    #[error("{0}")]
    Windows(String),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error(transparent)]
    Token(#[from] TokenError),
    #[error(transparent)]
    Resume(#[from] ResumeError),
}

impl RunResumeError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Place(error) => error.hint(),
            Self::Reopening(error) => return error.hint(),
            Self::RunningElsewhere { run, .. } => {
                format!(
                    "synthdev runs pause {run} pauses it there; then synthdev resume {run} takes it up here"
                )
            }
            Self::Conversation(run) => format!("synthdev --resume {run}"),
            Self::NotFailed { run, status: RunStatus::Running } => {
                format!("look at it: synthdev runs show {run}")
            }
            Self::NotFailed { run, status: RunStatus::Paused | RunStatus::Interrupted } => {
                format!("synthdev resume {run}")
            }
            Self::Over { run, .. } | Self::NotFailed { run, .. } => format!(
                "synthdev runs rewind {run} --to STEP goes back to one of its steps, synthdev runs fork {run} --at STEP \
                 makes a new run from there"
            ),
            Self::NotInterrupted { run, .. } => format!("synthdev runs show {run} says what it needs"),
            Self::NeedsIncrease { run, has_budget, .. } => {
                let amount =
                    if *has_budget { "; --budget AMOUNT gives so much more of the budget" } else { "" };
                format!("synthdev resume {run} --past-limits gives as much again{amount}")
            }
            Self::UnknownWorkflow(_) => "if it is in another file, use --workflow-file FILE".to_owned(),
            Self::NoModel { hint, .. } => return hint.clone(),
            Self::Answer(error) => return error.hint(),
            Self::Token(error) => return error.hint(),
            Self::Resume(error) => return error.hint(),
            Self::RunningHere(run) => format!("look at it: synthdev runs show {run}"),
            Self::Definition(_) | Self::Windows(_) => return None,
        })
    }
}

impl From<StoreError> for RunResumeError {
    fn from(error: StoreError) -> Self {
        Self::Resume(ResumeError::Store(error))
    }
}

fn driver_text(pid: Option<u32>) -> String {
    pid.map_or_else(|| "another process".to_owned(), |pid| format!("process {pid}"))
}

fn over_text(status: RunStatus) -> String {
    match status {
        RunStatus::Failed => "failed and cannot be retried".to_owned(),
        status => format!("is {}", status.as_str()),
    }
}
