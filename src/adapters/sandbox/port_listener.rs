//! The inside of declared ports: this program, started once more within the sandbox, listens at them, sends the listening
//! sockets to the process outside, and becomes the command.
//!
//! Nothing of it stays in the sandbox: the outside serves every connection, through sockets that no command can take,
//! close or exchange. The command's variables do not reach it either: with some of them its own libraries would be
//! loaded here.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};

use super::port_forwarder::MOST_LISTENERS;

/// Separates the variables from the program.
const END_OF_VARIABLES: &str = "--";

/// What [`become_command`] is to be given.
pub(super) fn listener_arguments(ports: &BTreeSet<u16>, variables: &[(String, String)]) -> Vec<OsString> {
    let ports: Vec<String> = ports.iter().map(u16::to_string).collect();
    let mut arguments = vec![ports.join(",").into()];
    arguments.extend(variables.iter().map(|(name, value)| OsString::from(format!("{name}={value}"))));
    arguments.push(END_OF_VARIABLES.into());
    arguments
}

/// Arguments: the ports with commas between them, the variables of the command as `NAME=VALUE`, `--`, then the program with its
/// own. Standard input is a socket to the outside.
///
/// # Errors
/// What is missing: the command was not started.
pub fn become_command(arguments: &[OsString]) -> io::Result<u8> {
    let (ports, mut command) = listener_command(arguments).ok_or(io::ErrorKind::InvalidInput)?;
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
    listeners.truncate(MOST_LISTENERS);
    send_listeners(&listeners)?;
    // the sockets outside live on, ours close with this program
    Err(command.exec())
}

fn listener_command(arguments: &[OsString]) -> Option<(&OsString, Command)> {
    let (ports, rest) = arguments.split_first()?;
    let end = rest.iter().position(|argument| argument == END_OF_VARIABLES)?;
    let (variables, rest) = rest.split_at(end);
    let [_, program, rest @ ..] = rest else { return None };
    let mut command = Command::new(program);
    command.args(rest);
    for variable in variables {
        let (name, value) = variable.to_str()?.split_once('=')?;
        command.env(name, value);
    }
    Some((ports, command))
}

fn send_listeners(listeners: &[TcpListener]) -> io::Result<()> {
    let files: Vec<BorrowedFd<'_>> = listeners.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_LISTENERS))];
    let mut sent = SendAncillaryBuffer::new(&mut space);
    if !files.is_empty() && !sent.push(SendAncillaryMessage::ScmRights(&files)) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    sendmsg(io::stdin(), &[IoSlice::new(b"\n")], &mut sent, SendFlags::empty())?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variables_are_those_of_the_command() {
        let ports = BTreeSet::from([5432, 7004]);
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let variables = [pair("LD_PRELOAD", "/project/evil.so"), pair("A", "b=c --\n"), pair("EMPTY", "")];
        for variables in [&variables[..], &[]] {
            let mut line = listener_arguments(&ports, variables);
            line.extend(["/bin/sh", "--", "x=y"].map(OsString::from));
            let (ports, command) = listener_command(&line).unwrap();
            assert_eq!(
                (ports.to_str(), command.get_program().to_str()),
                (Some("5432,7004"), Some("/bin/sh"))
            );
            assert!(command.get_args().eq(["--", "x=y"]));
            let mut expected: Vec<_> =
                variables.iter().map(|(name, value)| (name.as_ref(), Some(value.as_ref()))).collect();
            expected.sort();
            assert_eq!(command.get_envs().collect::<Vec<_>>(), expected);
        }
        for wrong in
            [&[][..], &["7004"], &["7004", "/bin/sh"], &["7004", "--"], &["7004", "A", "--", "/bin/sh"]]
        {
            let wrong: Vec<OsString> = wrong.iter().map(OsString::from).collect();
            assert!(listener_command(&wrong).is_none(), "{wrong:?}");
        }
    }
}
