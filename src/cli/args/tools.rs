//! Arguments of `tools`.

use clap::{Args, Subcommand};

#[derive(Args, Debug, Default)]
#[command(args_conflicts_with_subcommands = true)]
pub struct ToolsArgs {
    #[command(subcommand)]
    pub command: Option<ToolsCommand>,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Subcommand, Debug)]
pub enum ToolsCommand {
    /// Check the tools that you and the project define in tools/NAME.json
    Check {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}
