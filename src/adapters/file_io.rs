//! Reading users' files and writing small ones atomically. One unreadable file does not affect the others.
//!
//! Refuses files that are not regular (a pipe would block for ever) and files too large to be configuration.

mod atomic_write;
mod file_stamps;
mod large_file;
mod project_reader;
mod scratch_file;

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

use crate::open_beneath::read_regular;

pub use atomic_write::{
    create_private, create_private_directory, create_random_directory, ensure_private_directory,
    is_readable_by_others, restrict_to_owner, write_atomic, write_new_private, write_private,
};
pub use file_stamps::{FileStamp, file_stamps, project_stamps};
pub use large_file::{create_large, open_large};
pub use project_reader::{ProjectFileResult, ProjectReader};
pub use scratch_file::ScratchFile;

/// Configuration files above this size are not read: they are a mistake.
const LARGEST: u64 = 4 * 1024 * 1024;
/// Directories below the one asked for.
const DEEPEST: usize = 16;

/// Where the platform keeps this user's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserDirs {
    pub config: PathBuf,
    pub data: PathBuf,
    /// Files that can be deleted without harm.
    pub state: PathBuf,
}

impl UserDirs {
    /// `None` where the system knows no home directory.
    pub fn find() -> Option<Self> {
        let dirs = ProjectDirs::from("", "", "synthdev")?;
        let state = dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir());
        Some(Self {
            config: dirs.config_dir().to_owned(),
            data: dirs.data_dir().to_owned(),
            state: state.to_owned(),
        })
    }
}

/// A file that was read, or why it was not.
#[derive(Debug)]
pub struct FileReadResult {
    /// Relative to the directory that was read, with `/`.
    pub name: String,
    pub text: io::Result<String>,
}

/// Every `*.json` file below `directory`, in a stable order. A missing directory is an empty one;
/// one that cannot be read is an entry with its error.
pub fn read_tree(directory: &Path) -> Vec<FileReadResult> {
    read_below(directory, &["json"])
}

/// As [`read_tree`], for a directory that may hold a whole project: leaves out hidden files, except for our own folder,
/// and installed packages. Does not open a link that leads out of it.
pub fn read_project_tree(directory: &Path) -> Vec<FileReadResult> {
    let inside = |name: &str| !name.starts_with('.') && name != "node_modules" || name == ".synthdev";
    let Ok(root) = fs::canonicalize(directory) else { return Vec::new() };
    let stays = |path: &Path| fs::canonicalize(path).is_ok_and(|real| real.starts_with(&root));
    let mut found = Vec::new();
    walk_tree(
        directory,
        "",
        0,
        &FileTreeFilter { endings: &["json"], enters_directory: &inside, follows_link: &stays },
        &mut found,
    );
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// Script files and prompts below `directory`, as [`read_tree`]. A link is not followed: it could lead anywhere.
pub fn read_text_tree(directory: &Path) -> Vec<FileReadResult> {
    read_below(directory, &["js", "mjs", "cjs", "md", "txt"])
}

/// Whether a file was not opened because it is a link that leads out of the directory that was read.
pub fn is_outside_link(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::CrossesDevices
}

/// What a walk looks at.
struct FileTreeFilter<'w> {
    endings: &'w [&'w str],
    /// Which directories are entered, by name.
    enters_directory: &'w dyn Fn(&str) -> bool,
    /// Which links to files are read, by path.
    follows_link: &'w dyn Fn(&Path) -> bool,
}

