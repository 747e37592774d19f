//! The expected effect of a file tool, stored so that a resumed run can decide whether it took effect. Does not guess:
//! the user decides about a file that has neither its old nor its expected content, or that cannot be read.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

use synthdev_domain::tool::{InterruptedCallStatus, PlannedFileEdit, PlannedFileState, ToolInvocation};

use super::apply_patch::{self, PatchPlan};
use super::atomic_replace;
use super::load_file::load_if_exists;
use super::path_guard::{ProjectPath, ProjectPathGuard};
use super::planned_change::PlannedFileChange;
use super::tool_answer::ToolAnswer;

/// `told`: the tool's answer once the change is made.
pub(super) fn from_change(
    change: &PlannedFileChange,
    told: ToolAnswer,
    tool: &str,
    cap: usize,
) -> PlannedFileEdit {
    PlannedFileEdit {
        path: change.path.relative.clone(),
        before: change.content_before.as_deref().map(sha256_hex),
        after: Some(sha256_hex(&change.content_after)),
        outcome: told.into_outcome(tool, Duration::ZERO, cap),
        other_files: Vec::new(),
    }
}

/// The same of a patch; `None` if it changes no file.
pub(super) fn from_patch(plan: &PatchPlan, told: ToolAnswer, cap: usize) -> Option<PlannedFileEdit> {
    let writes = plan.writes.iter().map(|write| PlannedFileState {
        path: write.path.relative.clone(),
        before: write.content_before.as_deref().map(sha256_hex),
        after: Some(sha256_hex(&write.content_after)),
    });
    let removals = plan.removals.iter().map(|gone| PlannedFileState {
        path: gone.path.relative.clone(),
        before: Some(sha256_hex(&gone.content_before)),
        after: None,
    });
    let mut states: Vec<PlannedFileState> = writes.chain(removals).collect();
    if states.is_empty() {
        return None;
    }
    let first = states.remove(0);
    Some(PlannedFileEdit {
        path: first.path,
        before: first.before,
        after: first.after,
        outcome: told.into_outcome(apply_patch::NAME, Duration::ZERO, cap),
        other_files: states,
    })
}

/// The status of a call that was begun. Removes what it left half written.
pub(super) fn examine_outcome(
    fence: &ProjectPathGuard,
    invocation: &ToolInvocation,
    planned: &PlannedFileEdit,
) -> InterruptedCallStatus {
    let first = PlannedFileState {
        path: planned.path.clone(),
        before: planned.before.clone(),
        after: planned.after.clone(),
    };
    let mut done = Vec::new();
    for file in std::iter::once(&first).chain(&planned.other_files) {
        match examine_file(fence, asked_path(invocation, file), file) {
            Ok(is_done) => done.push((file.path.as_str(), is_done)),
            Err(reason) => return InterruptedCallStatus::Unclear { reason },
        }
    }
    let named = |wanted: bool| {
        let paths = done.iter().filter(|(_, is_done)| *is_done == wanted);
        paths.map(|(path, _)| format!("`{path}`")).collect::<Vec<_>>().join(", ")
    };
    if done.iter().all(|(_, is_done)| *is_done) {
        let mut outcome = planned.outcome.clone();
        outcome.summary.push_str(", found done after a restart");
        return InterruptedCallStatus::Done(outcome);
    }
    if done.iter().all(|(_, is_done)| !is_done) {
        return InterruptedCallStatus::NotBegun;
    }
    let reason = format!("the patch was cut off: {} changed already, {} not yet", named(true), named(false));
    InterruptedCallStatus::Unclear { reason }
}

/// The path as the call has it: links on the way may have changed since. A patch names many; where each one led was
/// stored.
fn asked_path<'a>(invocation: &'a ToolInvocation, file: &'a PlannedFileState) -> &'a str {
    if invocation.tool == apply_patch::NAME {
        return &file.path;
    }
    invocation.arguments.get("file_path").and_then(Value::as_str).unwrap_or_default()
}

/// Whether the file is as the call leaves it; `false`: as the call found it.
fn examine_file(fence: &ProjectPathGuard, asked: &str, planned: &PlannedFileState) -> Result<bool, String> {
    let spot = resolve_planned_path(fence, asked, planned)?;
    if let Ok(parent) = fence.hold_parent(&spot) {
        atomic_replace::remove_leftovers(&parent.entry());
    }
    let present = load_if_exists(fence, &spot)
        .map_err(|why| format!("`{}` cannot be compared with what the call was to do: {why}", spot.relative))?
        .as_deref()
        .map(sha256_hex);
    if present == planned.after {
        return Ok(true);
    }
    if present == planned.before {
        return Ok(false);
    }
    let how = match (&planned.before, &present) {
        (_, Some(_)) => {
            "is neither as the call found it nor as it leaves it: another program has changed it since"
        }
        (_, None) => "was there when the call began and is gone now: another program has removed it since",
    };
    Err(format!("`{}` {how}", spot.relative))
}

/// The file that was planned, if the call still means that file.
fn resolve_planned_path(
    fence: &ProjectPathGuard,
    asked: &str,
    planned: &PlannedFileState,
) -> Result<ProjectPath, String> {
    let spot = fence.resolve_writable(asked).map_err(|error| error.to_string())?;
    if spot.relative != planned.path {
        return Err(format!(
            "`{asked}` leads to `{}` now and led to `{}` when the call began: another program has changed the links",
            spot.relative, planned.path
        ));
    }
    Ok(spot)
}

fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
