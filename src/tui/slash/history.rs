//! Commands about past runs and stored files: search, resume, rewind.

use super::argument_kind::SlashArgument;
use super::arguments::{self, split_word, strip_quotes};
use super::command::{SlashAction, SlashCommand};
use super::simple_arguments::optional_name;
use super::snapshots;
use synthdev_service::data_assignments::parse_assignment_line;
use synthdev_service::named_step::NamedStep;
use synthdev_service::run_list::{RunListError, parse_status};
use synthdev_service::session::TimeTravelRequest;

pub(super) const RUNS: SlashCommand = SlashCommand {
    name: "runs",
    aliases: &[],
    usage: "[STATUS …] [WORDS]",
    description: "list the newest runs, also by status or words",
    long_help: "Statuses: running, paused, completed, failed, cancelled, interrupted. Words are a part of the id, \
           the workflow's name or the input.\nExample: /runs failed paused parser",
    argument: SlashArgument::Status,
    parse_arguments: |rest| Ok(parse_runs(rest)),
};

pub(super) const HISTORY: SlashCommand = SlashCommand {
    name: "history",
    aliases: &["hist"],
    usage: "",
    description: "browse all runs: steps, why, compare, undo, fork",
    long_help: "Opens the list of all runs; / searches them, Enter opens a run and then one of its steps. \
        The last line lists the available actions and their keys; an unavailable action says why. Esc \
        goes back one level.",
    argument: SlashArgument::None,
    parse_arguments: |_| Ok(SlashAction::History),
};

pub(super) const SEARCH: SlashCommand = SlashCommand {
    name: "search",
    aliases: &[],
    usage: "WORDS",
    description: "search messages and tool calls of all runs",
    long_help: "All words must occur; \"a phrase\" in quotes must occur as written; the last word matches \
        as a prefix.",
    argument: SlashArgument::None,
    parse_arguments: |rest| match rest {
        "" => Err(RunListError::NoWord.to_string()),
        words => Ok(SlashAction::Search(words.to_owned())),
    },
};

pub(super) const WHY: SlashCommand = SlashCommand {
    name: "why",
    aliases: &[],
    usage: "[RUN] [STEP|STATE]",
    description: "explain why a step was taken",
    long_help: "Shows the condition, the values that it read and who supplied them. Without a step: lists the steps. Without \
        a run: the one in front, else the newest of this session. A state means the run's last step in it. \
        /history shows the same with w.\nExamples: /why 3 · /why review",
    argument: SlashArgument::Run,
    parse_arguments: |rest| {
        let place = arguments::parse_run_step(rest)?;
        if !place.remainder.trim().is_empty() {
            return Err(format!("/why takes a run and a step, not `{}`", place.remainder.trim()));
        }
        Ok(SlashAction::Why { run: place.run, step: place.step })
    },
};

pub(super) const RESUME: SlashCommand = SlashCommand {
    name: "resume",
    aliases: &[],
    usage: "[RUN]",
    description: "reopen a conversation, or resume a run",
    long_help: "Without an id: the run that you left last in this session. If there is none, a list of this project's \
        conversations and waiting runs opens; letters narrow it, Enter resumes one. Earlier messages appear first. An id \
        may be shortened; the whole id of a run that works at a server follows and answers it there. With --linear the list has numbers: /resume 2.",
    argument: SlashArgument::Run,
    parse_arguments: |rest| Ok(SlashAction::Resume(optional_name(rest))),
};

pub(super) const UNDO: SlashCommand = SlashCommand {
    name: "undo",
    aliases: &[],
    usage: "[RUN]",
    description: "restore the files to before a run",
    long_help: "Lists the files and asks first; a snapshot of the current files is taken before anything \
        changes. Without an id: the run in front, else the newest.",
    argument: SlashArgument::Run,
    parse_arguments: |rest| Ok(SlashAction::Travel(TimeTravelRequest::Undo { run: optional_name(rest) })),
};

