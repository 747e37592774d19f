//! Which paths are ignored: git's ignore files in git's order, and the user's own exclusions above all.
//! Holds no hidden defaults.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::Gitignore;

use crate::ignore_files::parse_ignore_file as parse;

use super::snapshot_entry::{RelPath, ancestor_paths, to_path};

/// The rules that hold for a whole project.
pub struct IgnoreRules {
    /// Lowest precedence first: the user's global file, `info/exclude`, ignore files above the project.
    pub outer_rules: Vec<Gitignore>,
    /// From the settings; written like lines of an ignore file.
    pub exclude: Gitignore,
    /// The project's place in the work tree; ignore files see paths from the top of the work tree.
    pub prefix: PathBuf,
}

impl IgnoreRules {
    /// Excluded by the settings: never stored, never touched.
    pub fn is_excluded(&self, path: &[u8]) -> bool {
        !self.exclude.is_empty()
            && (matches_rules(&self.exclude, &to_path(path), false)
                || ancestor_paths(path).any(|dir| matches_rules(&self.exclude, &to_path(dir), true)))
    }

    pub fn is_excluded_here(&self, path: &[u8], is_dir: bool) -> bool {
        !self.exclude.is_empty() && matches_rules(&self.exclude, &to_path(path), is_dir)
    }

    /// The verdict for one path whose directories are all walked; `inner` is outermost first.
    pub fn is_ignored_here(&self, inner: &[Arc<Gitignore>], path: &[u8], is_dir: bool) -> bool {
        if inner.iter().all(|rule| rule.is_empty()) && self.outer_rules.iter().all(Gitignore::is_empty) {
            return false;
        }
        let path = self.prefix.join(to_path(path));
        let innermost_first = inner.iter().rev().map(AsRef::as_ref).chain(self.outer_rules.iter().rev());
        for rules in innermost_first {
            match rules.matched(&path, is_dir) {
                Match::None => {}
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
            }
        }
        false
    }

    /// The rules of one ignore file; `dir` is its directory, relative to the project.
    pub fn parse_rules(&self, dir: &[u8], text: &[u8]) -> Arc<Gitignore> {
        Arc::new(parse(&self.prefix.join(to_path(dir)), text))
    }

    /// Whether a path was ignored by the ignore files of a stored tree; `files` maps directory to rules.
    pub fn ignored_by(&self, files: &BTreeMap<RelPath, Arc<Gitignore>>, path: &[u8]) -> bool {
        let mut inner: Vec<Arc<Gitignore>> = files.get(b"".as_slice()).cloned().into_iter().collect();
        for dir in ancestor_paths(path) {
            if self.is_ignored_here(&inner, dir, true) {
                return true;
            }
            inner.extend(files.get(dir).cloned());
        }
        self.is_ignored_here(&inner, path, false)
    }
}

fn matches_rules(rules: &Gitignore, path: &Path, is_dir: bool) -> bool {
    rules.matched(path, is_dir).is_ignore()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(outer: &str, exclude: &str) -> IgnoreRules {
        IgnoreRules {
            outer_rules: vec![parse(Path::new(""), outer.as_bytes())],
            exclude: parse(Path::new(""), exclude.as_bytes()),
            prefix: PathBuf::from("sub"),
        }
    }

    #[test]
    fn inner_files_win_over_outer_ones() {
        let rules = rules("*.log\n/sub/top\n", "");
        let inner = vec![rules.parse_rules(b"", b"!keep.log\n/only\n")];
        let rows = [("a.log", true), ("keep.log", false), ("top", true), ("only", true), ("d/only", false)];
        for (path, ignored) in rows {
            assert_eq!(rules.is_ignored_here(&inner, path.as_bytes(), false), ignored, "{path}");
        }
    }

    #[test]
    fn an_ignored_directory_ignores_what_is_below() {
        let rules = rules("", "secret/\n");
        let files = BTreeMap::from([(Vec::new(), rules.parse_rules(b"", b"out/\n"))]);
        assert!(rules.ignored_by(&files, b"out/deep/file"));
        assert!(!rules.ignored_by(&files, b"src/out.rs"));
        assert!(rules.is_excluded(b"a/secret/key"));
        assert!(!rules.is_excluded(b"a/secret"));
    }
}
