//! Files of a git directory that name programs: git's own runs of them are outside of the sandbox.

use std::path::{Path, PathBuf};

use super::git_configuration::GitConfiguration;
use super::sandbox_places::SandboxPlaces;
use crate::adapters::git_entries::work_tree;
use crate::adapters::repository_bounds::RepositoryBounds;

/// Of the project's repository and of the user, each with all that is included.
pub(super) fn git_files(places: &SandboxPlaces, root: &Path) -> Vec<PathBuf> {
    let home = places.home.as_deref();
    let bounds = (!places.outside_files).then(|| RepositoryBounds::of(root));
    let of_project = GitFileReading { home, within: bounds.as_ref() };
    let mut files = Vec::new();
    let directories = [places.repository.clone(), Some(root.join(".git"))];
    for git in directories.into_iter().flatten() {
        of_project.directory(&git, root, &mut files);
    }
    let users = GitFileReading { home, within: None };
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
    /// What lies outside of this is not opened.
    within: Option<&'a RepositoryBounds>,
}

impl GitFileReading<'_> {
    fn directory(&self, git: &Path, root: &Path, files: &mut Vec<PathBuf>) {
        files.extend(["hooks", "commondir", "gitdir"].map(|name| git.join(name)));
        if git.is_file() {
            files.push(git.to_owned());
        }
        for name in ["config", "config.worktree"] {
            self.named_by(&git.join(name), root, files);
        }
        let below =
            |name: &str| Some(git.join(name)).filter(|path| self.within.is_none_or(|own| own.hold(path)));
        for module in below("modules").iter().flat_map(|modules| modules_in(modules)) {
            files.extend(["hooks", "commondir"].map(|name| module.join(name)));
            let own = work_tree(&module).and_then(|path| path.canonicalize().ok());
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

    /// A file of the configuration, what it includes, and the programs that it names.
    fn named_by(&self, file: &Path, work_tree: &Path, files: &mut Vec<PathBuf>) {
        let found = GitConfiguration::read(file, self.home, self.within);
        files.extend(found.programs(work_tree, self.home));
        files.extend(found.files);
    }
}

/// Git directories of submodules. Their names may have slashes, and submodules have submodules.
fn modules_in(directory: &Path) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![directory.to_owned()], Vec::new());
    while let Some(next) = open.pop().filter(|_| found.len() < 256) {
        let is_one = next.join("HEAD").is_file();
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
