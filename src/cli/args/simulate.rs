//! Arguments of `simulate`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug, Default)]
pub struct SimulateArgs {
    /// Name of the workflow, or its file (*.json)
    pub workflow: String,
    /// Scripted replies, with `tool_results`, `answers` and `expect` if wanted; without them its tests are played, or
    /// one run with made-up answers
    pub replies: Option<PathBuf>,
    /// Its input as text, instead of the file's
    pub input: Option<String>,
    /// Set one input as NAME=VALUE; repeat for several
    #[arg(long = "input", value_name = "NAME=VALUE", requires = "replies")]
    pub inputs: Vec<String>,
    /// Read the input from a file, or `-` for standard input
    #[arg(long, value_name = "FILE|-", requires = "replies")]
    pub input_file: Option<PathBuf>,
    /// The report as one JSON object
    #[arg(long)]
    pub json: bool,
}
