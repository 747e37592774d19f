//! What a layer cannot hold: protected paths in a directory that may be written can be made, or moved away with their
//! parent. They are compared before and after a command, and put back.
//!
//! The user may change the same files meanwhile: what is taken away is set aside in the data directory, and where a layer
//! holds a path by itself nothing is compared.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use uuid::Uuid;

use super::beneath::{Parent, open_parent};
use super::policy::{PathAccess, SandboxPolicy};

/// Files of one protected path, and bytes of one file, that are kept.
const MOST_FILES: usize = 2_000;
const LARGEST: u64 = 1 << 20;

/// Lines about them that one command is answered with.
const MOST_TOLD: usize = 10;

/// What tells one state of a file from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Identity {
    inode: u64,
    size: u64,
    mode: u32,
    changed: (i64, i64),
}

#[derive(Clone, Debug)]
enum Kept {
    Directory,
    Link(PathBuf),
    /// `None`: too large to be kept.
    File(Option<Vec<u8>>),
}

#[derive(Clone, Debug)]
struct Entry {
    identity: Identity,
    kept: Kept,
}

/// The protected paths of a policy, and what was in them before the last command.
pub struct ProtectedPaths {
    paths: Vec<PathBuf>,
    /// What may be written, and has them in it.
    writable: Vec<PathBuf>,
    /// Where what is taken away goes.
    aside: PathBuf,
    /// The layer keeps a path that exists, as long as its parents stay where they are.
    held_by_layer: bool,
    seen: Mutex<BTreeMap<PathBuf, Entry>>,
}

/// What was there before a command.
pub struct ProtectedState {
    entries: BTreeMap<PathBuf, Entry>,
    /// Of those paths that existed: which directories lead to them.
    parents: BTreeMap<PathBuf, Vec<u64>>,
}

impl ProtectedPaths {
    /// Those that lie in something that may be written: nothing else can be reached.
    pub fn of(policy: &SandboxPolicy, aside: PathBuf, held_by_layer: bool) -> Self {
        let within =
            |path: &Path| path.parent().is_some_and(|parent| policy.access(parent).0 == PathAccess::Write);
        let paths = policy.with_access(PathAccess::Read).map(|rule| rule.path.clone());
        let paths = paths.filter(|path| within(path)).collect();
        let writable = policy.with_access(PathAccess::Write).map(|rule| rule.path.clone()).collect();
        Self { paths, writable, aside, held_by_layer, seen: Mutex::default() }
    }

    /// Contents are read again only where something changed since the last command.
    pub fn state(&self) -> ProtectedState {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = BTreeMap::new();
        for path in &self.paths {
            look(path, &seen, &mut now, &mut 0);
        }
        *seen = now.clone();
        let existing = self.paths.iter().filter(|path| now.contains_key(*path));
        let parents = existing.map(|path| (path.clone(), directories_to(path))).collect();
        ProtectedState { entries: now, parents }
    }

    /// Puts back what is different, and tells each in a line.
    pub fn restore(&self, before: &ProtectedState) -> Vec<String> {
        let mut told = Vec::new();
        for path in &self.paths {
            let held = before.parents.get(path).is_some_and(|parents| *parents == directories_to(path));
            if !(held && self.held_by_layer) {
                self.restore_path(path, before, &mut told);
            }
        }
        if told.len() > MOST_TOLD {
            let more = told.split_off(MOST_TOLD).len();
            told.push(format!("[sandbox] {more} more files were put back or taken away"));
        }
        told
    }

    fn restore_path(&self, path: &Path, before: &ProtectedState, told: &mut Vec<String>) {
        self.straighten(path, told);
        let mut now = BTreeMap::new();
        let mut count = 0;
        look(path, &before.entries, &mut now, &mut count);
        let kept = before.entries.range(path.to_owned()..).take_while(|(known, _)| known.starts_with(path));
        let kept: Vec<(&PathBuf, &Entry)> = kept.collect();
        let mut refilled = false;
        if count > MOST_FILES && kept.len() < MOST_FILES {
            // more than is looked at: what is in it cannot be told one by one
            told.push(tell(path, self.set_aside(path), "was filled by the command and is put back"));
            now.clear();
            refilled = true;
        }
        // what is new goes first, whole directories at once
        let mut gone: Option<&Path> = None;
        for new in now.keys().filter(|new| !before.entries.contains_key(*new)) {
            if gone.is_some_and(|gone| new.starts_with(gone)) {
                continue;
            }
            gone = Some(new);
            told.push(tell(new, self.set_aside(new), "was made by the command and is taken away"));
        }
        for (known, entry) in kept {
            if !now.get(known).is_some_and(|found| is_same(entry, found)) {
                let done = self.put_back(known, entry, now.get(known));
                if !refilled || done.is_err() {
                    told.push(tell(known, done, "was changed by the command and is put back"));
                }
            }
        }
    }

