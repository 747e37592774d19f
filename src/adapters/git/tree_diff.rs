//! What separates two stored trees: lists and unified diffs. Knows neither the present nor any ref.

use std::collections::BTreeSet;
use std::path::PathBuf;

use git2::{DiffFormat, DiffLineType, DiffOptions, Repository, Tree};

use super::snapshot_entry::{RelPath, TreeEntryKind, ancestor_paths, display_path, to_path};
use super::tree::FlatTree;
use synthdev_domain::snapshot::{ChangedFile, FileChange};

/// What differs, seen from `old`, sorted by path: `FileChange::Added` is only in `new`. Submodules are left
/// out.
pub fn diff_trees(old: &FlatTree, new: &FlatTree) -> Vec<(RelPath, FileChange)> {
    let paths: BTreeSet<&RelPath> = old.keys().chain(new.keys()).collect();
    let differing = paths.into_iter().filter_map(|path| {
        let change = match (old.get(path), new.get(path)) {
            (Some((TreeEntryKind::Submodule, _)), _)
            | (_, Some((TreeEntryKind::Submodule, _)))
            | (None, None) => return None,
            (Some(old), Some(new)) if old == new => return None,
            (Some(old), Some(new)) if old.1 == new.1 => FileChange::Mode,
            (Some(_), Some(_)) => FileChange::Modified,
            (Some(_), None) => FileChange::Deleted,
            (None, Some(_)) => FileChange::Added,
        };
        Some((path.clone(), change))
    });
    differing.collect()
}

/// For display and protocols.
pub fn to_changed_files(changes: &[(RelPath, FileChange)]) -> Vec<ChangedFile> {
    changes.iter().map(|(path, change)| ChangedFile { path: display_path(path), change: *change }).collect()
}

/// A unified diff of these paths, as `git diff` writes it; no paths, no text.
/// # Errors
/// An object is missing or damaged.
pub fn unified_diff<'a>(
    repo: &Repository,
    old: &Tree<'_>,
    new: &Tree<'_>,
    paths: impl Iterator<Item = &'a RelPath>,
) -> Result<String, git2::Error> {
    let mut options = DiffOptions::new();
    options.disable_pathspec_match(true);
    let mut directories = BTreeSet::new();
    let mut any = false;
    for path in paths {
        any = true;
        options.pathspec(to_path(path));
        directories.extend(ancestor_paths(path).map(to_path));
    }
    let mut text = Vec::new();
    if any {
        let plain;
        let (repo, old, new) = if leads_away(repo, &directories) {
            plain = Repository::from_odb(repo.odb()?)?;
            (&plain, &plain.find_tree(old.id())?, &plain.find_tree(new.id())?)
        } else {
            (repo, old, new)
        };
        let diff = repo.diff_tree_to_tree(Some(old), Some(new), Some(&mut options))?;
        diff.print(DiffFormat::Patch, |_, _, line| {
            if matches!(line.origin(), '+' | '-' | ' ') {
                text.push(u8::try_from(line.origin()).unwrap_or(b' '));
            }
            if line.origin_value() == DiffLineType::FileHeader {
                write_header(line.content(), &mut text);
            } else {
                text.extend_from_slice(line.content());
            }
            true
        })?;
    }
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Whether a link takes the place of attributes, or of a directory that may have some: libgit2 follows it, as git does not.
fn leads_away(repo: &Repository, directories: &BTreeSet<PathBuf>) -> bool {
    let Some(work) = repo.workdir() else { return false };
    let is_link = |place: PathBuf| place.is_symlink() || place.join(".gitattributes").is_symlink();
    work.join(".gitattributes").is_symlink() || directories.iter().any(|below| is_link(work.join(below)))
}

/// Git ends a name that holds white space with a tab, for programs that would cut it there.
fn write_header(lines: &[u8], text: &mut Vec<u8>) {
    for line in lines.split_inclusive(|byte| *byte == b'\n') {
        let name = line.strip_prefix(b"--- ").or_else(|| line.strip_prefix(b"+++ "));
        let name = name.and_then(|name| name.strip_suffix(b"\n"));
        if name.is_some_and(|name| name.contains(&b' ')) {
            text.extend_from_slice(&line[..line.len() - 1]);
            text.extend_from_slice(b"\t\n");
        } else {
            text.extend_from_slice(line);
        }
    }
}
