//! Conversations with a role: which of a project can be reopened, and which one is meant.
//!
//! Owns which runs are conversations, their order, and what is refused in their place. Reopening one is resuming its
//! run. Refuses runs of workflows: these are resumed by their ids.

use std::cmp::Reverse;
use std::path::Path;

use crate::run_place::{RunOperation, RunPlace, RunPlaceError};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{OpenPause, RunQuery, RunStatus, RunSummary};
use synthdev_domain::terminal_safe::escape_name;
use synthdev_domain::workflow::CONVERSATION_WORKFLOW;
use synthdev_ports::run_store::StoreError;
use synthdev_runtime::handle::RuntimeHandle;

/// Conversations that are listed, the ones that were used last.
const LISTED: usize = 100;
/// Statuses of a conversation that can be reopened, or is open.
const OPEN: [RunStatus; 3] = [RunStatus::Paused, RunStatus::Interrupted, RunStatus::Running];

/// What to do about a conversation that another process has open: only its user there can give it up.
pub const LEAVE_THERE: &str = "leave it there with /exit";

/// Nothing was changed.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum ConversationError {
    #[error("this project has no conversation that can be reopened")]
    Nothing,
    #[error("run {run} is a run of the workflow {}, not a conversation", escape_name(.workflow))]
    OfWorkflow { run: RunId, workflow: String, status: RunStatus, is_retryable: bool },
    #[error(transparent)]
    Place(#[from] RunPlaceError),
    #[error("conversation {0} is open in another process")]
    OpenElsewhere(RunId),
    #[error("conversation {run} is {}", .status.as_str())]
    Over { run: RunId, status: RunStatus },
    #[error("{}", .0.message)]
    Store(StoreError),
}

impl ConversationError {
    /// What to do instead.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Nothing => {
                "synthdev starts one; `synthdev runs list` shows every run, of other projects too".to_owned()
            }
            Self::OfWorkflow { run, status, is_retryable, .. } => match status {
                RunStatus::Paused | RunStatus::Interrupted => format!("synthdev resume {run}"),
                RunStatus::Failed if *is_retryable => format!("synthdev resume {run}"),
                RunStatus::Running => format!("synthdev runs pause {run}; then synthdev resume {run}"),
                RunStatus::Failed | RunStatus::Completed | RunStatus::Cancelled => {
                    format!("synthdev runs show {run} shows what it did")
                }
            },
            Self::Place(error) => error.hint(),
            Self::OpenElsewhere(run) => {
                format!("{LEAVE_THERE}; then synthdev --resume {run}")
            }
            Self::Over { run, .. } => format!(
                "synthdev runs fork {run} --at STEP makes a new one from one of its steps, which \
                 synthdev runs steps {run} lists"
            ),
            Self::Store(error) => return error.hint.clone(),
        })
    }
}

impl From<StoreError> for ConversationError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// A conversation, for lists. Its title is the input of the run: its name, or its first words.
#[derive(Clone, PartialEq, Debug)]
pub struct ConversationSummaryLine {
    pub run: RunSummary,
    pub role: String,
    /// Another living process has it open.
    pub is_open_elsewhere: bool,
}

/// Whether a run is a conversation. One whose definition cannot be read counts as none.
pub fn is_conversation(handle: &RuntimeHandle, run: &RunSummary) -> bool {
    // what the row says of most of them spares reading the definition
    let was_left = || run.progress.pauses.iter().any(OpenPause::awaits_next_message);
    let is_defined_so = || handle.definition(&run.id).is_ok_and(|spec| spec.program.is_conversation());
    run.workflow == CONVERSATION_WORKFLOW && (was_left() || is_defined_so())
}

/// The conversations of a project that can be reopened or are open elsewhere; the one that was used last comes first.
///
/// # Errors
/// The history cannot be read.
pub fn list_conversations(
    handle: &RuntimeHandle,
    project: &str,
) -> Result<Vec<ConversationSummaryLine>, StoreError> {
    let lines = chat_runs(handle, project)?.into_iter().filter_map(|run| {
        let spec = handle.definition(&run.id).ok().filter(|spec| spec.program.is_conversation())?;
        let agent = spec.program.workflows.first()?.agents.first()?;
        let is_open_elsewhere = run.progress.status == RunStatus::Running;
        Some(ConversationSummaryLine { role: agent.role.clone(), run, is_open_elsewhere })
    });
    Ok(lines.collect())
}

/// Runs of workflows with these statuses in a project, newest first: what [`list_conversations`] does not list.
///
/// # Errors
/// The history cannot be read.
pub fn list_workflow_runs(handle: &RuntimeHandle, query: &RunQuery) -> Result<Vec<RunSummary>, StoreError> {
    let without = RunQuery { without_workflow: Some(CONVERSATION_WORKFLOW.to_owned()), ..query.clone() };
    let mut runs = handle.find_runs(&without)?;
    let named = RunQuery { workflow: Some(CONVERSATION_WORKFLOW.to_owned()), limit: LISTED, ..query.clone() };
    let named = handle.find_runs(&named)?;
    let before = runs.len();
    runs.extend(named.into_iter().filter(|run| !is_conversation(handle, run)));
    if runs.len() > before {
        runs.sort_by_key(|run| Reverse(run.started));
        runs.truncate(if query.limit == 0 { usize::MAX } else { query.limit });
    }
    Ok(runs)
}

/// The conversation of a project that was used last.
///
/// # Errors
/// There is none, another process has it open, or the history cannot be read.
pub fn last_conversation(handle: &RuntimeHandle, project: &str) -> Result<RunId, ConversationError> {
    let last = chat_runs(handle, project)?.into_iter().find(|run| is_conversation(handle, run));
    let last = last.ok_or(ConversationError::Nothing)?;
    check_reopenable(&last, project)?;
    Ok(last.id)
}

/// The conversation with this id, which may be shortened.
///
/// # Errors
/// The id is of no conversation that can be reopened here.
pub fn find_conversation(
    handle: &RuntimeHandle,
    project: &str,
    id: &str,
) -> Result<RunId, ConversationError> {
    let run = handle.summary(id)?;
    if !is_conversation(handle, &run) {
        let is_retryable = !run.progress.pauses.is_empty();
        let RunSummary { id: run, workflow, progress, .. } = run;
        return Err(ConversationError::OfWorkflow { run, workflow, status: progress.status, is_retryable });
    }
    check_reopenable(&run, project)?;
    Ok(run.id)
}

/// The newest ones by their last use.
fn chat_runs(handle: &RuntimeHandle, project: &str) -> Result<Vec<RunSummary>, StoreError> {
    let query = RunQuery {
        workflow: Some(CONVERSATION_WORKFLOW.to_owned()),
        project: Some(project.to_owned()),
        statuses: OPEN.to_vec(),
        ..RunQuery::default()
    };
    let mut runs = handle.find_runs(&query)?;
    // one that is open in this process is on screen already
    let own = handle.running_runs();
    runs.retain(|run| !own.contains(&run.id));
    runs.sort_by_key(|run| Reverse(run.progress.updated));
    runs.truncate(LISTED);
    Ok(runs)
}

fn check_reopenable(run: &RunSummary, project: &str) -> Result<(), ConversationError> {
    let id = run.id.clone();
    let place = RunPlace::of_run(run, project).on_disk(|path| Path::new(path).is_dir());
    place.check_project(&id, RunOperation::Reopen)?;
    match run.progress.status {
        RunStatus::Running => Err(ConversationError::OpenElsewhere(id)),
        RunStatus::Paused | RunStatus::Interrupted => Ok(()),
        status => Err(ConversationError::Over { run: id, status }),
    }
}
