//! Paths as they are compared: without links, `.` and `..`.

use std::path::{Path, PathBuf};

use crate::link_walk::{LinkWalk, PlaceLook, walk_links, without_dots};
use crate::open_beneath::is_there_without_links;

pub(super) fn canonical_path(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| resolve_lexically(path))
}

/// Whether something is there, and the path leads to it without a link, `.` or `..`.
pub(super) fn is_canonical(path: &Path) -> bool {
    let at_once = if path == without_dots(path) { is_there_without_links(path) } else { None };
    at_once.unwrap_or_else(|| path.canonicalize().is_ok_and(|found| found == path))
}

/// Without `.` and `..`, and with the links of the part that exists followed.
pub(super) fn resolve_lexically(path: &Path) -> PathBuf {
    let plain = without_dots(path);
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
pub(super) fn links_along(path: &Path) -> Vec<PathBuf> {
    places_of(walk_links(path, |_| PlaceLook::Follow))
}

/// The same for the path as written and as the system resolves it; looks up only paths inside these places or leading
/// to them.
pub(super) fn way_within(path: &Path, known: &[PathBuf]) -> Vec<PathBuf> {
    let look = |place: &Path| {
        let is_known = known.iter().any(|known| place.starts_with(known) || known.starts_with(place));
        if is_known { PlaceLook::Follow } else { PlaceLook::Pass }
    };
    let mut found = places_of(walk_links(&without_dots(path), look));
    found.extend(places_of(walk_links(path, look)));
    found
}

fn places_of(walk: Result<LinkWalk, Vec<PathBuf>>) -> Vec<PathBuf> {
    match walk {
        Ok(LinkWalk { mut links, end }) => {
            links.push(end);
            links
        }
        Err(links) => links,
    }
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
        symlink(root.join("a"), root.join("d")).unwrap();
        symlink("../a/b", root.join("a/link")).unwrap();
        let at = |parts: &[&str]| parts.iter().map(|part| root.join(part)).collect::<Vec<_>>();
        assert_eq!(links_along(&root.join("d/link/x")), at(&["d", "a/link", "a/b/x"]));
        for (known, way) in [
            (".", &["d", "a/link", "a/b/x", "d", "a/link", "a/b/x"][..]),
            ("a/c", &["d/link/x", "d/link/x"]),
            ("d/c", &["d", "a/link/x", "d", "a/link/x"]),
        ] {
            assert_eq!(way_within(&root.join("d/link/x"), &at(&[known])), at(way), "{known}");
        }
        // as it is written, and as the system goes it
        assert_eq!(way_within(&root.join("d/../x"), &at(&["."])), at(&["x", "d", "x"]));
    }
    #[test]
    fn a_path_is_canonical_where_no_link_leads_to_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/file"), "").unwrap();
        symlink("a", root.join("link")).unwrap();
        symlink("nowhere", root.join("a/broken")).unwrap();
        for (name, expected) in [
            ("a", true),
            ("a/b", true),
            ("a/file", true),
            ("link", false),
            ("link/b", false),
            ("a/broken", false),
            ("a/missing", false),
            ("a/file/b", false),
            ("a/../a", false),
        ] {
            assert_eq!(is_canonical(&root.join(name)), expected, "{name}");
        }
    }
}
