//! Snapshots as commits without parents under refs of our own; the commit message describes them for the user. Touches
//! no branch, no HEAD, no reflog.

use git2::{Commit, ErrorCode, Oid, Signature, Time};
use serde::{Deserialize, Serialize};

use super::disk_sync;
use super::snapshot_error::{self, SnapshotResult, snapshot_error};
use super::snapshot_location::{SnapshotLocation, SnapshotRepository};
use crate::hidden_recording::HiddenRecording;
use synthdev_domain::ids::{RunId, SnapshotId, Timestamp};
use synthdev_domain::snapshot::{SkippedPath, SnapshotInfo};
use synthdev_ports::snapshot::SnapshotError;

/// Where our refs are.
pub const NAMESPACE: &str = "refs/synthdev/snapshots/";
/// Distinguishes our commits from those of users and their programs.
pub const ADDRESS: &str = "synthdev@localhost";
/// Crockford's: no letters that look like digits; its order is the order of bytes.
const DIGITS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// Room for ids of one millisecond.
const TIES: u64 = 32 * 32 * 32;

/// The message's JSON part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SnapshotRecord {
    pub label: String,
    pub note: String,
    pub run: Option<RunId>,
    pub created: Timestamp,
    pub files: usize,
    pub skipped: Vec<SkippedPath>,
    /// Which work tree and directory of the repository it covers.
    pub scope: String,
    pub empty_dirs: Vec<String>,
    /// The user's exclusions at that time: a restore must not delete what they hid.
    pub exclude: Vec<String>,
    /// The list of skipped paths is cut, so a restore cannot know what is new.
    pub partial: bool,
    /// The commit at which HEAD was; empty before the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// Left out, because the run makes or plays it: a restore must not remove it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recording: Option<HiddenRecording>,
}

/// A stored snapshot.
pub struct StoredSnapshot<'repo> {
    pub id: SnapshotId,
    pub record: SnapshotRecord,
    pub commit: Commit<'repo>,
}

impl StoredSnapshot<'_> {
    pub fn to_info(&self) -> SnapshotInfo {
        snapshot_info(&self.id, &self.record)
    }
}

pub fn snapshot_info(id: &SnapshotId, record: &SnapshotRecord) -> SnapshotInfo {
    SnapshotInfo {
        id: id.clone(),
        label: record.label.clone(),
        note: record.note.clone(),
        run: record.run.clone(),
        created: record.created,
        files: record.files,
        skipped: record.skipped.clone(),
    }
}

pub fn reference_name(id: &str) -> String {
    format!("{NAMESPACE}{id}")
}

/// The author of our commits.
pub fn commit_signature(at: Timestamp) -> Result<Signature<'static>, git2::Error> {
    Signature::new("synthdev", ADDRESS, &Time::new(at.0.div_euclid(1000), 0))
}

/// Writes the commit and its ref; the id sorts after `last`, the newest of this scope, or after every other of this store
/// if that is not known. They are on the disk when this returns, together with the objects in `new`.
pub fn create_commit(
    store: &SnapshotRepository,
    tree: Oid,
    record: &SnapshotRecord,
    mut new: Vec<Oid>,
    last: &str,
) -> SnapshotResult<SnapshotId> {
    let unsynced = |error: std::io::Error| snapshot_error::store_io_error(store.location(), &error);
    let failed = |error: git2::Error| snapshot_error::git_write_error(store.location(), &error);
    let who = commit_signature(record.created).map_err(failed)?;
    let tree = store.repo.find_tree(tree).map_err(failed)?;
    let message = record_message(record)?;
    let commit = store.repo.commit(None, &who, &who, &message, &tree, &[]).map_err(failed)?;
    new.push(commit);
    // before the ref: it must not name what a power cut takes away
    disk_sync::sync_objects(&store.repo, &new).map_err(unsynced)?;
    let last = match snapshot_number(last) {
        Some(last) => Some(last),
        // git reads every ref for it: a project may have thousands
        None => snapshot_names(store)?.into_iter().filter_map(|name| snapshot_number(&name)).max(),
    };
    let mut next = u64::try_from(record.created.0).unwrap_or(0).saturating_mul(TIES);
    next = next.max(last.map_or(0, |last| last + 1));
    loop {
        let id = encode_id(next);
        let name = reference_name(&id);
        match store.repo.reference(&name, commit, false, "") {
            Ok(_) => {
                // `core.logAllRefUpdates = always` would keep a log of a ref that never moves.
                if store.repo.reference_has_log(&name).unwrap_or(false) {
                    store.repo.reflog_delete(&name).map_err(failed)?;
                }
                disk_sync::sync_reference(&store.repo, &name).map_err(unsynced)?;
                return Ok(SnapshotId(id));
            }
            Err(error) if error.code() == ErrorCode::Exists => next += 1,
            Err(error) => return Err(failed(error)),
        }
    }
}

/// The snapshots of this store's scope; refs of that namespace that we cannot read are left out.
pub fn list_snapshots(store: &SnapshotRepository) -> SnapshotResult<Vec<StoredSnapshot<'_>>> {
    let scope = store.scope_name();
    let found = snapshot_names(store)?.into_iter().filter_map(|id| load_snapshot(store, &id));
    Ok(found.filter(|found| found.record.scope == scope).collect())
}

