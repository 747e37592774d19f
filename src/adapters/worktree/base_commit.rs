//! The commit a worktree begins from: the project's present files above HEAD, and a note of what they lack.
//! Moves no ref.

use std::path::Path;

use git2::{Oid, Repository, Tree};
use serde::{Deserialize, Serialize};

use crate::git::snapshot_commit;
use crate::git::snapshot_error::{self, SnapshotResult, snapshot_error};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::snapshot::SkippedPath;

/// The message's JSON part.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct BaseCommitNote {
    pub run: Option<RunId>,
    pub workflow: String,
    /// What the worktree lacks, by path from the top of the repository.
    pub skipped: Vec<SkippedPath>,
    /// The run began at another host, and its first files are not known here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_adopted: bool,
}

/// A base as stored.
pub struct WorktreeBase<'repo> {
    pub note: BaseCommitNote,
    /// Of the whole repository.
    pub tree: Tree<'repo>,
}

impl<'repo> WorktreeBase<'repo> {
    /// # Errors
    /// The commit is missing: another repository, or pruned after the branch was deleted by hand.
    pub fn load_base(repo: &'repo Repository, id: Oid) -> SnapshotResult<Self> {
        let commit = repo.find_commit(id).map_err(|_| {
            snapshot_error(
                format!("{} has no commit {id}, from which the run's worktree began", repo.path().display()),
                "Its branch was deleted by hand; discard the worktree, or copy its files yourself first.",
            )
        })?;
        let note = std::str::from_utf8(commit.message_bytes()).ok().and_then(|text| text.split_once("\n\n"));
        let note = note.and_then(|(_, json)| serde_json::from_str(json).ok()).unwrap_or_default();
        let tree = commit.tree().map_err(|error| snapshot_error::git_read_error(repo.path(), &error))?;
        Ok(Self { note, tree })
    }
}

/// What an adopted run changed is not known here: compared with this project, what its host lacked looks deleted.
///
/// # Errors
/// The run was adopted.
pub fn refuse_adopted(note: &BaseCommitNote, worktree: &Path) -> SnapshotResult<()> {
    if !note.is_adopted {
        return Ok(());
    }
    let run = note.run.as_ref().map(RunId::as_str).unwrap_or_default();
    Err(snapshot_error(
        format!(
            "run {run} began at another host, and which files it changed there is not known here: a merge could delete or \
             revert files of this project"
        ),
        format!(
            "Copy what you want of it from {}; `synthdev runs discard {run}` removes it afterwards.",
            worktree.display()
        ),
    ))
}

/// Writes the base above HEAD, or without a parent before the first commit.
pub fn write_base_commit(
    repo: &Repository,
    tree: Oid,
    note: &BaseCommitNote,
    at: Timestamp,
) -> Result<Oid, git2::Error> {
    let who = snapshot_commit::commit_signature(at)?;
    let head = match repo.head() {
        Ok(head) => Some(head.peel_to_commit()?),
        Err(error) if matches!(error.code(), git2::ErrorCode::UnbornBranch | git2::ErrorCode::NotFound) => {
            None
        }
        Err(error) => return Err(error),
    };
    let parents: Vec<_> = head.iter().collect();
    let json = serde_json::to_string_pretty(note).unwrap_or_default();
    let run = note.run.as_ref().map(RunId::as_str).unwrap_or_default();
    let title: String = format!("Files before run {run} of {}", note.workflow);
    let title: String = title.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    repo.commit(None, &who, &who, &format!("{title}\n\n{json}\n"), &repo.find_tree(tree)?, &parents)
}

/// The tree of a directory; an empty one if it is not there.
pub fn subtree_at<'repo>(repo: &'repo Repository, tree: Oid, dir: &Path) -> Result<Tree<'repo>, git2::Error> {
    let top = repo.find_tree(tree)?;
    if dir.as_os_str().is_empty() {
        return Ok(top);
    }
    match top.get_path(dir) {
        Ok(entry) if entry.kind() == Some(git2::ObjectType::Tree) => repo.find_tree(entry.id()),
        _ => empty_tree(repo),
    }
}

/// The tree with another one in place of a directory.
pub fn with_subtree(repo: &Repository, tree: Oid, dir: &Path, subtree: Oid) -> Result<Oid, git2::Error> {
    if dir.as_os_str().is_empty() {
        return Ok(subtree);
    }
    let mut update = git2::build::TreeUpdateBuilder::new();
    update.upsert(dir, subtree, git2::FileMode::Tree);
    update.create_updated(repo, &repo.find_tree(tree)?)
}

/// The tree without files.
pub fn empty_tree(repo: &Repository) -> Result<Tree<'_>, git2::Error> {
    let id = repo.treebuilder(None)?.write()?;
    repo.find_tree(id)
}
