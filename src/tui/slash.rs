//! The slash commands: one table drives dispatch, completion, help and `docs/commands.md`.

use synthdev_service::definition_views::did_you_mean::closest_word;

use self::arguments::split_word;
pub use self::snapshots::{SNAPSHOT_ID_WORDS, SNAPSHOT_WORDS};

pub mod argument_kind;
mod arguments;
pub mod availability;
mod cmd;
mod command;
pub mod help;
mod history;
mod index;
mod inspect;
mod mcp;
mod session;
mod settings;
mod simple_arguments;
mod snapshots;
mod start;
pub mod steering;
mod task;
mod verbosity;

pub use argument_kind::SlashArgument;
pub use cmd::{SHELL_WORDS, ShellLine};
pub use command::{SlashAction, SlashCommand};
pub use mcp::MCP_WORDS;
pub use task::TASK_WORDS;

/// A command that `steering` understands.
const fn steering_command(row: steering::SteeringCommand) -> SlashCommand {
    let steering::SteeringCommand { name, aliases, usage, description: about, long_help: more, argument } =
        row;
    SlashCommand {
        name,
        aliases,
        usage,
        description: about,
        long_help: more,
        argument,
        parse_arguments: |_| Err(String::new()),
    }
}

/// All of them, in the order in which help shows them; the files beside this one say what each is.
pub const COMMANDS: &[SlashCommand] = &[
    session::HELP,
    start::WORKFLOW,
    start::WORKFLOWS,
    start::ROLE,
    start::ROLES,
    inspect::TOOLS,
    inspect::COST,
    inspect::REVIEW,
    inspect::CONTEXTS,
    history::RUNS,
    history::HISTORY,
    history::SEARCH,
    history::WHY,
    history::RESUME,
    steering_command(steering::STATUS),
    steering_command(steering::PAUSE),
    steering_command(steering::STEP),
    steering_command(steering::CONTINUE),
    steering_command(steering::STOP),
    steering_command(steering::BREAK),
    steering_command(steering::BREAKS),
    steering_command(steering::SET),
    steering_command(steering::PENDING),
    steering_command(steering::APPROVALS),
    history::UNDO,
    history::REWIND,
    history::FORK,
    history::SNAPSHOT,
    settings::CONFIGURE,
    inspect::WATCH,
    settings::KEYS,
    settings::THEME,
    settings::MOUSE,
    session::CLEAR,
    session::RENAME,
    session::COMPACT,
    session::EDIT,
    inspect::AGENTS,
    inspect::AGENT,
    inspect::GRAPH,
    inspect::SIMULATE,
    session::PANE,
    inspect::BUDGET,
    inspect::MODELS,
    inspect::CONFIG,
    inspect::SANDBOX,
    mcp::MCP,
    history::EXPORT,
    settings::TRUST,
    session::CMD,
    task::TASK,
    index::INDEX,
    verbosity::VERBOSITY,
    settings::VIM,
    session::EXIT,
];

/// A line that is a command: it starts with a slash and its first word is no path.
pub fn is_command(text: &str) -> bool {
    let word = text.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| !name.contains('/'))
}

/// Understands a command line.
/// # Errors
/// An unknown command with a suggestion, or what is missing.
pub fn parse_command_line(line: &str) -> Result<SlashAction, String> {
    let line = line.trim();
    let line = line.strip_prefix('/').unwrap_or(line);
    let (word, rest) = split_word(line);
    match find_command(word) {
        Some(command) => match steering::parse_steering(command.name, rest.trim()) {
            Some(steer) => steer.map(SlashAction::Steer),
            None => (command.parse_arguments)(rest.trim()),
        },
        None if is_prompt_name(word) => {
            Ok(SlashAction::McpPrompt { name: word.to_owned(), words: rest.trim().to_owned() })
        }
        None => Err(unknown_command_text(word)),
    }
}

/// `server:prompt`, a prompt of an MCP server.
pub fn is_prompt_name(word: &str) -> bool {
    word.split_once(':').is_some_and(|(server, prompt)| !server.is_empty() && !prompt.is_empty())
}

pub fn find_command(word: &str) -> Option<&'static SlashCommand> {
    COMMANDS.iter().find(|command| command.name == word || command.aliases.contains(&word))
}

/// Commands of other programs, and what does the same here.
const OTHER_PROGRAMS: [(&str, &str); 6] = [
    ("redo", "an undo stores the files first: /snapshot brings them back"),
    ("compare", "in /history the key c compares two runs"),
    ("diff", "in /history the key c compares two runs"),
    ("new", "/clear begins a new conversation"),
    ("reset", "/clear begins a new conversation"),
    ("login", "/configure sets up a model and its key"),
];

