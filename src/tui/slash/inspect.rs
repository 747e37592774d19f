//! Commands that look at something: what runs and ran here, what there is, what it costs.

use super::argument_kind::SlashArgument;
use super::arguments;
use super::command::{SlashAction, SlashCommand};
use super::simple_arguments::optional_name;
use synthdev_service::session::LookupPage;

pub(super) const TOOLS: SlashCommand = SlashCommand {
    name: "tools",
    aliases: &[],
    usage: "",
    description: "list the role's tools, and which need approval",
    long_help: "",
    argument: SlashArgument::None,
    parse_arguments: |_| Ok(SlashAction::Tools),
};

pub(super) const COST: SlashCommand = SlashCommand {
    name: "cost",
    aliases: &[],
    usage: "[RUN]",
    description: "tokens and dollars by model, role, agent, state and run",
    long_help: "Without a run: all of this session. Of one, as `synthdev runs cost RUN` prints it.",
    argument: SlashArgument::Run,
    parse_arguments: |rest| {
        Ok(optional_name(rest).map_or(SlashAction::Cost, |run| SlashAction::Page(LookupPage::Costs(run))))
    },
};

pub(super) const REVIEW: SlashCommand = SlashCommand {
    name: "review",
    aliases: &[],
    usage: "[AGENT]",
    description: "show the last request to a model, and its reply",
    long_help: "Shows the displayed run; without an agent, the one that was called last. Keys are redacted. \
           synthdev runs show RUN --request STEP shows earlier ones.",
    argument: SlashArgument::Agent,
    parse_arguments: |rest| Ok(SlashAction::Review(optional_name(rest))),
};

pub(super) const CONTEXTS: SlashCommand = SlashCommand::new(
    "contexts",
    "[RUN]",
    "count the messages and tokens of a run's conversations, by agent",
    "Without a run: the displayed one. Tokens are estimated; /cost shows what the models counted.",
    SlashArgument::Run,
    |rest| Ok(SlashAction::Page(LookupPage::Contexts(optional_name(rest)))),
);

pub(super) const WATCH: SlashCommand = SlashCommand {
    name: "watch",
    aliases: &[],
    usage: "[RUN]",
    description: "choose the run that the panes show, or list the runs",
    long_help: "Applies to the runs of this session; a prefix of the id or the workflow's name is enough. \
        Alt+N and Alt+P go \
           through them.",
    argument: SlashArgument::SessionRun,
    parse_arguments: |rest| Ok(SlashAction::Watch(optional_name(rest))),
};

pub(super) const AGENTS: SlashCommand = SlashCommand::new(
    "agents",
    "",
    "list the agents of this session: activity and usage",
    "",
    SlashArgument::None,
    |_| Ok(SlashAction::Agents),
);

pub(super) const AGENT: SlashCommand = SlashCommand::new(
    "agent",
    "NAME",
    "show one agent: state, model, last message",
    "Applies to the displayed run; see /agents and /watch.",
    SlashArgument::Agent,
    |rest| if rest.is_empty() { Ok(SlashAction::Agents) } else { Ok(SlashAction::Agent(rest.to_owned())) },
);

pub(super) const GRAPH: SlashCommand = SlashCommand::new(
    "graph",
    "[WORKFLOW]",
    "draw the graph of the displayed run or of a workflow",
    "",
    SlashArgument::Workflow,
    |rest| Ok(SlashAction::Graph(optional_name(rest))),
);

pub(super) const SIMULATE: SlashCommand = SlashCommand::new(
    "simulate",
    "WORKFLOW [REPLIES [INPUT]]",
    "simulate a workflow without models",
    "Plays the replies of a file, else its tests, or one run with made-up answers: the path, the visits, how it ends. \
     Nothing is sent, no tool runs. F5 does the same in the editor, with the text as it stands, and `synthdev simulate` \
     in a shell.",
    SlashArgument::Workflow,
    |rest| match rest {
        "" => Err("/simulate needs the name of a workflow".to_owned()),
        rest => Ok(SlashAction::Page(arguments::parse_simulation(rest))),
    },
);

pub(super) const BUDGET: SlashCommand = SlashCommand::new(
    "budget",
    "",
    "show budget and spending of the displayed run",
    "",
    SlashArgument::None,
    |_| Ok(SlashAction::Budget),
);

pub(super) const MODELS: SlashCommand = SlashCommand::new(
    "models",
    "[PROVIDER]",
    "list available models with provider and price",
    "Asks the servers whose keys are known.",
    SlashArgument::None,
    |rest| Ok(SlashAction::Page(LookupPage::Models(optional_name(rest)))),
);

pub(super) const SANDBOX: SlashCommand = SlashCommand::new(
    "sandbox",
    "[PATH]",
    "show what commands of agents can access, or one path",
    "The settings below `sandbox` control this; docs/security.md describes how it is enforced.",
    SlashArgument::None,
    |rest| Ok(SlashAction::Page(LookupPage::Sandbox(optional_name(rest)))),
);

pub(super) const CONFIG: SlashCommand = SlashCommand::new(
    "config",
    "[SETTING]",
    "show all settings, or the source of one",
    "Keys are never shown. /configure sets up a model.",
    SlashArgument::None,
    |rest| Ok(SlashAction::Page(LookupPage::Config(optional_name(rest)))),
);
