//! Commands that look at something: what runs and ran here, what there is, what it costs.

use super::command::{SlashAction, SlashArgument, SlashCommand};
use super::simple_arguments::optional_name;
use crate::backend::LookupPage;

pub(super) const TOOLS: SlashCommand = SlashCommand {
    name: "tools",
    aliases: &[],
    usage: "",
    description: "tools of the current role, and which ask first",
    long_help: "",
    argument: SlashArgument::None,
    parse_arguments: |_| Ok(SlashAction::Tools),
};

pub(super) const COST: SlashCommand = SlashCommand {
    name: "cost",
    aliases: &[],
    usage: "",
    description: "tokens and dollars by model, role, agent, state and run",
    long_help: "",
    argument: SlashArgument::None,
    parse_arguments: |_| Ok(SlashAction::Cost),
};

pub(super) const REVIEW: SlashCommand = SlashCommand {
    name: "review",
    aliases: &[],
    usage: "[AGENT]",
    description: "what a model was asked last, and its answer",
    long_help: "Of the run that is shown; without an agent: of the one that was asked last. Keys are left out. \
           synthdev runs show RUN --request STEP shows earlier ones.",
    argument: SlashArgument::Agent,
    parse_arguments: |rest| Ok(SlashAction::Review(optional_name(rest))),
};

pub(super) const WATCH: SlashCommand = SlashCommand {
    name: "watch",
    aliases: &[],
    usage: "[RUN]",
    description: "the run that the panes show; without one: which there are",
    long_help: "Of the runs of this session; the id may be shortened, the workflow's name will do. Alt+N and Alt+P go \
           through them.",
    argument: SlashArgument::None,
    parse_arguments: |rest| Ok(SlashAction::Watch(optional_name(rest))),
};

pub(super) const AGENTS: SlashCommand = SlashCommand::new(
    "agents",
    "",
    "agents of this session's runs: what they do, what they used",
    "",
    SlashArgument::None,
    |_| Ok(SlashAction::Agents),
);

pub(super) const AGENT: SlashCommand = SlashCommand::new(
    "agent",
    "NAME",
    "one agent: its state, its model, what it said last",
    "Of the run that is shown; see /agents and /watch.",
    SlashArgument::Agent,
    |rest| if rest.is_empty() { Ok(SlashAction::Agents) } else { Ok(SlashAction::Agent(rest.to_owned())) },
);

pub(super) const GRAPH: SlashCommand = SlashCommand::new(
    "graph",
    "[WORKFLOW]",
    "the graph of the run that is shown, or of a workflow",
    "",
    SlashArgument::Workflow,
    |rest| Ok(SlashAction::Graph(optional_name(rest))),
);

pub(super) const SIMULATE: SlashCommand = SlashCommand::new(
    "simulate",
    "WORKFLOW",
    "walk through a workflow without models",
    "Plays its tests, or one run with made-up answers: the path, the visits, how it ends. Nothing is sent, no tool \
     runs. F5 does the same in the editor, with the text as it stands.",
    SlashArgument::Workflow,
    |rest| match rest {
        "" => Err("/simulate needs the name of a workflow".to_owned()),
        name => Ok(SlashAction::Page(LookupPage::Simulation(name.to_owned()))),
    },
);

pub(super) const BUDGET: SlashCommand = SlashCommand::new(
    "budget",
    "",
    "what the run that is shown may spend, and has spent",
    "",
    SlashArgument::None,
    |_| Ok(SlashAction::Budget),
);

pub(super) const MODELS: SlashCommand = SlashCommand::new(
    "models",
    "[PROVIDER]",
    "models that can be had, from whom, at which price",
    "Asks the servers whose keys are known.",
    SlashArgument::None,
    |rest| Ok(SlashAction::Page(LookupPage::Models(optional_name(rest)))),
);

pub(super) const SANDBOX: SlashCommand = SlashCommand::new(
    "sandbox",
    "[PATH]",
    "what commands of agents can reach, or what they may do with a path",
    "The settings below `sandbox` decide it; docs/security.md tells what holds it.",
    SlashArgument::None,
    |rest| Ok(SlashAction::Page(LookupPage::Sandbox(optional_name(rest)))),
);

pub(super) const CONFIG: SlashCommand = SlashCommand::new(
    "config",
    "[SETTING]",
    "every setting, or where one is from",
    "Keys are never shown. /configure sets up a model.",
    SlashArgument::None,
    |rest| Ok(SlashAction::Page(LookupPage::Config(optional_name(rest)))),
);
