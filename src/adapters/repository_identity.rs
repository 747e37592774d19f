//! What copies of a repository have in common, on all machines.

use std::path::Path;
#[cfg(unix)]
use std::time::UNIX_EPOCH;

use crate::git::OutsideFiles;
use crate::git::open_repository::open_around;

/// The first commit, along first parents from HEAD, and the project's place in the work tree. `None`: no repository, or
/// one without a commit.
pub fn repository_identity(project: &Path) -> Option<String> {
    let repository = open_around(project, OutsideFiles::Refused).ok()?;
    let mut walk = repository.revwalk().ok()?;
    walk.push_head().ok()?;
    walk.simplify_first_parent().ok()?;
    let first = walk.last()?.ok()?;
    let work = std::fs::canonicalize(repository.workdir()?).ok()?;
    let place = project.strip_prefix(work).ok()?;
    let place = if place.as_os_str().is_empty() { String::new() } else { format!(":{}", place.display()) };
    Some(format!("git:{first}{place}"))
}

/// Distinguishes a directory from every other, also of other machines: hosts that have the same one share its files. It
/// is the same after a reboot.
pub fn directory_identity(directory: &Path) -> String {
    identity_on_machine(directory, Path::new("/"))
}

/// `root`: where the files of the system are.
fn identity_on_machine(directory: &Path, root: &Path) -> String {
    let text = |name: &str| std::fs::read_to_string(root.join(name)).unwrap_or_default().trim().to_owned();
    // a container has none: its name distinguishes it
    let machine = match text("etc/machine-id") {
        id if id.is_empty() || id == "uninitialized" => text("proc/sys/kernel/hostname"),
        id => id,
    };
    let inode = std::fs::metadata(directory).map(|found| inode_text(&found)).unwrap_or_default();
    format!("{machine}:{inode}:{}", directory.display())
}

#[cfg(unix)]
fn inode_text(found: &std::fs::Metadata) -> String {
    use std::os::unix::fs::MetadataExt as _;
    // the number of a device may be another one after a reboot
    let made = found.created().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    let made = made.map_or_else(|| format!("d{}", found.dev()), |at| at.as_nanos().to_string());
    format!("{}:{made}", found.ino())
}

#[cfg(not(unix))]
fn inode_text(_: &std::fs::Metadata) -> String {
    String::new()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_directory_stays_the_same_over_a_reboot() {
        let root = tempfile::tempdir().unwrap();
        let project = root.path().join("project");
        fs::create_dir(&project).unwrap();
        let identity = |machine: &str, host: &str, boot: &str| {
            for (name, text) in [
                ("etc/machine-id", machine),
                ("proc/sys/kernel/hostname", host),
                ("proc/sys/kernel/random/boot_id", boot),
            ] {
                fs::create_dir_all(root.path().join(name).parent().unwrap()).unwrap();
                fs::write(root.path().join(name), text).unwrap();
            }
            identity_on_machine(&project, root.path())
        };
        let first = identity("aa\n", "one\n", "boot1\n");
        assert_eq!(identity("aa\n", "two\n", "boot2\n"), first);
        assert_ne!(identity("bb\n", "one\n", "boot1\n"), first, "another machine");
        let container = identity("", "one\n", "boot1\n");
        assert_eq!(identity("uninitialized\n", "one\n", "boot2\n"), container);
        assert_ne!(identity("", "two\n", "boot1\n"), container, "another container");
        let before = identity("aa\n", "one\n", "boot1\n");
        fs::rename(&project, root.path().join("old")).unwrap();
        fs::create_dir(&project).unwrap();
        assert_ne!(identity("aa\n", "one\n", "boot1\n"), before, "another directory of its name");
    }
}
