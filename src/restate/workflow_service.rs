//! The workflow at the Restate server: its steps are the rows of one run.
//!
//! The handlers do nothing that a replay would do otherwise: what differs from attempt to attempt is inside of a step.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use restate_sdk::context::RequestTarget;
use restate_sdk::discovery::{Service as DiscoveredService, ServiceName};
use restate_sdk::endpoint::{ContextInternal, Error};
use restate_sdk::prelude::*;
use restate_sdk::service::macro_support::{ServiceBoxFuture, service_definition};
use restate_sdk::service::{Discoverable, Service, ServiceDefinition};

use super::journaled_step::{
    FollowAnswer, FollowRequest, JournaledStep, RefusedAnswer, RunAnswer, RunEnd, RunSubmission, StepRefusal,
    awaits_answer,
};
use super::run_session::ReplayedRun;
use super::worker::RunWorker;
use synthdev_domain::ids::RunId;

/// The number of the answer that a suspended run waits for.
const AWAITED: &str = "awaited_answer";
/// How many rows a suspended run has.
const SUSPENDED_ROWS: &str = "suspended_rows";
/// The last answer that was not taken.
const REFUSED: &str = "refused_answer";
pub(crate) const NOT_WAITING: &str = "the run does not wait for an answer";
/// The error of a workflow that was cancelled at the server.
const CANCELLED: u16 = 409;
const UNFIT: u16 = 422;
/// The server takes messages of 32 MiB.
const LONGEST_ANSWER: usize = 30 * 1024 * 1024;

pub(crate) struct SynthdevRun {
    pub(crate) worker: Arc<RunWorker>,
    /// The host whose runs these are, as the server names it.
    pub(crate) service: String,
}

/// The same under a name that is known when the program runs: the macro takes only one that is in the source.
struct NamedRuns(Arc<SynthdevRun>);

impl Service for NamedRuns {
    type Future = ServiceBoxFuture;

    fn handle(&self, ctx: ContextInternal) -> Self::Future {
        let runs = Arc::clone(&self.0);
        Box::pin(async move {
            match ctx.handler_name() {
                "run" => {
                    let (input, metadata) = ctx.input().await;
                    ctx.handle_handler_result(runs.run((&ctx, metadata).into(), input).await);
                }
                "answer" => {
                    let (input, metadata) = ctx.input().await;
                    ctx.handle_handler_result(runs.answer((&ctx, metadata).into(), input).await);
                }
                "follow" => {
                    let (input, metadata) = ctx.input().await;
                    ctx.handle_handler_result(runs.follow((&ctx, metadata).into(), input).await);
                }
                "cancel" => {
                    let ((), metadata) = ctx.input().await;
                    ctx.handle_handler_result(runs.cancel((&ctx, metadata).into()).await);
                }
                "leave" => {
                    let ((), metadata) = ctx.input().await;
                    ctx.handle_handler_result(runs.leave((&ctx, metadata).into()).await);
                }
                "take" => {
                    let ((), metadata) = ctx.input().await;
                    ctx.handle_handler_result(runs.take((&ctx, metadata).into()).await);
                }
                "clock" => {
                    let ((), metadata) = ctx.input().await;
                    ctx.handle_handler_result(runs.clock((&ctx, metadata).into()).await);
                }
                _ => return Err(Error::unknown_handler(ctx.service_name(), ctx.handler_name())),
            }
            ctx.end();
            Ok(())
        })
    }
}

/// `None`: the server does not take such a name.
pub(crate) fn named_service(runs: SynthdevRun) -> Option<ServiceDefinition> {
    let name = ServiceName::try_from(runs.service.clone()).ok()?;
    let discovery = DiscoveredService { name, ..SynthdevRun::discover() };
    Some(service_definition(NamedRuns(Arc::new(runs)), discovery))
}

