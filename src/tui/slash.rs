//! The slash commands: one table drives dispatch, completion and help.

use serde_json::Value;

pub use self::distance::closest;
use self::places::{switch, unquote, word};
pub use self::snapshots::SNAPSHOT_WORDS;
use crate::config::settings::rules::LEVELS;
use crate::domain::journal::RunStatus;
use crate::tui::backend::{Beside, Page, Travel};

mod command;
mod distance;
pub mod help;
pub mod needs;
mod places;
mod snapshots;
pub mod steering;
mod verbosity;

pub use command::{Action, Argument, SlashCommand};
pub use places::changes;

/// A command that `steering` understands.
const fn steers(row: steering::Row) -> SlashCommand {
    let steering::Row { name, aliases, usage, about, more } = row;
    SlashCommand {
        name,
        aliases,
        usage,
        about,
        more,
        argument: Argument::None,
        parse: |_| Err(String::new()),
    }
}

pub const COMMANDS: &[SlashCommand] = &[
    SlashCommand {
        name: "help",
        aliases: &["h", "?"],
        usage: "[COMMAND]",
        about: "commands and keys, or one command in full",
        more: "",
        argument: Argument::Command,
        parse: |rest| Ok(Action::Help((!rest.is_empty()).then(|| rest.trim_start_matches('/').to_owned()))),
    },
    SlashCommand {
        name: "workflow",
        aliases: &["wf"],
        usage: "NAME [\"INPUT\"]",
        about: "start a workflow",
        more: "Everything after the name is the input; one pair of quotes around it is removed. Without an \
               input the next text is taken, if the workflow wants one. Beside another one that works in this project: \
               --share works on the same files, --isolate in a git worktree.\nExample: /workflow coder_reviewer \
               \"add a --json flag\"",
        argument: Argument::Workflow,
        parse: parse_workflow,
    },
    SlashCommand {
        name: "workflows",
        aliases: &["wfs"],
        usage: "",
        about: "all workflows, broken ones with the reason",
        more: "",
        argument: Argument::None,
        parse: |_| Ok(Action::Workflows),
    },
    SlashCommand {
        name: "role",
        aliases: &[],
        usage: "NAME",
        about: "talk to another role, in a new conversation",
        more: "Prompt, model and tools change with the role. Without a name: see /roles.",
        argument: Argument::Role,
        parse: |rest| {
            if rest.is_empty() { Ok(Action::Roles(String::new())) } else { Ok(Action::Role(rest.to_owned())) }
        },
    },
    SlashCommand {
        name: "roles",
        aliases: &[],
        usage: "[GROUP|all]",
        about: "roles without a group, of one group, or all",
        more: "",
        argument: Argument::RoleGroup,
        parse: |rest| Ok(Action::Roles(rest.to_owned())),
    },
    SlashCommand {
        name: "tools",
        aliases: &[],
        usage: "",
        about: "tools of the current role, and which ask first",
        more: "",
        argument: Argument::None,
        parse: |_| Ok(Action::Tools),
    },
    SlashCommand {
        name: "cost",
        aliases: &[],
        usage: "",
        about: "tokens and dollars by model, role, agent, state and run",
        more: "",
        argument: Argument::None,
        parse: |_| Ok(Action::Cost),
    },
    SlashCommand {
        name: "review",
        aliases: &[],
        usage: "[AGENT]",
        about: "what a model was asked last, and its answer",
        more: "Of the run that is shown; without an agent: of whoever was asked last. Keys are left out. \
               synthdev runs show RUN --request STEP shows earlier ones.",
        argument: Argument::Agent,
        parse: |rest| Ok(Action::Review(named(rest))),
    },
    SlashCommand {
        name: "runs",
        aliases: &[],
        usage: "[STATUS …] [WORDS]",
        about: "the newest runs, of a status or with words",
        more: "Statuses: running, paused, completed, failed, cancelled, interrupted. Words are a part of the id, \
               the workflow's name or the input.\nExample: /runs failed paused parser",
        argument: Argument::Status,
        parse: |rest| Ok(parse_runs(rest)),
    },
    SlashCommand {
        name: "history",
        aliases: &["hist"],
        usage: "",
        about: "the runs in full: steps, why, compare, undo, fork",
        more: "Opens the list of all runs; / finds words in them, Enter opens a run and then a step of it. The last line \
               names the keys of what can be done with a run; what cannot says why. Esc goes back one level.",
        argument: Argument::None,
        parse: |_| Ok(Action::History),
    },
    SlashCommand {
        name: "search",
        aliases: &[],
        usage: "WORDS",
        about: "what was said and done in all runs",
        more: "Every word must be there; \"a phrase\" in quotes must be there as it is; of the last word the \
               beginning is enough.",
        argument: Argument::None,
        parse: |rest| match rest {
            "" => Err("/search needs words to look for".to_owned()),
            words => Ok(Action::Search(words.to_owned())),
        },
    },
    SlashCommand {
        name: "resume",
        aliases: &[],
        usage: "[RUN]",
        about: "go on with a run that waits or was interrupted",
        more: "Without an id: the run that was left last, else the one of this project that waits. What it did \
               before is shown first. An id may be shortened.",
        argument: Argument::Run,
        parse: |rest| Ok(Action::Resume(named(rest))),
    },
    steers(steering::STATUS),
    steers(steering::PAUSE),
    steers(steering::STEP),
    steers(steering::CONTINUE),
    steers(steering::STOP),
    steers(steering::BREAK),
    steers(steering::BREAKS),
    steers(steering::SET),
    steers(steering::PENDING),
    steers(steering::APPROVALS),
    SlashCommand {
        name: "undo",
        aliases: &[],
        usage: "[RUN]",
        about: "bring the files back to before a run",
        more: "Lists the files and asks first; the present is snapshotted before anything changes. Without an id: \
               the last run.",
        argument: Argument::Run,
        parse: |rest| Ok(Action::Travel(Travel::Undo { run: named(rest) })),
    },
    SlashCommand {
        name: "rewind",
        aliases: &[],
        usage: "[RUN] [STEP]",
        about: "conversation, data and files as before a step",
        more: "Without a step: lists the steps. Lists the files and asks first; /resume goes on from there. What \
               came later no longer counts, but stays paid.\nExample: /rewind 3",
        argument: Argument::Run,
        parse: |rest| {
            let place = places::place(rest)?;
            if !place.rest.trim().is_empty() {
                return Err(format!("/rewind takes a run and a step, not `{}`", place.rest.trim()));
            }
            let run = place.run;
            Ok(place
                .step
                .map_or(Action::Steps(run.clone()), |step| Action::Travel(Travel::Rewind { run, step })))
        },
    },
    SlashCommand {
        name: "fork",
        aliases: &[],
        usage: "[RUN] [STEP] [NAME=VALUE …]",
        about: "a new run from a step, with other data",
        more: "Without a step: lists the steps. Values are JSON or a plain word; names are those of common_data. The \
               other run stays, and so do the files. /resume sets the new one going.\n\
               Example: /fork 3 limit=5 plan={\"parts\": 2}",
        argument: Argument::Run,
        parse: |rest| {
            let place = places::place(rest)?;
            let Some(step) = place.step else { return Ok(Action::Steps(place.run)) };
            let set: Vec<(Vec<String>, Value)> = places::changes(place.rest)?;
            Ok(Action::Travel(Travel::Fork { run: place.run, step, set }))
        },
    },
    SlashCommand {
        name: "snapshot",
        aliases: &["snap"],
        usage: "list | create [LABEL] | show ID | diff ID | restore ID | delete ID",
        about: "stored states of the project's files",
        more: "show lists the files that a restore would change, diff shows how. restore asks first, and \
               snapshots the present before it changes anything. An id may be shortened.",
        argument: Argument::Snapshot,
        parse: parse_snapshot,
    },
    SlashCommand {
        name: "configure",
        aliases: &[],
        usage: "[LEVEL]",
        about: "set up a model: provider, key, model",
        more: "Asks for the provider, the key and the model, tries them and saves them in your settings; the next text \
               is answered by the new model. Without a level: base, and which models smart and fast use. Esc leaves \
               everything as it was.\nExample: /configure fast",
        argument: Argument::None,
        parse: parse_level,
    },
    SlashCommand {
        name: "watch",
        aliases: &[],
        usage: "[RUN]",
        about: "the run that the panes show; without one: which there are",
        more: "Of the runs of this session; the id may be shortened, the workflow's name will do. Alt+N and Alt+P go \
               through them.",
        argument: Argument::None,
        parse: |rest| Ok(Action::Watch(named(rest))),
    },
    SlashCommand {
        name: "keys",
        aliases: &[],
        usage: "",
        about: "every key, what it does, where it is from",
        more: "Other keys: keyboard.json beside your settings.json, as {\"graph\": [\"Alt+G\", \"F3\"]}. Two actions \
               cannot have one key in one place; what is wrong with the file is told at the start.",
        argument: Argument::None,
        parse: |_| Ok(Action::Keys),
    },
    SlashCommand {
        name: "theme",
        aliases: &[],
        usage: "[NAME]",
        about: "colours: auto, dark, light, light16, plain",
        more: "For this session; the setting \"theme\" keeps it. auto looks at COLORFGBG, else asks the terminal; light16 uses the sixteen \
               colours of the terminal only. NO_COLOR wins over all of them.",
        argument: Argument::Theme,
        parse: |rest| Ok(Action::Theme(named(rest))),
    },
    SlashCommand {
        name: "mouse",
        aliases: &[],
        usage: "[on|off]",
        about: "the mouse scrolls and chooses panes, or selects text",
        more: "For this session; the setting \"mouse\" keeps it. While it is on, most terminals select text with Shift.",
        argument: Argument::Switch,
        parse: |rest| Ok(Action::Mouse(switch("mouse", rest)?)),
    },
    SlashCommand {
        name: "clear",
        aliases: &[],
        usage: "",
        about: "empty the screen, start a new conversation",
        more: "",
        argument: Argument::None,
        parse: |_| Ok(Action::Clear),
    },
    SlashCommand {
        name: "edit",
        aliases: &[],
        usage: "[NAME | --new [NAME]]",
        about: "edit a workflow or role; without a name: which there are",
        more: "Findings, the graph and what fits are shown while you type; F1 lists the keys. A run that goes on \
               keeps its own version.\n/edit NAME --external opens it in $VISUAL or $EDITOR. /edit --new begins another \
               one, from a pattern or as a copy.",
        argument: Argument::Definition,
        parse: |rest| Ok(Action::edit(places::definition(rest))),
    },
    SlashCommand::new(
        ("agents", ""),
        "agents of this session's runs: what they do, what they used",
        "",
        Argument::None,
        |_| Ok(Action::Agents),
    ),
    SlashCommand::new(
        ("agent", "NAME"),
        "one agent: its state, its model, what it said last",
        "Of the run that is shown; see /agents and /watch.",
        Argument::Agent,
        |rest| if rest.is_empty() { Ok(Action::Agents) } else { Ok(Action::Agent(rest.to_owned())) },
    ),
    SlashCommand::new(
        ("graph", "[WORKFLOW]"),
        "the graph of the run that is shown, or of a workflow",
        "",
        Argument::Workflow,
        |rest| Ok(Action::Graph(named(rest))),
    ),
    SlashCommand::new(
        ("simulate", "WORKFLOW"),
        "walk through a workflow without models",
        "Plays its tests, or one run with made-up answers: the path, the visits, how it ends. Nothing is sent, no tool \
         runs. F5 does the same in the editor, with the text as it stands.",
        Argument::Workflow,
        |rest| match rest {
            "" => Err("/simulate needs the name of a workflow".to_owned()),
            name => Ok(Action::Page(Page::Simulation(name.to_owned()))),
        },
    ),
    SlashCommand::new(
        ("pane", "NAME"),
        "show a pane, or take it away",
        "Panes: conversation, graph, agents, data, tools, timeline, costs.",
        Argument::Pane,
        |rest| {
            if rest.is_empty() {
                Err("/pane needs the name of a pane".to_owned())
            } else {
                Ok(Action::Pane(rest.to_owned()))
            }
        },
    ),
    SlashCommand::new(
        ("budget", ""),
        "what the run that is shown may spend, and has spent",
        "",
        Argument::None,
        |_| Ok(Action::Budget),
    ),
    SlashCommand::new(
        ("models", "[PROVIDER]"),
        "models that can be had, from whom, at which price",
        "Asks the servers whose keys are known.",
        Argument::None,
        |rest| Ok(Action::Page(Page::Models(named(rest)))),
    ),
    SlashCommand::new(
        ("config", "[SETTING]"),
        "every setting, or where one is from",
        "Keys are never shown. /configure sets up a model.",
        Argument::None,
        |rest| Ok(Action::Page(Page::Config(named(rest)))),
    ),
    SlashCommand::new(
        ("export", "[RUN] [FILE]"),
        "write a run into a file, for people or for import",
        "FILE ends in .md: a text. Anything else: everything of the run, for synthdev runs import. Without a file: \
         RUN.md. Without a run: the one that is shown. A file that is there is left as it is.",
        Argument::Run,
        |rest| Ok(Action::Page(places::export(rest))),
    ),
    SlashCommand::new(
        ("trust", "[yes|no]"),
        "whether this project's own definitions are used",
        "Without a word: asks, or says what is trusted. no: they are left out in this session.",
        Argument::None,
        |rest| match rest {
            "" => Ok(Action::Trust(None)),
            "yes" => Ok(Action::Trust(Some(true))),
            "no" => Ok(Action::Trust(Some(false))),
            other => Err(format!("/trust is yes or no, not `{other}`")),
        },
    ),
    SlashCommand::new(
        ("cmd", "COMMAND | add"),
        "run a shell command here, without a model",
        "It has no input and ends after the usual time of commands; you are asked first if it looks dangerous. \
         /cmd add puts the last command and its answer into the input box, to be sent.",
        Argument::None,
        |rest| match rest {
            "" => Err("/cmd needs a command, such as /cmd git status".to_owned()),
            "add" => Ok(Action::ShellAdd),
            command => Ok(Action::Shell(command.to_owned())),
        },
    ),
    verbosity::VERBOSITY,
    SlashCommand::new(
        ("vim", "[on|off]"),
        "keys as in vi in the input box",
        "For this session; the setting \"vim\" keeps it.",
        Argument::Switch,
        |rest| Ok(Action::Vim(switch("vim", rest)?)),
    ),
    SlashCommand {
        name: "exit",
        aliases: &["quit", "q"],
        usage: "",
        about: "leave (also Ctrl+D on an empty line)",
        more: "",
        argument: Argument::None,
        parse: |_| Ok(Action::Quit),
    },
];

