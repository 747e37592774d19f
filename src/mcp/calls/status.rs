//! `get_workflow_status`: how a run stands; for one that waits with a new token (B5).

use serde_json::Value;

use super::super::arguments::Arguments;
use super::super::refusal::Refusal;
use super::call::{Call, run_of, told};

pub(super) fn status(mut call: Call<'_>) -> Result<Value, Refusal> {
    let mut arguments = Arguments::read(call.arguments.take(), &["workflowId"], &[])?;
    let id = arguments.text("workflowId")?.unwrap_or_default();
    Ok(told(call.backend, &run_of(call.backend, &id)?))
}
