//! The way that a path takes through links, part by part, as the system goes it.
//!
//! Owns that walk. The caller says of each place whether it may be looked at: a look alone can mount something, or wait for
//! a server that does not answer.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// As the system has it.
pub const MOST_LINKS: usize = 40;

/// What is done with one place on the way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PlaceLook {
    /// A link there is followed.
    Follow,
    /// It is not looked at, and counts as no link.
    Pass,
    /// The walk ends without a result.
    Stop,
}

/// The way of a path.
#[derive(PartialEq, Eq, Debug)]
pub struct LinkWalk {
    /// The links on it, in their order.
    pub links: Vec<PathBuf>,
    /// Where it ends, also if nothing is there.
    pub end: PathBuf,
}

/// Walks an absolute path.
///
/// # Errors
/// It was stopped, or goes round and round: the links so far.
pub fn walk_links(path: &Path, mut look: impl FnMut(&Path) -> PlaceLook) -> Result<LinkWalk, Vec<PathBuf>> {
    let mut open = parts(path);
    let (mut at, mut links) = (PathBuf::from("/"), Vec::new());
    while let Some(part) = open.pop_front() {
        match Path::new(&part).components().next() {
            Some(Component::ParentDir) => {
                at.pop();
            }
            Some(Component::Normal(name)) => {
                at.push(name);
                let target = match look(&at) {
                    PlaceLook::Follow => std::fs::read_link(&at).ok(),
                    PlaceLook::Pass => None,
                    PlaceLook::Stop => return Err(links),
                };
                let Some(target) = target else { continue };
                if links.len() == MOST_LINKS {
                    return Err(links);
                }
                links.push(at.clone());
                at.pop();
                let mut way = parts(&target);
                way.append(&mut open);
                open = way;
            }
            Some(Component::RootDir | Component::Prefix(_)) => at = PathBuf::from("/"),
            Some(Component::CurDir) | None => {}
        }
    }
    Ok(LinkWalk { links, end: at })
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components().map(|part| part.as_os_str().to_owned()).collect()
}

/// Without `.` and `..`; nothing is looked at.
pub fn without_dots(path: &Path) -> PathBuf {
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
    plain
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn each_place_is_asked_about_before_it_is_looked_at() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        symlink("../c", root.join("a/b/link")).unwrap();
        symlink(root.join("a/b"), root.join("d")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        for (path, passed, links, end) in [
            ("a/b/x", "", &[][..], "a/b/x"),
            ("a/./b/../x", "", &[], "a/x"),
            ("d/link/x", "", &["d", "a/b/link"], "a/c/x"),
            ("d/link/x", "a/b/link", &["d"], "a/b/link/x"),
            ("d/../x", "", &["d"], "a/x"),
            ("d/../x", "d", &[], "x"),
        ] {
            let passed = root.join(passed);
            let look = |place: &Path| if place == passed { PlaceLook::Pass } else { PlaceLook::Follow };
            let links = links.iter().map(|part| root.join(part)).collect();
            assert_eq!(
                walk_links(&root.join(path), look),
                Ok(LinkWalk { links, end: root.join(end) }),
                "{path}"
            );
        }
        let followed = walk_links(&root.join("loop"), |_| PlaceLook::Follow);
        assert_eq!(followed.unwrap_err().len(), MOST_LINKS);
        let bound = root.join("a");
        let stopped = walk_links(&root.join("d/link"), |place| {
            if place.starts_with(&bound) { PlaceLook::Stop } else { PlaceLook::Follow }
        });
        assert_eq!(stopped, Err(vec![root.join("d")]));
    }
}
