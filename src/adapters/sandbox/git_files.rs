//! Files of a git directory that name programs: git's own runs of them are outside of the sandbox.

use std::path::{Path, PathBuf};

use super::git_configuration::GitConfiguration;
use super::places::SandboxPlaces;

/// Of the project's repository and of the user, each with all that is included.
pub(super) fn git_files(places: &SandboxPlaces, root: &Path) -> Vec<PathBuf> {
    let home = places.home.as_deref();
    let mut files = Vec::new();
    let directories = [places.repository.clone(), Some(root.join(".git"))];
    for git in directories.into_iter().flatten() {
        files.extend(of_directory(&git, root, home));
    }
    let own = home.map(|home| home.join(".gitconfig"));
    let second = places.config_home.clone().or_else(|| Some(home?.join(".config")));
    let users = [own, second.map(|path| path.join("git/config")), Some(PathBuf::from("/etc/gitconfig"))];
    for file in users.into_iter().flatten() {
        named_by(&file, root, home, &mut files);
    }
    files.sort();
    files.dedup();
    files
}

fn of_directory(git: &Path, root: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        ["hooks", "commondir", "gitdir"].iter().map(|name| git.join(name)).collect();
    if git.is_file() {
        files.push(git.to_owned());
    }
    for name in ["config", "config.worktree"] {
        named_by(&git.join(name), root, home, &mut files);
    }
    for module in modules(&git.join("modules")) {
        files.extend(["hooks", "commondir"].map(|name| module.join(name)));
        let own = GitConfiguration::read(&module.join("config"), home).work_tree(&module);
        let work_tree = own.and_then(|path| path.canonicalize().ok()).unwrap_or_else(|| root.to_owned());
        for name in ["config", "config.worktree"] {
            named_by(&module.join(name), &work_tree, home, &mut files);
        }
    }
    for entry in std::fs::read_dir(git.join("worktrees")).into_iter().flatten().flatten().take(256) {
        files.extend(["gitdir", "commondir"].map(|name| entry.path().join(name)));
        named_by(&entry.path().join("config.worktree"), root, home, &mut files);
    }
    files
}

/// A file of the configuration, what it includes, and the programs that it names.
fn named_by(file: &Path, work_tree: &Path, home: Option<&Path>, files: &mut Vec<PathBuf>) {
    let found = GitConfiguration::read(file, home);
    files.extend(found.programs(work_tree, home));
    files.extend(found.files);
}

/// Git directories of submodules. Their names may have slashes, and submodules have submodules.
fn modules(directory: &Path) -> Vec<PathBuf> {
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
