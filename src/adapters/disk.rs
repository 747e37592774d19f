//! Reading users' files and writing small ones atomically. One unreadable file never hides the others.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use directories::ProjectDirs;

/// Configuration files above this size are not read: they are somebody's mistake.
const LARGEST: u64 = 4 * 1024 * 1024;

/// Where the platform keeps this user's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UserDirs {
    pub config: PathBuf,
    pub data: PathBuf,
}

impl UserDirs {
    /// `None` where the system knows no home directory.
    pub fn find() -> Option<Self> {
        let dirs = ProjectDirs::from("", "", "synthdev")?;
        Some(Self { config: dirs.config_dir().to_owned(), data: dirs.data_dir().to_owned() })
    }
}

/// A file that was read, or why it was not.
#[derive(Debug)]
pub struct Read {
    /// Relative to the directory that was read, with `/`.
    pub name: String,
    pub text: io::Result<String>,
}

/// Every `*.json` file below `directory`, in a stable order. A missing directory is an empty one.
pub fn read_tree(directory: &Path) -> Vec<Read> {
    let mut found = Vec::new();
    walk(directory, "", &mut found);
    found.sort_by(|a, b| a.name.cmp(&b.name));
    found
}

fn walk(directory: &Path, prefix: &str, found: &mut Vec<Read>) {
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return,
        Err(error) => {
            found.push(Read { name: format!("{prefix}."), text: Err(error) });
            return;
        }
    };
    for entry in entries.flatten() {
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let path = entry.path();
        if path.is_dir() {
            // A link to a directory could lead in circles.
            if !path.is_symlink() {
                walk(&path, &format!("{name}/"), found);
            }
        } else if path.extension().is_some_and(|ending| ending == "json") {
            found.push(Read { name, text: read(&path) });
        }
    }
}

/// One text file of bounded size.
///
/// # Errors
/// As the system says; too large, or not UTF-8.
pub fn read(path: &Path) -> io::Result<String> {
    let size = fs::metadata(path)?.len();
    if size > LARGEST {
        return Err(io::Error::other(format!("{size} bytes; at most {LARGEST} are read")));
    }
    fs::read_to_string(path)
}

/// As `read`; a missing file is `None`.
///
/// # Errors
/// As `read`.
pub fn read_if_there(path: &Path) -> io::Result<Option<String>> {
    match read(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Writes a small file so that readers see the old or the new text, never a part; readable by the user only.
///
/// # Errors
/// As the system says; the old file is untouched.
pub fn write_private(path: &Path, text: &str) -> io::Result<()> {
    let directory = path.parent().unwrap_or(Path::new("."));
    make_private(directory)?;
    let temporary = directory.join(format!(".{}.tmp", std::process::id()));
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    private(&mut options);
    let mut file = options.open(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_data()?;
    fs::rename(&temporary, path).inspect_err(|_| {
        let _ = fs::remove_file(&temporary);
    })
}

/// Makes an empty file that only the user can read.
///
/// # Errors
/// As the system says; the file exists.
pub fn create_private(path: &Path) -> io::Result<()> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    private(&mut options);
    options.open(path).map(|_| ())
}

/// Makes a directory of ours, closed to others.
///
/// # Errors
/// As the system says.
pub fn make_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(unix)]
fn private(options: &mut fs::OpenOptions) {
    std::os::unix::fs::OpenOptionsExt::mode(options, 0o600);
}

#[cfg(not(unix))]
fn private(_: &mut fs::OpenOptions) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_read_in_order_and_a_broken_file_hides_nothing() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("b/deep")).unwrap();
        fs::write(dir.path().join("b/deep/two.json"), "2").unwrap();
        fs::write(dir.path().join("a.json"), "1").unwrap();
        fs::write(dir.path().join("bad.json"), [0xff, 0xfe]).unwrap();
        fs::write(dir.path().join("note.txt"), "x").unwrap();
        let read = read_tree(dir.path());
        let names: Vec<&str> = read.iter().map(|file| file.name.as_str()).collect();
        assert_eq!(names, ["a.json", "b/deep/two.json", "bad.json"]);
        assert!(read[2].text.is_err() && read[1].text.as_deref().unwrap() == "2");
        assert!(read_tree(&dir.path().join("missing")).is_empty());
    }

    #[test]
    fn a_private_file_is_replaced_whole() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("new/x.json");
        write_private(&path, "one").unwrap();
        write_private(&path, "two").unwrap();
        assert_eq!(read(&path).unwrap(), "two");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(read_if_there(&dir.path().join("none")).unwrap(), None);
    }
}
