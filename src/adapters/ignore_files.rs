//! Ignore files as git has them, read with care: a project or a configuration may name anything as one.
//!
//! Owns reading them and walking by them. Refuses what is no regular file (`/dev/zero`, a pipe without a writer),
//! and what is behind the first four megabytes of one.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::open_beneath::{open_parent, open_unfollowed};
use super::repository_bounds::linked_directory;
use ignore::gitignore::{Gitignore, GitignoreBuilder, gitconfig_excludes_path};
use ignore::{DirEntry, Match, WalkBuilder};

/// More of one ignore file is not read, in bytes.
const MOST: u64 = 4 * 1024 * 1024;

/// The text of an ignore file; `None` where there is none, or something else in its place.
pub fn read_ignore_file(path: &Path) -> Option<Vec<u8>> {
    if is_readable(path) { read_limited(File::open(path).ok()?) } else { None }
}

/// The same for a file of a project or of its repository, below `base`: no link is followed, as git follows none there.
pub fn read_project_ignore_file(base: &Path, path: &Path) -> Option<Vec<u8>> {
    let file = open_unfollowed(&open_parent(base, path, false).ok()?.entry()).ok()?;
    if file.metadata().ok()?.is_file() { read_limited(file) } else { None }
}

fn read_limited(file: File) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    file.take(MOST).read_to_end(&mut text).ok()?;
    if text.len() as u64 == MOST {
        // half a pattern is another pattern
        text.truncate(text.iter().rposition(|byte| *byte == b'\n').unwrap_or(0));
    }
    Some(text)
}

/// Whether there is a regular file: opening and reading it ends.
pub fn is_readable(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file())
}

