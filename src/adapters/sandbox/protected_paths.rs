//! What a layer cannot hold: protected paths in a directory that may be written can be made, or moved away with their
//! parent. They are compared before and after a command, and put back.
//!
//! The user may change the same files meanwhile: what is taken away is set aside in the data directory, and where a layer
//! holds a path by itself nothing is compared.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use uuid::Uuid;

use super::open_beneath::{AnchoredPath, DirectoryHandle, open_parent, open_unfollowed, read_open_file};
use super::policy::{PathAccess, SandboxPolicy};

/// Files of one protected path, and bytes of one file, that are kept.
const MOST_FILES: usize = 2_000;
const LARGEST: u64 = 1 << 20;

/// Directories in each other.
const DEEPEST: usize = 100;

/// Lines about them that one command is answered with.
const MOST_TOLD: usize = 10;

/// Identifies one state of a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ProtectedFileStamp {
    inode: u64,
    size: u64,
    mode: u32,
    changed: (i64, i64),
}

impl ProtectedFileStamp {
    fn from_metadata(found: &fs::Metadata) -> Self {
        Self {
            inode: found.ino(),
            size: found.len(),
            mode: found.mode(),
            changed: (found.ctime(), found.ctime_nsec()),
        }
    }
}

#[derive(Clone, Debug)]
enum ProtectedContent {
    Directory,
    Link(PathBuf),
    /// `None`: too large to be kept.
    File(Option<Vec<u8>>),
}

#[derive(Clone, Debug)]
struct ProtectedEntry {
    identity: ProtectedFileStamp,
    content: ProtectedContent,
}

/// The protected paths of a policy, and what was in them before the last command.
pub struct ProtectedPaths {
    paths: Vec<PathBuf>,
    /// What may be written, and has them in it.
    writable_paths: Vec<PathBuf>,
    /// Where what is taken away goes.
    moved_aside: PathBuf,
    /// The layer keeps a path that exists, as long as its parents stay where they are.
    held_by_layer: bool,
    known_entries: Mutex<BTreeMap<PathBuf, ProtectedEntry>>,
    running_commands: Mutex<RunningCommands>,
}

/// Commands that run beside each other share what was there before the first of them: what one has made is not taken for
/// the user's by another.
#[derive(Default)]
struct RunningCommands {
    count: usize,
    state_before: Option<Arc<ProtectedState>>,
}

/// The protected paths while a command runs. Dropping it puts them back: a command that is stopped is held to the same.
pub struct ProtectedCommand {
    paths: Arc<ProtectedPaths>,
    state_before: Arc<ProtectedState>,
    has_ended: bool,
}

impl ProtectedCommand {
    /// Restores what has changed and returns a line for each change. The command and all that it started have ended.
    pub fn finish_command(mut self) -> Vec<String> {
        self.restore_changes()
    }

    fn restore_changes(&mut self) -> Vec<String> {
        if std::mem::replace(&mut self.has_ended, true) {
            return Vec::new();
        }
        let mut running = self.paths.lock_running();
        let told = self.paths.restore_state(&self.state_before);
        running.count -= 1;
        if running.count == 0 {
            running.state_before = None;
        }
        told
    }
}

impl Drop for ProtectedCommand {
    fn drop(&mut self) {
        for line in self.restore_changes() {
            tracing::warn!("{line}");
        }
    }
}

/// What was there before a command.
struct ProtectedState {
    entries: BTreeMap<PathBuf, ProtectedEntry>,
    /// Of those paths that existed: which directories lead to them.
    parent_inodes: BTreeMap<PathBuf, Vec<u64>>,
}

impl ProtectedState {
    /// Whether the path and all that leads to it are the same. A file that another program has replaced is not what the
    /// layer holds.
    fn is_in_place(&self, path: &Path) -> bool {
        let inode = path.symlink_metadata().ok().map(|found| found.ino());
        let same = inode.is_some() && inode == self.entries.get(path).map(|entry| entry.identity.inode);
        same && self.parent_inodes.get(path).is_some_and(|parents| *parents == directories_to(path))
    }
}

