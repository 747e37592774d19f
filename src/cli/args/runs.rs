//! `resume` and `runs`: everything about runs that are there already.

use super::StopArgs;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Args, Debug, Default)]
pub struct ResumeArgs {
    /// Id of the run, or a beginning of it, or a resume token
    #[arg(value_name = "RUN|TOKEN")]
    pub run: String,
    /// The answer to what it waits for: JSON, or a plain word
    #[arg(long, value_name = "JSON")]
    pub results: Option<String>,
    /// Which pause is answered, if several are open: its state
    #[arg(long, value_name = "STATE")]
    pub state: Option<String>,
    /// How much more of the budget that was reached it may use: dollars, tokens or seconds
    #[arg(long, value_name = "AMOUNT", value_parser = parse_amount, conflicts_with = "results")]
    pub budget: Option<f64>,
    /// Go on under the workflow as it is now, if it fits; says what is different
    #[arg(long)]
    pub upgrade: bool,
    /// Take the changed workflow from this file (with --upgrade)
    #[arg(long, value_name = "FILE", requires = "upgrade")]
    pub workflow_file: Option<PathBuf>,
    /// Approve every tool that would be asked about
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
    /// Answer with this file of scripted replies instead of a model
    #[arg(long, value_name = "FILE")]
    pub replies: Option<PathBuf>,
    /// Write everything that models were asked and answered in the whole run into this file; it was begun with --record
    #[arg(long, value_name = "FILE", conflicts_with = "upgrade")]
    pub record: Option<PathBuf>,
    /// Go on answering from such a file: no model is asked, no key is needed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "replies", "upgrade"])]
    pub replay: Option<PathBuf>,
    /// Go on beside another run that works in this project
    #[arg(long)]
    pub share: bool,
}

