//! `resume` and `runs`: everything about runs that are there already.

use super::StopArgs;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use synthdev_service::named_step::NamedStep;

#[derive(Args, Debug, Default)]
pub struct ResumeArgs {
    /// Id of the run, a prefix of it, or a resume token
    #[arg(value_name = "RUN|TOKEN")]
    pub run: String,
    /// The answer to its open question: JSON, or a plain word
    #[arg(long, value_name = "JSON")]
    pub results: Option<String>,
    /// The state of the pause to answer, if several are open
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// How much more may be used from now on, beyond what the run has used: dollars, tokens or seconds
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount, conflicts_with = "results")]
    pub budget: Option<f64>,
    /// Go on past the limits and budgets that it has reached, with as much again of each
    #[arg(long, conflicts_with = "results")]
    pub past_limits: bool,
    /// Continue with the current version of the workflow if it is compatible; lists the differences
    #[arg(long)]
    pub upgrade: bool,
    /// Take the changed workflow from this file (with --upgrade)
    #[arg(long, value_name = "FILE", requires = "upgrade")]
    pub workflow_file: Option<PathBuf>,
    /// Approve every tool call that needs approval
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub stops: StopArgs,
    /// One final JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// One JSON event a line on stdout, while it runs
    #[arg(long)]
    pub events: bool,
    /// Use the scripted replies in this file instead of a model
    #[arg(long, value_name = "FILE")]
    pub replies: Option<PathBuf>,
    /// Record the model calls of the whole run in this file; the run must have been started with --record
    #[arg(long, value_name = "FILE", conflicts_with = "upgrade")]
    pub record: Option<PathBuf>,
    /// Continue playing back a recorded file: no model is called and no key is needed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "replies", "upgrade"])]
    pub replay: Option<PathBuf>,
    /// Share this project with another active run
    #[arg(long)]
    pub share: bool,
    /// Where it runs
    #[cfg(feature = "restate")]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["share", "record", "replay", "replies", "upgrade", "budget", "past_limits", "step", "breaks"])]
    pub backend: Option<super::BackendArg>,
}

