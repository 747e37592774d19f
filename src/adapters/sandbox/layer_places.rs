//! What a layer puts in the place of a directory of this machine, where no rule of the policy says otherwise.

use std::path::Path;

use super::policy::PathAccess;

/// A directory that a layer treats in a way of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LayerPlace {
    pub path: &'static str,
    pub access: PathAccess,
    pub reason: &'static str,
}

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

impl LayerPlace {
    pub fn is_there(&self) -> bool {
        Path::new(self.path).exists()
    }
}
