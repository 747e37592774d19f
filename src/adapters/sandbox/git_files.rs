//! The git files that commands must not change: hooks, configuration, links to other git directories, and the programs that
//! they name. When the user calls git, it runs these programs outside of the sandbox.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::git_configuration::GitConfiguration;
use super::sandbox_places::SandboxPlaces;
use crate::git_entries::{PathFile, work_tree};
use crate::repository_bounds::RepositoryBounds;

/// Nested repositories that are looked at.
const MOST_NESTED: usize = 256;

/// Paths to protect: git files with what they include, and the programs that they name.
pub(super) struct GitFiles {
    /// Found through the project's repository, which others than the user may have written.
    pub(super) of_project: Vec<PathBuf>,
    pub(super) of_user: Vec<PathBuf>,
    /// Directories that get an entry with each new submodule or worktree.
    directories: Vec<PathBuf>,
    /// The repositories that the index names.
    nested: BTreeSet<String>,
}

impl GitFiles {
    /// `nested`: the repositories that the project's index names.
    pub(super) fn collect(places: &SandboxPlaces, root: &Path, nested: BTreeSet<String>) -> Self {
        let (of_project, directories) = project_files(places, root, &nested);
        Self { of_project, of_user: user_files(places, root), directories, nested }
    }

    /// The state to compare with later: inode, size and time of change of each path.
    pub(super) fn current_state(&self) -> GitFilesState {
        let stamp = |path: &PathBuf| (path.clone(), GitFileStamp::from_path(path));
        let paths = self.of_project.iter().chain(&self.of_user).chain(&self.directories);
        GitFilesState { stamps: paths.map(stamp).collect(), nested: self.nested.clone() }
    }
}

/// The git files that a policy was made from, as they were then.
pub(super) struct GitFilesState {
    stamps: Vec<(PathBuf, Option<GitFileStamp>)>,
    nested: BTreeSet<String>,
}

impl GitFilesState {
    /// Whether a policy that is made now may name other paths. `nested`: the repositories that the index names now.
    pub(super) fn is_outdated(&self, nested: &BTreeSet<String>) -> bool {
        self.nested != *nested
            || self.stamps.iter().any(|(path, stamp)| *stamp != GitFileStamp::from_path(path))
    }
}

#[derive(PartialEq, Eq)]
struct GitFileStamp {
    inode: u64,
    size: u64,
    /// Of a directory when its entries changed, of a file when anything did.
    changed: (i64, i64),
}

impl GitFileStamp {
    fn from_path(path: &Path) -> Option<Self> {
        let found = path.symlink_metadata().ok()?;
        let changed = if found.is_dir() {
            (found.mtime(), found.mtime_nsec())
        } else {
            (found.ctime(), found.ctime_nsec())
        };
        Some(Self { inode: found.ino(), size: found.len(), changed })
    }
}

/// The files of the project's repository, and the directories that get an entry with each new submodule or worktree.
fn project_files(
    places: &SandboxPlaces,
    root: &Path,
    nested: &BTreeSet<String>,
) -> (Vec<PathBuf>, Vec<PathBuf>) {
    let home = places.home.as_deref();
    let bounds = (!places.outside_files).then(|| RepositoryBounds::for_repository(root));
    let of_project = GitFileReading { home, within_bounds: bounds.as_ref() };
    let (mut files, mut directories) = (Vec::new(), Vec::new());
    let own_directories = [places.repository.clone(), Some(root.join(".git"))];
    for git in own_directories.into_iter().flatten() {
        directories.extend(["modules", "worktrees"].map(|name| git.join(name)));
        of_project.add_directory(&git, root, &mut files);
    }
    for name in nested.iter().take(MOST_NESTED) {
        of_project.add_nested(root, name, &mut files);
    }
    files.sort();
    files.dedup();
    (files, directories)
}