/// # Errors
/// Unknown id.
pub fn find_snapshot<'repo>(
    store: &'repo SnapshotRepository,
    id: &str,
) -> SnapshotResult<StoredSnapshot<'repo>> {
    let scope = store.scope_name();
    // the others are not read: a project may have thousands
    load_snapshot(store, id).filter(|found| found.record.scope == scope).ok_or_else(|| unknown_id_error(id))
}

/// The store that has a snapshot.
/// # Errors
/// Unknown id.
pub fn store_holding(place: &SnapshotLocation, id: &str) -> SnapshotResult<SnapshotRepository> {
    for store in place.all_stores()? {
        if find_snapshot(&store, id).is_ok() {
            return Ok(store);
        }
    }
    Err(unknown_id_error(id))
}

pub fn unknown_id_error(id: &str) -> SnapshotError {
    snapshot_error(
        format!("no snapshot `{id}` of this project"),
        "`synthdev snapshot list` and /snapshot list them with their ids.",
    )
}

/// Whether its ref is in this store.
pub fn is_stored(store: &SnapshotRepository, id: &SnapshotId) -> bool {
    store.repo.find_reference(&reference_name(id.as_str())).is_ok()
}

/// # Errors
/// The ref cannot be removed.
pub fn delete_snapshot(store: &SnapshotRepository, id: &SnapshotId) -> SnapshotResult<()> {
    let failed = |error: git2::Error| snapshot_error::git_write_error(store.location(), &error);
    store
        .repo
        .find_reference(&reference_name(id.as_str()))
        .and_then(|mut found| found.delete())
        .map_err(failed)
}

/// The snapshots of a linked work tree, by its name; oldest first.
/// # Errors
/// A ref cannot be read.
pub fn list_worktree_snapshots<'repo>(
    store: &'repo SnapshotRepository,
    tree: &str,
) -> SnapshotResult<Vec<StoredSnapshot<'repo>>> {
    let of =
        |found: &StoredSnapshot<'_>| found.record.scope.split_once(':').is_some_and(|(of, _)| of == tree);
    let mut found: Vec<_> =
        snapshot_names(store)?.into_iter().filter_map(|id| load_snapshot(store, &id)).filter(of).collect();
    found.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// Deletes the snapshots of a linked work tree: nothing could be restored to it any more.
/// # Errors
/// A ref cannot be read or removed.
pub fn delete_worktree_snapshots(store: &SnapshotRepository, tree: &str) -> SnapshotResult<()> {
    list_worktree_snapshots(store, tree)?.iter().try_for_each(|found| delete_snapshot(store, &found.id))
}

fn load_snapshot<'repo>(store: &'repo SnapshotRepository, id: &str) -> Option<StoredSnapshot<'repo>> {
    let commit = store.repo.find_reference(&reference_name(id)).ok()?.peel_to_commit().ok()?;
    let (_, json) = std::str::from_utf8(commit.message_bytes()).ok()?.split_once("\n\n")?;
    let record = serde_json::from_str(json).ok()?;
    Some(StoredSnapshot { id: SnapshotId(id.to_owned()), record, commit })
}

fn snapshot_names(store: &SnapshotRepository) -> SnapshotResult<Vec<String>> {
    let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
    let mut names = Vec::new();
    for found in store.repo.references_glob(&format!("{NAMESPACE}*")).map_err(failed)? {
        let found = found.map_err(failed)?;
        let name = String::from_utf8_lossy(found.name_bytes());
        names.extend(name.strip_prefix(NAMESPACE).map(str::to_owned));
    }
    Ok(names)
}

fn record_message(record: &SnapshotRecord) -> SnapshotResult<String> {
    let title: String = record.label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let title = title.trim();
    let title = if title.is_empty() { "snapshot" } else { title };
    let json = serde_json::to_string_pretty(record).map_err(|error| {
        snapshot_error(format!("cannot describe the snapshot: {error}"), "Report this as a bug.")
    })?;
    Ok(format!("{title}\n\n{json}\n"))
}

/// Twelve digits: nine of milliseconds, three of order within one.
fn encode_id(mut number: u64) -> String {
    let mut digits = [b'0'; 12];
    for digit in digits.iter_mut().rev() {
        *digit = DIGITS[usize::try_from(number % 32).unwrap_or(0)];
        number /= 32;
    }
    String::from_utf8_lossy(&digits).into_owned()
}

fn snapshot_number(name: &str) -> Option<u64> {
    let digit = |byte: u8| DIGITS.iter().position(|digit| *digit == byte);
    (name.len() == 12).then(|| {
        name.bytes().try_fold(0_u64, |sum, byte| Some(sum * 32 + u64::try_from(digit(byte)?).ok()?))
    })?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_read_back() {
        let mut last = String::new();
        for number_ in [0, 1, TIES, 1_700_000_000_000 * TIES, 1_700_000_000_000 * TIES + 1] {
            let id = encode_id(number_);
            assert_eq!((id.len(), snapshot_number(&id)), (12, Some(number_)));
            assert!(id > last);
            last = id;
        }
        assert_eq!(snapshot_number("not-an-id"), None);
    }
}
