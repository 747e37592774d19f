//! Commands about this session: help, the screen, editors, the user's shell commands, leaving.

use super::argument_kind::SlashArgument;
use super::arguments;
use super::cmd;
use super::command::{SlashAction, SlashCommand};

pub(super) const HELP: SlashCommand = SlashCommand {
    name: "help",
    aliases: &["h", "?"],
    usage: "[WORD]",
    description: "commands in groups; a command, a group or `keys` in full",
    long_help: "",
    argument: SlashArgument::Command,
    parse_arguments: |rest| {
        Ok(SlashAction::Help((!rest.is_empty()).then(|| rest.trim_start_matches('/').to_owned())))
    },
};

pub(super) const CLEAR: SlashCommand = SlashCommand {
    name: "clear",
    aliases: &[],
    usage: "",
    description: "clear the screen, start a new conversation",
    long_help: "",
    argument: SlashArgument::None,
    parse_arguments: |_| Ok(SlashAction::Clear),
};

pub(super) const RENAME: SlashCommand = SlashCommand::new(
    "rename",
    "TEXT",
    "give this conversation a name",
    "The name takes the place of the first words in /resume, /runs and /history, which find the conversation by it.\n\
     Example: /rename parser errors",
    SlashArgument::None,
    |rest| match rest {
        "" => Err("/rename needs a name for this conversation".to_owned()),
        name => Ok(SlashAction::Rename(name.to_owned())),
    },
);

pub(super) const COMPACT: SlashCommand = SlashCommand::new(
    "compact",
    "[WHAT TO KEEP]",
    "sum up this conversation to free its window",
    "One call of the conversation's model writes a summary, which later prompts show in place of what was said; the \
     messages stay on screen and in the history. It says what that saved. If the call fails, or the summary is no \
     shorter, the conversation is as it was.\nExample: /compact the names of the files and what failed",
    SlashArgument::None,
    |rest| Ok(SlashAction::Compact(rest.to_owned())),
);

pub(super) const EDIT: SlashCommand = SlashCommand {
    name: "edit",
    aliases: &[],
    usage: "[NAME | --new [NAME]]",
    description: "edit a workflow or role; without a name, list them",
    long_help: "The editor shows findings, the graph and completions while you type; F1 lists the keys. \
        An active run keeps its own version.\n/edit NAME --external opens it in $VISUAL or $EDITOR. /edit \
        --new creates one, from a template or as a copy.",
    argument: SlashArgument::Definition,
    parse_arguments: |rest| Ok(SlashAction::edit_action(arguments::parse_edit_target(rest))),
};

pub(super) const PANE: SlashCommand = SlashCommand::new(
    "pane",
    "NAME",
    "show or hide a pane",
    "Panes: conversation, graph, agents, data, tools, timeline, costs.",
    SlashArgument::Pane,
    |rest| {
        if rest.is_empty() {
            Err("/pane needs the name of a pane".to_owned())
        } else {
            Ok(SlashAction::Pane(rest.to_owned()))
        }
    },
);

pub(super) const CMD: SlashCommand = SlashCommand::new(
    "cmd",
    "[COMMAND | ??? WORDS | N | add]",
    "run a shell command here, or let a model write one",
    "The command has no input and ends after the usual timeout; synthdev asks first if it looks dangerous. \
     /cmd ??? WORDS (or ?WORDS): the model of level fast writes a command for this and puts it into the \
     input box; edit it, and Enter runs it. /cmd lists the last ten commands, /cmd N puts one of them into \
     the input box. \
     /cmd add puts the last command and its answer there, to be sent; with the setting \"cmd\": {\"add_output\": true} \
     answers go along with your next text.\nExample: /cmd ??? the ten largest files below src",
    SlashArgument::Shell,
    |rest| Ok(SlashAction::Shell(cmd::parse_cmd(rest)?)),
);

pub(super) const EXIT: SlashCommand = SlashCommand {
    name: "exit",
    aliases: &["quit", "q"],
    usage: "",
    description: "leave (also Ctrl+D on an empty line)",
    long_help: "",
    argument: SlashArgument::None,
    parse_arguments: |_| Ok(SlashAction::Quit),
};
