//! `get_next_step`: the step that a sub-agent is to do now (S4.3, D1, D2, D11).

use std::time::Duration;

use serde_json::{Value, json};

use super::super::arguments::Arguments;
use super::super::refusal::Refusal;
use super::super::steps::{Fault, of_step, of_told};
use super::call::Call;
use super::reach::{Reached, reach, worker};
use crate::domain::journal::RunStatus;
use crate::runtime::errands::{Ended, Next};

/// What the run does itself between two steps mostly takes less.
const SOON: Duration = Duration::from_millis(1_000);
const RETRY_AFTER_MS: u64 = 1_000;
/// Where a person must decide something first.
const LATER_MS: u64 = 10_000;

pub(super) async fn next_step(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflow_id"], &["worker_id"])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let worker = worker(&mut arguments)?;
    Ok(next(&call, &id, &worker).await.unwrap_or_else(|fault| fault.told("error")))
}

pub(super) async fn next(call: &Call<'_>, id: &str, worker: &str) -> Result<Value, Fault> {
    let reached = reach(call.backend, id).await?;
    let handle = call.backend.handle();
    let desk = handle.desk();
    let mut news = desk.watch();
    let soon = tokio::time::Instant::now() + SOON;
    loop {
        news.mark_unchanged();
        match desk.next(id, worker, handle.ports().clock.now()) {
            Next::Unknown => return Err(Fault::unknown()),
            Next::Ended(Ended::Complete(result)) => {
                return Ok(json!({"status": "complete", "final_result": result}));
            }
            Next::Ended(Ended::Failed { code, text }) => return Err(Fault::of_end(&code, &text)),
            Next::Told(told) => return Ok(json!({"status": "pending_step", "step": of_told(&told)})),
            Next::Step(_) | Next::Waiting if !reached.here => return elsewhere(&reached),
            Next::Step(handed) => {
                let task = desk.look(id).map(|look| look.errand.name).unwrap_or_default();
                return Ok(json!({"status": "pending_step", "step": of_step(&handed, id, &task)}));
            }
            Next::Waiting => {}
        }
        tokio::select! {
            changed = news.changed() => if changed.is_err() { break },
            () = tokio::time::sleep_until(soon) => break,
            () = call.client.context.ct.cancelled() => break,
        }
    }
    Ok(json!({"status": "waiting", "retry_after_ms": RETRY_AFTER_MS}))
}

/// The run is not driven here.
fn elsewhere(reached: &Reached) -> Result<Value, Fault> {
    match reached.run.progress.status {
        RunStatus::Paused => {
            let message = "a person must decide something before the workflow goes on";
            Ok(json!({"status": "waiting", "retry_after_ms": LATER_MS, "message": message}))
        }
        _ => Err(Fault::new("not_running", "another process works on this workflow; ask its server")),
    }
}
