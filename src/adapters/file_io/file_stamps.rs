//! Whether files were changed since they were looked at: when each was written, and how large it is.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::DEEPEST;

/// Identifies a state of a file without reading it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileStamp {
    path: PathBuf,
    is_link: bool,
    modified: Option<SystemTime>,
    bytes: u64,
}

/// Entries that are looked at below one path: a clone may hold any number.
const MOST: usize = 2_000;

/// Of files and of everything below directories, in a stable order; a missing path has no stamp.
pub fn file_stamps(paths: &[PathBuf]) -> Vec<FileStamp> {
    let mut found = Vec::new();
    paths.iter().for_each(|path| {
        collect_stamps(path, 0, &mut FileStampScan { links: true, remaining: usize::MAX, stamps: &mut found })
    });
    found
}

/// The same for paths of an untrusted project: enters no linked directory, and the number of files is limited.
pub fn project_stamps(project: &Path, names: &[&str]) -> Vec<FileStamp> {
    let mut found = Vec::new();
    for name in names {
        let (own, path) = (Path::new(name), project.join(name));
        let above = own.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
        if above.map(|above| project.join(above)).any(|above| above.is_symlink()) {
            continue;
        }
        collect_stamps(&path, 0, &mut FileStampScan { links: false, remaining: MOST, stamps: &mut found });
    }
    found
}

struct FileStampScan<'a> {
    links: bool,
    remaining: usize,
    stamps: &'a mut Vec<FileStamp>,
}

fn collect_stamps(path: &Path, depth: usize, into: &mut FileStampScan<'_>) {
    let Some(left) = into.remaining.checked_sub(1) else { return };
    into.remaining = left;
    let seen = fs::symlink_metadata(path);
    let linked = seen.as_ref().is_ok_and(fs::Metadata::is_symlink);
    let Ok(target) = (if linked { fs::metadata(path) } else { seen }) else { return };
    if target.is_dir() && (into.links || !linked) {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        let mut below: Vec<PathBuf> = entries.take(into.remaining).map(|entry| entry.path()).collect();
        below.sort();
        if depth <= DEEPEST {
            below.iter().for_each(|path| collect_stamps(path, depth + 1, into));
        }
        return;
    }
    into.stamps.push(FileStamp {
        path: path.to_owned(),
        is_link: linked,
        modified: target.modified().ok(),
        bytes: target.len(),
    });
}