fn read_below(directory: &Path, endings: &[&str]) -> Vec<FileReadResult> {
    let mut found = Vec::new();
    let wanted = FileTreeFilter { endings, enters_directory: &|_| true, follows_link: &|_| true };
    walk_tree(directory, "", 0, &wanted, &mut found);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

/// A file in `directory` or below it, by relative path; `None` if there is none.
///
/// # Errors
/// As [`read_text_file`]; also if a link leads out of the directory.
pub fn read_file_below(directory: &Path, path: &str) -> io::Result<Option<String>> {
    let directory = if directory.as_os_str().is_empty() { Path::new(".") } else { directory };
    let found = match fs::canonicalize(directory.join(path)) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    if !found.starts_with(fs::canonicalize(directory)?) {
        return Err(io::Error::other("a link leads out of the workflow file's directory"));
    }
    read_text_file(&found).map(Some)
}

/// One text file of bounded size.
///
/// # Errors
/// The system's error; no regular file, too large, or not UTF-8.
pub fn read_text_file(path: &Path) -> io::Result<String> {
    // asked before opening: opening a pipe waits for its other end
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut bytes = Vec::new();
    // one more than allowed, as a file may grow while it is read
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it is larger than {} MiB", LARGEST >> 20)));
    }
    if matches!(bytes.as_slice(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
        let message = "it is UTF-16 text: store it as UTF-8";
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    String::from_utf8(bytes).map_err(|error| {
        let (at, bytes) = (error.utf8_error().valid_up_to(), error.as_bytes());
        let line = bytes[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("it is not UTF-8 text: see line {line} (byte {at})"),
        )
    })
}

/// A small file below `base` that no link leads to; `None`: there is none.
pub fn read_unlinked(base: &Path, name: &str) -> Option<String> {
    String::from_utf8(read_regular(base, &base.join(name), LARGEST).ok()?).ok()
}

/// An empty file of ours, for the user alone.
///
/// # Errors
/// The system's error.
pub fn private_file(path: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// As `read`; a missing file is `None`.
///
/// # Errors
/// As `read`.
pub fn read_file_if_exists(path: &Path) -> io::Result<Option<String>> {
    match read_text_file(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn walk_tree(
    directory: &Path,
    prefix: &str,
    depth: usize,
    wanted: &FileTreeFilter<'_>,
    found: &mut Vec<FileReadResult>,
) {
    let entries = match fs::read_dir(directory) {
        Ok(_) if depth > DEEPEST => {
            let text = Err(io::Error::other(format!("directories deeper than {DEEPEST} are not read")));
            return found.push(FileReadResult { name: format!("{prefix}."), text });
        }
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound && depth == 0 => return,
        Err(error) => return found.push(FileReadResult { name: format!("{prefix}."), text: Err(error) }),
    };
    for entry in entries {
        match entry {
            Ok(entry) => visit_path(&entry.path(), prefix, depth, wanted, found),
            Err(error) => found.push(FileReadResult { name: format!("{prefix}."), text: Err(error) }),
        }
    }
}

fn visit_path(
    path: &Path,
    prefix: &str,
    depth: usize,
    wanted: &FileTreeFilter<'_>,
    found: &mut Vec<FileReadResult>,
) {
    let FileTreeFilter { endings, enters_directory: enters, follows_link: follows } = wanted;
    let Some(own) = path.file_name().unwrap_or_default().to_str() else {
        // Two such names can look the same: the file that was reviewed must be the one that is loaded.
        let name = format!("{prefix}{}", path.file_name().unwrap_or_default().to_string_lossy());
        return found.push(FileReadResult { name, text: Err(io::Error::other("its name is not UTF-8")) });
    };
    let name = format!("{prefix}{own}");
    if path.is_dir() {
        // a link to a directory could lead in circles
        if !path.is_symlink() && enters(own) {
            walk_tree(path, &format!("{name}/"), depth + 1, wanted, found);
        }
    } else if !own.starts_with('.')
        && path.extension().is_some_and(|ending| endings.iter().any(|known| ending == *known))
    {
        // editors keep their own copies as `.name.json`
        let linked = path.is_symlink() && !endings.contains(&"json");
        let text = if linked {
            Err(io::Error::other("it is a link"))
        } else if path.is_symlink() && !follows(path) {
            Err(io::Error::new(io::ErrorKind::CrossesDevices, "it is a link that leads out of the directory"))
        } else {
            read_text_file(path)
        };
        found.push(FileReadResult { name, text });
    }
}

#[cfg(test)]
mod tests;
