//! Files and directories in something that commands may write, reached without following a link that one of them has put
//! there, also between a check and what follows from it.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// An open directory.
pub struct DirectoryHandle {
    #[cfg(target_os = "linux")]
    handle: std::os::fd::OwnedFd,
    path: PathBuf,
}

#[cfg(target_os = "linux")]
impl DirectoryHandle {
    fn open_flags() -> OFlags {
        OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
    }

    fn open(named: &Path) -> io::Result<Self> {
        use rustix::fs::{CWD, Mode, openat};
        let handle = openat(CWD, named, Self::open_flags(), Mode::empty())?;
        Ok(Self { handle, path: named.to_owned() })
    }

    /// In one step. `None`: it is not there so, or the system has no such call.
    fn open_below(&self, parts: &[OsString]) -> Option<Self> {
        use rustix::fs::{Mode, ResolveFlags, openat2};
        let below: PathBuf = parts.iter().collect();
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let handle = openat2(&self.handle, &below, Self::open_flags(), Mode::empty(), resolve).ok()?;
        Some(Self { handle, path: self.path.join(below) })
    }

    /// A directory in it.
    ///
    /// # Errors
    /// It is not there, or a link or a file is in its place.
    pub fn child(&self, name: &OsStr) -> io::Result<Self> {
        use rustix::fs::{Mode, openat};
        let handle = openat(&self.handle, name, Self::open_flags(), Mode::empty())?;
        Ok(Self { handle, path: self.path.join(name) })
    }

    fn reopen_handle(&self) -> io::Result<Self> {
        Ok(Self { handle: self.handle.try_clone()?, path: self.path.clone() })
    }

    fn by_handle(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()))
    }

    /// Where it really is now; `None`: the system does not say.
    pub fn real_path(&self) -> Option<PathBuf> {
        fs::read_link(self.by_handle()).ok()
    }

    /// A path to it that holds while this value lives, whatever is renamed meanwhile. Without `/proc` there is none, and
    /// it is the one that was given.
    pub fn stable_path(&self) -> PathBuf {
        if self.real_path().is_some() { self.by_handle() } else { self.path.clone() }
    }
}

#[cfg(not(target_os = "linux"))]
impl DirectoryHandle {
    fn open(named: &Path) -> io::Result<Self> {
        match named.symlink_metadata() {
            Ok(found) if found.is_dir() => Ok(Self { named: named.to_owned() }),
            Ok(_) => Err(io::ErrorKind::NotADirectory.into()),
            Err(error) => Err(error),
        }
    }

    fn open_below(&self, _: &[OsString]) -> Option<Self> {
        None
    }

    /// A directory in it.
    ///
    /// # Errors
    /// It is not there, or a link or a file is in its place.
    pub fn child(&self, name: &OsStr) -> io::Result<Self> {
        Self::open(&self.named.join(name))
    }

    fn reopen_handle(&self) -> io::Result<Self> {
        Ok(Self { named: self.named.clone() })
    }

    /// Where it really is now; `None`: the system does not say.
    pub fn real_path(&self) -> Option<PathBuf> {
        None
    }

    pub fn stable_path(&self) -> PathBuf {
        self.named.clone()
    }
}

/// An open directory, and a name in it.
pub struct AnchoredPath {
    directory: DirectoryHandle,
    name: OsString,
}

impl AnchoredPath {
    pub fn directory(&self) -> &DirectoryHandle {
        &self.directory
    }

    pub fn name(&self) -> &OsStr {
        &self.name
    }

    /// A path to the name that holds while this value lives, whatever is renamed meanwhile.
    pub fn entry(&self) -> PathBuf {
        self.directory.stable_path().join(&self.name)
    }

    /// Where the name really is now; `None`: the system does not say.
    pub fn real_path(&self) -> Option<PathBuf> {
        self.directory.real_path().map(|directory| directory.join(&self.name))
    }
}