#[derive(Subcommand, Debug)]
pub enum RunsCommand {
    /// Newest first
    List(ListArgs),
    /// One run in full
    Show {
        /// Its id, or a prefix of it
        id: String,
        /// Print every event as a JSON line; with --request, the request and its reply
        #[arg(long)]
        json: bool,
        /// Show the last model request of this step or state, or of the run, as it was sent, with its reply
        #[arg(long, value_name = "STEP|STATE|last", value_parser = parse_call_selector)]
        request: Option<ModelRequestSelector>,
        /// Only requests of this agent (with --request)
        #[arg(long, value_name = "AGENT", requires = "request")]
        agent: Option<String>,
        /// Copy into the history what the server has of it first; its whole id is needed, if it is not there yet
        #[cfg(feature = "restate")]
        #[arg(long, value_name = "NAME")]
        backend: Option<super::BackendArg>,
    },
    /// What runs cost: tokens and dollars by model, role, agent and state
    ///
    /// Without a run, the last one. With --all, a filter or --by day: all runs that match the filters.
    Cost(CostArgs),
    /// How much is in the conversations of a run: messages, characters, tokens, by agent
    Contexts {
        /// Its id, or a prefix of it
        run: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// The steps of a run: every state it entered, with the files that were stored
    Steps {
        /// Its id, or a prefix of it
        run: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Find words in messages, tool calls and variables of all runs
    Search {
        /// Words that must all occur; "quotes" make a phrase; the last word matches as a prefix
        words: Vec<String>,
        /// Only in this run
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
        /// Only runs of this workflow
        #[arg(long, value_name = "NAME")]
        workflow: Option<String>,
        /// Maximum number of matches to show; 0 for all
        #[arg(long, default_value_t = 20, allow_negative_numbers = true, value_parser = parse_number)]
        limit: usize,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the differences between two runs
    Diff {
        /// Id of the first run, or a prefix of it
        first: String,
        /// Id of the second run
        second: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Create a new run that starts at a step of another run; `resume` starts it
    Fork {
        /// Its id, or a prefix of it
        run: String,
        /// The step to start from, or a state: its last step
        #[arg(long, value_name = "STEP|STATE")]
        at: NamedStep,
        /// Change a variable first; repeat for several. common_data.+NAME adds a new one that looks like another
        #[arg(long = "set", value_name = "common_data.NAME=JSON")]
        set: Vec<String>,
        /// Use the workflow in this file
        #[arg(long, value_name = "FILE")]
        definition: Option<PathBuf>,
        /// Bring the project's files back to that step, too
        #[arg(long)]
        restore_files: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Rewind a run to before a step: conversations, data and files
    Rewind {
        /// Its id, or a prefix of it
        run: String,
        /// The step to run again, or a state: its last step
        #[arg(long, value_name = "STEP|STATE")]
        to: NamedStep,
        /// Leave the files as they are
        #[arg(long)]
        keep_files: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Restore the project's files to their state before a run; can itself be undone
    Undo {
        /// Its id, or a prefix of it
        run: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Replay a run's journal and verify that it produces the same events
    Replay {
        /// Its id, or a prefix of it
        run: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Pause an active run, also in another process; calls in progress finish first
    Pause {
        /// Its id, or a prefix of it
        run: String,
    },
    /// Cancel a run that is paused, interrupted, or active in another process
    Cancel {
        /// Its id, or a prefix of it
        run: String,
        /// Where it runs; then its whole id is needed
        #[cfg(feature = "restate")]
        #[arg(long, value_name = "NAME")]
        backend: Option<super::BackendArg>,
    },
    /// Retry the state in which a run failed
    Retry(ResumeArgs),
    /// Merge the changes of an isolated run since its last merge into the project
    Merge {
        /// Its id, or a prefix of it
        run: String,
        /// Only show what would change
        #[arg(long)]
        dry_run: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Throw away the worktree and branch of an isolated run
    Discard {
        /// Its id, or a prefix of it
        run: String,
        /// Discard even commits that exist only on its branch, without asking
        #[arg(long)]
        force: bool,
        /// Discard unmerged changes without asking
        #[arg(long)]
        yes: bool,
    },
    /// Export a run to one file, for import on another machine or for reading
    Export {
        /// Its id, or a prefix of it
        run: String,
        /// The output file (default: stdout)
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        /// The output format; by default what the end of the file's name tells: .md, .cassette.jsonl, else a bundle,
        /// which has a JSON value in each line
        #[arg(long, value_name = "FORMAT")]
        format: Option<ExportFormat>,
    },
    /// Import a run that was exported elsewhere
    Import {
        /// The file that `runs export` wrote
        file: PathBuf,
    },
    /// Remove one run from the history, for good
    ///
    /// Refuses a run that works, and one that still has a worktree.
    Delete {
        /// Its id, or a prefix of it
        run: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Remove old runs; shows what it would remove unless --yes
    Gc {
        /// Remove runs that ended more than this many days ago
        #[arg(long, value_name = "DAYS", allow_negative_numbers = true)]
        older_than: Option<u32>,
        /// Keep this many of the newest runs and remove the others
        #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = parse_number)]
        keep: Option<usize>,
        /// Remove the oldest runs until all others take at most this many megabytes
        #[arg(long, value_name = "MB", allow_negative_numbers = true)]
        max_size: Option<u64>,
        /// Remove the snapshots of this project that they took, too
        #[arg(long)]
        snapshots: bool,
        /// Really remove them
        #[arg(long)]
        yes: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show the disk usage of the history
    Du {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Recover the readable part of a damaged history into a new file
    ///
    /// Exits with 1 if anything was lost.
    Salvage {
        /// Replace the damaged history, which is kept under another name; also finishes a replacement
        /// that was interrupted
        #[arg(long)]
        replace: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum ExportFormat {
    /// One self-contained file: journal, definition, roles
    Bundle,
    /// For reading
    Markdown,
    /// The model calls alone: a recording for `run --replay` and for tests
    Recording,
}

#[derive(Args, Debug, Default)]
pub struct CostArgs {
    /// Its id, or a prefix of it
    #[arg(conflicts_with_all = ["all", "limit", "RunFilterArgs"])]
    pub run: Option<String>,
    /// Group only by this; by default, by everything except day
    #[arg(long, value_name = "WHAT")]
    pub by: Option<CostBy>,
    /// Show the total of all runs
    #[arg(long)]
    pub all: bool,
    /// Only this many of the newest runs
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = parse_number)]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub filters: RunFilterArgs,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CostBy {
    Model,
    Role,
    Agent,
    State,
    /// In UTC
    Day,
}

#[derive(Args, Debug, Default)]
pub struct ListArgs {
    /// List the runs of a server, of all its workers
    #[cfg(feature = "restate")]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["workflow", "status", "since", "until", "tree"])]
    pub backend: Option<super::BackendArg>,
    /// Maximum number of runs to show; 0 for all
    #[arg(long, default_value_t = 20, allow_negative_numbers = true, value_parser = parse_number)]
    pub limit: usize,
    #[command(flatten)]
    pub filters: RunFilterArgs,
    /// Show children and forks below their parent run
    #[arg(long)]
    pub tree: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Which runs are meant.
#[derive(Args, Clone, PartialEq, Debug, Default)]
pub struct RunFilterArgs {
    /// Only runs of this workflow
    #[arg(long, value_name = "NAME")]
    pub workflow: Option<String>,
    /// Only runs of this status; repeat for several
    #[arg(long, value_name = "STATUS")]
    pub status: Vec<String>,
    /// Only runs that began after: 2026-01-31, or an age such as 7d, 12h, 30m
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only runs that began before
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Only runs that cost at least this many dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    pub min_cost: Option<f64>,
    /// Only runs that cost at most this many dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    pub max_cost: Option<f64>,
    /// Only runs of this project
    #[arg(long)]
    pub here: bool,
    /// Only runs with these words in their id, workflow or input
    #[arg(long, value_name = "TEXT")]
    pub matching: Option<String>,
}

/// Which request is looked at.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ModelRequestSelector {
    Last,
    Step(NamedStep),
}

fn parse_call_selector(typed: &str) -> Result<ModelRequestSelector, String> {
    if typed == "last" {
        Ok(ModelRequestSelector::Last)
    } else {
        typed.parse().map(ModelRequestSelector::Step)
    }
}

fn parse_number(typed: &str) -> Result<usize, String> {
    typed.parse().map_err(|_| "expected a number of runs, such as 20".to_owned())
}

/// `1.50`, `+1.50` or `$1.50`.
fn parse_amount(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_start_matches('+').trim_start_matches('$');
    let amount = number.replace('_', "").parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| "how much more, for example +1.50 dollars, +50000 tokens or +600 seconds".to_owned())
}
