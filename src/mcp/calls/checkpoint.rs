//! `checkpoint_workflow` and `restore_workflow`: the state of a task is kept, and brought back (SUBA-20).

use std::time::Duration;

use serde_json::{Value, json};

use super::super::arguments::Arguments;
use super::super::refusal::{Refusal, invalid};
use super::super::steps::Fault;
use super::call::Call;
use super::reach::reach;
use crate::engine::machine::POINTS;
use crate::engine::steering::Steering;
use crate::runtime::command::Command;
use crate::runtime::errands::{Look, SubmitError};

/// The run does it between two inputs; it may have much to do before.
const PATIENCE: Duration = Duration::from_secs(5);
/// Of a name, in characters.
const LONGEST: usize = 64;

pub(super) async fn keep(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflow_id"], &["checkpoint"])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let name = name(&mut arguments)?;
    Ok(kept(&call, &id, name).await.unwrap_or_else(|fault| fault.told("error")))
}

pub(super) async fn restore(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflow_id", "checkpoint"], &[])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    let name = name(&mut arguments)?.unwrap_or_default();
    Ok(restored(&call, &id, name).await.unwrap_or_else(|fault| fault.told("error")))
}

fn name(arguments: &mut Arguments) -> Result<Option<String>, Refusal> {
    let name = arguments.text("checkpoint")?;
    if name.as_ref().is_some_and(|name| name.trim().is_empty() || name.chars().count() > LONGEST) {
        let message = format!("`checkpoint` must be a name of 1 to {LONGEST} characters");
        return Err(invalid(message, json!({"type": "wrong_argument", "argument": "checkpoint"})));
    }
    Ok(name)
}

async fn kept(call: &Call<'_>, id: &str, name: Option<String>) -> Result<Value, Fault> {
    let look = open(call, id).await?;
    if matches!(look.remaining, None | Some(0)) {
        let text = "nothing waits for you at this moment; call get_next_step, then this again";
        return Err(Fault::new("no_step", text));
    }
    let free = |number: &usize| !look.points.contains(&format!("checkpoint-{number}"));
    let name = name.unwrap_or_else(|| {
        let number = (1..).find(free).unwrap_or_default();
        format!("checkpoint-{number}")
    });
    if look.points.contains(&name) {
        return Err(Fault::new("checkpoint_exists", format!("there is a checkpoint `{name}` already")));
    }
    if look.points.len() >= POINTS {
        let text = format!("a task has at most {POINTS} checkpoints");
        return Err(Fault::new("too_many_checkpoints", text));
    }
    let steering = Steering::Keep { lane: look.lane, name: name.clone() };
    let there = |now: &Look| now.points.contains(&name);
    let now = done(call, id, steering, there).await?;
    Ok(json!({"status": "stored", "workflow_id": id, "checkpoint": name, "state_version": now.version}))
}

async fn restored(call: &Call<'_>, id: &str, name: String) -> Result<Value, Fault> {
    let look = open(call, id).await?;
    if !look.points.contains(&name) {
        let text = match look.points.as_slice() {
            [] => "this task has no checkpoint".to_owned(),
            known => format!("there is no such checkpoint; there are {}", known.join(", ")),
        };
        return Err(Fault::new("unknown_checkpoint", text));
    }
    let before = look.went_back;
    let steering = Steering::GoBack { lane: look.lane, name: name.clone() };
    let now = done(call, id, steering, |now| now.went_back > before && now.current.is_some()).await?;
    Ok(json!({
        "status": "restored",
        "workflow_id": id,
        "checkpoint": name,
        "current_step": now.current,
        "state": now.errand.data,
        "state_version": now.version,
    }))
}

/// A task that is not done, of a run that is driven here.
async fn open(call: &Call<'_>, id: &str) -> Result<Look, Fault> {
    let reached = reach(call.backend, id).await?;
    let look = call.backend.handle().desk().look(id).ok_or_else(Fault::unknown)?;
    if let Some(ended) = look.ended {
        return Err(Fault::of(SubmitError::Over(ended)));
    }
    if reached.here { Ok(look) } else { Err(Fault::of(SubmitError::NotRunning)) }
}

/// Has the run do it, and waits until it has.
async fn done(
    call: &Call<'_>,
    id: &str,
    steering: Steering,
    there: impl Fn(&Look) -> bool,
) -> Result<Look, Fault> {
    let handle = call.backend.handle();
    let desk = handle.desk();
    let mut news = desk.watch();
    let run = desk.run_of(id).ok_or_else(Fault::unknown)?;
    handle.send(&run, Command::Steer(steering));
    let wait = async {
        loop {
            news.mark_unchanged();
            let now = desk.look(id).ok_or_else(Fault::unknown)?;
            if there(&now) {
                return Ok(now);
            }
            if news.changed().await.is_err() {
                return Err(Fault::of(SubmitError::NotRunning));
            }
        }
    };
    let text = "the task is between two steps; call get_next_step, then this again";
    tokio::time::timeout(PATIENCE, wait).await.unwrap_or_else(|_| Err(Fault::new("no_step", text)))
}
