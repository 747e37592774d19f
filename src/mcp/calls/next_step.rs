//! `get_next_step`: the step that a sub-agent is to do now (S4.3, D1, D2, D11).

use std::time::Duration;

use serde_json::{Value, json};

use super::super::arguments::Arguments;
use super::super::refusal::Refusal;
use super::super::steps::{Fault, MOST_STEPS, of_step, of_told};
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
    let optional = ["worker_id", "max_steps"];
    let mut arguments = Arguments::read(call.arguments.take(), &["workflow_id"], &optional)?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let worker = worker(&mut arguments)?;
    let most = arguments.count("max_steps", 1, MOST_STEPS)?;
    Ok(next(&call, &id, &worker, most).await.unwrap_or_else(|fault| fault.told("error")))
}

/// `most`: so many steps of one kind, where they are ready together (SUBA-21).
pub(super) async fn next(call: &Call<'_>, id: &str, worker: &str, most: usize) -> Result<Value, Fault> {
    let reached = reach(call.backend, id).await?;
    let handle = call.backend.handle();
    let desk = handle.desk();
    let mut news = desk.watch();
    let soon = tokio::time::Instant::now() + SOON;
    loop {
        news.mark_unchanged();
        match desk.next(id, worker, most, handle.ports().clock.now()) {
            Next::Unknown => return Err(Fault::unknown()),
            Next::Ended(Ended::Complete(result)) => {
                return Ok(json!({"status": "complete", "final_result": result}));
            }
            Next::Ended(Ended::Failed { code, text }) => return Err(Fault::of_end(&code, &text)),
            Next::Told(told, further) => {
                return Ok(pending(&of_told(&told), further.iter().map(of_told).collect()));
            }
            Next::Step(..) | Next::Waiting if !reached.here => return elsewhere(&reached),
            Next::Step(handed, further) => {
                let task = desk.look(id).map(|look| look.errand.name).unwrap_or_default();
                let further = further.iter().map(|handed| of_step(handed, id, &task)).collect();
                return Ok(pending(&of_step(&handed, id, &task), further));
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

fn pending(step: &Value, further: Vec<Value>) -> Value {
    let mut told = json!({"status": "pending_step", "step": step});
    if !further.is_empty() {
        told["further_steps"] = Value::Array(further);
    }
    told
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
