//! Where the things are that a policy speaks of.

use std::path::{Path, PathBuf};

use crate::adapters::ignore_files::read_ignore_file;

/// Where the things are that a policy speaks of.
#[derive(Clone, Debug, Default)]
pub struct SandboxPlaces {
    /// The project or the run's worktree.
    pub root: PathBuf,
    /// Git's directory where it lies outside of `root`, as for a worktree.
    pub repository: Option<PathBuf>,
    pub home: Option<PathBuf>,
    /// Of this program: not readable by commands.
    pub data: PathBuf,
    pub configuration: PathBuf,
    /// Directories of `PATH`, and what toolchains' variables name.
    pub search_path: Vec<PathBuf>,
    pub cargo_home: Option<PathBuf>,
    pub go_path: Option<PathBuf>,
    pub cache_home: Option<PathBuf>,
    /// This program itself.
    pub helper: PathBuf,
}

impl SandboxPlaces {
    /// With nothing known but the project.
    pub fn of_project(root: &Path) -> Self {
        Self { root: root.to_owned(), ..Self::default() }
    }
}

/// Git's own directory where it does not lie in `root`: `root` is a linked worktree or a submodule.
pub fn linked_repository(root: &Path) -> Option<PathBuf> {
    let link = root.join(".git");
    let small = std::fs::symlink_metadata(&link).is_ok_and(|found| found.is_file() && found.len() < 1 << 16);
    let text = small.then(|| std::fs::read_to_string(&link).ok()).flatten()?;
    let own = root.join(text.strip_prefix("gitdir:")?.trim());
    let common = read_ignore_file(&own.join("commondir"));
    let common = common.map(|text| own.join(String::from_utf8_lossy(&text).trim()));
    let repository = common.unwrap_or_else(|| own.clone());
    repository.canonicalize().ok().filter(|path| path.join("objects").is_dir() || path.join("HEAD").is_file())
}