#[derive(Subcommand, Debug)]
pub enum RunsCommand {
    /// Newest first
    List(ListArgs),
    /// One run in full
    Show {
        /// Its id, or a beginning of it
        id: String,
        /// Every event as a JSON line; with --request, what was asked and answered
        #[arg(long)]
        json: bool,
        /// The last request to a model of this step, or of the run, as it was sent, and the answer
        #[arg(long, value_name = "STEP|last", value_parser = parse_call_selector)]
        request: Option<ModelRequestSelector>,
        /// Of this agent (with --request)
        #[arg(long, value_name = "AGENT", requires = "request")]
        agent: Option<String>,
    },
    /// What runs cost: tokens and dollars by model, role, agent and state
    ///
    /// Without a run, the last one. With --all, a filter or --by day: all runs, or those that the filters let through.
    Cost(CostArgs),
    /// The steps of a run: every state it entered, with the files that were stored
    Steps {
        /// Its id, or a beginning of it
        run: String,
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Find words in messages, tool calls and variables of all runs
    Search {
        /// All of them must occur; "quotes" make a phrase; the last one may be a beginning
        words: Vec<String>,
        /// Only in this run
        #[arg(long, value_name = "RUN")]
        run: Option<String>,
        /// Only runs of this workflow
        #[arg(long, value_name = "NAME")]
        workflow: Option<String>,
        /// How many places are shown; 0 for all
        #[arg(long, default_value_t = 20, allow_negative_numbers = true, value_parser = parse_number)]
        limit: usize,
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// What is different between two runs
    Diff {
        /// Id of one run, or a beginning of it
        first: String,
        /// Id of the other one
        second: String,
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// A new run that begins before a step of another one; `resume` sets it going
    Fork {
        /// Its id, or a beginning of it
        run: String,
        /// The step before which it begins
        #[arg(long, value_name = "STEP")]
        at: u32,
        /// Change data first; repeat for several
        #[arg(long = "set", value_name = "common_data.NAME=JSON")]
        set: Vec<String>,
        /// Under the workflow in this file
        #[arg(long, value_name = "FILE")]
        definition: Option<PathBuf>,
        /// Bring the project's files back to that step, too
        #[arg(long)]
        restore_files: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Take a run itself back to before a step: conversations, data and files together
    Rewind {
        /// Its id, or a beginning of it
        run: String,
        /// The step that is entered again
        #[arg(long, value_name = "STEP")]
        to: u32,
        /// Leave the files as they are
        #[arg(long)]
        keep_files: bool,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Make the project's files as they were before a run; can itself be undone
    Undo {
        /// Its id, or a beginning of it
        run: String,
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Feed a run's journal again: it must lead to the same events
    Replay {
        /// Its id, or a beginning of it
        run: String,
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Pause a run that works, also in another process; what is under way comes to its end
    Pause {
        /// Its id, or a beginning of it
        run: String,
    },
    /// End a run for good: one that waits, was interrupted, or works in another process
    Cancel {
        /// Its id, or a beginning of it
        run: String,
    },
    /// Try the state again in which a run failed
    Retry(ResumeArgs),
    /// Bring what an isolated run changed since its last merge into the project
    Merge {
        /// Its id, or a beginning of it
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
        /// Its id, or a beginning of it
        run: String,
        /// Even if commits on its branch are nowhere else; asks nothing
        #[arg(long)]
        force: bool,
        /// Do not ask whether changes that were not merged may be lost
        #[arg(long)]
        yes: bool,
    },
    /// Write a run into one file that can be imported elsewhere, or read by a person
    Export {
        /// Its id, or a beginning of it
        run: String,
        /// Where to; without it stdout
        #[arg(long, value_name = "FILE")]
        to: Option<PathBuf>,
        /// For programs or for reading
        #[arg(long, value_name = "FORMAT", default_value = "bundle")]
        format: ExportFormat,
    },
    /// Take in a run that was exported elsewhere
    Import {
        /// The file that `runs export` wrote
        file: PathBuf,
    },
    /// Remove old runs; shows what it would remove unless --yes
    Gc {
        /// Runs that ended longer ago
        #[arg(long, value_name = "DAYS", allow_negative_numbers = true)]
        older_than: Option<u32>,
        /// All but so many of the newest runs
        #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = parse_number)]
        keep: Option<usize>,
        /// Really remove them
        #[arg(long)]
        yes: bool,
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// What the history takes on the disk
    Du {
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
    /// Save what can be read of a damaged history into a new one
    ///
    /// Exits with 1 if anything was lost.
    Salvage {
        /// Put the new one in the place of the damaged one, which is kept under another name; finishes a replacement
        /// that was cut off
        #[arg(long)]
        replace: bool,
        /// The answer as JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ExportFormat {
    /// One self-contained file: journal, definition, roles
    #[default]
    Bundle,
    /// For reading
    Markdown,
    /// The model calls alone: a recording for `run --replay` and for tests
    Recording,
}

#[derive(Args, Debug, Default)]
pub struct CostArgs {
    /// Its id, or a beginning of it
    #[arg(conflicts_with_all = ["all", "limit", "RunFilterArgs"])]
    pub run: Option<String>,
    /// Only by this; without it by each but day
    #[arg(long, value_name = "WHAT")]
    pub by: Option<CostBy>,
    /// All runs together
    #[arg(long)]
    pub all: bool,
    /// Only so many of the newest ones
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true, value_parser = parse_number)]
    pub limit: Option<usize>,
    #[command(flatten)]
    pub filters: RunFilterArgs,
    /// The answer as JSON
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
    /// How many; 0 for all
    #[arg(long, default_value_t = 20, allow_negative_numbers = true, value_parser = parse_number)]
    pub limit: usize,
    #[command(flatten)]
    pub filters: RunFilterArgs,
    /// Children and forks below the run that they came from
    #[arg(long)]
    pub tree: bool,
    /// The answer as JSON
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
    /// Only runs that cost at least so many dollars
    #[arg(long, value_name = "USD", allow_negative_numbers = true)]
    pub min_cost: Option<f64>,
    /// Only runs that cost at most so many dollars
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ModelRequestSelector {
    Last,
    Step(u32),
}

fn parse_call_selector(typed: &str) -> Result<ModelRequestSelector, String> {
    let wanted = || "a number of a step is wanted, or the word last".to_owned();
    if typed == "last" {
        Ok(ModelRequestSelector::Last)
    } else {
        typed.parse().map(ModelRequestSelector::Step).map_err(|_| wanted())
    }
}

fn parse_number(typed: &str) -> Result<usize, String> {
    typed.parse().map_err(|_| "a number of runs is wanted, such as 20".to_owned())
}

/// `1.50`, `+1.50` or `$1.50`.
fn parse_amount(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_start_matches('+').trim_start_matches('$');
    let amount = number.replace('_', "").parse::<f64>().ok();
    amount
        .filter(|amount| amount.is_finite() && *amount > 0.0)
        .ok_or_else(|| "how much more, for example +1.50 dollars, +50000 tokens or +600 seconds".to_owned())
}
