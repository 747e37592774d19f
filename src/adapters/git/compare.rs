//! What separates a stored tree from the present. Pure comparison: decides what a restore would do.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use git2::{Oid, Repository};
use ignore::gitignore::Gitignore;

use super::entry::{Kind, RelPath, Stat, ancestors, shown};
use super::record::Record;
use super::rules::Rules;
use super::scan::Scan;
use super::stat_cache::lookup;
use super::tree::Stored;
use crate::adapters::ignore_files::parse_ignore_file as parse;
use crate::domain::snapshot::{ChangedFile, FileChange};

/// One path to bring back.
pub struct Change {
    pub path: RelPath,
    pub change: FileChange,
    /// What the snapshot holds; `None` for `Added`.
    pub stored: Option<(Kind, Oid)>,
    /// What stood there when the present was saved.
    pub now: Option<Stat>,
}

impl Change {
    pub fn shown(&self) -> ChangedFile {
        ChangedFile { path: shown(&self.path), change: self.change }
    }
}

/// What to compare.
pub struct Pair<'a> {
    pub repo: &'a Repository,
    pub record: &'a Record,
    pub stored: &'a Stored,
    pub now: &'a Scan,
    pub rules: &'a Rules,
}

/// Sorted by path. Left out: submodules, what the user excludes, and new files that may have been there
/// before: ignored by the snapshot's ignore files, excluded or skipped at that time.
pub fn changes(pair: &Pair<'_>) -> Vec<Change> {
    let mut changes: Vec<Change> =
        pair.stored.iter().filter_map(|(path, stored)| lost(pair, path, *stored)).collect();
    if !pair.record.partial {
        changes.extend(added(pair));
    }
    changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    changes
}

fn lost(pair: &Pair<'_>, path: &RelPath, stored: (Kind, Oid)) -> Option<Change> {
    if stored.0 == Kind::Submodule || pair.rules.excluded(path) {
        return None;
    }
    let now = lookup(&pair.now.entries, path);
    let change = match now {
        Some(now) if now.blob == stored.1 && now.stat.kind == stored.0 => return None,
        Some(now) if now.stat.kind == Kind::Submodule => return None,
        Some(now) if now.blob == stored.1 => FileChange::Mode,
        Some(_) => FileChange::Modified,
        None if pair.now.opaque.contains(path) || pair.now.unreadable.contains(path) => FileChange::Modified,
        None => FileChange::Deleted,
    };
    Some(Change { path: path.clone(), change, stored: Some(stored), now: now.map(|entry| entry.stat) })
}

fn added<'a>(pair: &'a Pair<'a>) -> impl Iterator<Item = Change> + 'a {
    let ignore_files = stored_rules(pair);
    let excluded = parse(Path::new(""), pair.record.exclude.join("\n").as_bytes());
    let then = Rules { outer: Vec::new(), exclude: excluded, prefix: pair.rules.prefix.clone() };
    pair.now
        .entries
        .iter()
        .filter(|now| now.stat.kind != Kind::Submodule && !pair.stored.contains_key(&now.path))
        .filter(move |now| {
            pair.now.blocking.contains(&now.path)
                || !(pair.rules.ignored_by(&ignore_files, &now.path)
                    || then.excluded(&now.path)
                    || was_skipped(pair.record, &now.path))
        })
        .map(|now| Change {
            path: now.path.clone(),
            change: FileChange::Added,
            stored: None,
            now: Some(now.stat),
        })
}

fn was_skipped(record: &Record, path: &[u8]) -> bool {
    record.skipped.iter().any(|skipped| {
        let skipped = skipped.path.as_bytes();
        skipped == shown(path).as_bytes() || ancestors(path).any(|dir| skipped == shown(dir).as_bytes())
    })
}

/// The ignore files of the snapshot, by directory.
fn stored_rules(pair: &Pair<'_>) -> BTreeMap<RelPath, Arc<Gitignore>> {
    let mut files = BTreeMap::new();
    for (path, (_, blob)) in pair.stored {
        let Some(dir) = path.strip_suffix(b".gitignore".as_slice()) else { continue };
        let Some(dir) = (if dir.is_empty() { Some(dir) } else { dir.strip_suffix(b"/") }) else { continue };
        if let Ok(blob) = pair.repo.find_blob(*blob) {
            files.insert(dir.to_vec(), pair.rules.parse(dir, blob.content()));
        }
    }
    files
}
