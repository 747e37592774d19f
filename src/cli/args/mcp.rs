//! Arguments of `mcp`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};

/// The other direction: servers whose tools our agents use.
#[derive(Subcommand, Debug)]
pub enum McpCommand {
    /// List the MCP servers whose tools agents may use, with their state
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Add a server to your settings: a program with its arguments, or an address
    Add {
        /// Its name; agents call its tools NAME__TOOL
        name: String,
        /// A variable that the program gets; ${NAME} in the value stands for one of your environment
        #[arg(long = "env", value_name = "NAME=VALUE")]
        environment: Vec<String>,
        /// A header that is sent to the address, such as "Authorization: Bearer ${TOKEN}"
        #[arg(long = "header", value_name = "NAME: VALUE")]
        headers: Vec<String>,
        /// The program and its arguments, or an address that begins with http:// or https://
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        target: Vec<String>,
    },
    /// Remove a server from your settings
    Remove {
        /// Its name in `mcpServers`
        name: String,
    },
    /// Start one of these servers, and list its tools
    Test {
        /// Its name in `mcpServers`
        name: String,
    },
}

#[derive(Args, Debug, Default)]
#[command(args_conflicts_with_subcommands = true)]
pub struct McpArgs {
    #[command(subcommand)]
    pub command: Option<McpCommand>,
    /// Approve every tool call that needs approval
    #[arg(long)]
    pub yes: bool,
    /// Let the client answer approvals and questions about interrupted commands, and go past limits and budgets;
    /// otherwise only the user can
    #[arg(long)]
    pub remote_approvals: bool,
    /// Hand items to sub-agents one at a time, for debugging
    #[arg(long)]
    pub serial: bool,
    /// Seconds until a step of a silent sub-agent goes to another one (default: 300)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub lease_seconds: Option<u64>,
    /// Seconds until a task fails that no sub-agent has started (default: 1800)
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub begin_seconds: Option<u64>,
    /// Serve clients over HTTP on this machine instead of stdin and stdout, such as 127.0.0.1:7331 (port 0: any)
    #[arg(long, value_name = "ADDR", value_parser = parse_loopback_address)]
    pub http: Option<SocketAddr>,
    /// File with the token that clients must send; by default a token is generated and kept in the data
    /// directory
    #[arg(long, value_name = "FILE", requires = "http")]
    pub token_file: Option<PathBuf>,
}

/// An address that only this machine reaches.
fn parse_loopback_address(text: &str) -> Result<SocketAddr, String> {
    let own = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let port = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    let address = match port.parse::<u16>() {
        Ok(port) => own(port),
        Err(_) => {
            text.parse().map_err(|_| "give an address with a port, such as 127.0.0.1:7331".to_owned())?
        }
    };
    if !address.ip().is_loopback() {
        let why = "other machines could reach it, and every caller may start programs here";
        return Err(format!("{why}; use 127.0.0.1, [::1] or localhost"));
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_this_machine_are_taken() {
        for (text, expected) in [
            ("127.0.0.1:7331", Some("127.0.0.1:7331")),
            ("localhost:1", Some("127.0.0.1:1")),
            (":0", Some("127.0.0.1:0")),
            ("7331", Some("127.0.0.1:7331")),
            ("[::1]:5", Some("[::1]:5")),
            ("0.0.0.0:1", None),
            ("[::]:1", None),
            ("192.168.1.1:80", None),
            ("example.com:80", None),
            ("127.0.0.1", None),
            ("localhost", None),
            ("70000", None),
            ("", None),
        ] {
            let found = parse_loopback_address(text).ok().map(|address| address.to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
