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
    write_below(odb, entries, 0, &mut Vec::new())
}

/// The same, and names the trees that are new.
pub fn write_named(odb: &Odb<'_>, entries: &[SnapshotEntry], new: &mut Vec<Oid>) -> Result<Oid, git2::Error> {
    write_below(odb, entries, 0, new)
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

fn write_below(
    odb: &Odb<'_>,
    entries: &[SnapshotEntry],
    depth: usize,
    new: &mut Vec<Oid>,
) -> Result<Oid, git2::Error> {
    let mut items: Vec<(&[u8], u32, Oid)> = Vec::new();
    let mut rest = entries;
    while let Some(first) = rest.first() {
        let name = &first.path[depth..];
        let Some(end) = name.iter().position(|byte| *byte == b'/') else {
            items.push((name, first.stat.kind.mode(), first.blob));
            rest = &rest[1..];
            continue;
        };
        // Paths are sorted as bytes, so all that share `name/` are adjacent.
        let dir = &first.path[..=depth + end];
        let count = rest.iter().take_while(|entry| entry.path.starts_with(dir)).count();
        items.push((&name[..end], DIRECTORY, write_below(odb, &rest[..count], dir.len(), new)?));
        rest = &rest[count..];
    }
    items.sort_unstable_by(|a, b| compare_names((a.0, a.1 == DIRECTORY), (b.0, b.1 == DIRECTORY)));
    let mut bytes = Vec::with_capacity(items.len() * 48);
    for (name, mode, oid) in items {
        bytes.extend_from_slice(format!("{mode:o} ").as_bytes());
        bytes.extend_from_slice(name);
        bytes.push(0);
        bytes.extend_from_slice(oid.as_bytes());
    }
    let oid = Oid::hash_object(ObjectType::Tree, &bytes)?;
    if odb.exists(oid) {
        return Ok(oid);
    }
    new.push(oid);
    odb.write(ObjectType::Tree, &bytes)
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
}