pub(super) const REWIND: SlashCommand = SlashCommand {
    name: "rewind",
    aliases: &[],
    usage: "[RUN] [STEP|STATE]",
    description: "rewind conversation, data and files to a step",
    long_help: "Without a step: lists the steps. A state means the last step in it. Lists the files and asks first; /resume goes on from \
        there. Later steps are discarded, but their cost remains. --keep-files leaves the files as they are; where they \
        cannot be restored, the question offers that.\nExample: /rewind 3",
    argument: SlashArgument::Run,
    parse_arguments: |rest| {
        let place = arguments::parse_run_step(rest)?;
        let keep_files = match place.remainder.trim() {
            "" => false,
            "--keep-files" => true,
            other => return Err(format!("/rewind takes a run, a step and --keep-files, not `{other}`")),
        };
        Ok(go_to_step(place.run, place.step, |run, step| TimeTravelRequest::Rewind { run, step, keep_files }))
    },
};

pub(super) const FORK: SlashCommand = SlashCommand {
    name: "fork",
    aliases: &[],
    usage: "[RUN] [STEP|STATE] [NAME=VALUE …] [--restore-files]",
    description: "start a new run from a step, with changed data",
    long_help: "Without a step: lists the steps. A state means the last step in it. Values are JSON or a plain word (several words: \"in quotes\"); names are those of \
         common_data, and +NAME adds a new one that looks like another. The original run and the files do not change; \
         --restore-files brings back the files of the step, lists them and asks first. /resume starts the new run.\n\
           Example: /fork 3 limit=5 plan={\"parts\": 2}",
    argument: SlashArgument::Run,
    parse_arguments: |rest| {
        let place = arguments::parse_run_step(rest)?;
        let (restore_files, values) = arguments::split_restore_files(place.remainder);
        let set = parse_assignment_line(values).map_err(|error| error.to_string())?;
        Ok(go_to_step(place.run, place.step, |run, step| TimeTravelRequest::Fork {
            run,
            step,
            set,
            restore_files,
        }))
    },
};

pub(super) const SNAPSHOT: SlashCommand = SlashCommand {
    name: "snapshot",
    aliases: &["snap"],
    usage: "list | stats | create [LABEL] | show ID | diff ID [ID] | restore ID | delete ID",
    description: "manage snapshots of the project's files",
    long_help: "show lists the files that a restore would change, diff shows how. restore asks first, and \
        takes a snapshot of the current files before it changes anything. An id may be shortened.",
    argument: SlashArgument::Snapshot,
    parse_arguments: parse_snapshot,
};

pub(super) const EXPORT: SlashCommand = SlashCommand::new(
    "export",
    "[RUN] [FILE]",
    "export a run to a file, for reading or import",
    "FILE ends in .md: a text; in .cassette.jsonl: its model calls, for run --replay and for tests. Anything else: \
         everything of the run, for synthdev runs import. Without a file: run-RUN.json. Without a run: the one that is \
         shown. An existing file is never overwritten.",
    SlashArgument::Run,
    |rest| Ok(SlashAction::Page(arguments::parse_export(rest))),
);

/// A word alone may be a run or a state.
fn go_to_step(
    run: Option<String>,
    step: Option<NamedStep>,
    travel: impl FnOnce(Option<String>, NamedStep) -> TimeTravelRequest,
) -> SlashAction {
    match (run, step) {
        (run, Some(step)) => SlashAction::Travel(travel(run, step)),
        (Some(word), None) => {
            let travel = travel(None, NamedStep::State(word.clone()));
            SlashAction::TravelOrSteps { word, travel }
        }
        (None, None) => SlashAction::Steps(None),
    }
}

/// Words of statuses first, then anything.
fn parse_runs(rest: &str) -> SlashAction {
    let (mut statuses, mut left) = (Vec::new(), rest.trim());
    loop {
        let (word, after) = split_word(left);
        let Ok(status) = parse_status(word) else { break };
        statuses.push(status);
        left = after.trim();
    }
    SlashAction::Runs { statuses, search_words: optional_name(strip_quotes(left)) }
}

fn parse_snapshot(rest: &str) -> Result<SlashAction, String> {
    let help = || SlashAction::Help(Some("snapshot".to_owned()));
    snapshots::parse_snapshot_command(rest).map(|command| command.map_or_else(help, SlashAction::Snapshot))
}
