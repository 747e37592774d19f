//! What a worker of a Restate server gets from this program: the runtime of its project, and the use cases of runs.

use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::project_place::project_place;
use super::run_command::parse_script;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels, WiredRuntime};
use synthdev_domain::ids::RunId;
use synthdev_engine::run_spec::RunSpec;
use synthdev_ports::run_store::RunStore;
use synthdev_restate::journaled_step::{ProjectPlace, ResumeAnswer, StepRefusal};
use synthdev_restate::worker::{RunHost, StoreWrapper};
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
    base: WiredRuntime,
}

impl ProjectRunHost {
    pub(crate) fn new(context: &StartContext, catalog: ConfigCatalog) -> Self {
        let base = wiring::wire_runtime(&context.project, &context.dirs.data, &catalog, RunModels::default());
        let project = project_place(&context.project);
        Self { context: context.clone(), catalog, project, base }
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

    fn open_runtime(
        &self,
        run: &RunId,
        replies: Option<&str>,
        has_begun: bool,
        wrap: StoreWrapper<'_>,
    ) -> Result<RuntimeHandle, StepRefusal> {
        let failed = |error: anyhow::Error| refused(&format!("{error:#}"), None);
        let script = replies.map(|text| parse_script("--replies", text)).transpose().map_err(failed)?;
        let models = RunModels::new(script, &self.context.project, None, None);
        let (project, data) = (&self.context.project, &self.context.dirs.data);
        let wired = wiring::rewire_runtime(&self.base, project, data, &self.catalog, models);
        if has_begun {
            skip_used_replies(&wired, run).map_err(failed)?;
        }
        Ok(FileSharingMode::Waits
            .apply_to(&wired.handle.with_wrapped_store(wrap), FileLockTime::BeforeChanges))
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
