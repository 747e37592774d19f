//! What a layer puts in the place of a directory of this machine, where no rule of the policy says otherwise.

use super::policy::{LayerPlace, PathAccess};

const UNTIL_END: &str =
    "private to commands, removed when synthdev ends; the machine's own files there are not seen";
const ONE_COMMAND: &str =
    "private to one command, gone when it ends; the machine's own files there are not seen";

/// What `bwrap` mounts before the policy's rules.
pub const OF_BUBBLEWRAP: &[LayerPlace] = &[
    place("/tmp", PathAccess::Write, UNTIL_END),
    place("/var/tmp", PathAccess::Write, UNTIL_END),
    place("/run", PathAccess::Write, ONE_COMMAND),
    place("/dev", PathAccess::Write, ONE_COMMAND),
];

/// Landlock changes no place: what is in the machine's `/tmp` and `/run` is read, as all else is.
pub const OF_LANDLOCK: &[LayerPlace] = &[
    place("/dev", PathAccess::Hidden, "devices; names are visible"),
    place("/dev/null", PathAccess::Write, DEVICE),
    place("/dev/zero", PathAccess::Write, DEVICE),
    place("/dev/full", PathAccess::Write, DEVICE),
    place("/dev/random", PathAccess::Write, DEVICE),
    place("/dev/urandom", PathAccess::Write, DEVICE),
    place("/dev/tty", PathAccess::Write, DEVICE),
];

const DEVICE: &str = "a device that every program may use";

const fn place(path: &'static str, access: PathAccess, reason: &'static str) -> LayerPlace {
    LayerPlace { path, access, reason }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::sandbox::policy::SandboxPolicy;
    use crate::sandbox::sandbox_places::SandboxPlaces;
    use synthdev_domain::sandbox::SandboxSettings;

    #[test]
    fn a_layer_has_places_of_its_own() {
        let directory = tempfile::tempdir_in("/tmp").unwrap();
        let root = directory.path().canonicalize().unwrap();
        let places = SandboxPlaces::for_project(&root);
        let settings =
            SandboxSettings { hidden: vec!["/var/tmp/hidden".to_owned()], ..SandboxSettings::default() };
        let policy = SandboxPolicy::from_settings(&settings, &places);
        let in_project = root.join("a");
        for (path, bubblewrap, landlock) in [
            (Path::new("/tmp/x"), PathAccess::Write, PathAccess::Read),
            (Path::new("/tmp"), PathAccess::Write, PathAccess::Read),
            (Path::new("/var/tmp/x"), PathAccess::Write, PathAccess::Read),
            (Path::new("/var/tmp/hidden/x"), PathAccess::Hidden, PathAccess::Hidden),
            (Path::new("/var/x"), PathAccess::Read, PathAccess::Read),
            (Path::new("/tmpx"), PathAccess::Read, PathAccess::Read),
            (Path::new("/dev/shm/x"), PathAccess::Write, PathAccess::Hidden),
            (Path::new("/dev/null"), PathAccess::Write, PathAccess::Write),
            (Path::new("/run/x"), PathAccess::Write, PathAccess::Read),
            (in_project.as_path(), PathAccess::Write, PathAccess::Write),
        ] {
            assert_eq!(policy.access_with_layer(path, OF_BUBBLEWRAP).0, bubblewrap, "{path:?}");
            assert_eq!(policy.access_with_layer(path, OF_LANDLOCK).0, landlock, "{path:?}");
            assert_eq!(policy.access_with_layer(path, &[]), policy.access_to(path), "{path:?}");
        }
        assert_eq!(policy.access_with_layer(&in_project, OF_BUBBLEWRAP).1, "the project");
        let text = policy.description_text(OF_BUBBLEWRAP, None);
        let writable = text.split("read only:").next().unwrap();
        for place in ["  /tmp (private", "  /var/tmp (private", "  /run (private", "  /dev (private"] {
            assert!(writable.contains(place), "{place}:\n{text}");
        }
        let text = policy.description_text(OF_LANDLOCK, None);
        assert!(!text.contains("private") && text.contains("  /dev/null (a device"), "{text}");
        // what is mounted over a private one
        let settings = SandboxSettings { writable: vec!["/var".to_owned()], ..SandboxSettings::default() };
        let policy = SandboxPolicy::from_settings(&settings, &places);
        let found = policy.access_with_layer(Path::new("/var/tmp/x"), OF_BUBBLEWRAP);
        assert_eq!(found, (PathAccess::Write, "sandbox.writable"));
    }
}
