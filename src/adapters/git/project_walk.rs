//! Walks the project and lists what is not ignored, in every directory that is the project's own.
//! Never follows a symbolic link, never enters `.git` or another repository, reads no file but ignore files.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::sync::Arc;

use ignore::gitignore::Gitignore;

use super::ignore_rules::IgnoreRules;
use super::snapshot_entry::{RelPath, display_path, to_path};
use super::snapshot_location::ProgramFiles;
use super::tree::compare_names;
use crate::ignore_files::read_project_ignore_file;
use synthdev_domain::snapshot::{SkipReason, SkippedPath};

/// Excluded files that are listed; more are looked at by directory only.
const MOST_EXCLUDED: usize = 2_000;

/// What a walk found.
#[derive(Default)]
pub struct WalkedPaths {
    /// Files and symbolic links, sorted.
    pub files: Vec<RelPath>,
    /// Directories that were walked: known to be real ones.
    pub dirs: BTreeSet<RelPath>,
    pub empty_dirs: Vec<RelPath>,
    pub skipped_paths: Vec<SkippedPath>,
    /// What ignore files name: files, and directories as one. Not what the settings exclude.
    pub ignored_paths: Vec<RelPath>,
    /// Other repositories and submodules.
    pub nested: Vec<RelPath>,
    /// Files and links that the settings exclude, but for those in ignored directories.
    pub excluded: Vec<RelPath>,
    /// Excluded directories of which not everything is in `excluded`.
    pub truncated_directories: Vec<RelPath>,
}

/// Lists a project, without the files of this program; `is_submodule` names directories that the user's index knows as
/// submodules.
pub fn walk_project(
    root: &Path,
    rules: &IgnoreRules,
    is_submodule: &dyn Fn(&[u8]) -> bool,
    program_files: &ProgramFiles,
) -> WalkedPaths {
    let mut walk = ProjectWalker { root, rules, is_submodule, program_files, walked: WalkedPaths::default() };
    walk.walk_directory(&[], &[]);
    // they are sorted already, unless a directory changed its kind meanwhile
    walk.walked.files.sort_unstable();
    walk.walked.excluded.sort_unstable();
    walk.walked
}

struct ProjectWalker<'a> {
    root: &'a Path,
    rules: &'a IgnoreRules,
    is_submodule: &'a dyn Fn(&[u8]) -> bool,
    program_files: &'a ProgramFiles,
    walked: WalkedPaths,
}

