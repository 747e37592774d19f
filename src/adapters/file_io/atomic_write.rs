//! Small files that only the user can read, replaced whole.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use uuid::Uuid;

/// A part of a name that other users cannot know before.
fn random_suffix() -> String {
    Uuid::new_v4().simple().to_string()
}

/// Writes a small file so that readers see the old or the new text, never a part, also after a power cut;
/// readable by the user only. Follows a link: replaces its target, the link stays.
///
/// # Errors
/// The system's error; the old file is unchanged.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let place = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
    ensure_private_directory(parent_directory(&place))?;
    replace_file(&place, |temporary| fill_file(temporary, text, make_private))
}

/// As [`write_private`], but a file keeps its mode, and a new one gets the default mode.
///
/// # Errors
/// The system's error; the old file is unchanged.
pub fn write_atomic(path: &Path, text: &str) -> io::Result<()> {
    let place = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_owned() };
    fs::create_dir_all(parent_directory(&place))?;
    let before = fs::metadata(&place).ok();
    replace_file(&place, |temporary| {
        fill_file(temporary, text, |_| ())?;
        before.map_or(Ok(()), |before| fs::set_permissions(temporary, before.permissions()))
    })
}

fn parent_directory(place: &Path) -> &Path {
    place.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn replace_file(place: &Path, fill: impl FnOnce(&Path) -> io::Result<()>) -> io::Result<()> {
    let directory = parent_directory(place);
    let temporary = directory.join(format!(".{}.tmp", random_suffix()));
    let written = fill(&temporary).and_then(|()| fs::rename(&temporary, place));
    if written.is_err() {
        // best effort: the first error is the one to report
        let _ = fs::remove_file(&temporary);
        return written;
    }
    sync_directory(directory)
}

/// Creates an empty file that only the user can access, open for reading and writing.
///
/// # Errors
/// The system's error; the file exists.
pub fn create_private(path: &Path) -> io::Result<fs::File> {
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create_new(true);
    make_private(&mut options);
    options.open(path)
}

/// Creates a new private directory under a name that other users cannot guess.
///
/// # Errors
/// The system's error.
pub fn create_random_directory(beside: &Path, prefix: &str) -> io::Result<PathBuf> {
    let directory = beside.join(format!("{prefix}{}", random_suffix()));
    create_private_directory(&directory)?;
    Ok(directory)
}

/// Creates a private directory in an existing one.
///
/// # Errors
/// The system's error; the name exists, even as a link.
pub fn create_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Creates a new file, readable by the user only, and fills it.
///
/// # Errors
/// The system's error; the name exists, even as a link.
pub fn write_new_private(path: &Path, text: &str) -> io::Result<()> {
    fill_file(path, text, make_private)
}

/// Makes a directory of ours and the entries directly in it private: earlier versions left some of them open. Deeper
/// entries cannot be reached then. A missing directory is no error.
///
/// # Errors
/// The system's error: it belongs to another user, or its file system has no modes.
#[cfg(unix)]
pub fn restrict_to_owner(directory: &Path) -> io::Result<()> {
    let close = |place: &Path, seen: &fs::Metadata| {
        use std::os::unix::fs::PermissionsExt;
        let mode = seen.permissions().mode() & 0o7777;
        let closed = mode & !0o077;
        if mode == closed || seen.is_symlink() {
            return Ok(());
        }
        fs::set_permissions(place, fs::Permissions::from_mode(closed))
    };
    match fs::metadata(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => close(directory, &found?)?,
    }
    for item in fs::read_dir(directory)? {
        let item = item?;
        // one that went meanwhile needs nothing
        if let Ok(seen) = fs::symlink_metadata(item.path()) {
            match close(&item.path(), &seen) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    Ok(())
}

/// Elsewhere a user's directories are the user's alone.
///
/// # Errors
/// None.
#[cfg(not(unix))]
pub fn restrict_to_owner(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates a private directory of ours; an existing one keeps its mode.
///
/// # Errors
/// The system's error.
pub fn ensure_private_directory(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

/// Whether other users can read a file, as far as the system knows.
///
/// # Errors
/// The system's error.
pub fn is_readable_by_others(path: &Path) -> io::Result<bool> {
    let seen = fs::metadata(path)?;
    #[cfg(unix)]
    return Ok(std::os::unix::fs::PermissionsExt::mode(&seen.permissions()) & 0o077 != 0);
    #[cfg(not(unix))]
    return Ok(!seen.is_file());
}

fn fill_file(temporary: &Path, text: &str, open: impl FnOnce(&mut fs::OpenOptions)) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    // new: no file and no link that is there already is opened
    options.write(true).create_new(true);
    open(&mut options);
    let mut file = options.open(temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()
}

#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    fs::File::open(directory)?.sync_all()
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn make_private(options: &mut fs::OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(not(unix))]
fn make_private(_: &mut fs::OpenOptions) {}
