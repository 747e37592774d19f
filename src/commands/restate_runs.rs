//! `run` and `resume` with `--backend restate`: the run is handed to a Restate server and followed from here.

use std::time::Duration;

use anyhow::{Result, anyhow, bail};

use super::diagnostics;
use super::load_config::load_catalog;
use super::project_place::project_place;
use super::read_only::error_with_hint;
use super::run_to_end::{build_runtime, interrupt_receiver};
use synthdev_bootstrap::local_files::file_io;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring::{self, RunModels};
use synthdev_cli::args::{BackendArg, ResumeArgs, RunArgs};
use synthdev_cli::headless::{
    self, FinalReport, HeadlessOutput, InterruptReceiver, InterruptSource, PauseReport,
};
use synthdev_cli::output::print_stderr;
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::{RunProgress, RunStatus};
use synthdev_engine::run_spec::RunSpec;
use synthdev_restate::journaled_step::{
    FollowRequest, ResumeAnswer, RunAnswer, RunEnd, RunSubmission, StepRefusal,
};
use synthdev_restate::server_client::{PlacedRun, RestateAddresses, RestateClient};
use synthdev_service::data_assignments::json_or_words;
use synthdev_service::run_events::{DEFINITION_WARNING, PublishedEvent, RunEvent};
use synthdev_settings::catalog::ConfigCatalog;

/// Between two looks at a run; the worker answers the next one when there is something to see.
const LOOK: Duration = Duration::from_millis(10);

pub(crate) fn open_client(catalog: &ConfigCatalog) -> Result<RestateClient> {
    let (ingress, admin, token) = catalog.settings().restate_server();
    let auth_token = token.map(|token| token.expose_secret().to_owned());
    let addresses = RestateAddresses { ingress: ingress.to_owned(), admin: admin.to_owned(), auth_token };
    RestateClient::new(addresses).map_err(refusal_error)
}

pub(crate) fn refusal_error(refused: StepRefusal) -> anyhow::Error {
    error_with_hint(&refused.message, refused.hint.as_deref())
}

/// Starts the run and follows it to its end.
pub(crate) fn run_workflow(
    context: &StartContext,
    catalog: &ConfigCatalog,
    args: &RunArgs,
    mut spec: RunSpec,
    show: HeadlessOutput,
) -> Result<u8> {
    if spec.program.workflows.first().is_some_and(|root| root.isolated) {
        bail!(
            "this workflow wants a worktree of its own, which --backend restate does not give yet\nhint: run it without --backend"
        );
    }
    let client = open_client(catalog)?;
    let wired = wiring::wire_runtime(&context.project, &context.dirs.data, catalog, RunModels::default());
    let run = wired.handle.draw_run_id();
    let warnings = std::mem::take(&mut spec.program.start_warnings);
    let replies = args.replies.as_deref().map(file_io::read_text_file).transpose()?;
    let project = project_place(&context.project);
    let submission = RunSubmission { project, spec, replies, handed_over_by: Vec::new() };
    let runtime = build_runtime()?;
    let report = runtime.block_on(async {
        let interrupts = interrupt_receiver();
        let service = client.choose_host(&submission.project).await.map_err(refusal_error)?;
        let run = PlacedRun { service, id: run };
        client.submit(&run, &submission).await.map_err(refusal_error)?;
        let mut followed = FollowedRun::new(&client, run, show);
        let at = wired.handle.now();
        warnings.into_iter().for_each(|text| followed.warn(at, text));
        followed.follow_to_end(interrupts).await
    });
    runtime.shutdown_background();
    Ok(headless::print_result(&report?, show)?)
}

/// Answers a suspended run and follows it to its end.
pub(crate) fn resume_run(context: &StartContext, args: &ResumeArgs) -> Result<u8> {
    let show = HeadlessOutput { json: args.json, events: args.events, progress: !args.json && !args.events };
    let (catalog, _) = load_catalog(context, context.overrides.clone(), None)?;
    diagnostics::ensure_sound(&catalog)?;
    let client = open_client(&catalog)?;
    let run = RunId::from(args.run.as_str());
    let results = args.results.as_deref().map(json_or_words).transpose();
    let results = results
        .map_err(|error| anyhow!("--results is not JSON: {error}\nhint: plain words need no quotes"))?;
    let answer = ResumeAnswer { state: args.state.clone(), results, approves_all: args.yes };
    let runtime = build_runtime()?;
    let report = runtime.block_on(async {
        let interrupts = interrupt_receiver();
        let run = client.find_run(&run).await.map_err(refusal_error)?;
        let mut followed = FollowedRun::new(&client, run, show);
        followed.skip_past().await?;
        let answered = client.answer(&followed.run, &RunAnswer::Resume(answer)).await;
        followed.answered = Some(answered.map_err(refusal_error)?);
        followed.follow_to_end(interrupts).await
    });
    runtime.shutdown_background();
    Ok(headless::print_result(&report?, show)?)
}

