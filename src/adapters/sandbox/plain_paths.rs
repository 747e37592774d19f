//! Paths as they are compared: without links, `.` and `..`.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As the system has it.
const MOST_LINKS: usize = 40;

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

/// The links on the way of an absolute path, and where it ends, also if nothing is there.
pub(super) fn way_of(path: &Path) -> Vec<PathBuf> {
    let (mut found, mut at) = (Vec::new(), PathBuf::from("/"));
    let parts = |path: &Path| -> VecDeque<OsString> {
        path.components().map(|part| part.as_os_str().to_owned()).collect()
    };
    let mut open = parts(path);
    while let Some(part) = open.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                at.pop();
            }
            Some(Component::Normal(name)) => {
                let next = at.join(name);
                match std::fs::read_link(&next).ok().filter(|_| found.len() < MOST_LINKS) {
                    Some(target) => {
                        found.push(next);
                        let mut way = parts(&target);
                        way.append(&mut open);
                        open = way;
                    }
                    None => at = next,
                }
            }
            Some(Component::RootDir | Component::Prefix(_)) => at = PathBuf::from("/"),
            Some(Component::CurDir) | None => {}
        }
    }
    found.push(at);
    found
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn every_link_on_the_way_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("../c", root.join("a/b/link")).unwrap();
        symlink(root.join("a/b"), root.join("d")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for (path, way) in [
            ("a/b/x", &["a/b/x"][..]),
            ("a/./b/../x", &["a/x"]),
            ("d/link/x", &["d", "a/b/link", "a/c/x"]),
            ("d/../x", &["d", "a/x"]),
        ] {
            let expected: Vec<PathBuf> = way.iter().map(|part| root.join(part)).collect();
            assert_eq!(way_of(&root.join(path)), expected, "{path}");
        }
        assert!(way_of(&root.join("loop")).len() <= MOST_LINKS + 1);
    }
}
