//! The inside of a command's own terminal: this program, started once more as the command, leads a session whose terminal is
//! its output, and becomes the command. So Ctrl-C and job control work, and reach nothing but the command.

use std::ffi::OsString;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use rustix::process::{ioctl_tiocsctty, setsid};

/// Arguments: the program with its own. Standard output is the terminal, which no session has yet.
///
/// # Errors
/// What is missing: the command was not started.
pub fn become_command(arguments: &[OsString]) -> io::Result<u8> {
    let [program, rest @ ..] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
    // without a sandbox it leads a session already
    let _ = setsid();
    let terminal = io::stdout().as_fd().try_clone_to_owned()?;
    ioctl_tiocsctty(&terminal)?;
    Err(Command::new(program).args(rest).stdin(Stdio::from(terminal)).exec())
}
