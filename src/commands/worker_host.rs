//! What a worker of a Restate server gets from this program: the runtime of its project, and the use cases of runs.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::project_place::project_place;
use super::run_command::parse_script;
use super::shared_run_files::{RunFilesSharing, worktree_of};
use synthdev_bootstrap::local_files::repository_identity::directory_identity;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, GitWorktrees, RunModels, WiredRuntime, WorktreeLocation};
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunHeader;
use synthdev_domain::snapshot::RunWorktree;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::run_store::RunStore;
use synthdev_restate::journaled_step::{ProjectPlace, ResumeAnswer, SharedFiles, StepRefusal};
use synthdev_restate::worker::{FilesKeeper, RunHost, StoreWrapper};
use synthdev_runtime::handle::RuntimeHandle;
use synthdev_service::run_control;
use synthdev_service::run_resume::{
    self, AnswerPlan, ResumeOptions, ResumeRequest, ResumeService, RunResumeError, TypedAnswers,
};
use synthdev_service::run_start::{FileLockTime, FileSharingMode, start_run_as};
use synthdev_service::run_steering::RunCommand;
use synthdev_session::context_windows::KnownWindowLookup;
use synthdev_session::past_runs::skip_used_replies;
use synthdev_settings::catalog::ConfigCatalog;

/// One project with its configuration.
pub(crate) struct ProjectRunHost {
    context: StartContext,
    catalog: ConfigCatalog,
    project: ProjectPlace,
    /// A git repository that all hosts reach.
    snapshot_remote: Option<String>,
    worktrees: Arc<GitWorktrees>,
    base: WiredRuntime,
}

impl ProjectRunHost {
    pub(crate) fn new(context: &StartContext, catalog: ConfigCatalog) -> Self {
        let base = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, RunModels::default());
        let project = project_place(&context.project);
        let worktrees = Arc::new(wiring::git_worktrees(&context.project, &context.dirs.data, &catalog));
        let snapshot_remote = catalog.settings().restate_snapshot_remote().map(str::to_owned);
        Self { context: context.clone(), catalog, project, snapshot_remote, worktrees, base }
    }

    pub(crate) fn snapshot_remote(&self) -> Option<&str> {
        self.snapshot_remote.as_deref()
    }

    fn worktree_of(&self, run: &RunId) -> Option<RunWorktree> {
        worktree_of(&*self.base.ports.store, run)
    }

    fn resume_request(
        &self,
        handle: &RuntimeHandle,
        run: &RunId,
        answer: Option<&ResumeAnswer>,
    ) -> Result<ResumeRequest, StepRefusal> {
        let summary = handle.summary(run.as_str()).map_err(|error| refused(&error.message, error.hint))?;
        let windows = KnownWindowLookup(&self.base.providers);
        let service = ResumeService::new(handle, &self.catalog, &windows);
        let approves_all = answer.is_some_and(|answer| answer.approves_all);
        let options = ResumeOptions { approves_all, ..ResumeOptions::default() };
        let request = service.prepare(&summary, options).map_err(|error| resume_refusal(&error))?;
        let Some(answer) = answer else { return Ok(request) };
        let typed = TypedAnswers {
            state: answer.state.as_deref(),
            approves_all,
            results: answer.results.clone(),
            ..TypedAnswers::default()
        };
        match service.place_answers(&summary, typed, request).map_err(|error| resume_refusal(&error))? {
            AnswerPlan::Ready(request) => Ok(*request),
            AnswerPlan::Open(open) => {
                let states: Vec<&str> = open.iter().map(|pause| pause.state.as_str()).collect();
                Err(refused(
                    &format!("run {run} waits for an answer in {}", states.join(", ")),
                    Some("answer it with --results, and --state where several wait".to_owned()),
                ))
            }
        }
    }
}

impl RunHost for ProjectRunHost {
    fn project(&self) -> &ProjectPlace {
        &self.project
    }

    fn store(&self) -> Arc<dyn RunStore> {
        Arc::clone(&self.base.ports.store)
    }

    fn reader(&self) -> &RuntimeHandle {
        &self.base.handle
    }

    fn files_at(&self, run: &RunId) -> String {
        match self.worktree_of(run) {
            Some(tree) => directory_identity(Path::new(&tree.path)),
            None => self.project.directory.clone(),
        }
    }

    fn adopt_files(&self, header: RunHeader, files: Option<&SharedFiles>) -> Result<RunHeader, StepRefusal> {
        let (Some(remote), Some(files)) = (&self.snapshot_remote, files) else {
            return Err(refused(
                &format!("the files of run {} are at another host", header.id),
                Some("set backend.restate.snapshot_remote at all hosts before runs begin".to_owned()),
            ));
        };
        let commits = (files.first.as_deref(), files.present.as_str());
        let adopted = self.worktrees.adopt_files(&header.id, &header.workflow, remote, commits);
        let worktree = adopted.map_err(|error| refused(&error.message, error.hint))?;
        let project = self.project.path.clone();
        Ok(RunHeader { project, worktree: Some(worktree), ..header })
    }

