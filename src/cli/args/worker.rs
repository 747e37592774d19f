//! `worker`, and where a run runs.

use std::net::{Ipv4Addr, SocketAddr};

use clap::{Args, Subcommand, ValueEnum};

/// Where a run runs, if not in the process that starts it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum BackendArg {
    // on workers of a Restate server
    Restate,
}

impl BackendArg {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Restate => "restate",
        }
    }
}

/// What is asked of the server that keeps runs, and of its hosts.
#[derive(Subcommand, Debug)]
pub enum BackendCommand {
    /// Look whether the server, its workers and this machine reach each other and agree
    Doctor {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Let another worker go on with the runs of one
    Move {
        /// The name of the worker that has them (--host-id); it may be gone
        old: String,
        /// The name of the one that gets them
        new: String,
    },
}

#[derive(Args, Debug)]
pub struct WorkerArgs {
    /// The address, or the port of this machine, at which the Restate server calls this worker
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:9080", value_parser = parse_address)]
    pub listen: SocketAddr,
    /// The same address as the server sees it, if it differs
    #[arg(long, value_name = "URL")]
    pub advertise: Option<String>,
    /// The name of this worker, unique at its server, in the journals of its runs
    #[arg(long, value_name = "NAME", default_value = "worker")]
    pub host_id: String,
    /// Runs at the same time
    #[arg(long, value_name = "NUMBER", default_value_t = 4, value_parser = parse_slots)]
    pub slots: usize,
    /// Take calls only of the server with this public key; needed for an address that other machines reach
    #[arg(long, value_name = "KEY")]
    pub identity_key: Option<String>,
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    if let Ok(port) = text.parse() {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| "write an address such as 127.0.0.1:9080, or a port".to_owned())
}

fn parse_slots(text: &str) -> Result<usize, String> {
    let slots: usize = text.parse().map_err(|_| "write a whole number".to_owned())?;
    if (1..=1000).contains(&slots) { Ok(slots) } else { Err("write a number from 1 to 1000".to_owned()) }
}
