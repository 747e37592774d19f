//! What was changed since a snapshot and is not in it: ignored files, other repositories inside, HEAD.
//! Looks at times only, at so many files at most; reads no file and changes none.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use git2::Repository;

use super::entry::{RelPath, shown, to_path};
use super::fault::Outcome;
use super::here::Here;
use super::record::Record;
use super::seed::Seed;
use super::walk::{Walked, walk};
use crate::domain::snapshot::Beyond;

/// Files that are looked at; in a directory of build results there are many.
const MOST: usize = 50_000;
/// That are named.
const NAMED: usize = 20;

/// `covered`: comes back, although it may be ignored.
///
/// # Errors
/// The user's index cannot be read.
pub fn beyond(here: &Here, record: &Record, covered: &dyn Fn(&RelPath) -> bool) -> Outcome<Beyond> {
    let seed = Seed::read(&here.store)?;
    let is_submodule = |path: &[u8]| seed.submodules.contains_key(path);
    let (root, fenced) = (&here.place.project, here.place.fenced.as_deref());
    let Walked { mut ignored, nested, .. } = walk(root, &here.rules, &is_submodule, fenced);
    ignored.retain(|path| !covered(path) && seed.tracked.binary_search(path).is_err());
    let millis = u64::try_from(record.created.0).unwrap_or(0);
    let mut look = Look { since: UNIX_EPOCH + Duration::from_millis(millis), left: MOST };
    let mut changed = |paths: &[RelPath]| -> Vec<String> {
        let newer = paths.iter().filter(|path| look.is_newer(&root.join(to_path(path))));
        newer.take(NAMED).map(|path| shown(path)).collect()
    };
    let (ignored, nested) = (changed(&ignored), changed(&nested));
    let moved = |then: &String| !here.store.private && *then != head(&here.store.repo);
    Ok(Beyond { ignored, nested, head: record.head.as_ref().is_some_and(moved) })
}

/// The commit at which HEAD is; empty before the first one.
pub fn head(repo: &Repository) -> String {
    let at = repo.head().ok().and_then(|head| head.peel_to_commit().ok());
    at.map(|commit| commit.id().to_string()).unwrap_or_default()
}

struct Look {
    since: std::time::SystemTime,
    left: usize,
}

impl Look {
    /// Whether it was written, or something in it was. A directory's own time tells what came and went.
    fn is_newer(&mut self, place: &Path) -> bool {
        self.left = self.left.saturating_sub(1);
        let Ok(meta) = fs::symlink_metadata(place) else { return false };
        if meta.modified().is_ok_and(|at| at >= self.since) {
            return true;
        }
        if !meta.is_dir() {
            return false;
        }
        let items = fs::read_dir(place).into_iter().flatten().flatten();
        items.into_iter().any(|item| self.left > 0 && self.is_newer(&item.path()))
    }
}
