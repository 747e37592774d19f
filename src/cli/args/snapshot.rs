//! Commands below `snapshot`.

use clap::Subcommand;

#[derive(Subcommand, Debug)]
pub enum SnapshotSubcommand {
    /// Store the files as they are now
    Create {
        /// A name to find it by
        label: Vec<String>,
    },
    /// Newest first
    List {
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// What it holds, and what differs now
    Show {
        /// Its id, or a beginning of it
        id: String,
    },
    /// Differences from the snapshot to now
    Diff {
        /// Its id, or a beginning of it
        id: String,
    },
    /// Make the files as they were; the present is stored first
    Restore {
        /// Its id, or a beginning of it
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Forget it
    Delete {
        /// Its id, or a beginning of it
        id: String,
    },
}