/// A line that is a command: it starts with a slash and its first word is no path.
pub fn is_command(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| !name.contains('/'))
}

/// Understands a command line.
/// # Errors
/// An unknown command with a suggestion, or what is missing.
pub fn parse(line: &str) -> Result<Action, String> {
    let line = line.trim();
    let line = line.strip_prefix('/').unwrap_or(line);
    let (word, rest) = word(line);
    match find(word) {
        Some(command) => match steering::parse(command.name, rest.trim()) {
            Some(steer) => steer.map(Action::Steer),
            None => (command.parse)(rest.trim()),
        },
        None => Err(unknown(word)),
    }
}

pub fn find(word: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| command.name == word || command.aliases.contains(&word))
}

/// `unknown command /wrkflow — did you mean /workflow?`
pub fn unknown(word: &str) -> String {
    let names = COMMANDS.iter().flat_map(|command| std::iter::once(&command.name).chain(command.aliases));
    match closest(word, names.copied()) {
        Some(name) => format!("unknown command /{word} — did you mean /{name}?"),
        None => format!("unknown command /{word} — /help lists all"),
    }
}

fn parse_workflow(rest: &str) -> Result<Action, String> {
    let (name, input) = word(rest);
    if name.is_empty() {
        return Ok(Action::Workflows);
    }
    if let Some(steer) = steering::of_workflow(name).filter(|_| input.trim().is_empty()) {
        return Ok(Action::Steer(steer));
    }
    let (word, after) = word(input.trim());
    let (beside, input) = match word {
        "--share" => (Some(Beside::Share), after),
        "--isolate" => (Some(Beside::Isolate), after),
        _ => (None, input),
    };
    Ok(Action::Workflow { beside, name: name.to_owned(), input: unquote(input.trim()).to_owned() })
}

