//! Which layers work on this machine, and which one is taken.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

use super::launch::{SandboxLaunch, SandboxedCommand};
use super::layer_places;
use super::policy::LayerPlace;
use synthdev_domain::sandbox::SandboxLayer;

/// A layer that was tried.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WorkingLayer {
    /// Namespaces, by the program at this path.
    Bubblewrap(PathBuf),
    /// Landlock of this version, set up by this program.
    Landlock { version: u32, helper: PathBuf },
    /// The sandbox of macOS.
    Seatbelt,
}

/// Gaps of Landlock before version 6: the first two, then all of `LANDLOCK`.
const LANDLOCK_OLD: &[&str] = &[
    "signals reach the user's other processes",
    "a process that leaves its group (setsid) is held, but may outlive the command",
    LANDLOCK[0],
    LANDLOCK[1],
    LANDLOCK[2],
    LANDLOCK[3],
    LANDLOCK[4],
    LANDLOCK[5],
    LANDLOCK[6],
];

const LANDLOCK: &[&str] = &[
    "git's hooks and configuration are put back after a command that changed them",
    "names of hidden files are visible, their contents are not",
    "modes, owners and times of the user's files outside can be changed, their contents cannot",
    "arguments of other processes are visible, their environment and memory are not",
    "with the network off a command has no loopback: tests with local servers fail",
    "/tmp, /var/tmp and /run cannot be written (use the private directory in TMPDIR); terminals and shared memory are missing",
    "in a directory of the project with a hidden path, commands cannot rename or remove files, or read files that they just made",
];

impl WorkingLayer {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Bubblewrap(_) => "bubblewrap",
            Self::Landlock { .. } => "landlock",
            Self::Seatbelt => "seatbelt",
        }
    }

    /// What the layer does not hold, for `doctor` and the policy's description.
    pub fn gap_texts(&self) -> &'static [&'static str] {
        match self {
            Self::Bubblewrap(_) => &[
                "new files that a command makes at protected paths of git and synthdev are removed after it, not prevented",
                "with the network on, services of this machine are reachable, too",
                "with the network off, a Unix socket stays reachable if it was made after the start, has no absolute path, or is a \
                 container's",
            ],
            #[cfg(target_os = "linux")]
            Self::Landlock { version, .. } if *version < super::landlock_helper::SIGNALS_HELD => LANDLOCK_OLD,
            Self::Landlock { .. } => LANDLOCK,
            Self::Seatbelt => &["this layer is untested"],
        }
    }

    /// What it puts in the place of directories of this machine, where the policy has no rule of its own.
    pub fn changed_places(&self) -> &'static [LayerPlace] {
        match self {
            Self::Bubblewrap(_) => layer_places::OF_BUBBLEWRAP,
            Self::Landlock { .. } => layer_places::OF_LANDLOCK,
            Self::Seatbelt => &[],
        }
    }

    /// # Errors
    /// A file that the layer reads cannot be written.
    pub fn wrap_command(
        &self,
        launch: &SandboxLaunch<'_>,
        arguments: &[OsString],
    ) -> io::Result<SandboxedCommand> {
        match self {
            #[cfg(target_os = "linux")]
            Self::Bubblewrap(program) => super::bubblewrap::wrap_command(program, launch, arguments),
            #[cfg(target_os = "linux")]
            Self::Landlock { helper, .. } => super::landlock_helper::wrap_command(helper, launch, arguments),
            #[cfg(target_os = "macos")]
            Self::Seatbelt => Ok(super::seatbelt::wrap_command(launch, arguments)),
            #[allow(unreachable_patterns, reason = "layers of other systems")]
            _ => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

/// # Errors
/// None of the requested layers works: the message for the user.
pub fn select_layer(wanted: SandboxLayer, helper: &Path) -> Result<WorkingLayer, String> {
    let mut reasons = Vec::new();
    for layer in layer_candidates(wanted) {
        match try_layer(layer, helper) {
            Ok(working) => return Ok(working),
            Err(reason) => reasons.push(reason),
        }
    }
    if reasons.is_empty() {
        reasons.push("`sandbox.layer` is none".to_owned());
    }
    Err(format!("no sandbox works on this machine ({})", reasons.join("; ")))
}

#[derive(Clone, Copy)]
enum SandboxLayerCandidate {
    Bubblewrap,
    Landlock,
    Seatbelt,
}

fn layer_candidates(wanted: SandboxLayer) -> Vec<SandboxLayerCandidate> {
    match wanted {
        SandboxLayer::Auto if cfg!(target_os = "macos") => vec![SandboxLayerCandidate::Seatbelt],
        SandboxLayer::Auto => vec![SandboxLayerCandidate::Bubblewrap, SandboxLayerCandidate::Landlock],
        SandboxLayer::Bubblewrap => vec![SandboxLayerCandidate::Bubblewrap],
        SandboxLayer::Landlock => vec![SandboxLayerCandidate::Landlock],
        SandboxLayer::None => Vec::new(),
    }
}

#[cfg(target_os = "linux")]
fn try_layer(candidate: SandboxLayerCandidate, helper: &Path) -> Result<WorkingLayer, String> {
    match candidate {
        SandboxLayerCandidate::Bubblewrap => {
            super::bubblewrap::find_bubblewrap().map(WorkingLayer::Bubblewrap)
        }
        SandboxLayerCandidate::Landlock => {
            let version = super::landlock_helper::landlock_version()?;
            if !helper.is_file() {
                return Err("landlock: this program's own file is not known".to_owned());
            }
            Ok(WorkingLayer::Landlock { version, helper: helper.to_owned() })
        }
        SandboxLayerCandidate::Seatbelt => Err("seatbelt: not on this system".to_owned()),
    }
}

#[cfg(not(target_os = "linux"))]
fn try_layer(candidate: SandboxLayerCandidate, _helper: &Path) -> Result<WorkingLayer, String> {
    match candidate {
        SandboxLayerCandidate::Seatbelt if Path::new("/usr/bin/sandbox-exec").is_file() => {
            Ok(WorkingLayer::Seatbelt)
        }
        SandboxLayerCandidate::Seatbelt => Err("seatbelt: /usr/bin/sandbox-exec is missing".to_owned()),
        SandboxLayerCandidate::Bubblewrap => Err("bubblewrap: not on this system".to_owned()),
        SandboxLayerCandidate::Landlock => Err("landlock: not on this system".to_owned()),
    }
}
