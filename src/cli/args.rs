//! What can be typed. Names are a contract; later versions only add.

mod breakpoints;
mod completions;
mod conversations;
mod index;
mod mcp;
mod runs;
mod sandbox;
mod simulate;
mod snapshot;
mod tools;
#[cfg(feature = "restate")]
mod worker;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use synthdev_service::named_step::NamedStep;

pub use breakpoints::StopArgs;
pub use completions::{CompletionShell, completion_script};
pub use conversations::ReopenArgs;
pub use index::IndexArgs;
pub use mcp::{McpArgs, McpCommand};
pub use runs::{
    CostArgs, CostBy, ExportFormat, ListArgs, ModelRequestSelector, ResumeArgs, RunFilterArgs, RunsCommand,
};
pub use sandbox::{SandboxArgs, SandboxQuestion};
pub use simulate::SimulateArgs;
pub use snapshot::SnapshotSubcommand;
pub use tools::{ToolsArgs, ToolsCommand};
#[cfg(feature = "restate")]
pub use worker::{BackendArg, BackendCommand, WorkerArgs};

/// Declared multi-agent workflows for your terminal.
#[derive(Parser, Debug)]
#[command(
    name = "synthdev",
    version,
    about = "Declared multi-agent workflows for your terminal",
    after_help = "Without a command the terminal interface starts.\n\
                  Exit codes: 0 completed, 1 failed, 2 usage or configuration, 3 paused or input required,\n\
                  4 limit or budget, 5 approval needed, 130 cancelled."
)]
pub struct CliArgs {
    /// Work as if started in this directory
    #[arg(short = 'C', long = "directory", value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// Print plain lines instead of drawing a screen (also: synthdev --linear demo)
    #[arg(long)]
    pub linear: bool,
    #[command(flatten)]
    pub reopen: ReopenArgs,
    #[command(flatten)]
    pub settings: SettingFlags,
    #[command(subcommand)]
    pub command: Option<CliCommand>,
}

/// Settings for this one start; they win over files and environment.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Settings for this start")]
pub struct SettingFlags {
    /// Provider of the base level, by its name in the catalogue
    #[arg(long, value_name = "NAME", global = true)]
    pub provider: Option<String>,
    /// Key of the base level (better: the environment, SYNTHDEV_API_KEY)
    #[arg(long, value_name = "KEY", global = true)]
    pub api_key: Option<String>,
    /// Base URL of the base level, for example http://127.0.0.1:11434/v1
    #[arg(long, visible_alias = "url", value_name = "URL", global = true)]
    pub base_url: Option<String>,
    /// Model of the base level
    #[arg(long, visible_alias = "model", value_name = "MODEL", global = true)]
    pub base_model: Option<String>,
    /// Provider of the smart level
    #[arg(long, value_name = "NAME", global = true)]
    pub smart_provider: Option<String>,
    /// Key of the smart level
    #[arg(long, value_name = "KEY", global = true)]
    pub smart_api_key: Option<String>,
    /// Base URL of the smart level
    #[arg(long, visible_alias = "smart-base-url", value_name = "URL", global = true)]
    pub smart_url: Option<String>,
    /// Model of the smart level
    #[arg(long, value_name = "MODEL", global = true)]
    pub smart_model: Option<String>,
    /// Provider of the fast level
    #[arg(long, value_name = "NAME", global = true)]
    pub fast_provider: Option<String>,
    /// Key of the fast level
    #[arg(long, value_name = "KEY", global = true)]
    pub fast_api_key: Option<String>,
    /// Base URL of the fast level
    #[arg(long, visible_alias = "fast-base-url", value_name = "URL", global = true)]
    pub fast_url: Option<String>,
    /// Model of the fast level
    #[arg(long, value_name = "MODEL", global = true)]
    pub fast_model: Option<String>,
    /// Sampling temperature, 0 to 2
    #[arg(long, value_name = "NUMBER", global = true)]
    pub temperature: Option<String>,
    /// Tool rounds of one turn before the user is asked to continue, 1 to 200
    #[arg(long, value_name = "NUMBER", global = true)]
    pub max_tool_calls: Option<String>,
    /// Role of the single-agent mode
    #[arg(long, value_name = "ROLE", global = true)]
    pub role: Option<String>,
    /// How much is logged, 0 to 5
    #[arg(long, value_name = "0-5", global = true)]
    pub verbosity: Option<String>,
    /// What commands of agents and workflows may write: project, read-only, off
    #[arg(long, value_name = "MODE", global = true)]
    pub sandbox: Option<String>,
    /// Whether these commands reach the network: off, ask, on
    #[arg(long, value_name = "ACCESS", global = true)]
    pub sandbox_network: Option<String>,
    /// Run commands of agents and workflows without a sandbox: they can access everything that you can access
    #[arg(long, global = true, conflicts_with = "sandbox")]
    pub no_sandbox: bool,
    /// A settings file used on top of the others
    #[arg(long, value_name = "FILE", global = true)]
    pub config: Option<PathBuf>,
    /// Trust the project files of this directory (.synthdev, .env), and remember the decision
    #[arg(long, global = true)]
    pub trust: bool,
}

