//! Repositories nested in the project's repository. Once the project's index names one, `git status` in the project runs
//! programs that the nested configuration names. So its git files are protected from the next command on, and a command
//! that adds one to the index gets a line that says so.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::repository_bounds::linked_directory;

/// A larger index is not read.
const LARGEST: u64 = 256 << 20;

/// Names in one answer.
const MOST_TOLD: usize = 5;

pub(super) struct NestedRepositories {
    index: PathBuf,
    last_index: Mutex<SeenIndex>,
}

#[derive(Default)]
struct SeenIndex {
    /// Inode, size and time of change (seconds, nanoseconds).
    stamp: Option<(u64, u64, i64, i64)>,
    names: BTreeSet<String>,
    told_names: BTreeSet<String>,
}

impl NestedRepositories {
    /// Those that are in the index already are not reported.
    pub(super) fn new(root: &Path) -> Self {
        let own = linked_directory(root).map_or_else(|| root.join(".git"), |linked| linked.own_directory);
        let found = Self { index: own.join("index"), last_index: Mutex::default() };
        found.new_repository_lines();
        found
    }

    /// The paths that the index names now, relative to the project. An index that did not change is not read.
    pub(super) fn current_names(&self) -> BTreeSet<String> {
        self.read_index().names.clone()
    }

    /// One line for each that the index names since the last call.
    pub(super) fn new_repository_lines(&self) -> Vec<String> {
        let mut seen = self.read_index();
        let names = seen.names.clone();
        let before = std::mem::replace(&mut seen.told_names, names);
        let mut told: Vec<String> =
            seen.names.difference(&before).map(|name| describe_nested_repository(name)).collect();
        if told.len() > MOST_TOLD {
            let more = told.split_off(MOST_TOLD).len();
            told.push(format!("[sandbox] {more} more nested repositories are in the index"));
        }
        told
    }

    fn read_index(&self) -> MutexGuard<'_, SeenIndex> {
        let plain = self.index.parent().is_some_and(|git| !git.is_symlink());
        let found = std::fs::symlink_metadata(&self.index).ok().filter(|_| plain);
        let found = found.filter(|found| found.is_file() && found.len() < LARGEST);
        let stamp = found.map(|found| (found.ino(), found.len(), found.ctime(), found.ctime_nsec()));
        let mut seen = self.last_index.lock().unwrap_or_else(PoisonError::into_inner);
        if stamp.is_none() || stamp == seen.stamp {
            return seen;
        }
        seen.stamp = stamp;
        // one that cannot be read cannot be used by git either
        let Ok(index) = git2::Index::open(&self.index) else { return seen };
        let nested = index.iter().filter(|entry| entry.mode & 0o170_000 == 0o160_000);
        seen.names = nested.map(|entry| String::from_utf8_lossy(&entry.path).into_owned()).collect();
        seen
    }
}

fn describe_nested_repository(name: &str) -> String {
    let name: String = name.chars().filter(|letter| !letter.is_control()).take(200).collect();
    format!(
        "[sandbox] {name} is a nested repository in the index now: `git status` in the project runs what its configuration \
         names. Look at {name}/.git before you use git"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_ones_are_told_once() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let repo = git2::Repository::init(root).unwrap();
        std::fs::write(root.join("file"), "x").unwrap();
        let add = |path: &str, mode: u32| {
            let mut index = repo.index().unwrap();
            let zero = git2::IndexTime::new(0, 0);
            let id = repo.blob(b"x").unwrap();
            index
                .add(&git2::IndexEntry {
                    ctime: zero,
                    mtime: zero,
                    dev: 0,
                    ino: 0,
                    mode,
                    uid: 0,
                    gid: 0,
                    file_size: 0,
                    id,
                    flags: 0,
                    flags_extended: 0,
                    path: path.into(),
                })
                .unwrap();
            index.write().unwrap();
        };
        let without_index = NestedRepositories::new(root);
        assert_eq!(without_index.new_repository_lines(), Vec::<String>::new());
        add("known", 0o160_000);
        let nested = NestedRepositories::new(root);
        assert_eq!(nested.new_repository_lines(), Vec::<String>::new());
        add("file", 0o100_644);
        assert_eq!(nested.new_repository_lines(), Vec::<String>::new());
        add("sub/evil\n", 0o160_000);
        let told = nested.new_repository_lines();
        assert!(told.len() == 1 && told[0].starts_with("[sandbox] sub/evil is a nested"), "{told:#?}");
        assert_eq!(nested.new_repository_lines(), Vec::<String>::new());
        assert_eq!(without_index.new_repository_lines().len(), 2);
    }
}