/// A directory at or below `base`.
///
/// # Errors
/// It is not there, or a link or a file is in its place or on the way.
pub fn open_directory(base: &Path, path: &Path) -> io::Result<DirectoryHandle> {
    walk_to_directory(base, &path_parts(base, path)?, |_, _| Err(io::ErrorKind::NotFound.into()))
}

/// Whether something is there, and no link is on the way or in its place. `None`: this system does not say it in one step.
#[cfg(target_os = "linux")]
pub fn is_there_without_links(path: &Path) -> Option<bool> {
    use rustix::fs::{CWD, Mode, ResolveFlags, openat2};
    use rustix::io::Errno;
    // with `NOFOLLOW`, a link at the end would be opened itself
    let flags = OFlags::PATH | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        Ok(_) => Some(true),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::ACCESS) => Some(false),
        Err(_) => None,
    }
}

#[cfg(not(target_os = "linux"))]
pub fn is_there_without_links(_: &Path) -> Option<bool> {
    None
}

/// The directory of `path`, below `base`. With `make`, directories that are missing are made.
///
/// # Errors
/// It is not there, or a link or a file is in its place.
pub fn open_parent(base: &Path, path: &Path, make: bool) -> io::Result<AnchoredPath> {
    let (parts, name) = split_below(base, path)?;
    let directory = walk_to_directory(base, &parts, |directory, name| match make {
        true => make_directory(directory, name, 0o755),
        false => Err(io::ErrorKind::NotFound.into()),
    })?;
    Ok(AnchoredPath { directory, name })
}

/// The directory of `path`, below `base`, and which directories were made for that, outermost first.
///
/// # Errors
/// As the system says; then the ones already made are gone again.
pub fn make_parent(base: &Path, path: &Path) -> io::Result<(AnchoredPath, Vec<AnchoredPath>)> {
    let (parts, name) = split_below(base, path)?;
    let mut made = Vec::new();
    let reached = walk_to_directory(base, &parts, |directory, name| {
        let one = AnchoredPath { directory: directory.reopen_handle()?, name: name.to_owned() };
        match make_directory(directory, name, 0o777) {
            // another process was faster
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => return Ok(()),
            other => other?,
        }
        made.push(one);
        Ok(())
    });
    match reached {
        Ok(directory) => Ok((AnchoredPath { directory, name }, made)),
        Err(error) => {
            remove_made(&made);
            Err(error)
        }
    }
}

/// Takes back what `make_parent` made.
pub fn remove_made(made: &[AnchoredPath]) {
    for one in made.iter().rev() {
        // not empty any more: another process uses it by now
        let _ = fs::remove_dir(one.entry());
    }
}

/// Opens a file for reading; neither follows a link in its place nor waits for a pipe.
///
/// # Errors
/// As the system says.
pub fn open_unfollowed(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    OpenOptions::new().read(true).custom_flags(flags.bits().cast_signed()).open(path)
}

/// The bytes of a regular file below `base`.
///
/// # Errors
/// As the system says, or it is another thing than a file, or larger than `most` bytes.
pub fn read_regular(base: &Path, path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let parent = open_parent(base, path, false)?;
    read_open_file(open_unfollowed(&parent.entry())?, most)
}

/// The bytes of a file that is open.
///
/// # Errors
/// As `read_regular`.
pub fn read_open_file(file: File, most: u64) -> io::Result<Vec<u8>> {
    let found = file.metadata()?;
    if !found.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::with_capacity(usize::try_from(found.len().min(most)).unwrap_or_default() + 1);
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::from(io::ErrorKind::FileTooLarge));
    }
    Ok(bytes)
}

fn make_directory(directory: &DirectoryHandle, name: &OsStr, mode: u32) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().mode(mode).create(directory.stable_path().join(name))
}

/// Goes from directory to directory; what is missing is asked for once.
fn walk_to_directory(
    base: &Path,
    parts: &[OsString],
    mut missing: impl FnMut(&DirectoryHandle, &OsStr) -> io::Result<()>,
) -> io::Result<DirectoryHandle> {
    let mut at = DirectoryHandle::open(base)?;
    if parts.is_empty() {
        return Ok(at);
    }
    if let Some(found) = at.open_below(parts) {
        return Ok(found);
    }
    for part in parts {
        at = match at.child(part) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                missing(&at, part)?;
                at.child(part)?
            }
            other => other?,
        };
    }
    Ok(at)
}