impl ProtectedPaths {
    /// Those inside of a writable directory: a command can change nothing else.
    pub fn from_policy(policy: &SandboxPolicy, aside: PathBuf, held_by_layer: bool) -> Self {
        let within =
            |path: &Path| path.parent().is_some_and(|parent| policy.access_to(parent).0 == PathAccess::Write);
        let paths = policy.with_access(PathAccess::Read).map(|rule| rule.path.clone());
        let paths = paths.filter(|path| within(path)).collect();
        let writable = policy.with_access(PathAccess::Write).map(|rule| rule.path.clone()).collect();
        Self {
            paths,
            writable_paths: writable,
            moved_aside: aside,
            held_by_layer,
            known_entries: Mutex::default(),
            running_commands: Mutex::default(),
        }
    }

    /// Called before the command starts.
    pub fn begin_command(self: &Arc<Self>) -> ProtectedCommand {
        let mut running = self.lock_running();
        running.count += 1;
        let before = running.state_before.get_or_insert_with(|| Arc::new(self.state()));
        ProtectedCommand { paths: Arc::clone(self), state_before: Arc::clone(before), has_ended: false }
    }

    pub(super) fn has_running_commands(&self) -> bool {
        self.lock_running().count > 0
    }

    /// Whether a path may be given to a command: of a protected one, whether it was there before the commands that run.
    pub fn is_known(&self, path: &Path) -> bool {
        let protected = self.paths.iter().any(|protected| protected == path);
        let running = self.lock_running();
        !protected || running.state_before.as_ref().is_none_or(|before| before.entries.contains_key(path))
    }

    fn lock_running(&self) -> MutexGuard<'_, RunningCommands> {
        self.running_commands.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Contents are read again only where something changed since the last command.
    fn state(&self) -> ProtectedState {
        let mut seen = self.known_entries.lock().unwrap_or_else(PoisonError::into_inner);
        let mut now = BTreeMap::new();
        for path in &self.paths {
            self.collect_entries(path, &seen, &mut now);
        }
        *seen = now.clone();
        let existing = self.paths.iter().filter(|path| now.contains_key(*path));
        let parents = existing.map(|path| (path.clone(), directories_to(path))).collect();
        ProtectedState { entries: now, parent_inodes: parents }
    }