/// `unknown command /wrkflow — did you mean /workflow?`
pub fn unknown_command_text(word: &str) -> String {
    if let Some((_, instead)) = OTHER_PROGRAMS.iter().find(|(other, _)| *other == word) {
        return format!("unknown command /{word} — {instead}");
    }
    let names = COMMANDS.iter().flat_map(|command| std::iter::once(&command.name).chain(command.aliases));
    match closest_word(word, names.copied()) {
        Some(name) => format!("unknown command /{word} — did you mean /{name}?"),
        None => format!("unknown command /{word} — /help lists all"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use synthdev_domain::journal::RunStatus;
    use synthdev_service::named_step::NamedStep;
    use synthdev_service::session::{LookupPage, SnapshotOperation, TimeTravelRequest};

    fn workflow(name: &str, input: &str) -> Result<SlashAction, String> {
        Ok(SlashAction::Workflow { name: name.into(), input: input.into(), sharing_mode: None })
    }

    #[test]
    fn a_fork_takes_its_option_before_or_behind_the_values() {
        let check = |line: &str, run: Option<&str>, restore_files: bool| {
            let set = vec![(vec!["a".to_owned()], Value::from(1))];
            let fork =
                TimeTravelRequest::Fork { run: run.map(str::to_owned), step: 3.into(), set, restore_files };
            assert_eq!(parse_command_line(line), Ok(SlashAction::Travel(fork)), "{line}");
        };
        check("/fork ab 3 a=1", Some("ab"), false);
        check("/fork 3 a=1 --restore-files", None, true);
        check("/fork 3 --restore-files a=1", None, true);
    }

    #[test]
    fn lines_are_understood() {
        let check = |line: &str, expected: Result<SlashAction, String>| {
            assert_eq!(parse_command_line(line), expected, "{line}")
        };
        check("/workflow a \"x y\"", workflow("a", "x y"));
        check("/wf a x \"y\" z", workflow("a", "x \"y\" z"));
        check("/wf a 'it is'", workflow("a", "it is"));
        check("/wf a", workflow("a", ""));
        check("/wf  a  one\ntwo", workflow("a", "one\ntwo"));
        check("/workflow", Ok(SlashAction::Workflows));
        check("/q", Ok(SlashAction::Quit));
        let runs = |statuses: &[RunStatus], words: Option<&str>| {
            Ok(SlashAction::Runs { statuses: statuses.to_vec(), search_words: words.map(str::to_owned) })
        };
        check("/runs", runs(&[], None));
        check("/runs failed paused", runs(&[RunStatus::Failed, RunStatus::Paused], None));
        check("/runs failed the parser", runs(&[RunStatus::Failed], Some("the parser")));
        check("/runs the failed", runs(&[], Some("the failed")));
        check("/resume", Ok(SlashAction::Resume(None)));
        check("/resume ab1", Ok(SlashAction::Resume(Some("ab1".into()))));
        check("/undo", Ok(SlashAction::Travel(TimeTravelRequest::Undo { run: None })));
        let rewind =
            TimeTravelRequest::Rewind { run: None, step: NamedStep::State("ab".into()), keep_files: false };
        check("/rewind ab", Ok(SlashAction::TravelOrSteps { word: "ab".into(), travel: rewind }));
        check("/rewind", Ok(SlashAction::Steps(None)));
        check("/fork 3 a", Err("`a` has no `=`: write it as NAME=VALUE".into()));
        let servers =
            |tested: Option<&str>| Ok(SlashAction::Page(LookupPage::McpServers(tested.map(str::to_owned))));
        check("/mcp", servers(None));
        check("/mcp test git", servers(Some("git")));
        check("/mcp test", Err("/mcp test needs the name of a server — /mcp lists them".into()));
        check("/why", Ok(SlashAction::Why { run: None, step: None }));
        check("/why ab 3", Ok(SlashAction::Why { run: Some("ab".into()), step: Some(3.into()) }));
        check("/why 3 x", Err("/why takes a run and a step, not `x`".into()));
        check("/search", Err("nothing to look for: name a word".into()));
        check("/help /wf", Ok(SlashAction::Help(Some("wf".into()))));
        check("/snapshot", Ok(SlashAction::Snapshot(SnapshotOperation::List)));
        check(
            "/snap restore ab12",
            Ok(SlashAction::Snapshot(SnapshotOperation::Restore { id: "ab12".into() })),
        );
        check(
            "/snap create \"x\"",
            Ok(SlashAction::Snapshot(SnapshotOperation::Create { label: "x".into() })),
        );
        check("/snap diff", Err("/snapshot diff needs an id — /snapshot list shows them".into()));
        check("/snap restroe x", Err("unknown: /snapshot restroe — did you mean restore?".into()));
        let prompt = |name: &str, words: &str| {
            Ok(SlashAction::McpPrompt { name: name.to_owned(), words: words.to_owned() })
        };
        check("/docs:review src/a.rs", prompt("docs:review", "src/a.rs"));
        check("/docs:greet", prompt("docs:greet", ""));
        check("/docs:", Err("unknown command /docs: — /help lists all".into()));
        check("/wrkflow a", Err("unknown command /wrkflow — did you mean /workflow?".into()));
        check("/zzzzzzzz", Err("unknown command /zzzzzzzz — /help lists all".into()));
    }

    #[test]
    fn a_rewind_keeps_the_files_and_a_simulation_names_its_replies() {
        let rewind = |keep_files| {
            Ok(SlashAction::Travel(TimeTravelRequest::Rewind { run: None, step: 3.into(), keep_files }))
        };
        let simulation = |replies: Option<&str>, input: Option<&str>| {
            let (replies, input) = (replies.map(str::to_owned), input.map(str::to_owned));
            Ok(SlashAction::Page(LookupPage::Simulation { workflow: "w".to_owned(), replies, input }))
        };
        for (line, expected) in [
            ("/rewind 3", rewind(false)),
            ("/rewind 3 --keep-files", rewind(true)),
            ("/rewind 3 x", Err("/rewind takes a run, a step and --keep-files, not `x`".to_owned())),
            ("/simulate w", simulation(None, None)),
            ("/simulate w r.json", simulation(Some("r.json"), None)),
            ("/simulate w r.json a task", simulation(Some("r.json"), Some("a task"))),
            ("/cost ab", Ok(SlashAction::Page(LookupPage::Costs("ab".to_owned())))),
        ] {
            assert_eq!(parse_command_line(line), expected, "{line}");
        }
    }

    #[test]
    fn paths_are_text() {
        assert!(is_command("/help"));
        assert!(!is_command("/etc/hosts is what?"));
        assert!(!is_command("what is /help"));
    }
}
