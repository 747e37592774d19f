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
}
