//! Whether files were changed since they were looked at: when each was written, and how large it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::DEEPEST;

/// What tells one state of a file from another, without reading it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Stamp {
    path: PathBuf,
    written: Option<SystemTime>,
    bytes: u64,
}

/// Of files and of everything below directories, in a stable order; what is not there has none.
pub fn stamps(paths: &[PathBuf]) -> Vec<Stamp> {
    let mut found = Vec::new();
    paths.iter().for_each(|path| look(path, 0, &mut found));
    found
}

fn look(path: &Path, depth: usize, found: &mut Vec<Stamp>) {
    let Ok(seen) = fs::metadata(path) else { return };
    if seen.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut below: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        below.sort();
        if depth <= DEEPEST {
            below.iter().for_each(|path| look(path, depth + 1, found));
        }
        return;
    }
    found.push(Stamp { path: path.to_owned(), written: seen.modified().ok(), bytes: seen.len() });
}
