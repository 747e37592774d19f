//! A terminal that is gone. The kernel tells the leader of its session with a signal; who only has it open is told by
//! `poll`, while every read ends at once.

use std::future::Future;

/// Ends when the terminal that keys come from has gone away. Without one, never.
#[cfg(target_os = "linux")]
pub(super) fn hangup() -> impl Future<Output = ()> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        if linux::wait() {
            // the program ends already
            let _ = sender.send(());
        }
    });
    async move {
        if receiver.await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn hangup() -> impl Future<Output = ()> {
    std::future::pending()
}

#[cfg(target_os = "linux")]
mod linux {
    use std::io::{self, IsTerminal};
    use std::os::fd::AsFd;

    use rustix::event::{PollFd, PollFlags, poll};
    use rustix::fs::{Mode, OFlags, open};
    use rustix::io::Errno;

    /// Waits for the end of the terminal. `false`: there is none, or that cannot be known.
    pub(super) fn wait() -> bool {
        if io::stdin().is_terminal() {
            return hung_up(io::stdin());
        }
        let flags = OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC;
        open("/dev/tty", flags, Mode::empty()).is_ok_and(hung_up)
    }

    /// Asks for no event: only the end of the other side is told then.
    fn hung_up(terminal: impl AsFd) -> bool {
        loop {
            let mut polled = [PollFd::new(&terminal, PollFlags::empty())];
            match poll(&mut polled, None) {
                Ok(_) => return polled[0].revents().contains(PollFlags::HUP),
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
    }
}
