//! Paths as they are compared: without links, `.` and `..`.

use std::path::{Path, PathBuf};

pub(super) fn canonical(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| lexical(path))
}

/// Without `.` and `..`, and with the links of the part that exists followed.
pub(super) fn lexical(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                plain.pop();
            }
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    let mut rest = PathBuf::new();
    let mut at = plain.clone();
    loop {
        if let Ok(found) = at.canonicalize() {
            return if rest.as_os_str().is_empty() { found } else { found.join(rest) };
        }
        let (Some(name), Some(parent)) = (at.file_name(), at.parent()) else { return plain };
        rest = if rest.as_os_str().is_empty() { PathBuf::from(name) } else { Path::new(name).join(&rest) };
        at = parent.to_owned();
    }
}