    /// What leads to a protected path is a directory: through a link, programs would read it elsewhere, and so would we.
    fn straighten(&self, path: &Path, told: &mut Vec<String>) {
        let Some(base) = self.base(path) else { return };
        let below = path.strip_prefix(base).unwrap_or(path);
        let mut at = base.to_owned();
        for part in below.parent().into_iter().flat_map(Path::components) {
            at.push(part);
            match at.symlink_metadata() {
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    told.push(tell(
                        &at,
                        self.set_aside(&at),
                        "was put in place of a directory and is taken away",
                    ));
                    return;
                }
                Err(_) => return,
            }
        }
    }

    /// The nearest directory that commands may write: what leads to it they cannot change.
    fn base(&self, path: &Path) -> Option<&Path> {
        let found = self.writable.iter().filter(|base| path != base.as_path() && path.starts_with(base));
        found.max_by_key(|base| base.as_os_str().len()).map(PathBuf::as_path)
    }

    /// A handle on the directory of a path that no link has led to.
    fn parent(&self, path: &Path, make: bool) -> io::Result<Parent> {
        let base = self.base(path).ok_or(io::ErrorKind::InvalidInput)?;
        open_parent(base, path, make)
    }

    fn set_aside(&self, path: &Path) -> io::Result<()> {
        let parent = match self.parent(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let from = parent.entry();
        if from.symlink_metadata().is_err() {
            return Ok(());
        }
        fs::create_dir_all(&self.aside)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = self.aside.join(format!("{}-{name}", Uuid::now_v7().simple()));
        match fs::rename(&from, &to) {
            // another file system
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                copy_all(&from, &to)?;
                if from.symlink_metadata()?.is_dir() {
                    fs::remove_dir_all(&from)
                } else {
                    fs::remove_file(&from)
                }
            }
            other => other,
        }
    }

    fn put_back(&self, path: &Path, entry: &Entry, found: Option<&Entry>) -> io::Result<()> {
        let is_directory = |entry: &Entry| matches!(entry.kept, Kept::Directory);
        if !(is_directory(entry) && found.is_some_and(is_directory)) {
            self.set_aside(path)?;
        }
        let parent = self.parent(path, true)?;
        let to = parent.entry();
        match &entry.kept {
            Kept::Directory => match fs::create_dir(&to) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            },
            Kept::Link(target) => return std::os::unix::fs::symlink(target, &to),
            Kept::File(Some(bytes)) => fs::File::create_new(&to)?.write_all(bytes)?,
            Kept::File(None) => return Err(io::Error::other("it was too large to be kept")),
        }
        fs::set_permissions(&to, fs::Permissions::from_mode(entry.identity.mode & 0o7777))
    }
}

