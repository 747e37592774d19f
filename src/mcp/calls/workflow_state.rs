//! `get_workflow_state`: how a task stands, for whoever looks for what is wrong (S4.6, D12, D13).

use serde_json::{Value, json};

use super::super::arguments::Arguments;
use super::super::refusal::Refusal;
use super::super::steps::Fault;
use super::call::Call;
use super::reach::reach;

pub(super) async fn workflow_state(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflow_id"], &[])?;
    let id = arguments.text("workflow_id")?.unwrap_or_default();
    Ok(look(&call, &id).await.unwrap_or_else(|fault| fault.told("error")))
}

async fn look(call: &Call<'_>, id: &str) -> Result<Value, Fault> {
    reach(call.backend, id).await?;
    let look = call.backend.handle().desk().look(id).ok_or_else(Fault::unknown)?;
    let mut told = json!({
        "workflow_id": id,
        "current_step": look.current,
        "state": look.errand.data,
        "completed_steps": look.completed,
        "remaining_steps": look.remaining,
    });
    if !look.points.is_empty() {
        told["checkpoints"] = json!(look.points);
    }
    Ok(told)
}
