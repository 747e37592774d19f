//! A merge that was cut off, and is done once more. Refuses to merge over anything else that was.

use git2::Oid;

use crate::adapters::git::cut_off;
use crate::adapters::git::fault::{Outcome, fault};
use crate::adapters::git::here::Here;
use crate::adapters::git::record::one;
use crate::domain::ids::SnapshotId;
use crate::domain::snapshot::Goal;

/// The project before the merge that was cut off.
pub struct Earlier {
    pub safety: SnapshotId,
    pub tree: Oid,
}

/// With the lock held. What was half written then is removed.
///
/// # Errors
/// The project's files are on their way somewhere else.
pub fn earlier(here: &Here, goal: &Goal) -> Outcome<Option<Earlier>> {
    let Some(found) = cut_off::read(&here.place) else { return Ok(None) };
    if found.goal != *goal {
        let rest = match &found.goal {
            Goal::Snapshot(to) => format!("synthdev snapshot restore {to}"),
            Goal::Merge { run, .. } => format!("synthdev runs merge {run}"),
        };
        return Err(fault(
            "another change of the project's files was cut off: they are of two moments; nothing was merged",
            format!(
                "Finish it: {rest}. Or go back to before it: synthdev snapshot restore {}. Or keep the files as they \
                 are: synthdev snapshot create.",
                found.safety
            ),
        ));
    }
    cut_off::sweep(&here.place, &here.rules);
    let Ok(safety) = one(&here.store, found.safety.as_str()) else { return Ok(None) };
    Ok(Some(Earlier { safety: found.safety, tree: safety.commit.tree_id() }))
}