fn user_files(places: &SandboxPlaces, root: &Path) -> Vec<PathBuf> {
    let home = places.home.as_deref();
    let mut files = Vec::new();
    let users = GitFileReading { home, within_bounds: None };
    let own = home.map(|home| home.join(".gitconfig"));
    let second = places.config_home.clone().or_else(|| Some(home?.join(".config")));
    let second = second.map(|path| path.join("git/config"));
    for file in [own, second, Some(PathBuf::from("/etc/gitconfig"))].into_iter().flatten() {
        users.named_by(&file, root, &mut files);
    }
    files.sort();
    files.dedup();
    files
}

/// How configurations are read.
struct GitFileReading<'a> {
    home: Option<&'a Path>,
    /// Paths outside of this are not looked up.
    within_bounds: Option<&'a RepositoryBounds>,
}

impl GitFileReading<'_> {
    fn add_directory(&self, git: &Path, root: &Path, files: &mut Vec<PathBuf>) {
        files.extend(["hooks", "commondir", "gitdir"].map(|name| git.join(name)));
        if self.may_look(git) && git.is_file() {
            files.push(git.to_owned());
        }
        for name in ["config", "config.worktree"] {
            self.named_by(&git.join(name), root, files);
        }
        let below = |name: &str| Some(git.join(name)).filter(|path| self.may_look(path));
        for module in below("modules").iter().flat_map(|modules| submodule_directories(modules)) {
            files.extend(["hooks", "commondir"].map(|name| module.join(name)));
            let own = Some(&module).filter(|module| self.may_look(&module.join("config")));
            let own = own.and_then(|module| work_tree(module)).filter(|path| self.may_look(path));
            let own = own.and_then(|path| path.canonicalize().ok());
            let own = own.unwrap_or_else(|| root.to_owned());
            for name in ["config", "config.worktree"] {
                self.named_by(&module.join(name), &own, files);
            }
        }
        let worktrees = below("worktrees").and_then(|worktrees| std::fs::read_dir(worktrees).ok());
        for entry in worktrees.into_iter().flatten().flatten().take(256) {
            files.extend(["gitdir", "commondir"].map(|name| entry.path().join(name)));
            self.named_by(&entry.path().join("config.worktree"), root, files);
        }
    }

    /// The repository at a path that the index names. Where it has no directory of its own, as a submodule, or none yet, the
    /// whole of `.git` is protected: it names the directory whose configuration git follows.
    fn add_nested(&self, root: &Path, name: &str, files: &mut Vec<PathBuf>) {
        let plain = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !plain || name.is_empty() {
            return;
        }
        let work_tree = root.join(name);
        let git = work_tree.join(".git");
        if self.may_look(&git) && git.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            self.add_directory(&git, &work_tree, files);
            return;
        }
        let named = Some(&git).filter(|git| self.may_look(git)).and_then(|git| PathFile::read_if_exists(git));
        let named = named.and_then(|named| Some(work_tree.join(named.git_directory()?)));
        if let Some(directory) = named.filter(|directory| self.may_look(directory)) {
            self.add_directory(&directory, &work_tree, files);
        }
        files.push(git);
    }

    fn may_look(&self, path: &Path) -> bool {
        self.within_bounds.is_none_or(|own| own.contains_path(path))
    }

    /// A file of the configuration, what it includes, and the programs that it names.
    fn named_by(&self, file: &Path, work_tree: &Path, files: &mut Vec<PathBuf>) {
        let found = GitConfiguration::read_file(file, self.home, self.within_bounds);
        files.extend(found.named_programs(work_tree, self.home));
        files.extend(found.files);
    }
}

/// Git directories of submodules. Their names may have slashes, and submodules have submodules.
fn submodule_directories(directory: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![directory.to_owned()], Vec::new());
    while let Some(next) = open.pop().filter(|_| found.len() < 256) {
        // it may be a link, and lead anywhere
        let is_one = next.join("HEAD").symlink_metadata().is_ok_and(|head| !head.is_dir());
        for entry in std::fs::read_dir(&next).into_iter().flatten().flatten() {
            let wanted = !is_one || entry.file_name() == "modules";
            if wanted && entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                open.push(entry.path());
            }
        }
        if is_one {
            found.push(next);
        }
    }
    found
}