/// Links are not kept.
fn copy_all(from: &Path, to: &Path) -> io::Result<()> {
    let kind = from.symlink_metadata()?;
    if kind.is_dir() {
        fs::create_dir(to)?;
        for entry in fs::read_dir(from)? {
            let entry = entry?;
            copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
    } else if kind.is_file() {
        fs::copy(from, to)?;
    }
    Ok(())
}

fn directories_to(path: &Path) -> Vec<u64> {
    path.ancestors()
        .skip(1)
        .filter_map(|parent| parent.symlink_metadata().ok())
        .map(|found| found.ino())
        .collect()
}

fn tell(path: &Path, done: io::Result<()>, what: &str) -> String {
    match done {
        Ok(()) => format!("[sandbox] {} {what}: programs outside of the sandbox read it", path.display()),
        Err(error) => format!(
            "[sandbox] {} was changed by the command and cannot be put back ({error}): look at it before you use git",
            path.display()
        ),
    }
}

/// Directories change whenever something in them does: what is in them is compared itself.
fn is_same(before: &Entry, now: &Entry) -> bool {
    match (&before.kept, &now.kept) {
        (Kept::Directory, Kept::Directory) => before.identity.mode == now.identity.mode,
        (Kept::Link(one), Kept::Link(other)) => one == other,
        (Kept::File(Some(one)), Kept::File(Some(other))) => {
            one == other && before.identity.mode == now.identity.mode
        }
        (Kept::File(None), Kept::File(None)) => before.identity == now.identity,
        _ => false,
    }
}

fn look(
    path: &Path,
    known: &BTreeMap<PathBuf, Entry>,
    into: &mut BTreeMap<PathBuf, Entry>,
    count: &mut usize,
) {
    let Ok(found) = path.symlink_metadata() else { return };
    *count += 1;
    if *count > MOST_FILES {
        return;
    }
    let identity = Identity {
        inode: found.ino(),
        size: found.len(),
        mode: found.mode(),
        changed: (found.ctime(), found.ctime_nsec()),
    };
    let same = known.get(path).filter(|entry| entry.identity == identity && !found.is_dir());
    let kept = match same {
        Some(entry) => entry.kept.clone(),
        None if found.is_symlink() => Kept::Link(fs::read_link(path).unwrap_or_default()),
        None if found.is_dir() => Kept::Directory,
        None if found.is_file() && found.len() <= LARGEST => Kept::File(fs::read(path).ok()),
        None => Kept::File(None),
    };
    into.insert(path.to_owned(), Entry { identity, kept });
    if found.is_dir() {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            look(&entry.path(), known, into, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_changed_is_put_back() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::write(root.join(".git/config"), "[core]\n").unwrap();
        fs::write(root.join(".git/hooks/sample"), "x").unwrap();
        let paths = [".git/hooks", ".git/config", ".mcp.json"].map(|name| root.join(name)).to_vec();
        let aside = root.join("aside");
        let writable = vec![root.to_owned()];
        let protected =
            ProtectedPaths { paths, writable, aside, held_by_layer: true, seen: Mutex::default() };
        let before = protected.state();
        assert_eq!(protected.restore(&before), Vec::<String>::new());
        // the parent is moved away, another one made
        fs::rename(root.join(".git"), root.join("moved")).unwrap();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::write(root.join(".git/config"), "[core]\nfsmonitor = evil\n").unwrap();
        fs::write(root.join(".git/hooks/pre-commit"), "evil").unwrap();
        fs::write(root.join(".mcp.json"), "{}").unwrap();
        let told = protected.restore(&before);
        assert_eq!(told.len(), 4, "{told:#?}");
        assert_eq!(fs::read_dir(root.join("aside")).unwrap().count(), 3, "what was made is kept");
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n");
        assert!(root.join(".git/hooks/sample").exists());
        assert!(!root.join(".git/hooks/pre-commit").exists() && !root.join(".mcp.json").exists());
        assert_eq!(protected.restore(&protected.state()), Vec::<String>::new());
    }

    #[test]
    fn no_link_leads_out() {
        let directory = tempfile::tempdir().unwrap();
        let (root, outside) = (directory.path().join("project"), directory.path().join("outside"));
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::write(root.join(".git/hooks/sample"), "x").unwrap();
        fs::create_dir_all(outside.join("hooks")).unwrap();
        fs::write(outside.join("hooks/own"), "own").unwrap();
        let paths = [".git/hooks", ".git/config"].map(|name| root.join(name)).to_vec();
        let aside = directory.path().join("aside");
        let writable = vec![root.clone()];
        let protected =
            ProtectedPaths { paths, writable, aside, held_by_layer: false, seen: Mutex::default() };
        let before = protected.state();
        fs::rename(root.join(".git"), root.join("moved")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join(".git")).unwrap();
        assert_eq!(protected.restore(&before).len(), 3);
        assert_eq!(fs::read_to_string(outside.join("hooks/own")).unwrap(), "own");
        assert_eq!(fs::read_dir(outside.join("hooks")).unwrap().count(), 1);
        assert!(!root.join(".git").is_symlink() && root.join(".git/hooks/sample").exists());
        // a mode alone: what is in the directory stays where it is
        let before = protected.state();
        fs::set_permissions(root.join(".git/hooks"), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(protected.restore(&before).len(), 1);
        assert!(root.join(".git/hooks/sample").exists());
    }
}
