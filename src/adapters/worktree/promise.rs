//! Word of a worktree that is being made. One whose maker was killed is taken away by the next that is made for the
//! project: git would complain about it, and no run knows of it. Refuses to name what was there before.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use git2::Oid;
use serde::{Deserialize, Serialize};

use super::linked::Linked;
use super::remove;
use crate::adapters::git::fault::{self, Outcome};
use crate::adapters::git::place::{Place, Store, private_file};

#[derive(Serialize, Deserialize)]
struct Promise {
    name: String,
    branch: String,
}

/// Before anything of it is made; with the project's lock held, as for the others.
pub fn give(place: &Place, name: &str, branch: &str) -> Outcome<()> {
    let file = file(place);
    let promise = Promise { name: name.to_owned(), branch: branch.to_owned() };
    let text = serde_json::to_vec(&promise).unwrap_or_default();
    private_file(&file).and_then(|mut to| to.write_all(&text)).map_err(|error| fault::store(&file, &error))
}

/// All of it is there, or nothing.
pub fn keep(place: &Place) {
    let _ = fs::remove_file(file(place));
}

/// Takes away what was promised and never finished. What cannot be removed is no reason to make nothing.
pub fn clear(place: &Place, store: &Store, room: &Path, data: &Path) {
    let Ok(text) = fs::read(file(place)) else { return };
    // half a promise: it was given before anything was made
    if let Ok(Promise { name, branch }) = serde_json::from_slice(&text) {
        let top = room.join(&name);
        let base = Oid::ZERO_SHA1;
        let half = Linked { top, prefix: store.prefix.clone(), name, branch, base };
        let lock = store.repo.commondir().join(format!("refs/heads/{}.lock", half.branch));
        let _ = fs::remove_file(lock);
        let _ = remove::discard(&half, store, data, true);
    }
    keep(place);
}

fn file(place: &Place) -> PathBuf {
    place.corner.join("making")
}
