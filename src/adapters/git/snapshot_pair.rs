//! Two snapshots beside each other, also if git came to the project between them and they are in two stores. Reads
//! only; objects that one store lacks are copied in memory.

use git2::{Commit, Oid, Repository};

use super::snapshot_commit::{find_snapshot, store_holding};
use super::snapshot_entry::{FileStat, FileTime, SnapshotEntry, TreeEntryKind};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::{SnapshotLocation, SnapshotRepository};
use super::tree::{self, FlatTree};
use super::tree_diff;
use synthdev_domain::ids::SnapshotId;

/// The older or newer, as asked; both can be read from `repo`.
pub struct SnapshotPair<'a> {
    pub old_tree: FlatTree,
    pub new_tree: FlatTree,
    repo: &'a Repository,
    tree_ids: (Oid, Oid),
}

impl SnapshotPair<'_> {
    /// # Errors
    /// An object is missing.
    pub fn diff_text(&self) -> Result<String, git2::Error> {
        let changes = tree_diff::diff_trees(&self.old_tree, &self.new_tree);
        let (old, new) = (self.repo.find_tree(self.tree_ids.0)?, self.repo.find_tree(self.tree_ids.1)?);
        tree_diff::unified_diff(self.repo, &old, &new, changes.iter().map(|(path, _)| path))
    }
}

/// # Errors
/// Unknown ids, or an object is missing.
pub fn with_snapshot_pair<T>(
    place: &SnapshotLocation,
    old: &SnapshotId,
    new: &SnapshotId,
    use_it: impl FnOnce(&SnapshotPair<'_>) -> Result<T, git2::Error>,
) -> SnapshotResult<T> {
    let (store, other) = (store_holding(place, old.as_str())?, store_holding(place, new.as_str())?);
    let failed = |error: git2::Error| snapshot_error::git_read_error(store.location(), &error);
    let (first, second) =
        (find_snapshot(&store, old.as_str())?.commit, find_snapshot(&other, new.as_str())?.commit);
    let odb = store.repo.odb().map_err(failed)?;
    let _memory = odb.add_new_mempack_backend(1000).map_err(failed)?;
    let pair = || {
        let old = tree::read_tree(&store.repo, &first.tree()?)?;
        let new = tree::read_tree(&other.repo, &second.tree()?)?;
        let trees = (first.tree_id(), copy_tree_to_store(&store, &other, &second, &old, &new)?);
        use_it(&SnapshotPair { old_tree: old, new_tree: new, repo: &store.repo, tree_ids: trees })
    };
    pair().map_err(failed)
}

/// The second one's tree in the first one's store.
fn copy_tree_to_store(
    store: &SnapshotRepository,
    other: &SnapshotRepository,
    second: &Commit<'_>,
    old: &FlatTree,
    new: &FlatTree,
) -> Result<Oid, git2::Error> {
    if store.private == other.private {
        return Ok(second.tree_id());
    }
    let (to, from) = (store.repo.odb()?, other.repo.odb()?);
    let mut entries = Vec::with_capacity(new.len());
    for (path, (kind, blob)) in new {
        if *kind != TreeEntryKind::Submodule && old.get(path) != Some(&(*kind, *blob)) {
            let content = from.read(*blob)?;
            to.write(content.kind(), content.data())?;
        }
        let stat = FileStat {
            kind: *kind,
            size: 0,
            modified: FileTime::default(),
            changed: FileTime::default(),
            inode: 0,
        };
        entries.push(SnapshotEntry { path: path.clone(), stat, blob: *blob });
    }
    tree::write_trees(&to, &entries)
}
