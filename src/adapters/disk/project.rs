//! The program's own data inside a project; git never sees it (CFG-21).

use std::fs::{DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Makes `.synthdev/NAME` in a project and returns it.
///
/// A `.synthdev` that the program makes ignores itself as a whole. One that was there belongs to the user,
/// who may well commit the workflows in it: then only the new part ignores itself.
///
/// # Errors
/// As the system says.
pub fn project_data(project: &Path, name: &str) -> io::Result<PathBuf> {
    let hidden = project.join(".synthdev");
    let data = hidden.join(name);
    match DirBuilder::new().create(&hidden) {
        Ok(()) => ignore_all(&hidden)?,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        Err(error) => return Err(error),
    }
    DirBuilder::new().recursive(true).create(&data)?;
    if !hidden.join(".gitignore").exists() {
        ignore_all(&data)?;
    }
    Ok(data)
}

/// A file that is there stays as it is.
fn ignore_all(directory: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).open(directory.join(".gitignore")) {
        Ok(mut file) => file.write_all(b"*\n"),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
    }
}
