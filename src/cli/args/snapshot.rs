//! Commands below `snapshot`.

use clap::Subcommand;

#[derive(Subcommand, Debug)]
pub enum SnapshotSubcommand {
    /// Store the files as they are now
    Create {
        /// A label for the snapshot
        label: Vec<String>,
    },
    /// Newest first
    List {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// How many there are, the newest, the oldest
    Stats {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show its contents and how the current files differ
    #[command(visible_alias = "info")]
    Show {
        /// Its id, or a prefix of it
        id: String,
    },
    /// Differences from the snapshot to now, or to another one
    Diff {
        /// Its id, or a prefix of it
        id: String,
        /// The other snapshot
        other: Option<String>,
    },
    /// Restore the files; the current files are stored first
    Restore {
        /// Its id, or a prefix of it
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Delete the snapshot
    Delete {
        /// Its id, or a prefix of it
        id: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
}
