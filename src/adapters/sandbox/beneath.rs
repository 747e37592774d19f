//! Directories in something that commands may write, reached without following a link that one of them has put there.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// An open directory, and a name in it.
pub(super) struct Parent {
    #[cfg(target_os = "linux")]
    directory: std::os::fd::OwnedFd,
    #[cfg(not(target_os = "linux"))]
    directory: PathBuf,
    name: OsString,
}

impl Parent {
    /// A path to the name that holds while this value lives, whatever is renamed meanwhile.
    #[cfg(target_os = "linux")]
    pub(super) fn entry(&self) -> PathBuf {
        use std::os::fd::AsRawFd;
        PathBuf::from(format!("/proc/self/fd/{}", self.directory.as_raw_fd())).join(&self.name)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn entry(&self) -> PathBuf {
        self.directory.join(&self.name)
    }
}

/// The directory of `path`, below `base`. With `make`, directories that are missing are made.
///
/// # Errors
/// It is not there, or a link or a file is in its place.
#[cfg(target_os = "linux")]
pub(super) fn open_parent(base: &Path, path: &Path, make: bool) -> io::Result<Parent> {
    use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
    let (parts, name) = below(base, path)?;
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut directory = openat(CWD, base, flags, Mode::empty())?;
    for part in parts {
        let next = openat(&directory, part.as_os_str(), flags, Mode::empty());
        directory = match next {
            Err(rustix::io::Errno::NOENT) if make => {
                mkdirat(&directory, part.as_os_str(), Mode::from_raw_mode(0o755))?;
                openat(&directory, part.as_os_str(), flags, Mode::empty())?
            }
            other => other?,
        };
    }
    Ok(Parent { directory, name })
}

#[cfg(not(target_os = "linux"))]
pub(super) fn open_parent(base: &Path, path: &Path, make: bool) -> io::Result<Parent> {
    let (parts, name) = below(base, path)?;
    let mut directory = base.to_owned();
    for part in parts {
        directory.push(part);
        match directory.symlink_metadata() {
            Ok(found) if found.is_dir() => {}
            Ok(_) => return Err(io::ErrorKind::NotADirectory.into()),
            Err(error) if error.kind() == io::ErrorKind::NotFound && make => std::fs::create_dir(&directory)?,
            Err(error) => return Err(error),
        }
    }
    Ok(Parent { directory, name })
}

fn below(base: &Path, path: &Path) -> io::Result<(Vec<OsString>, OsString)> {
    let below = path.strip_prefix(base).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut parts: Vec<OsString> = below.components().map(|part| part.as_os_str().to_owned()).collect();
    let name = parts.pop().ok_or(io::ErrorKind::InvalidInput)?;
    Ok((parts, name))
}
