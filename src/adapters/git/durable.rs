//! Puts what was just written on the disk, so that it is there after a power cut: few files one by one, many with one
//! call for their whole file system. Writes nothing itself.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use git2::{Oid, Repository};

/// Above this, one call for the file system is cheaper, however much others have written to it.
const FEW: usize = 100;

/// Files below `root`, with the directories that name them. A file that is gone again is no error.
///
/// # Errors
/// The disk cannot take it.
pub fn files(root: &Path, files: &[PathBuf]) -> io::Result<()> {
    if files.len() > FEW && whole(root)? {
        return Ok(());
    }
    let mut dirs = BTreeSet::new();
    for file in files {
        dirs.extend(file.parent().map(Path::to_owned));
        let is_file = fs::symlink_metadata(file).is_ok_and(|meta| meta.is_file());
        // one that its owner cannot read has no other way
        if is_file && !one(file)? && whole(root)? {
            return Ok(());
        }
    }
    dirs.iter().try_for_each(|dir| one(dir).map(drop))
}

/// Objects of a repository, with what names them; those that lie in packs are there already.
///
/// # Errors
/// The disk cannot take it.
pub fn objects(repo: &Repository, ids: &[Oid]) -> io::Result<()> {
    let root = repo.commondir().join("objects");
    let mut places = BTreeSet::new();
    for id in ids {
        let name = id.to_string();
        let (fan, rest) = name.split_at(2);
        let fan = root.join(fan);
        places.insert(fan.join(rest));
        // the directory that names this one
        places.insert(fan);
    }
    files(&root, &places.into_iter().collect::<Vec<_>>())
}

/// A ref of ours that is a file.
///
/// # Errors
/// The disk cannot take it.
pub fn reference(repo: &Repository, name: &str) -> io::Result<()> {
    let top = repo.commondir();
    let mut places: Vec<PathBuf> = Path::new(name).ancestors().map(|part| top.join(part)).collect();
    // the repository itself is nobody's new file
    places.truncate(places.len().saturating_sub(2));
    files(top, &places)
}

/// A file or a directory; `false` if it cannot be opened.
fn one(place: &Path) -> io::Result<bool> {
    match File::open(place) {
        Ok(file) => file.sync_all().map(|()| true),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(true),
        Err(_) => Ok(false),
    }
}

/// The file system of a directory as a whole; `false` where the system has no such call.
#[cfg(target_os = "linux")]
fn whole(root: &Path) -> io::Result<bool> {
    let root = File::open(root)?;
    rustix::fs::syncfs(&root)?;
    Ok(true)
}

#[cfg(not(target_os = "linux"))]
fn whole(_: &Path) -> io::Result<bool> {
    Ok(false)
}
