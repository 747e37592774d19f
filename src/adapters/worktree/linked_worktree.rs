//! A worktree as named by a run's record: checked before it is read or removed. Trusts no path that is not ours.

use std::fs;
use std::path::{Path, PathBuf};

use git2::Oid;

use crate::git::GitSnapshots;
use crate::git::open_repository::{is_outside_lead_error, is_refusal, open_around};
use crate::git::repository_context::RepositoryContext;
use crate::git::snapshot_error::{self, SnapshotResult, snapshot_error};
use crate::git::snapshot_location::{SnapshotLocation, SnapshotRepository};
use synthdev_domain::snapshot::RunWorktree;
use synthdev_ports::snapshot::SnapshotError;

/// Where a worktree is, or was.
pub struct LinkedWorktree {
    /// Its top: `<data>/worktrees/<name>`.
    pub top_directory: PathBuf,
    /// The project's place below the top.
    pub prefix: PathBuf,
    /// As git knows it.
    pub name: String,
    pub branch: String,
    pub base: Oid,
}

impl LinkedWorktree {
    /// # Errors
    /// The record names something that is no worktree of this project and data directory.
    pub fn locate_worktree(
        worktree: &RunWorktree,
        store: &SnapshotRepository,
        data: &Path,
    ) -> SnapshotResult<Self> {
        let foreign = || {
            snapshot_error(
                format!("{} is no worktree of this project", worktree.path),
                "Start in the project in which the run was started; `git worktree list` shows its worktrees.",
            )
        };
        let path = Path::new(&worktree.path);
        if !path.ends_with(&store.prefix) {
            return Err(foreign());
        }
        let top = path.ancestors().nth(store.prefix.components().count()).ok_or_else(foreign)?;
        let room = fs::canonicalize(data).unwrap_or_else(|_| data.to_owned()).join("worktrees");
        let name = top.file_name().and_then(|name| name.to_str()).ok_or_else(foreign)?;
        let base = Oid::from_str(&worktree.base).map_err(|_| foreign())?;
        let ours = worktree.branch.starts_with("synthdev/") || worktree.branch.starts_with("synthdev-");
        if top.parent() != Some(&room) || path.components().any(|part| part.as_os_str() == "..") || !ours {
            return Err(foreign());
        }
        let (name, branch) = (name.to_owned(), worktree.branch.clone());
        // Spelled as the system spells it: our notes are found by these bytes.
        let linked =
            Self { top_directory: room.join(&name), prefix: store.prefix.clone(), name, branch, base };
        if linked.belongs_to(store) { Ok(linked) } else { Err(foreign()) }
    }

    /// Other projects have worktrees in the same directory.
    fn belongs_to(&self, store: &SnapshotRepository) -> bool {
        match fs::read_to_string(self.top_directory.join(".git")) {
            Ok(link) => {
                let record = link.trim_end().strip_prefix("gitdir: ").map(Path::new);
                let common = record.and_then(|record| record.parent()?.parent());
                common.is_some_and(|common| is_same_path(common, store.repo.commondir()))
            }
            Err(_) => {
                fs::symlink_metadata(&self.top_directory).is_err()
                    || store.repo.find_commit(self.base).is_ok()
            }
        }
    }

    /// Where the run works.
    pub fn project(&self) -> PathBuf {
        if self.prefix.as_os_str().is_empty() {
            self.top_directory.clone()
        } else {
            self.top_directory.join(&self.prefix)
        }
    }

    /// Opens the worktree.
    ///
    /// # Errors
    /// It is gone, or the directory is not the worktree that was made for the run.
    pub fn open_snapshots(
        &self,
        snapshots: &GitSnapshots,
        store: &SnapshotRepository,
    ) -> SnapshotResult<RepositoryContext> {
        let inside = snapshots.for_directory(&self.top_directory);
        let place = inside.resolve_location().map_err(|_| self.gone_error())?;
        let own = place.open_project_repository()?.filter(|own| {
            own.prefix.as_os_str().is_empty() && is_same_path(own.repo.commondir(), store.repo.commondir())
        });
        Ok(inside.repository_context(place, own.ok_or_else(|| self.gone_error())?))
    }

    /// Git's record of it; `None` if there is none or it belongs to another directory.
    pub fn metadata(&self, store: &SnapshotRepository) -> Option<PathBuf> {
        let place = store.repo.commondir().join("worktrees").join(&self.name);
        let target = fs::read_to_string(place.join("gitdir"));
        let ours = match target {
            Ok(target) => Path::new(target.trim_end()) == self.top_directory.join(".git"),
            // Half removed: git would prune it as well.
            Err(_) => fs::symlink_metadata(&place).is_ok_and(|meta| meta.is_dir()),
        };
        ours.then_some(place)
    }

    pub fn gone_error(&self) -> SnapshotError {
        snapshot_error(
            format!("the worktree {} is gone or damaged", self.top_directory.display()),
            format!("What was committed is on branch {}; discard the worktree to clean up.", self.branch),
        )
    }
}

/// Why a directory cannot be isolated.
pub fn unusable_error(place: &SnapshotLocation) -> SnapshotError {
    let project = &place.project;
    let found = open_around(project, place.outside_files);
    if let Err(error) = &found
        && is_refusal(error)
    {
        return snapshot_error::refused_repository_error(project, error);
    }
    let project = project.display();
    match found {
        Ok(repo) if repo.is_bare() => snapshot_error(
            format!("{project} is in a bare git repository, which has no files to isolate"),
            "Start in a clone of it that has files.",
        ),
        Err(error) if error.code() == git2::ErrorCode::NotFound => snapshot_error(
            format!("isolation needs a git repository, and {project} is in none"),
            "Run `git init` there, or run without isolation.",
        ),
        Ok(repo) if repo.index().is_err() => {
            let reason = repo.index().err().map(|error| error.message().to_owned()).unwrap_or_default();
            snapshot_error(
                format!("the index of {project} has a form that isolation cannot read: {reason}"),
                "Run without isolation; `git update-index --no-split-index` may help.",
            )
        }
        Ok(_) => snapshot_error(
            format!("{project} is a directory that its git repository ignores, so it cannot be isolated"),
            "Run `git init` in it, or run without isolation.",
        ),
        Err(error) if is_outside_lead_error(&error) => snapshot_error(
            format!("the git repository of {project} is not opened: {}", error.message()),
            "See what it names with `synthdev trust`, then start with --trust, or run without isolation.",
        ),
        Err(error) => snapshot_error(
            format!("the git repository of {project} cannot be isolated: {}", error.message()),
            "Run without isolation.",
        ),
    }
}

fn is_same_path(one: &Path, other: &Path) -> bool {
    fs::canonicalize(one).ok().zip(fs::canonicalize(other).ok()).is_some_and(|(one, other)| one == other)
}
