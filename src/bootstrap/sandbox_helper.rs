//! The program as its own helper: it becomes a command within the sandbox.

use std::ffi::OsString;
use std::io::Write as _;
use std::process::ExitCode;

pub use synthdev_adapters::sandbox::remove_private_directories;
use synthdev_adapters::sandbox::{HELPER_COMMAND, PORTS_COMMAND, TERMINAL_COMMAND};
#[cfg(target_os = "linux")]
use synthdev_adapters::sandbox::{landlock_helper, port_listener, terminal_helper};
use synthdev_domain::terminal_safe::escape_controls;

/// This program started once more by itself: it becomes a command within the sandbox. `None`: it was started by the user.
pub fn run_sandbox_helper(mut arguments: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let word = arguments.nth(1)?;
    if ![HELPER_COMMAND, PORTS_COMMAND, TERMINAL_COMMAND].iter().any(|known| word == *known) {
        return None;
    }
    let arguments: Vec<OsString> = arguments.collect();
    #[cfg(target_os = "linux")]
    {
        let become_command = if word == PORTS_COMMAND {
            port_listener::become_command
        } else if word == TERMINAL_COMMAND {
            terminal_helper::become_command
        } else {
            landlock_helper::become_command
        };
        match become_command(&arguments) {
            Ok(code) => return Some(ExitCode::from(code)),
            Err(error) => {
                let text = format!("[sandbox] the command was not started: {error}");
                // a closed stderr is no reason to end otherwise
                let _ = writeln!(std::io::stderr().lock(), "{}", escape_controls(&text));
            }
        }
    }
    Some(ExitCode::from(NOT_STARTED))
}

/// As shells say that a command could not be executed.
const NOT_STARTED: u8 = 126;