fn split_below(base: &Path, path: &Path) -> io::Result<(Vec<OsString>, OsString)> {
    let mut parts = path_parts(base, path)?;
    let name = parts.pop().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((parts, name))
}

/// Names only: nothing that leads up.
fn path_parts(base: &Path, path: &Path) -> io::Result<Vec<OsString>> {
    let below = path.strip_prefix(base).map_err(|_| io::ErrorKind::InvalidInput)?;
    let name = |part: std::path::Component<'_>| match part {
        std::path::Component::Normal(name) => Ok(name.to_owned()),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    };
    below.components().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// A project with `d/a`, and something outside with the same names.
    fn scene() -> (tempfile::TempDir, PathBuf, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let (root, outside) = (top.join("project"), top.join("outside"));
        for (at, text) in [(&root, "inside"), (&outside, "SECRET")] {
            fs::create_dir_all(at.join("d")).unwrap();
            fs::write(at.join("d/a"), text).unwrap();
        }
        (directory, root, outside)
    }

    /// What a command does between a check and a use.
    fn swap(root: &Path, outside: &Path) {
        fs::rename(root.join("d"), root.join("moved")).unwrap();
        symlink(outside.join("d"), root.join("d")).unwrap();
    }

    #[test]
    fn a_link_in_the_place_of_a_directory_or_a_file_is_not_followed() {
        let (_keep, root, outside) = scene();
        let file = root.join("d/a");
        assert_eq!(read_regular(&root, &file, 100).unwrap(), b"inside");
        swap(&root, &outside);
        assert!(read_regular(&root, &file, 100).is_err() && open_directory(&root, &root.join("d")).is_err());
        assert!(make_parent(&root, &root.join("d/new/b")).is_err());
        assert!(open_parent(&root, &root.join("d/new/b"), true).is_err());
        assert_eq!(fs::read_dir(outside.join("d")).unwrap().count(), 1, "nothing was made there");
        symlink(outside.join("d/a"), root.join("moved/link")).unwrap();
        assert!(read_regular(&root, &root.join("moved/link"), 100).is_err());
        for path in ["../outside/d/a", "moved/../../outside/d/a"] {
            assert!(read_regular(&root, &root.join(path), 100).is_err(), "{path}");
        }
        assert!(read_regular(&root, &root.join("moved/a"), 3).is_err(), "too large");
        assert!(read_regular(&root, &root.join("moved"), 100).is_err(), "a directory");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_handle_stays_with_its_directory_and_tells_where_it_is() {
        let (_keep, root, outside) = scene();
        let parent = open_parent(&root, &root.join("d/a"), false).unwrap();
        let directory = open_directory(&root, &root.join("d")).unwrap();
        swap(&root, &outside);
        assert_eq!(parent.real_path().unwrap(), root.join("moved/a"));
        assert_eq!(read_open_file(open_unfollowed(&parent.entry()).unwrap(), 100).unwrap(), b"inside");
        fs::write(directory.stable_path().join("b"), "new").unwrap();
        assert!(root.join("moved/b").exists() && !outside.join("d/b").exists());
    }

    #[test]
    fn directories_are_made_and_taken_back() {
        let (_keep, root, _) = scene();
        let (parent, made) = make_parent(&root, &root.join("d/x/y/z")).unwrap();
        fs::write(parent.entry(), "z").unwrap();
        assert_eq!((made.len(), root.join("d/x/y/z").is_file()), (2, true));
        fs::remove_file(root.join("d/x/y/z")).unwrap();
        remove_made(&made);
        assert!(!root.join("d/x").exists());
        fs::write(root.join("d/file"), "").unwrap();
        assert!(make_parent(&root, &root.join("d/file/x/y")).is_err());
    }
}
