//! One operation on one project: where it is, what holds its objects, and what is known of its files.
//! Reads and compares; changes no file and no ref.

use std::collections::BTreeSet;

use super::between;
use super::compare::{self, Change, Pair};
use super::entry::{Kind, RelPath, to_path};
use super::fault::{self, Outcome};
use super::kept::{self, KeptBeside};
use super::place::{Place, Store};
use super::record::Found;
use super::rules::Rules;
use super::scan::{self, Blobs, Scan, Target};
use super::stat_cache::StatCache;
use super::tree;

/// All that one operation needs.
pub struct Here {
    pub place: Place,
    pub store: Store,
    pub rules: Rules,
    pub cache: StatCache,
}

impl Here {
    pub fn stored(&self, found: &Found<'_>) -> Outcome<tree::Stored> {
        let tree = found.commit.tree().and_then(|tree| tree::read(&self.store.repo, &tree));
        tree.map_err(|error| fault::git_read(self.store.location(), &error))
    }

    /// What was kept beside a snapshot; `None` where that is not known.
    pub fn kept(&self, found: &Found<'_>) -> Option<KeptBeside> {
        kept::read(&self.place, &found.id)
    }

    /// The present, with every path of `stored` covered.
    pub fn scan(&self, stored: &tree::Stored, blobs: Blobs) -> Outcome<Scan> {
        self.scan_with(stored, None, blobs)
    }

    /// The same, with every private copy of `kept` covered, too.
    pub fn scan_with(&self, stored: &tree::Stored, kept: Option<&KeptBeside>, blobs: Blobs) -> Outcome<Scan> {
        let private: BTreeSet<RelPath> =
            kept.into_iter().flat_map(|kept| kept.copies.keys().cloned()).collect();
        let files = stored.iter().filter(|(_, (kind, _))| *kind != Kind::Submodule);
        let mut wanted: BTreeSet<RelPath> = files.map(|(path, _)| path.clone()).collect();
        wanted.extend(private.iter().cloned());
        let (place, store, rules) = (&self.place, &self.store, &self.rules);
        let target = Target { place, store, rules, wanted: &wanted, private: &private };
        scan::scan(&target, &self.cache, blobs)
    }

    pub fn changes(
        &self,
        found: &Found<'_>,
        (stored, kept): (&tree::Stored, Option<&KeptBeside>),
        now: &Scan,
    ) -> Vec<Change> {
        let (repo, record, rules) = (&self.store.repo, &found.record, &self.rules);
        compare::changes(&Pair { repo, record, stored, kept, now, rules })
    }

    /// Whether a restore would create or remove an empty directory, which no list of files shows.
    pub fn hollow_differs(&self, found: &Found<'_>, now: &Scan) -> bool {
        let then: BTreeSet<&[u8]> = found.record.empty_dirs.iter().map(|dir| dir.as_bytes()).collect();
        let text = |dir: &&RelPath| std::str::from_utf8(dir).is_ok();
        now.empty_dirs.iter().filter(text).any(|dir| !then.contains(dir.as_slice()))
            || then.iter().any(|dir| !self.place.project.join(to_path(dir)).is_dir())
    }

    /// As `git diff` writes it; the present's objects are in memory only.
    pub fn diff(&self, found: &Found<'_>, scan: &Scan, changes: &[Change]) -> Result<String, git2::Error> {
        // what a private copy holds is never shown
        let mut shown = changes.iter().filter(|change| change.private.is_none()).peekable();
        if shown.peek().is_none() {
            return Ok(String::new());
        }
        let repo = &self.store.repo;
        let now = repo.find_tree(tree::write(&repo.odb()?, &scan.entries)?)?;
        between::print(repo, &found.commit.tree()?, &now, shown.map(|change| &change.path))
    }
}
