//! A terminal that a command has to itself: 80 columns, 24 rows, and no connection to the user's one.
//! Refuses systems other than Linux.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;

use tokio::net::unix::pipe::{Receiver, Sender};

/// Columns and rows, as terminals have them by custom.
#[cfg(target_os = "linux")]
const SIZE: (u16, u16) = (80, 24);

/// Both ends of a terminal.
pub(super) struct PseudoTerminal {
    /// Ours: what is read here was printed, what is written here was typed.
    controller: OwnedFd,
    /// The command's.
    user: OwnedFd,
}

impl PseudoTerminal {
    /// # Errors
    /// The system has none left.
    #[cfg(target_os = "linux")]
    pub(super) fn open() -> io::Result<Self> {
        use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
        use rustix::termios::{Winsize, tcsetwinsize};
        // it must not become this program's own terminal
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let controller = openpt(flags)?;
        grantpt(&controller)?;
        unlockpt(&controller)?;
        let user = ioctl_tiocgptpeer(&controller, flags)?;
        let (ws_col, ws_row) = SIZE;
        tcsetwinsize(&user, Winsize { ws_row, ws_col, ws_xpixel: 0, ws_ypixel: 0 })?;
        rustix::io::ioctl_fionbio(&controller, true)?;
        Ok(Self { controller, user })
    }

    /// # Errors
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub(super) fn open() -> io::Result<Self> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "a terminal of its own works on Linux only"))
    }

    /// What the command prints.
    ///
    /// # Errors
    /// No file can be opened any more.
    pub(super) fn output(&self) -> io::Result<Receiver> {
        Receiver::from_file_unchecked(File::from(self.controller.try_clone()?))
    }

    /// # Errors
    /// No file can be opened any more.
    pub(super) fn command_end(&self) -> io::Result<OwnedFd> {
        self.user.try_clone()
    }

    /// What is written there is typed. The command's end is closed here: the output ends when the command has closed its own.
    ///
    /// # Errors
    /// No file can be opened any more.
    pub(super) fn into_input(self) -> io::Result<Sender> {
        let Self { controller, user } = self;
        drop(user);
        Sender::from_file_unchecked(File::from(controller))
    }
}
