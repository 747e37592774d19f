//! The workflow at the Restate server: its steps are the rows of one run.
//!
//! The handlers do nothing that a replay would do otherwise: what differs from attempt to attempt is inside of a step.

use std::sync::{Arc, Mutex, PoisonError};

use restate_sdk::prelude::*;

use super::journaled_step::{
    FollowAnswer, FollowRequest, JournaledStep, RefusedAnswer, RunAnswer, RunSubmission, StepRefusal,
    awaits_answer,
};
use super::run_session::ReplayedRun;
use super::worker::RunWorker;
use synthdev_domain::ids::RunId;
use synthdev_domain::journal::RunProgress;

/// The number of the answer that a suspended run waits for.
const AWAITED: &str = "awaited_answer";
/// The last answer that was not taken.
const REFUSED: &str = "refused_answer";
/// The error of a workflow that was cancelled at the server.
const CANCELLED: u16 = 409;
const UNFIT: u16 = 422;

pub(crate) struct SynthdevRun {
    pub(crate) worker: Arc<RunWorker>,
}

#[workflow]
impl SynthdevRun {
    /// Drives the run to its end.
    #[handler]
    async fn run(
        &self,
        ctx: WorkflowContext<'_>,
        submission: Json<RunSubmission>,
    ) -> HandlerResult<Json<RunProgress>> {
        let run = RunId::from(ctx.key());
        let replayed = Arc::new(Mutex::new(ReplayedRun::new(submission.into_inner())));
        let mut answers = 0;
        loop {
            let (number, begun) = {
                let replayed = replayed.lock().unwrap_or_else(PoisonError::into_inner);
                (replayed.steps, replayed.has_begun())
            };
            let (worker, own, shared) = (Arc::clone(&self.worker), run.clone(), Arc::clone(&replayed));
            let step = ctx
                .run(move || async move { Ok(Json(worker.next_step(&own, &shared).await?)) })
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
            self.worker.mark_journaled(&run, number, &step);
            replayed.lock().unwrap_or_else(PoisonError::into_inner).push_step(&step);
            match step {
                JournaledStep::Rows { .. } => continue,
                JournaledStep::Refused(refused) if !begun => return Err(terminal(&refused).into()),
                JournaledStep::Ended { progress } if !awaits_answer(&progress) => return Ok(Json(*progress)),
                JournaledStep::Refused(refusal) => {
                    ctx.set(REFUSED, Json(RefusedAnswer { number: answers, refusal }));
                }
                JournaledStep::Ended { .. } => {}
            }
            answers += 1;
            let answer = wait_for_answer(&ctx, answers).await?;
            replayed.lock().unwrap_or_else(PoisonError::into_inner).set_answer(answer);
        }
    }

    /// Answers a suspended run; the number of the answer.
    #[handler]
    async fn answer(&self, ctx: SharedWorkflowContext<'_>, answer: Json<RunAnswer>) -> HandlerResult<u64> {
        let (run, answer) = (RunId::from(ctx.key()), answer.into_inner());
        let Some(number) = ctx.get::<u64>(AWAITED).await? else {
            return Err(TerminalError::new_with_code(CANCELLED, "the run does not wait for an answer").into());
        };
        if let RunAnswer::Resume(typed) = &answer {
            self.worker.host().check_answer(&run, typed).map_err(|refused| terminal(&refused))?;
        }
        ctx.resolve_promise(&answer_key(number), Json(answer));
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

    /// What happened since.
    #[handler]
    async fn follow(
        &self,
        ctx: SharedWorkflowContext<'_>,
        asked: Json<FollowRequest>,
    ) -> HandlerResult<Json<FollowAnswer>> {
        let (worker, run) = (Arc::clone(&self.worker), RunId::from(ctx.key()));
        let asked = asked.into_inner();
        worker.wait_for_news(&run, asked).await;
        let followed = tokio::task::spawn_blocking(move || worker.follow(&run, asked)).await?;
        let followed = followed.map_err(|refused| terminal(&refused))?;
        let refused = ctx.get::<Json<RefusedAnswer>>(REFUSED).await?.map(Json::into_inner);
        Ok(Json(FollowAnswer { refused, ..followed }))
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

fn answer_key(number: u64) -> String {
    format!("answer-{number}")
}

/// The server does not try again.
fn terminal(refused: &StepRefusal) -> TerminalError {
    let text = serde_json::to_string(refused).unwrap_or_else(|_| refused.message.clone());
    TerminalError::new_with_code(UNFIT, text)
}
