//! Arguments of `mcp`.

use clap::Args;

#[derive(Args, Debug, Default)]
pub struct McpArgs {
    /// Approve every tool that would be asked about
    #[arg(long)]
    pub yes: bool,
    /// Let the client answer what otherwise a person must: tools that need approval, approvals of workflows
    #[arg(long)]
    pub remote_approvals: bool,
    /// Hand items to sub-agents one at a time, to look for what is wrong
    #[arg(long)]
    pub serial: bool,
    /// How long a sub-agent may take for a step before another one gets it; 300 if nothing is said
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub lease_seconds: Option<u64>,
}