    /// Restores what has changed and returns a line for each change.
    fn restore_state(&self, before: &ProtectedState) -> Vec<String> {
        let mut told = Vec::new();
        for path in &self.paths {
            if !(self.held_by_layer && before.is_in_place(path)) {
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
        self.remove_links_above(path, told);
        let mut now = BTreeMap::new();
        let count = self.collect_entries(path, &before.entries, &mut now);
        let kept = before.entries.range(path.to_owned()..).take_while(|(known, _)| known.starts_with(path));
        let kept: Vec<(&PathBuf, &ProtectedEntry)> = kept.collect();
        let mut refilled = false;
        if count > MOST_FILES && kept.len() < MOST_FILES {
            // too many entries to examine: they cannot be reported one by one
            told.push(describe_restore(
                path,
                self.move_aside(path),
                "was filled by the command and is put back",
            ));
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
            told.push(describe_restore(
                new,
                self.move_aside(new),
                "was made by the command and is taken away",
            ));
        }
        for (known, entry) in kept {
            if !now.get(known).is_some_and(|found| is_same(entry, found)) {
                let done = self.restore_entry(known, entry, now.get(known));
                if !refilled || done.is_err() {
                    told.push(describe_restore(
                        known,
                        done,
                        "was changed while the command ran and is put back",
                    ));
                }
            }
        }
    }

    /// What a path is, and all below it, reached without following a link: how many files there are, or too many.
    fn collect_entries(
        &self,
        path: &Path,
        known: &BTreeMap<PathBuf, ProtectedEntry>,
        into: &mut BTreeMap<PathBuf, ProtectedEntry>,
    ) -> usize {
        // most of them are not there, also not behind a link
        if matches!(path.symlink_metadata(), Err(error) if error.kind() == io::ErrorKind::NotFound) {
            return 0;
        }
        let mut look = ProtectedPathScan { known_entries: known, entries: into, count: 0 };
        if let Ok(parent) = self.parent(path, false) {
            look.scan_entry(parent.directory(), parent.name(), path, 0);
        }
        look.count
    }

    /// What leads to a protected path is a directory: through a link, programs would read it elsewhere, and so would we.
    fn remove_links_above(&self, path: &Path, told: &mut Vec<String>) {
        let Some(base) = self.base(path) else { return };
        let below = path.strip_prefix(base).unwrap_or(path);
        let mut at = base.to_owned();
        for part in below.parent().into_iter().flat_map(Path::components) {
            at.push(part);
            match at.symlink_metadata() {
                Ok(found) if found.is_dir() => {}
                Ok(_) => {
                    told.push(describe_restore(
                        &at,
                        self.move_aside(&at),
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
        let found =
            self.writable_paths.iter().filter(|base| path != base.as_path() && path.starts_with(base));
        found.max_by_key(|base| base.as_os_str().len()).map(PathBuf::as_path)
    }

    /// A handle on the directory of a path that no link has led to.
    fn parent(&self, path: &Path, make: bool) -> io::Result<AnchoredPath> {
        let base = self.base(path).ok_or(io::ErrorKind::InvalidInput)?;
        open_parent(base, path, make)
    }

    fn move_aside(&self, path: &Path) -> io::Result<()> {
        let parent = match self.parent(path, false) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            other => other?,
        };
        let from = parent.entry();
        if from.symlink_metadata().is_err() {
            return Ok(());
        }
        fs::create_dir_all(&self.moved_aside)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let to = self.moved_aside.join(format!("{}-{name}", Uuid::now_v7().simple()));
        match fs::rename(&from, &to) {
            // another file system
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                copy_all(parent.directory(), parent.name(), &to)?;
                if from.symlink_metadata()?.is_dir() {
                    fs::remove_dir_all(&from)
                } else {
                    fs::remove_file(&from)
                }
            }
            other => other,
        }
    }

    fn restore_entry(
        &self,
        path: &Path,
        entry: &ProtectedEntry,
        found: Option<&ProtectedEntry>,
    ) -> io::Result<()> {
        let is_directory = |entry: &ProtectedEntry| matches!(entry.content, ProtectedContent::Directory);
        if !(is_directory(entry) && found.is_some_and(is_directory)) {
            self.move_aside(path)?;
        }
        let parent = self.parent(path, true)?;
        let to = parent.entry();
        let mode = fs::Permissions::from_mode(entry.identity.mode & 0o7777);
        match &entry.content {
            ProtectedContent::Directory => {
                match fs::create_dir(&to) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
                fs::set_permissions(parent.directory().child(parent.name())?.stable_path(), mode)
            }
            ProtectedContent::Link(target) => std::os::unix::fs::symlink(target, &to),
            ProtectedContent::File(Some(bytes)) => {
                let mut file = fs::File::create_new(&to)?;
                file.write_all(bytes)?;
                file.set_permissions(mode)
            }
            ProtectedContent::File(None) => Err(io::Error::other("it was too large to be kept")),
        }
    }
}

/// Links are not kept.
fn copy_all(directory: &DirectoryHandle, name: &OsStr, to: &Path) -> io::Result<()> {
    let from = directory.stable_path().join(name);
    let kind = from.symlink_metadata()?;
    if kind.is_dir() {
        let from = directory.child(name)?;
        fs::create_dir(to)?;
        for entry in fs::read_dir(from.stable_path())? {
            let name = entry?.file_name();
            copy_all(&from, &name, &to.join(&name))?;
        }
    } else if kind.is_file() {
        io::copy(&mut open_unfollowed(&from)?, &mut fs::File::create_new(to)?)?;
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

fn describe_restore(path: &Path, done: io::Result<()>, what: &str) -> String {
    match done {
        Ok(()) => format!("[sandbox] {} {what}: programs outside of the sandbox read it", path.display()),
        Err(error) => format!(
            "[sandbox] {} was changed while the command ran and cannot be put back ({error}): look at it before you use git",
            path.display()
        ),
    }
}

/// Directories change whenever something in them does: what is in them is compared itself.
fn is_same(before: &ProtectedEntry, now: &ProtectedEntry) -> bool {
    match (&before.content, &now.content) {
        (ProtectedContent::Directory, ProtectedContent::Directory) => {
            before.identity.mode == now.identity.mode
        }
        (ProtectedContent::Link(one), ProtectedContent::Link(other)) => one == other,
        (ProtectedContent::File(Some(one)), ProtectedContent::File(Some(other))) => {
            one == other && before.identity.mode == now.identity.mode
        }
        (ProtectedContent::File(None), ProtectedContent::File(None)) => before.identity == now.identity,
        _ => false,
    }
}

/// A look at a protected path.
struct ProtectedPathScan<'a> {
    known_entries: &'a BTreeMap<PathBuf, ProtectedEntry>,
    entries: &'a mut BTreeMap<PathBuf, ProtectedEntry>,
    /// Files so far; one more than is kept where not all can be looked at.
    count: usize,
}

impl ProtectedPathScan<'_> {
    /// `path` is what the entry is called; it is reached through its directory.
    fn scan_entry(&mut self, directory: &DirectoryHandle, name: &OsStr, path: &Path, depth: usize) {
        let place = directory.stable_path().join(name);
        let Ok(found) = place.symlink_metadata() else { return };
        self.count += 1;
        if self.count > MOST_FILES || depth > DEEPEST {
            self.count = MOST_FILES + 1;
            return;
        }
        let identity = ProtectedFileStamp::from_metadata(&found);
        let same = self.known_entries.get(path).filter(|entry| entry.identity == identity && !found.is_dir());
        let entry = match same {
            Some(entry) => entry.clone(),
            None if found.is_symlink() => ProtectedEntry {
                identity,
                content: ProtectedContent::Link(fs::read_link(&place).unwrap_or_default()),
            },
            None if found.is_dir() => ProtectedEntry { identity, content: ProtectedContent::Directory },
            None if found.is_file() => read_protected_file(&place)
                .unwrap_or(ProtectedEntry { identity, content: ProtectedContent::File(None) }),
            None => ProtectedEntry { identity, content: ProtectedContent::File(None) },
        };
        self.entries.insert(path.to_owned(), entry);
        if found.is_dir() {
            match directory.child(name) {
                Ok(inside) => self.scan_directory(&inside, path, depth + 1),
                // it is another thing by now
                Err(_) => self.count = MOST_FILES + 1,
            }
        }
    }

    fn scan_directory(&mut self, directory: &DirectoryHandle, path: &Path, depth: usize) {
        for entry in fs::read_dir(directory.stable_path()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            self.scan_entry(directory, &name, &path.join(&name), depth);
        }
    }
}

/// The stamp and the stored content are of the same open file.
fn read_protected_file(place: &Path) -> io::Result<ProtectedEntry> {
    let file = open_unfollowed(place)?;
    let identity = ProtectedFileStamp::from_metadata(&file.metadata()?);
    Ok(ProtectedEntry { identity, content: ProtectedContent::File(read_open_file(file, LARGEST).ok()) })
}

#[cfg(test)]
impl ProtectedPaths {
    fn for_test(paths: Vec<PathBuf>, writable: Vec<PathBuf>, aside: PathBuf, held_by_layer: bool) -> Self {
        Self {
            paths,
            writable_paths: writable,
            moved_aside: aside,
            held_by_layer,
            known_entries: Mutex::default(),
            running_commands: Mutex::default(),
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
        let protected = ProtectedPaths::for_test(paths, writable, aside, true);
        let before = protected.state();
        assert_eq!(protected.restore_state(&before), Vec::<String>::new());
        // the parent is moved away, another one made
        fs::rename(root.join(".git"), root.join("moved")).unwrap();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::write(root.join(".git/config"), "[core]\nfsmonitor = evil\n").unwrap();
        fs::write(root.join(".git/hooks/pre-commit"), "evil").unwrap();
        fs::write(root.join(".mcp.json"), "{}").unwrap();
        let told = protected.restore_state(&before);
        assert_eq!(told.len(), 4, "{told:#?}");
        assert_eq!(fs::read_dir(root.join("aside")).unwrap().count(), 3, "what was made is kept");
        assert_eq!(fs::read_to_string(root.join(".git/config")).unwrap(), "[core]\n");
        assert!(root.join(".git/hooks/sample").exists());
        assert!(!root.join(".git/hooks/pre-commit").exists() && !root.join(".mcp.json").exists());
        assert_eq!(protected.restore_state(&protected.state()), Vec::<String>::new());
    }

    #[test]
    fn commands_beside_each_other_share_what_was_there() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let paths = vec![root.join(".mcp.json"), root.join("config")];
        fs::write(root.join("config"), "own").unwrap();
        let of =
            |held| ProtectedPaths::for_test(paths.clone(), vec![root.to_owned()], root.join("aside"), held);
        let protected = Arc::new(of(false));
        let first = protected.begin_command();
        fs::write(root.join(".mcp.json"), "evil").unwrap();
        fs::write(root.join("config"), "evil").unwrap();
        assert!(!protected.is_known(&root.join(".mcp.json")), "it is mounted for no other command");
        assert!(protected.is_known(&root.join("config")) && protected.is_known(&root.join("other")));
        let second = protected.begin_command();
        assert_eq!(first.finish_command().len(), 2);
        // one that is stopped
        fs::write(root.join(".mcp.json"), "evil").unwrap();
        drop(second);
        assert!(!root.join(".mcp.json").exists());
        assert_eq!(fs::read_to_string(root.join("config")).unwrap(), "own");
        fs::write(root.join(".mcp.json"), "the user's").unwrap();
        assert_eq!(protected.begin_command().finish_command(), Vec::<String>::new());
        assert!(root.join(".mcp.json").exists());
    }

    #[test]
    fn a_file_that_was_replaced_is_not_held_by_the_layer() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path();
        let config = root.join("config");
        fs::write(&config, "own").unwrap();
        let protected =
            ProtectedPaths::for_test(vec![config.clone()], vec![root.to_owned()], root.join("aside"), true);
        let running = Arc::new(protected).begin_command();
        // as git does it, outside of the sandbox
        fs::write(root.join("config.lock"), "own and new").unwrap();
        fs::rename(root.join("config.lock"), &config).unwrap();
        let told = running.finish_command();
        assert!(told[0].contains("was changed while the command ran and is put back"), "{told:#?}");
        assert_eq!(fs::read_to_string(&config).unwrap(), "own");
        assert_eq!(fs::read_dir(root.join("aside")).unwrap().count(), 1, "the other one is kept");
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
        let protected = ProtectedPaths::for_test(paths, writable, aside, false);
        let before = protected.state();
        fs::rename(root.join(".git"), root.join("moved")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join(".git")).unwrap();
        assert!(protected.state().entries.is_empty(), "nothing of what the link leads to is read");
        assert_eq!(protected.restore_state(&before).len(), 3);
        assert_eq!(fs::read_to_string(outside.join("hooks/own")).unwrap(), "own");
        assert_eq!(fs::read_dir(outside.join("hooks")).unwrap().count(), 1);
        assert!(!root.join(".git").is_symlink() && root.join(".git/hooks/sample").exists());
        // a directory that is swapped while it is looked at
        let (mut found, held) =
            (BTreeMap::new(), open_parent(&root, &root.join(".git/hooks"), false).unwrap());
        fs::rename(root.join(".git"), root.join("away")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join(".git")).unwrap();
        let mut look = ProtectedPathScan { known_entries: &BTreeMap::new(), entries: &mut found, count: 0 };
        look.scan_entry(held.directory(), held.name(), &root.join(".git/hooks"), 0);
        let names: Vec<&str> = found.keys().filter_map(|path| path.file_name()?.to_str()).collect();
        assert_eq!(names, ["hooks", "sample"]);
        assert!(read_protected_file(&root.join(".git")).is_err(), "a link is not opened");
        copy_all(held.directory(), held.name(), &directory.path().join("copy")).unwrap();
        assert!(directory.path().join("copy/sample").exists() && !directory.path().join("copy/own").exists());
        fs::remove_file(root.join(".git")).unwrap();
        fs::rename(root.join("away"), root.join(".git")).unwrap();
        // a mode alone: what is in the directory stays where it is
        let before = protected.state();
        fs::set_permissions(root.join(".git/hooks"), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(protected.restore_state(&before).len(), 1);
        assert!(root.join(".git/hooks/sample").exists());
    }
}
