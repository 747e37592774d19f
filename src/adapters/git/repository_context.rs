//! One operation on one project: where it is, what holds its objects, and what is known of its files.
//! Reads and compares; changes no file and no ref.

use std::collections::BTreeSet;

use super::ignore_rules::IgnoreRules;
use super::snapshot_commit::StoredSnapshot;
use super::snapshot_entry::{RelPath, TreeEntryKind, to_path};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::{SnapshotLocation, SnapshotRepository};
use super::stat_cache::StatCache;
use super::tree;
use super::tree_diff;
use super::uncovered_files::{self, UncoveredRecord};
use super::working_tree_diff::{self, ProjectFileChange, WorkingTreeDiffInput};
use super::working_tree_scan::{self, BlobDestination, WorkingTreeScan, WorkingTreeScanTarget};

/// All that one operation needs.
pub struct RepositoryContext {
    pub place: SnapshotLocation,
    pub store: SnapshotRepository,
    pub rules: IgnoreRules,
    pub cache: StatCache,
}

impl RepositoryContext {
    pub fn stored(&self, found: &StoredSnapshot<'_>) -> SnapshotResult<tree::FlatTree> {
        let tree = found.commit.tree().and_then(|tree| tree::read(&self.store.repo, &tree));
        tree.map_err(|error| snapshot_error::git_read(self.store.location(), &error))
    }

    /// What was kept beside a snapshot; `None` where that is not known.
    pub fn kept(&self, found: &StoredSnapshot<'_>) -> Option<UncoveredRecord> {
        uncovered_files::read(&self.place, &found.id)
    }

    /// The present, with every path of `stored` covered.
    pub fn scan(&self, stored: &tree::FlatTree, blobs: BlobDestination) -> SnapshotResult<WorkingTreeScan> {
        self.scan_with(stored, None, blobs)
    }

    /// The same, with every private copy of `kept` covered, too.
    pub fn scan_with(
        &self,
        stored: &tree::FlatTree,
        kept: Option<&UncoveredRecord>,
        blobs: BlobDestination,
    ) -> SnapshotResult<WorkingTreeScan> {
        let private: BTreeSet<RelPath> =
            kept.into_iter().flat_map(|kept| kept.copies.keys().cloned()).collect();
        let files = stored.iter().filter(|(_, (kind, _))| *kind != TreeEntryKind::Submodule);
        let mut wanted: BTreeSet<RelPath> = files.map(|(path, _)| path.clone()).collect();
        wanted.extend(private.iter().cloned());
        let (place, store, rules) = (&self.place, &self.store, &self.rules);
        let target = WorkingTreeScanTarget { place, store, rules, wanted: &wanted, private: &private };
        working_tree_scan::scan(&target, &self.cache, blobs)
    }

    pub fn changes(
        &self,
        found: &StoredSnapshot<'_>,
        (stored, kept): (&tree::FlatTree, Option<&UncoveredRecord>),
        now: &WorkingTreeScan,
    ) -> Vec<ProjectFileChange> {
        let (repo, record, rules) = (&self.store.repo, &found.record, &self.rules);
        working_tree_diff::diff_working_tree(&WorkingTreeDiffInput { repo, record, stored, kept, now, rules })
    }

    /// Whether a restore would create or remove an empty directory, which no list of files shows.
    pub fn empty_dirs_differ(&self, found: &StoredSnapshot<'_>, now: &WorkingTreeScan) -> bool {
        let then: BTreeSet<&[u8]> = found.record.empty_dirs.iter().map(|dir| dir.as_bytes()).collect();
        let text = |dir: &&RelPath| std::str::from_utf8(dir).is_ok();
        now.empty_dirs.iter().filter(text).any(|dir| !then.contains(dir.as_slice()))
            || then.iter().any(|dir| !self.place.project.join(to_path(dir)).is_dir())
    }

    /// As `git diff` writes it; the present's objects are in memory only.
    pub fn diff(
        &self,
        found: &StoredSnapshot<'_>,
        scan: &WorkingTreeScan,
        changes: &[ProjectFileChange],
    ) -> Result<String, git2::Error> {
        // what a private copy holds is never shown
        let mut shown = changes.iter().filter(|change| change.private.is_none()).peekable();
        if shown.peek().is_none() {
            return Ok(String::new());
        }
        let repo = &self.store.repo;
        let now = repo.find_tree(tree::write(&repo.odb()?, &scan.entries)?)?;
        tree_diff::unified_diff(repo, &found.commit.tree()?, &now, shown.map(|change| &change.path))
    }
}
