//! The branch of a worktree: its name, the commit of its final state, its merge mark, and what would be lost.
//! Moves no branch but ours.

use git2::{Commit, ErrorCode, Oid, Repository};

use super::linked_worktree::LinkedWorktree;
use crate::git::open_repository::{OutsideFiles, open_at};
use crate::git::snapshot_commit::{self, ADDRESS};
use crate::git::snapshot_error::{self, SnapshotResult};
use synthdev_domain::ids::{RunId, Timestamp};

/// One ref per worktree: what was merged of it; see [`super::merge_history`].
pub const MERGED: &str = "refs/synthdev/merged/";
const LONGEST: usize = 60;
const TRIES: usize = 20;

/// Names to try for a worktree and its branch: `RUN` on `synthdev/RUN`, then with a number; `synthdev-RUN` where a
/// branch `synthdev` takes the room.
pub fn candidate_names(run: &RunId) -> impl Iterator<Item = (String, String)> {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '-' };
    let name: String = run.as_str().chars().map(plain).take(LONGEST).collect();
    let name = name.trim_matches('-').to_owned();
    let name = if name.is_empty() { "run".to_owned() } else { name };
    let numbered = move |n: usize| if n == 1 { name.clone() } else { format!("{name}-{n}") };
    let below = |name: String| (name.clone(), format!("synthdev/{name}"));
    let beside = |name: String| (name.clone(), format!("synthdev-{name}"));
    let again = numbered.clone();
    (1..=TRIES).map(numbered).map(below).chain((1..=TRIES).map(again).map(beside))
}

pub fn full_ref_name(branch: &str) -> String {
    format!("refs/heads/{branch}")
}

/// Commits the worktree's files above what the branch and the worktree's HEAD hold, and moves the branch there.
/// Returns the tip; the present one if it has these files already.
pub fn commit_final_files(
    repo: &Repository,
    linked: &LinkedWorktree,
    tree: Oid,
    at: Timestamp,
) -> SnapshotResult<Oid> {
    let failed = |error: git2::Error| snapshot_error::git_write_error(repo.path(), &error);
    let parents = merge_parents(repo, linked).map_err(failed)?;
    if let [only] = parents.as_slice()
        && only.tree_id() == tree
        && branch_tip(repo, linked) == Some(only.id())
    {
        return Ok(only.id());
    }
    let commit = || {
        let who = snapshot_commit::commit_signature(at)?;
        let message = format!("Files after run {}\n", linked.name);
        let parents: Vec<&Commit<'_>> = parents.iter().collect();
        let files = repo.find_tree(tree)?;
        let commit = repo.commit(None, &who, &who, &message, &files, &parents)?;
        repo.reference(&full_ref_name(&linked.branch), commit, true, "synthdev: files after the run")?;
        let here = repo.find_reference("HEAD")?;
        if here.symbolic_target().ok().flatten() == Some(full_ref_name(&linked.branch).as_str()) {
            let mut index = repo.index()?;
            index.read_tree(&files)?;
            index.write()?;
        }
        Ok(commit)
    };
    commit().map_err(failed)
}

/// The number of commits by others in the worktree that are neither merged nor on another ref.
pub fn unmerged_commit_count(repo: &Repository, linked: &LinkedWorktree) -> Result<usize, git2::Error> {
    let mut walk = repo.revwalk()?;
    let mut any = false;
    for tip in branch_tip(repo, linked).into_iter().chain(head_commit(linked)) {
        walk.push(tip)?;
        any = true;
    }
    if !any {
        return Ok(0);
    }
    let merged = repo.refname_to_id(&format!("{MERGED}{}", linked.name)).ok();
    let others = repo.references()?.flatten().filter(|found| {
        found
            .name()
            .is_ok_and(|name| name != full_ref_name(&linked.branch) && !name.starts_with("refs/synthdev/"))
    });
    let others = others.filter_map(|found| Some(found.peel_to_commit().ok()?.id()));
    let base = repo.find_commit(linked.base).ok().map(|commit| commit.id());
    let user = repo.head().ok().and_then(|head| head.target());
    for known in others.chain(merged).chain(base).chain(user) {
        // A merged commit may have been pruned by hand; then there is nothing to hide.
        let _ = walk.hide(known);
    }
    let mut count = 0;
    for id in walk {
        let commit = repo.find_commit(id?)?;
        count += usize::from(commit.committer().email_bytes() != ADDRESS.as_bytes());
    }
    Ok(count)
}

/// Removes the branch and the mark; a missing one is no error.
pub fn delete_branch(repo: &Repository, linked: &LinkedWorktree) -> Result<(), git2::Error> {
    let gone = |result: Result<(), git2::Error>| match result {
        Err(error) if error.code() != ErrorCode::NotFound => Err(error),
        _ => Ok(()),
    };
    gone(repo.find_branch(&linked.branch, git2::BranchType::Local).and_then(|mut branch| branch.delete()))?;
    let mark = format!("{MERGED}{}", linked.name);
    gone(repo.find_reference(&mark).and_then(|mut mark| mark.delete()))
}

/// The commit of the branch.
pub fn branch_tip(repo: &Repository, linked: &LinkedWorktree) -> Option<Oid> {
    repo.refname_to_id(&full_ref_name(&linked.branch)).ok()
}

/// The commit of the worktree, which may be off its branch.
fn head_commit(linked: &LinkedWorktree) -> Option<Oid> {
    // of a repository that is open
    open_at(&linked.top_directory, OutsideFiles::Allowed).ok()?.head().ok()?.target()
}

/// The branch's tip and the worktree's HEAD, without one that the other contains.
fn merge_parents<'repo>(
    repo: &'repo Repository,
    linked: &LinkedWorktree,
) -> Result<Vec<Commit<'repo>>, git2::Error> {
    let tips = match (branch_tip(repo, linked), repo.head().ok().and_then(|head| head.target())) {
        (Some(tip), Some(head)) if tip == head || repo.graph_descendant_of(tip, head)? => vec![tip],
        (Some(tip), Some(head)) if repo.graph_descendant_of(head, tip)? => vec![head],
        (tip, head) => tip.into_iter().chain(head).collect(),
    };
    tips.into_iter().map(|id| repo.find_commit(id)).collect()
}
