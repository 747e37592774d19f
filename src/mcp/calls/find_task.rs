//! From the id that a sub-agent has to the run behind it, taking the run up again where its process died.

use std::time::Duration;

use super::super::backend::McpBackend;
use super::super::error::McpCallError;
use super::super::steps::SubAgentError;
use super::tool_call::find_run;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::{RunQuery, RunStatus, RunSummary};
use synthdev_service::delegated_work::task_queue::may_belong_to_run;
use synthdev_service::run_list::find_runs;
use synthdev_service::run_place::{RunOperation, RunPlace};
use synthdev_service::run_resume;

/// Waits for another process that resumes the same run at the same time: how long each time, and how often.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
const LOOKS: usize = 200;

/// One run is read at a time: other calls about it find what was read. After a crash, all sub-agents of a run come
/// at once.
static LOADING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

/// The run of a task, and whether this process drives it.
pub(super) struct FoundTask {
    pub(super) run: RunSummary,
    pub(super) is_driven_here: bool,
}

/// # Errors
/// This project has no such task, or the run cannot be resumed.
pub(super) async fn find_task(backend: &dyn McpBackend, id: &str) -> Result<FoundTask, SubAgentError> {
    let broker = backend.handle().task_broker();
    let found = broker.run_for_task(id).or_else(|| {
        search_runs(backend, Some(backend.project()), |run| may_belong_to_run(id, run)).map(|run| run.id)
    });
    let Some(run) = found else { return Err(unfound_task(backend, id).await) };
    for look in 0..LOOKS {
        let driven = backend.handle().running_runs().contains(&run);
        let Ok(run) = find_run(backend, run.as_str()).await else {
            return Err(unfound_task(backend, id).await);
        };
        if driven {
            return task_in_run(backend, id, run, true);
        }
        if is_resuming(backend, &run) {
            tokio::time::sleep(LOOK_AGAIN).await;
            continue;
        }
        let stands = run.progress.status != RunStatus::Interrupted;
        // an id that is none of the run's sets nothing going
        if stands || broker.run_for_task(id).is_none() {
            if !recover_task(backend, &run).await? {
                tokio::time::sleep(LOOK_AGAIN).await;
                continue;
            }
            if broker.run_for_task(id).is_none() {
                return Err(SubAgentError::unknown_workflow());
            }
        }
        if stands {
            return task_in_run(backend, id, run, false);
        }
        let taken = resume_run(backend, &run).await;
        if let Err(fault) = taken
            && look + 1 == LOOKS
        {
            return Err(fault);
        }
        if !backend.handle().running_runs().contains(&run.id) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }
    Err(SubAgentError::new("not_running", "the workflow could not be resumed; try again"))
}

/// No run of this project has the task. One of another project is named only to a caller with an id that it gave out.
async fn unfound_task(backend: &dyn McpBackend, id: &str) -> SubAgentError {
    let Some(run) = search_runs(backend, None, |run| may_belong_to_run(id, run)) else {
        return SubAgentError::unknown_workflow();
    };
    let is_read = recover_task(backend, &run).await.is_ok();
    let is_given_out = is_read && backend.handle().task_broker().run_for_task(id).as_ref() == Some(&run.id);
    match RunPlace::of_run(&run, backend.project()).check_project(&run.id, RunOperation::Resume) {
        Err(elsewhere) if is_given_out => SubAgentError::new(
            "not_running",
            format!("{elsewhere}; a server of that project takes its steps"),
        ),
        _ => SubAgentError::unknown_workflow(),
    }
}

fn task_in_run(
    backend: &dyn McpBackend,
    id: &str,
    run: RunSummary,
    here: bool,
) -> Result<FoundTask, SubAgentError> {
    if backend.handle().task_broker().run_for_task(id).is_none() {
        return Err(SubAgentError::unknown_workflow());
    }
    Ok(FoundTask { run, is_driven_here: here })
}

/// After a restart, ids are looked for among the runs of a project; `None`: of all.
pub(super) fn search_runs(
    backend: &dyn McpBackend,
    project: Option<&str>,
    fits: impl Fn(&RunId) -> bool,
) -> Option<RunSummary> {
    let query = RunQuery { project: project.map(str::to_owned), ..RunQuery::default() };
    let runs = find_runs(backend.handle(), &query).ok()?;
    runs.into_iter().find(|run| fits(&run.id))
}

/// Whether this process has claimed a run that it does not drive yet, or has just ceased to drive.
fn is_resuming(backend: &dyn McpBackend, run: &RunSummary) -> bool {
    run.progress.status == RunStatus::Running && backend.handle().has_claimed_run(&run.id)
}

/// `false`: a resume of the run is in progress.
async fn recover_task(backend: &dyn McpBackend, run: &RunSummary) -> Result<bool, SubAgentError> {
    let failed = |why: &str| SubAgentError::new("store", format!("the run cannot be read: {why}"));
    let _alone = LOADING.lock().await;
    let (handle, run) = (backend.handle().clone(), run.clone());
    // others are served while a long journal is read
    let read = tokio::task::spawn_blocking(move || handle.load_tasks(&run)).await;
    read.map_err(|_| failed("there is a bug in the program"))?.map_err(|error| failed(&error.message))
}

async fn resume_run(backend: &dyn McpBackend, run: &RunSummary) -> Result<(), SubAgentError> {
    let failed =
        |text: String| SubAgentError::new("not_running", format!("the workflow cannot go on: {text}"));
    let _alone = LOADING.lock().await;
    if backend.handle().running_runs().contains(&run.id) {
        return Ok(());
    }
    let (handle, going) = backend.prepare_resume(run).map_err(|reason| failed(reason.message))?;
    run_resume::resume_run(&handle, &run.id, going).await.map_err(|error| failed(error.to_string()))
}

/// Errors of the protocol are passed on unchanged; everything else is the tool's own answer.
pub(super) fn worker_id(
    arguments: &mut super::super::arguments::ToolArguments,
) -> Result<String, McpCallError> {
    Ok(arguments.text("worker_id")?.unwrap_or_default())
}
