//! Entries to git tree objects and back. Writes objects only; no index, no ref.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use git2::{ObjectType, Odb, Oid, Repository, Tree};

use super::snapshot_entry::{FileStat, FileTime, RelPath, SnapshotEntry, TreeEntryKind};

/// The mode of a directory in a tree.
const DIRECTORY: u32 = 0o40_000;

/// A stored tree, flat.
pub type FlatTree = BTreeMap<RelPath, (TreeEntryKind, Oid)>;

/// Writes the trees of entries sorted by path and returns the root's name; existing trees are not rewritten.
pub fn write_trees(odb: &Odb<'_>, entries: &[SnapshotEntry]) -> Result<Oid, git2::Error> {
    TreeWriter { repo: None, odb, new: &mut Vec::new() }.write_below(entries, None, 0)
}

/// A tree of the store, and its entries sorted by path.
#[derive(Clone, Copy)]
pub struct StoredEntries<'a> {
    pub tree: Oid,
    pub entries: &'a [SnapshotEntry],
}

/// The same beside an older tree: a directory in which nothing changed keeps its tree, which is neither made nor looked
/// for. Names the trees that are new.
pub fn write_changed(
    repo: &Repository,
    entries: &[SnapshotEntry],
    older: Option<StoredEntries<'_>>,
    new: &mut Vec<Oid>,
) -> Result<Oid, git2::Error> {
    TreeWriter { repo: Some(repo), odb: &repo.odb()?, new }.write_below(entries, older, 0)
}

/// Writes the trees of a flat one.
pub fn write_stored(odb: &Odb<'_>, stored: &FlatTree) -> Result<Oid, git2::Error> {
    let entry = |(path, (kind, blob)): (&RelPath, &(TreeEntryKind, Oid))| {
        let stat = FileStat {
            kind: *kind,
            size: 0,
            modified: FileTime::default(),
            changed: FileTime::default(),
            inode: 0,
        };
        SnapshotEntry { path: path.clone(), stat, blob: *blob }
    };
    write_trees(odb, &stored.iter().map(entry).collect::<Vec<_>>())
}

/// The entries without what is known of their files.
pub fn flat_tree(entries: &[SnapshotEntry]) -> FlatTree {
    entries.iter().map(|entry| (entry.path.clone(), (entry.stat.kind, entry.blob))).collect()
}

/// Reads a tree with all below it.
pub fn read_tree(repo: &Repository, tree: &Tree<'_>) -> Result<FlatTree, git2::Error> {
    let mut stored = FlatTree::new();
    read_below(repo, tree, &[], &mut stored)?;
    Ok(stored)
}

struct TreeWriter<'a> {
    /// Where the older trees are.
    repo: Option<&'a Repository>,
    odb: &'a Odb<'a>,
    new: &'a mut Vec<Oid>,
}

impl TreeWriter<'_> {
    fn write_below(
        &mut self,
        entries: &[SnapshotEntry],
        older: Option<StoredEntries<'_>>,
        depth: usize,
    ) -> Result<Oid, git2::Error> {
        if let Some(same) = older.filter(|older| have_same_content(older.entries, entries)) {
            return Ok(same.tree);
        }
        let older = older.and_then(|older| Some((self.repo?.find_tree(older.tree).ok()?, older.entries)));
        let mut items: Vec<(&[u8], u32, Oid)> = Vec::new();
        let mut rest = entries;
        while let Some(first) = rest.first() {
            let name = &first.path[depth..];
            let Some(end) = name.iter().position(|byte| *byte == b'/') else {
                items.push((name, first.stat.kind.mode(), first.blob));
                rest = &rest[1..];
                continue;
            };
            let (directory, name) = (&first.path[..=depth + end], &name[..end]);
            let below = entries_below(rest, directory);
            let stored = older.as_ref().and_then(|(tree, entries)| {
                let start = entries.partition_point(|entry| entry.path.as_slice() < directory);
                let tree = tree.get_name_bytes(name)?.id();
                Some(StoredEntries { tree, entries: entries_below(&entries[start..], directory) })
            });
            items.push((name, DIRECTORY, self.write_below(below, stored, directory.len())?));
            rest = &rest[below.len()..];
        }
        self.write_items(items)
    }

    fn write_items(&mut self, mut items: Vec<(&[u8], u32, Oid)>) -> Result<Oid, git2::Error> {
        items.sort_unstable_by(|a, b| compare_names((a.0, a.1 == DIRECTORY), (b.0, b.1 == DIRECTORY)));
        let mut bytes = Vec::with_capacity(items.len() * 48);
        for (name, mode, oid) in items {
            bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
            bytes.extend_from_slice(name);
            bytes.push(0);
            bytes.extend_from_slice(oid.as_bytes());
        }
        let oid = Oid::hash_object(ObjectType::Tree, &bytes)?;
        if self.odb.exists(oid) {
            return Ok(oid);
        }
        self.new.push(oid);
        self.odb.write(ObjectType::Tree, &bytes)
    }
}

/// The first of these, which all lie below a directory that is named with its slash: paths are sorted as bytes, so they
/// are adjacent.
fn entries_below<'a>(entries: &'a [SnapshotEntry], directory: &[u8]) -> &'a [SnapshotEntry] {
    let count = entries.iter().take_while(|entry| entry.path.starts_with(directory)).count();
    &entries[..count]
}

