//! The expected effect of a file tool, stored so that a resumed run can decide whether it took effect. Does not guess:
//! the user decides about a file that has neither its old nor its expected content, or that cannot be read.

#[cfg(test)]
mod tests;

use std::time::Duration;

use serde_json::Value;
use sha2::{Digest, Sha256};

use synthdev_domain::tool::{InterruptedCallStatus, PlannedFileEdit, ToolInvocation};

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
        after: sha256_hex(&change.content_after),
        outcome: told.into_outcome(tool, Duration::ZERO, cap),
    }
}

/// The status of a call that was begun. Removes what it left half written.
pub(super) fn examine_outcome(
    fence: &ProjectPathGuard,
    invocation: &ToolInvocation,
    foreseen: &PlannedFileEdit,
) -> InterruptedCallStatus {
    let spot = match resolve_foreseen_path(fence, invocation, foreseen) {
        Ok(spot) => spot,
        Err(reason) => return InterruptedCallStatus::Unclear { reason },
    };
    if let Ok(parent) = fence.hold_parent(&spot) {
        atomic_replace::remove_leftovers(&parent.entry());
    }
    let present = match load_if_exists(fence, &spot) {
        Ok(present) => present.as_deref().map(sha256_hex),
        Err(why) => {
            let reason =
                format!("`{}` cannot be compared with what the call was to do: {why}", spot.relative);
            return InterruptedCallStatus::Unclear { reason };
        }
    };
    if present.as_ref() == Some(&foreseen.after) {
        let mut outcome = foreseen.outcome.clone();
        outcome.summary.push_str(", found done after a restart");
        return InterruptedCallStatus::Done(outcome);
    }
    if present == foreseen.before {
        return InterruptedCallStatus::NotBegun;
    }
    let how = match (&foreseen.before, &present) {
        (_, Some(_)) => {
            "is neither as the call found it nor as it leaves it: another program has changed it since"
        }
        (_, None) => "was there when the call began and is gone now: another program has removed it since",
    };
    InterruptedCallStatus::Unclear { reason: format!("`{}` {how}", spot.relative) }
}

/// The file that was foreseen, if the call still means that file.
fn resolve_foreseen_path(
    fence: &ProjectPathGuard,
    invocation: &ToolInvocation,
    foreseen: &PlannedFileEdit,
) -> Result<ProjectPath, String> {
    let asked = invocation.arguments.get("file_path").and_then(Value::as_str).unwrap_or_default();
    let spot = fence.resolve_writable(asked).map_err(|error| error.to_string())?;
    if spot.relative != foreseen.path {
        return Err(format!(
            "`{asked}` leads to `{}` now and led to `{}` when the call began: another program has changed the links",
            spot.relative, foreseen.path
        ));
    }
    Ok(spot)
}

fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}