impl ProjectWalker<'_> {
    fn walk_directory(&mut self, dir: &[u8], outer: &[Arc<Gitignore>]) {
        let place = self.root.join(to_path(dir));
        let mut names = match directory_names(&place) {
            Ok(names) => names,
            Err(error) => return self.add_unreadable(dir, &error),
        };
        if !dir.is_empty() && names.iter().any(|(name, _)| name == ".git") {
            self.walked.nested.push(dir.to_vec());
            return self.add_skipped(dir, "a repository of its own; its inside is not covered".to_owned());
        }
        let mut rules = outer.to_vec();
        if names.iter().any(|(name, kind)| name == ".gitignore" && kind.is_some_and(|kind| kind.is_file()))
            && let Some(text) = read_project_ignore_file(self.root, &place.join(".gitignore"))
        {
            rules.push(self.rules.parse_rules(dir, &text));
        }
        self.walked.dirs.insert(dir.to_vec());
        if names.is_empty() && !dir.is_empty() {
            self.walked.empty_dirs.push(dir.to_vec());
        }
        // in this order, what is listed in the end is sorted
        let is_directory = |kind: &Option<fs::FileType>| kind.is_some_and(|kind| kind.is_dir());
        names.sort_unstable_by(|(a, a_kind), (b, b_kind)| {
            compare_names((a.as_bytes(), is_directory(a_kind)), (b.as_bytes(), is_directory(b_kind)))
        });
        for (name, kind) in names {
            if name != ".git" {
                self.add_item(&rules, join_path(dir, name), kind);
            }
        }
    }

    fn add_item(&mut self, rules: &[Arc<Gitignore>], path: RelPath, kind: Option<fs::FileType>) {
        if self.is_recording(&path) {
            return;
        }
        let is_dir = kind.is_some_and(|kind| kind.is_dir());
        if is_dir && (self.is_submodule)(&path) {
            self.walked.nested.push(path.clone());
            return self.add_skipped(
                &path,
                "a submodule; its commit is recorded, its inside is not covered".to_owned(),
            );
        }
        if self.rules.is_excluded_here(&path, is_dir) {
            return self.add_excluded(path, kind);
        }
        if self.rules.is_ignored_here(rules, &path, is_dir) {
            // our own data is no work of the project
            if !self.is_data_directory(&path) {
                self.walked.ignored_paths.push(path);
            }
            return;
        }
        match kind {
            Some(kind) if kind.is_dir() => {
                if !self.is_data_directory(&path) {
                    self.walk_directory(&path, rules);
                }
            }
            Some(kind) if kind.is_file() || kind.is_symlink() => self.walked.files.push(path),
            Some(_) => self.add_skipped(&path, "not a regular file (pipe, socket or device)".to_owned()),
            None => self.add_skipped(&path, "its kind cannot be read".to_owned()),
        }
    }

    /// Nothing of it goes to git; it is listed for the private copies.
    fn add_excluded(&mut self, path: RelPath, kind: Option<fs::FileType>) {
        if self.is_recording(&path) || self.is_data_directory(&path) {
            return;
        }
        let place = self.root.join(to_path(&path));
        let Some(kind) = kind else { return };
        if !kind.is_dir() {
            if kind.is_file() || kind.is_symlink() {
                self.walked.excluded.push(path);
            }
            return;
        }
        let Ok(mut inside) = directory_names(&place) else {
            return self.walked.truncated_directories.push(path);
        };
        if inside.iter().any(|(name, _)| name == ".git") {
            return self.walked.nested.push(path);
        }
        inside.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        for (name, kind) in inside {
            if self.walked.excluded.len() >= MOST_EXCLUDED {
                return self.walked.truncated_directories.push(path);
            }
            self.add_excluded(join_path(&path, name), kind);
        }
    }

    fn is_data_directory(&self, path: &[u8]) -> bool {
        let data = self.program_files.data_directory.as_deref();
        data.is_some_and(|data| data == self.root.join(to_path(path)))
    }

    fn is_recording(&self, path: &[u8]) -> bool {
        self.program_files.recording.as_ref().is_some_and(|recording| recording.covers(&to_path(path)))
    }

    fn add_unreadable(&mut self, dir: &[u8], error: &std::io::Error) {
        let path = if dir.is_empty() { ".".to_owned() } else { display_path(dir) };
        let reason = format!("cannot be read: {error}");
        self.walked.skipped_paths.push(SkippedPath { path, reason, lack: SkipReason::Unreadable });
    }

    fn add_skipped(&mut self, path: &[u8], reason: String) {
        let path = if path.is_empty() { ".".to_owned() } else { display_path(path) };
        self.walked.skipped_paths.push(SkippedPath { path, reason, lack: SkipReason::Foreign });
    }
}

fn directory_names(place: &Path) -> std::io::Result<Vec<(OsString, Option<fs::FileType>)>> {
    fs::read_dir(place)?.map(|item| item.map(|item| (item.file_name(), item.file_type().ok()))).collect()
}

fn join_path(dir: &[u8], name: OsString) -> RelPath {
    let name = name.into_vec();
    if dir.is_empty() {
        return name;
    }
    let mut path = Vec::with_capacity(dir.len() + 1 + name.len());
    path.extend_from_slice(dir);
    path.push(b'/');
    path.extend(name);
    path
}
