//! Commands that start something: a workflow, a conversation with another role.

use super::argument_kind::SlashArgument;
use super::arguments::{split_word, strip_quotes};
use super::command::{SlashAction, SlashCommand};
use super::steering;
use synthdev_service::run_start::FileSharingMode;

pub(super) const WORKFLOW: SlashCommand = SlashCommand {
    name: "workflow",
    aliases: &["wf"],
    usage: "NAME [\"INPUT\"]",
    description: "start a workflow",
    long_help: "Everything after the name is the input; one pair of quotes around it is removed. Without \
        an input, a workflow that needs one takes your next message. If another run is active in this \
        project: \
           --share works on the same files, --isolate in a git worktree.\nExample: /workflow coder_reviewer \
           \"add a --json flag\"",
    argument: SlashArgument::Workflow,
    parse_arguments: parse_workflow,
};

pub(super) const WORKFLOWS: SlashCommand = SlashCommand {
    name: "workflows",
    aliases: &["wfs"],
    usage: "",
    description: "list workflows, broken ones with the reason",
    long_help: "",
    argument: SlashArgument::None,
    parse_arguments: |_| Ok(SlashAction::Workflows),
};

pub(super) const ROLE: SlashCommand = SlashCommand {
    name: "role",
    aliases: &[],
    usage: "NAME",
    description: "start a new conversation with another role",
    long_help: "Prompt, model and tools change with the role. Without a name: see /roles.",
    argument: SlashArgument::Role,
    parse_arguments: |rest| {
        if rest.is_empty() {
            Ok(SlashAction::Roles(String::new()))
        } else {
            Ok(SlashAction::Role(rest.to_owned()))
        }
    },
};

pub(super) const ROLES: SlashCommand = SlashCommand {
    name: "roles",
    aliases: &[],
    usage: "[GROUP|all]",
    description: "list roles: without a group, of one group, or all",
    long_help: "",
    argument: SlashArgument::RoleGroup,
    parse_arguments: |rest| Ok(SlashAction::Roles(rest.to_owned())),
};

fn parse_workflow(rest: &str) -> Result<SlashAction, String> {
    let (name, input) = split_word(rest);
    if name.is_empty() {
        return Ok(SlashAction::Workflows);
    }
    if let Some(steer) = steering::parse_workflow_word(name).filter(|_| input.trim().is_empty()) {
        return Ok(SlashAction::Steer(steer));
    }
    let (word, after) = split_word(input.trim());
    let (beside, input) = match word {
        "--share" => (Some(FileSharingMode::Shares), after),
        "--isolate" => (Some(FileSharingMode::Isolated), after),
        _ => (None, input),
    };
    Ok(SlashAction::Workflow {
        sharing_mode: beside,
        name: name.to_owned(),
        input: strip_quotes(input.trim()).to_owned(),
    })
}