/// The rules of one text; `root` is the directory its anchored patterns start from.
pub fn parse_ignore_file(root: &Path, text: &[u8]) -> Gitignore {
    let mut builder = GitignoreBuilder::new(root);
    let text = String::from_utf8_lossy(text);
    for line in text.trim_start_matches('\u{feff}').lines() {
        // A pattern git itself would not understand ignores nothing, as in git.
        let _ = builder.add_line(None, line);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Walks without what is ignored, also where there is no repository, and, unless `hidden`, without hidden names that
/// no ignore file brings back. Links are not followed. `keep`: whether an entry is looked at.
pub fn walk_unignored(
    root: &Path,
    hidden: bool,
    keep: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let files = IgnoreFiles::new(root, hidden);
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(false).follow_links(false).filter_entry(move |entry| {
        let is_dir = entry.file_type().is_some_and(|kind| kind.is_dir());
        entry.depth() == 0 || keep(entry) && !files.is_ignored(entry.path(), is_dir)
    });
    builder
}

struct IgnoreFiles {
    skips_hidden: bool,
    /// The user's own, for every repository.
    global: Gitignore,
    levels: Mutex<HashMap<PathBuf, Option<Arc<IgnoreLevel>>>>,
}

/// The rules of a directory that has some.
struct IgnoreLevel {
    parent_level: Option<Arc<IgnoreLevel>>,
    /// `.ignore`, `.gitignore` and `info/exclude`: one of the first kind wins over all of the next.
    kinds: [Gitignore; 3],
}

impl IgnoreFiles {
    fn new(root: &Path, hidden: bool) -> Self {
        let global = gitconfig_excludes_path().and_then(|path| read_ignore_file(&path));
        let global = global.map_or_else(Gitignore::empty, |text| parse_ignore_file(root, &text));
        Self { skips_hidden: hidden, global, levels: Mutex::default() }
    }

    /// A path whose directories are all walked.
    fn is_ignored(&self, path: &Path, is_dir: bool) -> bool {
        let level = path.parent().and_then(|dir| self.ignore_level(dir));
        for kind in 0..3 {
            let mut next = level.as_deref();
            while let Some(level) = next {
                match level.kinds.get(kind).map_or(Match::None, |rules| rules.matched(path, is_dir)) {
                    Match::None => next = level.parent_level.as_deref(),
                    Match::Ignore(_) => return true,
                    Match::Whitelist(_) => return false,
                }
            }
        }
        match self.global.matched(path, is_dir) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => {
                let name = path.file_name().and_then(|name| name.to_str());
                !self.skips_hidden && name.is_some_and(|name| name.starts_with('.'))
            }
        }
    }

    fn ignore_level(&self, dir: &Path) -> Option<Arc<IgnoreLevel>> {
        let known = self.levels.lock().unwrap_or_else(PoisonError::into_inner).get(dir).cloned();
        if let Some(level) = known {
            return level;
        }
        let above = dir.parent().and_then(|parent| self.ignore_level(parent));
        let exclude = common_dir(dir).map(|git| ignore_rules(dir, &git, "info/exclude"));
        let kinds = [
            ignore_rules(dir, dir, ".ignore"),
            ignore_rules(dir, dir, ".gitignore"),
            exclude.unwrap_or_else(Gitignore::empty),
        ];
        let level = if kinds.iter().all(Gitignore::is_empty) {
            above
        } else {
            Some(Arc::new(IgnoreLevel { parent_level: above, kinds }))
        };
        let mut levels = self.levels.lock().unwrap_or_else(PoisonError::into_inner);
        levels.insert(dir.to_owned(), level.clone());
        level
    }
}

fn ignore_rules(root: &Path, base: &Path, name: &str) -> Gitignore {
    read_project_ignore_file(base, &base.join(name))
        .map_or_else(Gitignore::empty, |text| parse_ignore_file(root, &text))
}

/// Git's directory, of a linked worktree that of its repository.
fn common_dir(dir: &Path) -> Option<PathBuf> {
    let git = dir.join(".git");
    match fs::symlink_metadata(&git).ok()?.is_dir() {
        true => Some(git),
        false => Some(linked_directory(dir)?.common_directory),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn walked_paths(root: &Path, hidden: bool) -> Vec<String> {
        let found = walk_unignored(root, hidden, |entry| entry.file_name() != ".git")
            .sort_by_file_path(Path::cmp)
            .build()
            .flatten();
        let paths = found.filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
        paths.map(|entry| entry.path().strip_prefix(root).unwrap().to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn rules_win_as_they_do_for_git() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        for (path, text) in [
            (".gitignore", "*.log\n/out\n!.kept\n"),
            (".ignore", "*.tmp\n"),
            (".git/info/exclude", "own\n"),
            ("a.log", ""),
            ("a.tmp", ""),
            ("own", ""),
            ("out/x", ""),
            ("sub/out", ""),
            ("sub/.gitignore", "!b.log\n!c.tmp\n"),
            ("sub/b.log", ""),
            ("sub/c.tmp", ""),
            (".hidden", ""),
            (".kept", ""),
        ] {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        }
        assert_eq!(walked_paths(root, false), [".kept", "sub/b.log", "sub/out"]);
        let all = [".gitignore", ".hidden", ".ignore", ".kept", "sub/.gitignore", "sub/b.log", "sub/out"];
        assert_eq!(walked_paths(root, true), all);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_file_is_no_ignore_file() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/a"), "").unwrap();
        // a pipe without a writer: reading it would not end
        let pipe = root.join(".pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let rules = root.join(".rules");
        fs::write(&rules, "a\n").unwrap();
        let links = [
            (".gitignore", pipe.as_path()),
            ("sub/.ignore", &pipe),
            (".ignore", root),
            ("sub/.gitignore", &rules),
        ];
        for (name, target) in links {
            std::os::unix::fs::symlink(target, root.join(name)).unwrap();
        }
        assert_eq!(walked_paths(root, false), ["sub/a"]);
        let mut long = b"a\n".repeat(usize::try_from(MOST).unwrap() / 2);
        long.extend(b"sub\n");
        fs::write(root.join("long"), &long).unwrap();
        assert!(read_ignore_file(&root.join("long")).unwrap().ends_with(b"a\na"));
    }
}
