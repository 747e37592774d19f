//! One operation on one project: where it is, what holds its objects, and what is ignored.
//! Reads and compares; changes no file and no ref.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::ignore_rules::IgnoreRules;
use super::snapshot_commit::StoredSnapshot;
use super::snapshot_entry::{RelPath, TreeEntryKind, to_path};
use super::snapshot_error::{self, SnapshotResult};
use super::snapshot_location::{SnapshotLocation, SnapshotRepository};
use super::tree;
use super::tree_diff;
use super::uncovered_files::{self, UncoveredRecord};
use super::working_tree_diff::{self, ProjectFileChange, WorkingTreeDiffInput};
use super::working_tree_scan::{self, BlobDestination, WorkingTreeScan, WorkingTreeScanTarget};
use synthdev_domain::file_progress::FileWorkCounter;

/// All that one operation needs.
pub struct RepositoryContext {
    pub location: SnapshotLocation,
    pub store: SnapshotRepository,
    pub rules: IgnoreRules,
    pub file_counter: Arc<FileWorkCounter>,
}

impl RepositoryContext {
    pub fn stored_tree(&self, found: &StoredSnapshot<'_>) -> SnapshotResult<tree::FlatTree> {
        let tree = found.commit.tree().and_then(|tree| tree::read_tree(&self.store.repo, &tree));
        tree.map_err(|error| snapshot_error::git_read_error(self.store.location(), &error))
    }

    /// What was kept beside a snapshot; `None` where that is not known.
    pub fn uncovered_record(&self, found: &StoredSnapshot<'_>) -> Option<UncoveredRecord> {
        uncovered_files::read_record(&self.location, &found.id)
    }

    /// The present, with every path of `stored` covered.
    pub fn scan_project(
        &self,
        stored: &tree::FlatTree,
        blobs: BlobDestination,
    ) -> SnapshotResult<WorkingTreeScan> {
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
            kept.into_iter().flat_map(|kept| kept.private_copies.keys().cloned()).collect();
        let files = stored.iter().filter(|(_, (kind, _))| *kind != TreeEntryKind::Submodule);
        let mut wanted: BTreeSet<RelPath> = files.map(|(path, _)| path.clone()).collect();
        wanted.extend(private.iter().cloned());
        let (place, store, rules) = (&self.location, &self.store, &self.rules);
        let target = WorkingTreeScanTarget {
            location: place,
            store,
            rules,
            wanted_paths: &wanted,
            private: &private,
            file_counter: &self.file_counter,
        };
        working_tree_scan::scan_working_tree(&target, blobs)
    }

    pub fn changes(
        &self,
        found: &StoredSnapshot<'_>,
        stored: &tree::FlatTree,
        kept: Option<&UncoveredRecord>,
        now: &WorkingTreeScan,
    ) -> Vec<ProjectFileChange> {
        let (repo, record, rules) = (&self.store.repo, &found.record, &self.rules);
        working_tree_diff::diff_working_tree(&WorkingTreeDiffInput {
            repo,
            record,
            stored,
            uncovered: kept,
            present: now,
            rules,
        })
    }

    /// Whether a restore would create or remove an empty directory, which no list of files shows.
    pub fn empty_dirs_differ(&self, found: &StoredSnapshot<'_>, now: &WorkingTreeScan) -> bool {
        let then: BTreeSet<&[u8]> = found.record.empty_dirs.iter().map(|dir| dir.as_bytes()).collect();
        let text = |dir: &&RelPath| std::str::from_utf8(dir).is_ok();
        now.empty_dirs.iter().filter(text).any(|dir| !then.contains(dir.as_slice()))
            || then.iter().any(|dir| !self.location.project.join(to_path(dir)).is_dir())
    }

    /// As `git diff` writes it; the present's objects are in memory only.
    pub fn diff_text(
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
        let now = repo.find_tree(tree::write_trees(&repo.odb()?, &scan.entries)?)?;
        tree_diff::unified_diff(repo, &found.commit.tree()?, &now, shown.map(|change| &change.path))
    }
}
