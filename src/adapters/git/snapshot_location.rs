//! Where a project's snapshots live: its own repository, or a private one in the data directory.
//! Opens, never changes the user's repository; refuses the home directory and the filesystem root.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use git2::{Repository, RepositoryInitOptions};
use sha2::{Digest, Sha256};

use super::ignore_rules::IgnoreRules;
use super::open_repository::{OutsideFiles, is_refusal, open_around};
use super::snapshot_entry::{RelPath, to_bytes};
use super::snapshot_error::{self, SnapshotResult, snapshot_error};
use super::stat_cache;
use crate::file_io::{ensure_private_directory, private_file};
use crate::hidden_recording::HiddenRecording;
use crate::ignore_files::{
    is_readable, parse_ignore_file as parse, read_ignore_file, read_project_ignore_file,
};

/// Asked of libgit2 only where every file that it opens for this is one, as it would wait for a pipe. `None`: unknown.
fn is_ignored(repo: &Repository, work: &Path, prefix: &Path) -> Option<bool> {
    let global = repo.config().ok().and_then(|config| config.get_path("core.excludesFile").ok());
    let above = prefix.ancestors().skip(1).map(|dir| work.join(dir).join(".gitignore"));
    let info = repo.commondir().join("info");
    let mut own = above.chain([info.join("exclude")]);
    let missing = |file: &Path| fs::symlink_metadata(file).is_err();
    let plain = |file: &Path| fs::symlink_metadata(file).is_ok_and(|found| found.is_file());
    let readable = !info.is_symlink()
        && own.all(|file| plain(&file) || missing(&file))
        && global.is_none_or(|file| is_readable(&file) || missing(&file));
    if readable { repo.is_path_ignored(prefix).ok() } else { None }
}

/// Files of this program inside the project: no snapshot holds them, no restore touches them.
#[derive(Clone, Default)]
pub struct ProgramFiles {
    /// Without symbolic links.
    pub data_directory: Option<PathBuf>,
    /// That this process makes or plays.
    pub recording: Option<HiddenRecording>,
}

/// A project and its corner of the data directory.
pub struct SnapshotLocation {
    /// Without symbolic links.
    pub project: PathBuf,
    /// `<data>/snapshots/<hash of the project's path>`: private index, lock, private repository.
    pub project_data: PathBuf,
    pub program_files: ProgramFiles,
    /// What the project's repository may open outside of itself.
    pub outside_files: OutsideFiles,
}

/// One repository that holds snapshots.
pub struct SnapshotRepository {
    pub repo: Repository,
    /// The private repository of a project that git cannot serve.
    pub private: bool,
    /// The project's place in the work tree; empty at its top and in private stores.
    pub prefix: PathBuf,
}

impl SnapshotRepository {
    pub fn location(&self) -> &Path {
        self.repo.path()
    }

    /// Distinguishes snapshots of one project from those of others in the same repository.
    pub fn scope_name(&self) -> String {
        if self.private {
            return String::new();
        }
        let tree = if self.repo.is_worktree() {
            self.repo.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        } else {
            String::new()
        };
        format!("{tree}:{}", self.prefix.display())
    }

    /// The path of a project file as the work tree knows it.
    pub fn in_tree(&self, path: &[u8]) -> RelPath {
        if self.prefix.as_os_str().is_empty() {
            return path.to_vec();
        }
        let mut full = to_bytes(&self.prefix);
        full.push(b'/');
        full.extend_from_slice(path);
        full
    }
}

impl SnapshotLocation {
    /// Checks that `project` may be snapshotted.
    /// # Errors
    /// It does not exist, or is the root or the home directory (or holds it).
    pub fn resolve_project(project: &Path, data: &Path, home: Option<&Path>) -> SnapshotResult<Self> {
        let real =
            fs::canonicalize(project).map_err(|error| snapshot_error::project_io_error(project, &error))?;
        let home = home.map(|home| fs::canonicalize(home).unwrap_or_else(|_| home.to_owned()));
        if real.parent().is_none() || home.is_some_and(|home| home.starts_with(&real)) {
            return Err(snapshot_error(
                format!("no snapshots of {}: it is the home directory or above it", real.display()),
                "Start in a project directory of its own.",
            ));
        }
        let data = fs::canonicalize(data).unwrap_or_else(|_| data.to_owned());
        let fenced = data.starts_with(&real).then(|| data.clone());
        let corner = Self::project_data_directory(&data, &real);
        Ok(Self {
            project: real,
            project_data: corner,
            program_files: ProgramFiles { data_directory: fenced, recording: None },
            outside_files: OutsideFiles::Refused,
        })
    }

    /// The part of the data directory that belongs to a project, by its path without symbolic links.
    pub fn project_data_directory(data: &Path, project: &Path) -> PathBuf {
        let hash = Sha256::digest(to_bytes(project));
        let key: String = hash.iter().take(10).map(|byte| format!("{byte:02x}")).collect();
        data.join("snapshots").join(key)
    }

    /// What the last snapshot in the project's repository, or in the private one, knew of the files.
    pub fn stat_cache_file(&self, is_private: bool) -> PathBuf {
        self.project_data.join(if is_private { "index-private" } else { "index-repository" })
    }

    /// The store new snapshots go to; the private one is created when needed.
    pub fn store(&self) -> SnapshotResult<SnapshotRepository> {
        match self.open_project_repository()? {
            Some(store) => Ok(store),
            None => self.create_private(),
        }
    }