fn parse_level(rest: &str) -> Result<Action, String> {
    match rest {
        "" => Ok(Action::Configure("base".to_owned())),
        level if LEVELS.contains(&level) => Ok(Action::Configure(level.to_owned())),
        other => Err(format!("there is no level {other}: it is one of {}", LEVELS.join(", "))),
    }
}

/// Words of statuses first, then anything.
fn parse_runs(rest: &str) -> Action {
    let (mut statuses, mut left) = (Vec::new(), rest.trim());
    loop {
        let (word, after) = word(left);
        let Some(status) = RunStatus::ALL.into_iter().find(|status| status.as_str() == word) else { break };
        statuses.push(status);
        left = after.trim();
    }
    Action::Runs { statuses, words: named(unquote(left)) }
}

fn named(rest: &str) -> Option<String> {
    (!rest.is_empty()).then(|| rest.to_owned())
}

fn parse_snapshot(rest: &str) -> Result<Action, String> {
    let help = || Action::Help(Some("snapshot".to_owned()));
    snapshots::parse(rest).map(|command| command.map_or_else(help, Action::Snapshot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::backend::SnapshotCommand;

    fn workflow(name: &str, input: &str) -> Result<Action, String> {
        Ok(Action::Workflow { name: name.into(), input: input.into(), beside: None })
    }

    #[test]
    fn lines_are_understood() {
        let check =
            |line: &str, expected: Result<Action, String>| assert_eq!(parse(line), expected, "{line}");
        check("/workflow a \"x y\"", workflow("a", "x y"));
        check("/wf a x \"y\" z", workflow("a", "x \"y\" z"));
        check("/wf a 'it is'", workflow("a", "it is"));
        check("/wf a", workflow("a", ""));
        check("/wf  a  one\ntwo", workflow("a", "one\ntwo"));
        check("/workflow", Ok(Action::Workflows));
        check("/q", Ok(Action::Quit));
        let runs = |statuses: &[RunStatus], words: Option<&str>| {
            Ok(Action::Runs { statuses: statuses.to_vec(), words: words.map(str::to_owned) })
        };
        check("/runs", runs(&[], None));
        check("/runs failed paused", runs(&[RunStatus::Failed, RunStatus::Paused], None));
        check("/runs failed the parser", runs(&[RunStatus::Failed], Some("the parser")));
        check("/runs the failed", runs(&[], Some("the failed")));
        check("/resume", Ok(Action::Resume(None)));
        check("/resume ab1", Ok(Action::Resume(Some("ab1".into()))));
        check("/undo", Ok(Action::Travel(Travel::Undo { run: None })));
        check("/rewind 3", Ok(Action::Travel(Travel::Rewind { run: None, step: 3 })));
        check("/rewind ab", Ok(Action::Steps(Some("ab".into()))));
        check("/rewind 3 x", Err("/rewind takes a run and a step, not `x`".into()));
        let set = vec![(vec!["a".to_owned()], Value::from(1))];
        check("/fork ab 3 a=1", Ok(Action::Travel(Travel::Fork { run: Some("ab".into()), step: 3, set })));
        check("/fork 3 a", Err("`a`: write it as name=value".into()));
        check("/search", Err("/search needs words to look for".into()));
        check("/help /wf", Ok(Action::Help(Some("wf".into()))));
        check("/snapshot", Ok(Action::Snapshot(SnapshotCommand::List)));
        check("/snap restore ab12", Ok(Action::Snapshot(SnapshotCommand::Restore { id: "ab12".into() })));
        check("/snap create \"x\"", Ok(Action::Snapshot(SnapshotCommand::Create { label: "x".into() })));
        check("/snap diff", Err("/snapshot diff needs an id — /snapshot list shows them".into()));
        check("/snap restroe x", Err("unknown: /snapshot restroe — did you mean restore?".into()));
        check("/wrkflow a", Err("unknown command /wrkflow — did you mean /workflow?".into()));
        check("/zzzzzzzz", Err("unknown command /zzzzzzzz — /help lists all".into()));
    }

    #[test]
    fn paths_are_text() {
        assert!(is_command("/help"));
        assert!(!is_command("/etc/hosts is what?"));
        assert!(!is_command("what is /help"));
    }
}
