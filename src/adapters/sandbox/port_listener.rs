//! The inside of declared ports: this program, started once more within the sandbox, listens at them, sends the listening
//! sockets to the process outside, and becomes the command.
//!
//! Nothing of it stays in the sandbox: who connects there is served from the outside, through sockets that no command can
//! take, close or exchange.

use std::ffi::OsString;
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::port_forwarder::MOST_LISTENERS;
use super::process_keeper;

/// Arguments: the ports with commas between them, then the program with its own. Standard input is a socket to the outside.
///
/// # Errors
/// What is missing: the command was not started.
pub fn become_command(arguments: &[OsString]) -> io::Result<u8> {
    let [ports, program, rest @ ..] = arguments else { return Err(io::ErrorKind::InvalidInput.into()) };
    let mut listeners = Vec::new();
    for port in ports.to_string_lossy().split(',').filter_map(|port| port.parse::<u16>().ok()) {
        match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            Ok(listener) => listeners.push(listener),
            Err(error) => {
                let told =
                    format!("[sandbox] port {port}, which the workflow declares, is not reached: {error}");
                writeln!(io::stderr(), "{told}")?;
            }
        }
        // a kernel may have no IPv6
        listeners.extend(TcpListener::bind((Ipv6Addr::LOCALHOST, port)));
    }
    process_keeper::give_up_capabilities()?;
    listeners.truncate(MOST_LISTENERS);
    send(&listeners)?;
    // the sockets outside live on, ours close with this program
    Err(Command::new(program).args(rest).exec())
}

fn send(listeners: &[TcpListener]) -> io::Result<()> {
    let files: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_LISTENERS))];
    let mut sent = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !sent.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(io::stdin(), &[IoSlice::new(b"\n")], &mut sent, SendFlags::empty())?;
    Ok(())
}