    /// Another handle of the same store, for another thread. Checks the repository again: a command may have put a link
    /// in its place.
    ///
    /// # Errors
    /// As [`open_around`].
    pub fn open_again(&self, is_private: bool) -> Result<Repository, git2::Error> {
        if is_private {
            return Repository::open_bare(self.private_path());
        }
        open_around(&self.project, self.outside_files)
    }

    /// Every store that may hold snapshots of this project: git may have come or gone since.
    ///
    /// # Errors
    /// As [`SnapshotLocation::open_project_repository`].
    pub fn all_stores(&self) -> SnapshotResult<Vec<SnapshotRepository>> {
        Ok(self.open_project_repository()?.into_iter().chain(self.open_private()).collect())
    }

    /// The same, with one that is open.
    ///
    /// # Errors
    /// As [`SnapshotLocation::open_project_repository`].
    pub fn stores_beside(&self, store: SnapshotRepository) -> SnapshotResult<Vec<SnapshotRepository>> {
        let other = if store.private { self.open_project_repository()? } else { self.open_private() };
        Ok([store].into_iter().chain(other).collect())
    }

    fn open_private(&self) -> Option<SnapshotRepository> {
        let repo = Repository::open_bare(self.private_path()).ok()?;
        Some(SnapshotRepository { repo, private: true, prefix: PathBuf::new() })
    }

    /// Held while the private index or the project changes, so that two instances take turns.
    pub fn lock_project(&self) -> SnapshotResult<File> {
        ensure_private_directory(&self.project_data)
            .map_err(|error| snapshot_error::store_io_error(&self.project_data, &error))?;
        let path = self.project_data.join("lock");
        let file = private_file(&path).map_err(|error| snapshot_error::store_io_error(&path, &error))?;
        file.lock().map_err(|error| snapshot_error::store_io_error(&path, &error))?;
        Ok(file)
    }

    /// The ignore rules from outside the project's own files.
    pub fn rules(&self, store: &SnapshotRepository, exclude: &[String]) -> IgnoreRules {
        let mut outer = Vec::new();
        let config = store.repo.config().ok();
        let global = config
            .as_ref()
            .and_then(|config| config.get_path("core.excludesFile").ok())
            .or_else(|| directories::BaseDirs::new().map(|dirs| dirs.config_dir().join("git/ignore")));
        let top = Path::new("");
        outer.extend(global.and_then(|path| read_ignore_file(&path)).map(|text| parse(top, &text)));
        let common =
            if store.private { self.project.join(".git") } else { store.repo.commondir().to_owned() };
        let of_repository = read_project_ignore_file(&common, &common.join("info/exclude"));
        outer.extend(of_repository.map(|text| parse(top, &text)));
        if let Some(work) = store.repo.workdir() {
            let mut above: Vec<&Path> = store.prefix.ancestors().skip(1).collect();
            above.reverse();
            for dir in above {
                let text = read_project_ignore_file(work, &work.join(dir).join(".gitignore"));
                outer.extend(text.map(|text| parse(dir, &text)));
            }
        }
        IgnoreRules {
            outer_rules: outer,
            exclude: parse(top, exclude.join("\n").as_bytes()),
            prefix: store.prefix.clone(),
        }
    }

    /// `None` when there is no repository or libgit2 cannot serve it: split or sparse index, reftable,
    /// SHA-256, foreign owner, a surrounding repository that ignores the project, or files of it that lead out of it
    /// while its user has not seen which.
    ///
    /// # Errors
    /// A file of it is a pipe or something else that cannot be read as a file.
    pub fn open_project_repository(&self) -> SnapshotResult<Option<SnapshotRepository>> {
        match open_around(&self.project, self.outside_files) {
            Ok(repo) => Ok(self.usable_store(repo)),
            Err(error) if is_refusal(&error) => {
                Err(snapshot_error::refused_repository_error(&self.project, &error))
            }
            Err(_) => Ok(None),
        }
    }

    fn usable_store(&self, repo: Repository) -> Option<SnapshotRepository> {
        let work = fs::canonicalize(repo.workdir()?).ok()?;
        let prefix = self.project.strip_prefix(&work).ok()?.to_owned();
        if prefix.starts_with(".git") || !prefix.as_os_str().is_empty() && is_ignored(&repo, &work, &prefix)?
        {
            return None;
        }
        // libgit2 has read this one before
        let is_known = stat_cache::load_index_summary(&self.stat_cache_file(false))
            .is_some_and(|summary| summary.is_current(&repo));
        if !is_known {
            repo.index().ok()?;
        }
        Some(SnapshotRepository { repo, private: false, prefix })
    }

    fn private_path(&self) -> PathBuf {
        self.project_data.join("objects.git")
    }

    fn create_private(&self) -> SnapshotResult<SnapshotRepository> {
        let path = self.private_path();
        ensure_private_directory(&self.project_data)
            .map_err(|error| snapshot_error::store_io_error(&self.project_data, &error))?;
        let repo = match Repository::open_bare(&path) {
            Ok(repo) => repo,
            Err(_) => {
                // git makes what is in it readable, so the door is closed first
                ensure_private_directory(&path)
                    .map_err(|error| snapshot_error::store_io_error(&path, &error))?;
                let mut options = RepositoryInitOptions::new();
                options.bare(true).mkdir(true).external_template(false);
                Repository::init_opts(&path, &options)
                    .map_err(|error| snapshot_error::git_write_error(&path, &error))?
            }
        };
        Ok(SnapshotRepository { repo, private: true, prefix: PathBuf::new() })
    }
}
