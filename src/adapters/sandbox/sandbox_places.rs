//! Paths that a sandbox policy refers to.

use std::path::{Path, PathBuf};

/// Paths that a sandbox policy refers to.
#[derive(Clone, Debug, Default)]
pub struct SandboxPlaces {
    /// The project or the run's worktree.
    pub root: PathBuf,
    /// Git's directory if it is outside of `root`, as for a worktree.
    pub repository: Option<PathBuf>,
    /// What the repository's own configuration includes outside of it may be opened: the user has seen it.
    pub outside_files: bool,
    pub home: Option<PathBuf>,
    /// Of this program: not readable by commands.
    pub data: PathBuf,
    pub configuration: PathBuf,
    /// Directories of `PATH`, and what toolchains' variables name.
    pub search_path: Vec<PathBuf>,
    pub cargo_home: Option<PathBuf>,
    pub go_path: Option<PathBuf>,
    pub cache_home: Option<PathBuf>,
    pub config_home: Option<PathBuf>,
    pub data_home: Option<PathBuf>,
    pub docker_home: Option<PathBuf>,
    /// What else the environment names as a place of keys.
    pub key_places: Vec<PathBuf>,
    /// This program itself.
    pub helper: PathBuf,
}

impl SandboxPlaces {
    /// With nothing known but the project.
    pub fn for_project(root: &Path) -> Self {
        Self { root: root.to_owned(), ..Self::default() }
    }
}