/// A run at the server, as its client sees it.
struct FollowedRun<'c> {
    client: &'c RestateClient,
    run: PlacedRun,
    show: HeadlessOutput,
    seen: FollowRequest,
    report: FinalReport,
    progress: Option<RunProgress>,
    /// The number of the answer that this client gave.
    answered: Option<u64>,
}

impl<'c> FollowedRun<'c> {
    fn new(client: &'c RestateClient, run: PlacedRun, show: HeadlessOutput) -> Self {
        let backend = Some(BackendArg::Restate.as_str());
        let report = FinalReport { run_id: Some(run.id.clone()), backend, ..FinalReport::default() };
        let seen = FollowRequest::default();
        Self { client, run, show, seen, report, progress: None, answered: None }
    }

    fn warn(&mut self, at: Timestamp, text: String) {
        let event = RunEvent::Warning { code: DEFINITION_WARNING.to_owned(), text };
        self.show_event(&PublishedEvent { run: self.run.id.clone(), at, at_step: 0, event });
    }

    /// `true` at the end.
    fn show_event(&mut self, published: &PublishedEvent) -> bool {
        if headless::print_event(published, self.show).is_err() {
            // the run goes on: the history of its worker has all of it
            self.show.events = false;
        }
        headless::apply_event(&mut self.report, published, self.show)
    }

    /// What happened before is not told again.
    async fn skip_past(&mut self) -> Result<()> {
        let show = std::mem::take(&mut self.show);
        self.look().await?;
        self.show = show;
        self.report.warnings.clear();
        Ok(())
    }

    /// Reads what happened since; `true`: the run has ended or is suspended.
    async fn look(&mut self) -> Result<bool> {
        let answer = self.client.follow(&self.run, self.seen).await.map_err(refusal_error)?;
        if let Some(refused) = answer.refused.filter(|refused| self.answered == Some(refused.number)) {
            return Err(refusal_error(refused.refusal));
        }
        self.seen.version = answer.version;
        self.seen.events += answer.events.len();
        self.progress = answer.progress.or(self.progress.take());
        let mut ended = false;
        for published in &answer.events {
            ended = self.show_event(published);
        }
        if answer.events.is_empty()
            && let Some(end) = self.client.outcome(&self.run).await.map_err(refusal_error)?
        {
            match end {
                RunEnd::HandedOver { handed_over_to } => {
                    self.run.service = handed_over_to;
                    self.seen = FollowRequest::default();
                }
                RunEnd::Ended(progress) => {
                    self.apply_progress(*progress);
                    return Ok(true);
                }
            }
        }
        Ok(ended)
    }

    fn apply_progress(&mut self, progress: RunProgress) {
        self.report.status = progress.status;
        self.report.output.clone_from(&progress.output);
        self.report.error.clone_from(&progress.error);
        self.report.path = progress.path.iter().map(ToString::to_string).collect();
        (self.report.usage, self.report.cost_usd) = (progress.usage, progress.cost_usd);
        self.progress = Some(progress);
    }

    /// Ctrl+C cancels the run; a signal of the system leaves it to the server.
    async fn follow_to_end(mut self, mut interrupts: InterruptReceiver) -> Result<FinalReport> {
        loop {
            tokio::select! {
                biased;
                Some(who) = interrupts.recv() => match who {
                    InterruptSource::Person => self.client.cancel(&self.run).await.map_err(refusal_error)?,
                    InterruptSource::System => {
                        print_stderr(format_args!("run {} goes on at the Restate server", self.run.id));
                        self.report.status = RunStatus::Running;
                        return Ok(self.report);
                    }
                },
                ended = self.look() => {
                    if ended? {
                        break;
                    }
                    tokio::time::sleep(LOOK).await;
                }
            }
        }
        if matches!(self.report.status, RunStatus::Paused | RunStatus::Failed) {
            let open = self.progress.map(|progress| progress.pauses).unwrap_or_default();
            let without_token =
                |pause| PauseReport { pause, resume_token: None, expires_at: None, expires_in_seconds: None };
            self.report.pauses = open.into_iter().map(without_token).collect();
        }
        Ok(self.report)
    }
}