#[workflow]
impl SynthdevRun {
    /// Drives the run to its end.
    #[handler]
    async fn run(
        &self,
        ctx: WorkflowContext<'_>,
        submission: Json<RunSubmission>,
    ) -> HandlerResult<Json<RunEnd>> {
        let run = RunId::from(ctx.key());
        let submission = submission.into_inner();
        let replayed = Arc::new(Mutex::new(ReplayedRun::new(submission.clone())));
        let mut answers = 0;
        loop {
            let (number, begun) = {
                let replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
                (replayed.steps, replayed.has_begun())
            };
            let (worker, own, shared) = (Arc::clone(&self.worker), run.clone(), Arc::clone(&replayed));
            let (service, driven) = (self.service.clone(), Arc::new(AtomicBool::new(false)));
            let is_driven = Arc::clone(&driven);
            let step = ctx
                .run(move || async move {
                    is_driven.store(true, Ordering::Relaxed);
                    Ok(Json(worker.next_step(&service, &own, &shared).await?))
                })
                .name(format!("rows {number}"))
                .await;
            let step = match step {
                Ok(Json(step)) => step,
                Err(error) if error.code() == CANCELLED => {
                    self.worker.cancel(&run);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            {
                let mut replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
                if driven.load(Ordering::Relaxed) {
                    self.worker.mark_journaled(&run, number, &step);
                } else {
                    self.worker.note_replayed(&run, &mut replayed, &step);
                }
                replayed.push_step(&step);
            }
            match step {
                JournaledStep::Rows { .. } | JournaledStep::Part { .. } => continue,
                JournaledStep::Refused { refusal, .. } if !begun => {
                    return Err(terminal(&refusal).into());
                }
                JournaledStep::Ended { progress, .. } if !awaits_answer(&progress) => {
                    return Ok(Json(RunEnd::Ended(progress)));
                }
                JournaledStep::HandedOver { service } => {
                    return Ok(Json(self.hand_over(&ctx, submission, service)));
                }
                JournaledStep::Refused { refusal, .. } => {
                    ctx.set(REFUSED, Json(RefusedAnswer { number: answers, refusal }));
                }
                JournaledStep::Ended { .. } => {}
            }
            answers += 1;
            let rows = replayed.lock().unwrap_or_else(PoisonError::into_inner).row_count();
            ctx.set(SUSPENDED_ROWS, rows);
            let answer = wait_for_answer(&ctx, answers).await?;
            replayed.lock().unwrap_or_else(PoisonError::into_inner).set_answer(answer);
        }
    }

    /// Answers a suspended run; the number of the answer.
    #[handler]
    async fn answer(&self, ctx: SharedWorkflowContext<'_>, answer: Json<RunAnswer>) -> HandlerResult<u64> {
        let (run, answer) = (RunId::from(ctx.key()), answer.into_inner());
        let Some(number) = ctx.get::<u64>(AWAITED).await? else {
            return Err(TerminalError::new_with_code(CANCELLED, NOT_WAITING).into());
        };
        // a host that has just taken the run over does not know it yet
        if let RunAnswer::Resume(typed) = &answer
            && self.worker.is_known(&run)
        {
            self.worker.host().check_answer(&run, typed).map_err(|refused| terminal(&refused))?;
        }
        let key = answer_key(number);
        if ctx.peek_promise::<Json<RunAnswer>>(&key).await?.is_some() {
            return Err(terminal(&just_answered(&run)).into());
        }
        ctx.resolve_promise(&key, Json(answer));
        Ok(number)
    }

    /// Ends a run for good.
    #[handler]
    async fn cancel(&self, ctx: SharedWorkflowContext<'_>) -> HandlerResult<()> {
        let run = RunId::from(ctx.key());
        if self.worker.cancel(&run) {
            return Ok(());
        }
        match ctx.get::<u64>(AWAITED).await? {
            Some(number) => ctx.resolve_promise(&answer_key(number), Json(RunAnswer::Cancel)),
            None => return Err(TerminalError::new_with_code(CANCELLED, "the run has ended").into()),
        }
        Ok(())
    }

    /// Gives up all runs of this service: the server calls another host for them from now on.
    #[handler]
    async fn leave(&self, _: SharedWorkflowContext<'_>) -> HandlerResult<()> {
        let left = self.worker.leave_service(&self.service).await;
        Ok(left.map_err(|refused| terminal(&refused))?)
    }

    /// The server calls this host for the runs of this service from now on.
    #[handler]
    async fn take(&self, _: SharedWorkflowContext<'_>) -> HandlerResult<()> {
        self.worker.take_service(&self.service);
        Ok(())
    }

    /// The time of the host.
    #[handler]
    async fn clock(&self, _: SharedWorkflowContext<'_>) -> HandlerResult<i64> {
        Ok(self.worker.host().reader().now().0)
    }

    /// What happened since.
    #[handler]
    async fn follow(
        &self,
        ctx: SharedWorkflowContext<'_>,
        asked: Json<FollowRequest>,
    ) -> HandlerResult<Json<FollowAnswer>> {
        let (worker, run) = (Arc::clone(&self.worker), RunId::from(ctx.key()));
        let asked = asked.into_inner();
        self.load_moved_run(&ctx, &run).await?;
        worker.wait_for_news(&run, asked).await;
        let followed = tokio::task::spawn_blocking(move || worker.follow(&run, asked)).await?;
        let followed = followed.map_err(|refused| terminal(&refused))?;
        let refused = ctx.get::<Json<RefusedAnswer>>(REFUSED).await?.map(Json::into_inner);
        let answer = FollowAnswer { refused, ..followed };
        check_length(ctx.key(), &answer).map_err(|refused| terminal(&refused))?;
        Ok(Json(answer))
    }
}

impl SynthdevRun {
    /// A host to which a suspended run was moved has its rows when the server calls it: now.
    async fn load_moved_run(&self, ctx: &SharedWorkflowContext<'_>, run: &RunId) -> HandlerResult<()> {
        let (Some(number), Some(rows)) =
            (ctx.get::<u64>(AWAITED).await?, ctx.get::<u64>(SUSPENDED_ROWS).await?)
        else {
            return Ok(());
        };
        if self.worker.has_rows(run, rows) {
            return Ok(());
        }
        let key = answer_key(number);
        if ctx.peek_promise::<Json<RunAnswer>>(&key).await?.is_none() {
            ctx.resolve_promise(&key, Json(RunAnswer::Load));
            // what was said reaches the server when something is asked of it
            ctx.peek_promise::<Json<RunAnswer>>(&key).await?;
        }
        self.worker.wait_for_rows(run, rows).await;
        Ok(())
    }

    /// Journaled with the rest: the other host gets the run exactly once.
    fn hand_over(&self, ctx: &WorkflowContext<'_>, submission: RunSubmission, service: String) -> RunEnd {
        let mut handed_over_by = submission.handed_over_by.clone();
        handed_over_by.push(self.service.clone());
        let target = RequestTarget::workflow(service.clone(), ctx.key(), "run");
        ctx.request::<_, Json<RunEnd>>(target, Json(RunSubmission { handed_over_by, ..submission })).send();
        RunEnd::HandedOver { handed_over_to: service }
    }
}

/// The server would ask for one that is too long again and again.
fn check_length(run: &str, answer: &FollowAnswer) -> Result<(), StepRefusal> {
    let mut length = ByteCount(0);
    let is_short = serde_json::to_writer(&mut length, answer).is_ok() && length.0 <= LONGEST_ANSWER;
    if is_short {
        return Ok(());
    }
    Err(StepRefusal {
        message: format!("what happened in run {run} is too long for the Restate server: {} MiB", length.0 >> 20),
        hint: Some(
            "the run goes on: `synthdev runs show` at its host has all of it; set tools.output_limit_bytes there to \
             less than 8 MiB"
                .to_owned(),
        ),
    })
}

struct ByteCount(usize);

impl std::io::Write for ByteCount {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// A cancel at the server ends the run.
async fn wait_for_answer(ctx: &WorkflowContext<'_>, number: u64) -> HandlerResult<RunAnswer> {
    ctx.set(AWAITED, number);
    let key = answer_key(number);
    let answer = match ctx.promise::<Json<RunAnswer>>(&key).await {
        Ok(Json(answer)) => answer,
        Err(error) if error.code() == CANCELLED => RunAnswer::Cancel,
        Err(error) => return Err(error.into()),
    };
    ctx.clear(AWAITED);
    Ok(answer)
}

fn just_answered(run: &RunId) -> StepRefusal {
    StepRefusal {
        message: format!("run {run} has just got another answer, or its host reads it"),
        hint: Some("look what it waits for now, and answer again if it does".to_owned()),
    }
}

fn answer_key(number: u64) -> String {
    format!("answer-{number}")
}

/// The server does not try again.
fn terminal(refused: &StepRefusal) -> TerminalError {
    let text = serde_json::to_string(refused).unwrap_or_else(|_| refused.message.clone());
    TerminalError::new_with_code(UNFIT, text)
}