#[derive(Subcommand, Debug)]
pub enum CliCommand {
    /// Run a workflow without a screen
    Run(RunArgs),
    /// Check workflows, roles and settings; nothing is run or sent
    Check(CheckArgs),
    /// Simulate a workflow with scripted replies and tool results; nothing is changed
    Simulate(SimulateArgs),
    /// Run the tests beside workflows (NAME.test.json)
    Test(TestArgs),
    /// Resume a run that paused, failed or was interrupted
    Resume(ResumeArgs),
    /// Drive the runs of this project that a Restate server hands out
    #[cfg(feature = "restate")]
    Worker(WorkerArgs),
    /// Look after the Restate server that keeps runs, and its workers
    #[cfg(feature = "restate")]
    #[command(subcommand)]
    Backend(BackendCommand),
    /// Past runs: show, search, rewind, export, clean up
    #[command(subcommand)]
    Runs(Box<RunsCommand>),
    /// Explain why a run entered a state: the conditions, their values and their sources
    Why {
        /// Its id, or a prefix of it
        run: String,
        /// The number of the step, as `runs steps` lists it, or a state: its last step
        #[arg(value_name = "STEP|STATE")]
        step: NamedStep,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what commands of agents and workflows can access, and what enforces it
    Sandbox(SandboxArgs),
    /// Manage snapshots of the project's files
    #[command(subcommand)]
    Snapshot(SnapshotSubcommand),
    /// Offer workflows to other programs, as a server of the model context protocol; `mcp add`, `list`, `test` and `remove`: servers whose tools agents use
    Mcp(McpArgs),
    /// Draw a workflow, or a run of it
    Graph(GraphArgs),
    /// JSON Schemas of workflows, roles, settings and other files, for editors
    Schema {
        /// The schema to print; without a name, all schemas are listed
        name: Option<SchemaName>,
        /// Write the schema, or all schemas, as NAME.json into this directory
        #[arg(long, value_name = "DIR")]
        write: Option<PathBuf>,
    },
    /// Create a workflow or a role from a commented template
    #[command(subcommand)]
    New(NewCommand),
    /// List workflows
    Workflows {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// List roles
    Roles {
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// List tools, with what needs approval
    Tools(ToolsArgs),
    /// Let the fast model describe the project's files for explain_codebase; unchanged files are skipped
    Index(IndexArgs),
    /// Settings
    #[command(subcommand)]
    Config(ConfigCommand),
    /// List providers and models with context window and price, including the models that servers report
    Models {
        /// Show only this provider, with all of its models
        #[arg(long, value_name = "NAME")]
        provider: Option<String>,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Set up a model: provider, key and model; without options, a dialog asks for them
    Configure(Box<ConfigureArgs>),
    /// Check your setup and suggest fixes
    Doctor {
        /// Ask no server
        #[arg(long)]
        offline: bool,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what this project's definitions can do and say; --trust enables them
    Trust,
    /// Run a demo with a sample project and a scripted model; everything else is real
    Demo {
        /// Run without the terminal interface
        #[arg(long)]
        headless: bool,
    },
    /// List every limit, its default, and where to set it
    Limits,
    /// Print a completion script for your shell
    Completions {
        /// For which shell
        shell: CompletionShell,
    },
    /// Print the manual page, or write one for each command
    Man {
        /// Write the pages of all commands (synthdev-run.1 and so on) into this directory
        #[arg(long, value_name = "DIR")]
        to: Option<PathBuf>,
    },
}

#[derive(Args, Debug, Default)]
pub struct TestArgs {
    /// Workflows, test files or directories; without any, everything that is configured
    pub targets: Vec<String>,
    /// The report as JSON
    #[arg(long)]
    pub json: bool,
    /// How many tests run in parallel; 0 means one per processor
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub jobs: usize,
    /// Call real models for the tests that name a recording, and record their replies
    #[arg(long)]
    pub record: bool,
}

#[derive(Args, Debug, Default)]
pub struct CheckArgs {
    /// Files, directories or names of workflows; without any, everything that is configured
    pub paths: Vec<PathBuf>,
    /// Show the maximum cost of a run; always shown for a single file or workflow
    #[arg(long)]
    pub cost: bool,
    /// Findings and costs as JSON
    #[arg(long)]
    pub json: bool,
}

#[derive(Args, Debug, Default)]
pub struct RunArgs {
    /// Name of the workflow
    pub name: Option<String>,
    /// Its input as text
    pub input: Option<String>,
    /// Take the workflow from this file
    #[arg(long, value_name = "FILE")]
    pub workflow_file: Option<PathBuf>,
    /// Set one input as NAME=VALUE; repeat for several
    #[arg(long = "input", value_name = "NAME=VALUE")]
    pub inputs: Vec<String>,
    /// Read the input from a file, or `-` for standard input
    #[arg(long, value_name = "FILE|-")]
    pub input_file: Option<PathBuf>,
    /// Approve every tool call that needs approval
    #[arg(long)]
    pub yes: bool,
    /// One final JSON object on stdout
    #[arg(long)]
    pub json: bool,
    /// One JSON event a line on stdout, while it runs
    #[arg(long)]
    pub events: bool,
    /// Use the scripted replies in this file instead of a model
    #[arg(long, value_name = "FILE")]
    pub replies: Option<PathBuf>,
    /// Record all model requests and replies in this file
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Play back a recorded file: no model is called and no key is needed
    #[arg(long, value_name = "FILE", conflicts_with_all = ["record", "replies"])]
    pub replay: Option<PathBuf>,
    /// Work in a separate git worktree and branch; `runs merge` merges the changes
    #[arg(long)]
    pub isolate: bool,
    /// Share this project with another active run
    #[arg(long, conflicts_with = "isolate")]
    pub share: bool,
    /// Where it runs: a worker of this project drives it, and the run survives that worker
    #[cfg(feature = "restate")]
    #[arg(long, value_name = "NAME", conflicts_with_all = ["isolate", "share", "record", "replay"])]
    pub backend: Option<BackendArg>,
    #[command(flatten)]
    pub stops: StopArgs,
}

#[derive(Args, Debug, Default)]
pub struct ConfigureArgs {
    /// Read the key from standard input; it is kept in a file that only you can read
    #[arg(long)]
    pub key_stdin: bool,
    /// The level that the key belongs to, if several levels are set
    #[arg(long, value_name = "LEVEL", default_value = "base")]
    pub level: ModelLevelArg,
    /// Save without testing the model
    #[arg(long)]
    pub no_test: bool,
    /// What is saved: the settings of this start.
    #[arg(skip)]
    pub flags: SettingFlags,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum ModelLevelArg {
    #[default]
    Base,
    Smart,
    Fast,
}

#[derive(Args, Debug, Default)]
pub struct GraphArgs {
    /// Name of the workflow, or a file with workflows; with --run one that the run used
    #[arg(value_name = "NAME|FILE", required_unless_present = "run")]
    pub workflow: Option<String>,
    /// How to draw it
    #[arg(long, value_name = "FORMAT", default_value = "terminal")]
    pub format: GraphFormat,
    /// Annotate the graph with this run: current state, count of each transition, cost of each state
    #[arg(long, value_name = "RUN")]
    pub run: Option<String>,
    /// Also draw the workflows that it calls
    #[arg(long)]
    pub children: bool,
    /// Only the names of the states, as a map; for a terminal
    #[arg(long)]
    pub names: bool,
    /// Columns of the drawing for a terminal; by default the terminal's
    #[arg(long, value_name = "COLUMNS")]
    pub width: Option<usize>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum SchemaName {
    Workflow,
    Role,
    Settings,
    Models,
    Replies,
    Test,
    Tool,
}

#[derive(Subcommand, Debug)]
pub enum NewCommand {
    /// A workflow file
    Workflow {
        /// Its name; the file is NAME.json
        name: String,
        /// The template to start from
        #[arg(long, value_name = "TEMPLATE", default_value = "minimal")]
        template: WorkflowTemplateArg,
        #[command(flatten)]
        place: NewFileTarget,
    },
    /// A role file
    Role {
        /// Its name; the file is NAME.json
        name: String,
        #[command(flatten)]
        place: NewFileTarget,
    },
}

#[derive(Args, Debug, Default)]
pub struct NewFileTarget {
    /// Directory of the file; by default that of the project's .synthdev, or else your own
    #[arg(long, value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long)]
    pub force: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum WorkflowTemplateArg {
    /// One agent, one task
    Minimal,
    /// Agents one after the other: one plans, the next one builds
    Chain,
    /// A coder and a reviewer who sends work back
    Review,
    /// A coder works until a command succeeds
    Gated,
    /// Two agents in parallel, a third one summarizes
    Parallel,
    /// A plan that you approve before it is carried out
    Approval,
    /// Steps one after the other, an agent where one is needed
    Steps,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum GraphFormat {
    /// Boxes and arrows; where they are wider than the terminal, the list
    #[default]
    Terminal,
    /// One line for each state and each transition, as narrow as it must be
    List,
    /// A Mermaid state diagram
    Mermaid,
    /// Graphviz
    Dot,
    /// An image for browsers and pages, light and dark
    Svg,
    /// States and transitions as JSON
    Json,
}

#[derive(Subcommand, Debug)]
pub enum ConfigCommand {
    /// Effective settings
    Show {
        /// Show the layer and location that each value comes from
        #[arg(long)]
        origin: bool,
    },
    /// Explain one setting: its value, its source, the values it overrides, and how to set it
    Explain {
        /// Its path (levels.base.model), a name of the environment, or an option without its dashes
        #[arg(value_name = "KEY")]
        key: String,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
}

/// Heading of the flags for settings in the help.
const SETTINGS: &str = "Settings for this start";
/// Commands that ask models: their help lists the settings, too.
const WITH_SETTINGS: [&str; 5] = ["run", "resume", "retry", "configure", "mcp"];

/// Parses the command line. Every command accepts flags for settings; the help lists them where they matter.
///
/// # Errors
/// It cannot be parsed, or help was requested.
pub fn parse() -> Result<CliArgs, clap::Error> {
    use clap::{CommandFactory, FromArgMatches};
    let matches = match CliArgs::command().try_get_matches() {
        Ok(matches) => matches,
        // only a text needs every command with all of its flags: they take two megabytes
        Err(_) => build_command().try_get_matches()?,
    };
    CliArgs::from_arg_matches(&matches).map_err(|error| error.format(&mut build_command()))
}

/// The command line as the help shows it.
pub fn build_command() -> clap::Command {
    use clap::CommandFactory;
    let mut root = CliArgs::command();
    // after this every command has its own copy of the flags for settings
    root.build();
    tidy_help(root, true)
}

fn tidy_help(command: clap::Command, root: bool) -> clap::Command {
    let listed = WITH_SETTINGS.contains(&command.get_name());
    let command = command.mut_args(|flag| match flag.get_help_heading() {
        Some(SETTINGS) if !root && !listed => flag.hide(true),
        _ => flag,
    });
    command.mut_subcommands(|below| tidy_help(below, false))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_argument_of_every_command_is_explained() {
        fn walk(command: &clap::Command, path: &str) {
            let path = format!("{path} {}", command.get_name());
            assert!(command.get_about().is_some(), "{path} has no text");
            for argument in command.get_arguments() {
                let text = argument.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!text.trim().is_empty(), "`{}` of{path} has no text", argument.get_id());
            }
            command.get_subcommands().for_each(|below| walk(below, &path));
        }
        walk(&build_command(), "");
    }

    #[test]
    fn settings_are_listed_where_they_are_looked_for() {
        let told = |path: &[&str]| {
            let typed = ["synthdev"].iter().chain(path);
            let help = build_command().try_get_matches_from(typed).unwrap_err().to_string();
            help.contains(SETTINGS)
        };
        for (path, listed) in [
            (&["--help"][..], true),
            (&["run", "--help"], true),
            (&["run", "-h"], true),
            (&["runs", "retry", "--help"], true),
            (&["runs", "gc", "--help"], false),
            (&["runs", "--help"], false),
            (&["why", "--help"], false),
        ] {
            assert_eq!(told(path), listed, "{path:?}");
        }
        let given = ["synthdev", "runs", "du", "--model", "m"];
        assert!(build_command().try_get_matches_from(given).is_ok(), "they are taken everywhere");
    }

    #[test]
    fn every_argument_of_every_command_is_consistent() {
        CliArgs::command().debug_assert();
    }
}
