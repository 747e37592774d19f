//! The layer of macOS: a profile for `sandbox-exec`. Untested: no machine with that system was at hand.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::Path;

use super::launch::{SandboxLaunch, SandboxedCommand};
use super::policy::PathAccess;

pub fn wrap_command(launch: &SandboxLaunch<'_>, arguments: &[OsString]) -> SandboxedCommand {
    let mut line: Vec<OsString> =
        vec!["/usr/bin/sandbox-exec".into(), "-p".into(), seatbelt_profile(launch).into()];
    line.push("/usr/bin/env".into());
    line.push(format!("TMPDIR={}", launch.private.temporary_path().display()).into());
    line.extend(launch.environment.iter().map(|(name, value)| OsString::from(format!("{name}={value}"))));
    line.extend_from_slice(arguments);
    SandboxedCommand {
        arguments: line,
        files: Vec::new(),
        last_process: None,
        mounted_paths: Vec::new(),
        forwarded_ports: BTreeSet::new(),
    }
}

/// The last matching rule wins.
fn seatbelt_profile(launch: &SandboxLaunch<'_>) -> String {
    let mut text = String::from("(version 1)\n(allow default)\n(deny file-write*)\n");
    for device in ["/dev/null", "/dev/zero", "/dev/tty", "/dev/ptmx"] {
        let _ = writeln!(text, "(allow file-write* (literal {}))", quote_path(Path::new(device)));
    }
    for rule in &launch.rules {
        let path = quote_path(&rule.path);
        let _ = match rule.access {
            PathAccess::Write => writeln!(text, "(allow file-read* file-write* (subpath {path}))"),
            PathAccess::Read => {
                writeln!(text, "(allow file-read* (subpath {path}))\n(deny file-write* (subpath {path}))")
            }
            PathAccess::Hidden => writeln!(text, "(deny file-read* file-write* (subpath {path}))"),
        };
    }
    if !launch.network {
        text.push_str("(deny network*)\n");
        for port in launch.ports {
            let _ = writeln!(text, "(allow network-outbound (remote ip \"localhost:{port}\"))");
        }
    }
    text.push_str("(deny process-info* (target others))\n(deny signal (target others))\n");
    text
}

fn quote_path(path: &Path) -> String {
    format!("\"{}\"", path.to_string_lossy().replace('\\', "\\\\").replace('"', "\\\""))
}
