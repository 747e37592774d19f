//! Options that reopen a conversation.

use clap::Args;

#[derive(Args, Debug, Default)]
pub struct ReopenArgs {
    /// Reopen the last conversation of this project
    #[arg(long = "continue", conflicts_with = "resume")]
    pub continue_last: bool,
    /// Reopen a conversation of this project by its id, or choose one
    #[arg(long, value_name = "ID", num_args = 0..=1)]
    pub resume: Option<Option<String>>,
}

impl ReopenArgs {
    pub fn is_wanted(&self) -> bool {
        self.continue_last || self.resume.is_some()
    }
}