    fn files_keeper(&self, run: &RunId, files: Option<SharedFiles>) -> FilesKeeper {
        let Some(remote) = self.snapshot_remote.clone() else { return Box::new(|_| Ok(None)) };
        let mut sharing =
            RunFilesSharing::new(Arc::clone(&self.worktrees), self.store(), remote, run.clone(), files);
        Box::new(move |rows| sharing.share_files(rows))
    }

    fn forget_files(&self, run: &RunId) {
        if let Some(remote) = &self.snapshot_remote
            && let Err(error) = self.worktrees.forget_pushed_files(run, remote)
        {
            tracing::warn!(%run, "the shared files of an ended run stay: {}", error.message);
        }
    }

    fn open_runtime(
        &self,
        run: &RunId,
        replies: Option<&str>,
        has_begun: bool,
        wrap: StoreWrapper<'_>,
    ) -> Result<RuntimeHandle, StepRefusal> {
        let failed = |error: anyhow::Error| refused(&format!("{error:#}"), None);
        let script = replies.map(|text| parse_script("--replies", text)).transpose().map_err(failed)?;
        let in_project = |handle: &RuntimeHandle| {
            let handle = handle.with_own_subscribers().with_wrapped_store(wrap);
            FileSharingMode::Waits.apply_to(&handle, FileLockTime::BeforeChanges)
        };
        let worktree = self.worktree_of(run);
        if script.is_none() && worktree.is_none() {
            // nothing is made anew for each of many runs
            return Ok(in_project(&self.base.handle));
        }
        let models = RunModels::new(script, &self.context.project, None, None);
        let (project, data) = (&self.context.project, &self.context.dirs.data);
        let wired = match &worktree {
            None => wiring::rewire_runtime(&self.base, project, data, &self.catalog, models),
            Some(tree) => {
                let place = WorktreeLocation { project, worktree: Path::new(&tree.path) };
                wiring::wire_worktree(place, data, &self.catalog, models).with_store_from(&self.base)
            }
        };
        if has_begun {
            skip_used_replies(&wired, run).map_err(failed)?;
        }
        if worktree.is_some() {
            return Ok(wired.without_project_lock().handle.with_own_subscribers().with_wrapped_store(wrap));
        }
        Ok(in_project(&wired.handle))
    }

    fn start(&self, handle: &RuntimeHandle, run: RunId, spec: RunSpec) -> Result<(), StepRefusal> {
        let started = start_run_as(handle, run, spec);
        started.map(drop).map_err(|error| refused(&error.to_string(), error.hint().map(str::to_owned)))
    }

    fn resume<'a>(
        &'a self,
        handle: &'a RuntimeHandle,
        run: &'a RunId,
        answer: Option<&'a ResumeAnswer>,
    ) -> BoxFuture<'a, Result<(), StepRefusal>> {
        Box::pin(async move {
            let request = self.resume_request(handle, run, answer)?;
            let resumed = run_resume::resume_run(handle, run, request).await;
            resumed.map_err(|error| resume_refusal(&error))
        })
    }

    fn check_answer(&self, run: &RunId, answer: &ResumeAnswer) -> Result<(), StepRefusal> {
        self.resume_request(&self.base.handle, run, Some(answer)).map(drop)
    }

    fn end_driven(&self, handle: &RuntimeHandle, run: &RunId) {
        run_control::command_driven_run(handle, run, RunCommand::End);
    }

    fn cancel_suspended<'a>(
        &'a self,
        handle: &'a RuntimeHandle,
        run: &'a RunId,
    ) -> BoxFuture<'a, Result<(), StepRefusal>> {
        Box::pin(async move {
            let failed = |message: String, hint: Option<&str>| refused(&message, hint.map(str::to_owned));
            let summary = handle.summary(run.as_str());
            let summary = summary.map_err(|error| failed(error.message.clone(), error.hint.as_deref()))?;
            let ended = run_control::cancel_run(handle, &summary).await;
            ended.map(drop).map_err(|error| failed(error.to_string(), error.hint()))
        })
    }

    fn leave(&self, handle: &RuntimeHandle, run: &RunId) {
        run_control::command_driven_run(handle, run, RunCommand::Leave);
    }
}

fn refused(message: &str, hint: Option<String>) -> StepRefusal {
    StepRefusal { message: message.to_owned(), hint }
}

fn resume_refusal(error: &RunResumeError) -> StepRefusal {
    refused(&error.to_string(), error.hint())
}