fn have_same_content(one: &[SnapshotEntry], other: &[SnapshotEntry]) -> bool {
    let is_same = |(a, b): (&SnapshotEntry, &SnapshotEntry)| {
        a.blob == b.blob && a.stat.kind == b.stat.kind && a.path == b.path
    };
    one.len() == other.len() && one.iter().zip(other).all(is_same)
}

/// The order of names in a tree, and of paths below them: that of a directory counts as if it ended in a slash.
pub fn compare_names(one: (&[u8], bool), other: (&[u8], bool)) -> Ordering {
    let common = one.0.len().min(other.0.len());
    let next = |(name, is_directory): (&[u8], bool)| {
        name.get(common).copied().or_else(|| is_directory.then_some(b'/'))
    };
    one.0[..common].cmp(&other.0[..common]).then_with(|| next(one).cmp(&next(other)))
}

fn read_below(
    repo: &Repository,
    tree: &Tree<'_>,
    dir: &[u8],
    stored: &mut FlatTree,
) -> Result<(), git2::Error> {
    for item in tree.iter() {
        // A ref fetched from elsewhere must not lead a restore out of the project or into `.git`.
        if matches!(item.name_bytes(), b"" | b"." | b".." | b".git") || item.name_bytes().contains(&b'/') {
            continue;
        }
        let mut path = dir.to_vec();
        path.extend_from_slice(item.name_bytes());
        match item.kind() {
            Some(ObjectType::Tree) => {
                path.push(b'/');
                read_below(repo, &repo.find_tree(item.id())?, &path, stored)?;
            }
            _ => {
                let mode = u32::try_from(item.filemode()).unwrap_or(0);
                stored.extend(TreeEntryKind::from_mode(mode).map(|kind| (path, (kind, item.id()))));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_come_in_the_order_of_the_paths_below_them() {
        let check = |names: &[(&str, bool)]| {
            let path = |(name, is_directory): &(&str, bool)| {
                if *is_directory { format!("{name}/file") } else { (*name).to_owned() }
            };
            let mut by_name = names.to_vec();
            by_name.sort_by(|a, b| compare_names((a.0.as_bytes(), a.1), (b.0.as_bytes(), b.1)));
            let mut by_path = names.to_vec();
            by_path.sort_by_key(path);
            assert_eq!(by_name, by_path);
        };
        check(&[("a0", false), ("a", true), ("a.b", false), ("a", false), ("a-", true)]);
        check(&[("b", true), ("ba", true), ("b.", true), ("ab", false), ("b", false)]);
        check(&[]);
    }

    #[test]
    fn a_tree_beside_an_older_one_is_that_of_its_entries_alone() {
        let directory = tempfile::tempdir().unwrap();
        let repo = Repository::init_bare(directory.path()).unwrap();
        let odb = repo.odb().unwrap();
        let entry = |(path, text): &(&str, &str)| {
            let kind = if *text == "x" { TreeEntryKind::Executable } else { TreeEntryKind::File };
            let time = FileTime::default();
            let stat = FileStat { kind, size: 0, modified: time, changed: time, inode: 0 };
            let blob = odb.write(ObjectType::Blob, text.as_bytes()).unwrap();
            SnapshotEntry { path: path.as_bytes().to_vec(), stat, blob }
        };
        let first =
            [("a/b/one", "1"), ("a/b/two", "2"), ("a/c", "3"), ("a.b", "4"), ("d/e", "5"), ("f", "6")];
        let entries = |files: &[(&str, &str)]| {
            let mut entries: Vec<SnapshotEntry> = files.iter().map(entry).collect();
            entries.sort_by(|a, b| a.path.cmp(&b.path));
            entries
        };
        let older = entries(&first);
        let tree = write_trees(&odb, &older).unwrap();
        // how many trees are new
        let check = |files: &[(&str, &str)], made: usize| {
            let (entries, mut new) = (entries(files), Vec::new());
            let stored = StoredEntries { tree, entries: &older };
            let beside = write_changed(&repo, &entries, Some(stored), &mut new).unwrap();
            assert_eq!(new.len(), made, "{files:?}");
            assert_eq!(beside, write_trees(&odb, &entries).unwrap(), "{files:?}");
        };
        check(&first, 0);
        let replaced = |path: &str, with: &[(&'static str, &'static str)]| {
            first.iter().filter(|(name, _)| *name != path).chain(with).copied().collect::<Vec<_>>()
        };
        check(&replaced("a/b/two", &[("a/b/two", "changed")]), 3);
        check(&replaced("a/b/two", &[("a/b/two", "x")]), 3);
        check(&replaced("a/b/two", &[("a/b/too", "2")]), 3);
        check(&replaced("a/c", &[("a/c/deep", "3")]), 3);
        check(&replaced("d/e", &[]), 1);
        check(&replaced("d/e", &[("d", "5")]), 1);
        check(&replaced("f", &[("f/b/one", "1"), ("f/b/two", "2")]), 2);
        check(&replaced("f", &[("0", "6")]), 1);
        check(&[], 1);
    }
}
