//! Commands that steer a run in progress: breakpoints, how it continues, the messages that wait in it.

use serde_json::Value;

use crate::slash::argument_kind::SlashArgument;
use crate::slash::arguments::split_word;
use synthdev_service::data_assignments::json_or_words;
use synthdev_service::run_steering::{Breakpoint, ControlAction};

/// What is asked of the run in front.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SteerAction {
    Pause,
    Continue,
    Step,
    Stop,
    /// A run by its id, wherever it is driven.
    Control(String, ControlAction),
    Status,
    Break(Breakpoint),
    Breaks,
    /// One of the list by its number, or all.
    Unbreak(Option<usize>),
    Set {
        path: Vec<String>,
        value: Value,
        /// Replaces also a value of another type.
        force: bool,
    },
    Pending(PendingTextAction),
    /// Everything that waits for an answer, or an action on one of them.
    Approvals(Option<(usize, ApprovalAction)>),
    /// What the session allowed is asked about again: a tool or a rule by its name; empty: all.
    RevokeApproval(String),
}

/// Words that wait to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PendingTextAction {
    List,
    /// By its number; back into the input box.
    Edit(Option<usize>),
    /// By its number, or all.
    Drop(Option<usize>),
}

/// The answers of `/approvals N`, and what they do.
pub const APPROVAL_WORDS: [(&str, &str); 5] = [
    ("allow", "this call"),
    ("run", "also later calls of the tool, for the rest of this run"),
    ("session", "also later calls, for this session"),
    ("always", "also later calls, by a rule in your settings"),
    ("deny", "this call is not made"),
];

/// What is done with one of the open questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ApprovalAction {
    /// It is asked now.
    Show,
    Allow,
    /// Also later ones of this tool: for the rest of this run, for this session, or always.
    Run,
    Session,
    Always,
    Deny,
}

/// A command, as help shows it.
#[derive(Clone, Copy, Debug)]
pub struct SteeringCommand {
    pub name: &'static str,
    pub aliases: &'static [&'static str],
    pub usage: &'static str,
    pub description: &'static str,
    pub long_help: &'static str,
    pub argument: SlashArgument,
}

const NONE: SteeringCommand = SteeringCommand {
    name: "",
    aliases: &[],
    usage: "",
    description: "",
    long_help: "",
    argument: SlashArgument::None,
};

pub const PAUSE: SteeringCommand = SteeringCommand {
    name: "pause",
    usage: "[RUN]",
    description: "pause the run after the current state",
    long_help: "Calls in progress finish; then the run stops before its next state. /step runs one state, \
        /continue continues, /set changes common_data. Esc stops the model immediately, /stop cancels the \
        run at once. A run of another \
           process, named by its id, is paused there; /resume takes it up here.",
    argument: SlashArgument::LiveRun,
    ..NONE
};

pub const CONTINUE: SteeringCommand = SteeringCommand {
    name: "continue",
    aliases: &["cont"],
    description: "continue a run that is stopped",
    long_help: "It leaves step mode; breakpoints stay.",
    ..NONE
};

pub const STEP: SteeringCommand = SteeringCommand {
    name: "step",
    description: "run to the next state, then stop",
    long_help: "While no workflow runs: the next workflow that starts or is resumed stops before each state.",
    ..NONE
};

pub const STOP: SteeringCommand = SteeringCommand {
    name: "stop",
    usage: "[RUN | COMMAND]",
    description: "cancel the running workflow, or stop a command",
    long_help: "Its history stays, and /undo restores the files. Name the id to cancel a waiting run, or \
        a run of another process. /stop c1 stops a command that an agent has left running; /agents and the agents pane \
        list these.",
    argument: SlashArgument::LiveRun,
    ..NONE
};

pub const STATUS: SteeringCommand =
    SteeringCommand { name: "status", description: "show state, cost and open questions of the run", ..NONE };

pub const BREAK: SteeringCommand = SteeringCommand {
    name: "break",
    usage: "STATE | tool NAME | spend DOLLARS",
    description: "stop before a state or tool, or at an amount spent",
    long_help: "A state is named as in the graph; inside of a called workflow or a branch its own name is \
        enough. An amount counts once. While no workflow runs, the breakpoint is for the next one. \
        /breaks lists them.\n\
           Examples: /break review · /break tool execute_terminal · /break spend 0.50",
    argument: SlashArgument::Words(&[
        ("tool ", "before this tool is called"),
        ("spend ", "at an amount of dollars"),
    ]),
    ..NONE
};

pub const BREAKS: SteeringCommand = SteeringCommand {
    name: "breaks",
    usage: "[remove NUMBER|all]",
    description: "list breakpoints; remove one or all",
    argument: SlashArgument::Words(&[
        ("list", "all of them"),
        ("remove ", "one by its number"),
        ("remove all", "all of them go"),
    ]),
    ..NONE
};

pub const SET: SteeringCommand = SteeringCommand {
    name: "set",
    usage: "common_data.NAME = JSON",
    description: "change a variable while the run is stopped",
    long_help: "A value that is not JSON is a text. A value of another type than before is refused; /set \
        --anyway NAME = VALUE takes \
           it. The change is recorded with the run.\n\
           Examples: /set common_data.limit = 5 · /set task.title = \"a new title\"",
    ..NONE
};

pub const PENDING: SteeringCommand = SteeringCommand {
    name: "pending",
    usage: "[edit [N] | drop N|all]",
    description: "list unread messages to the run, and what runs wait for",
    long_help: "Up on an empty line takes the last message back for editing. For paused runs, the list \
        has each question and each step for you, with the required values; /resume asks again.",
    argument: SlashArgument::Words(&[
        ("list", "all of them"),
        ("edit ", "one by its number, back into the input box"),
        ("drop ", "one by its number"),
        ("drop all", "all of them go"),
    ]),
    ..NONE
};

pub const APPROVALS: SteeringCommand = SteeringCommand {
    name: "approvals",
    usage: "[N [allow|run|session|always|deny]|revoke [NAME]]",
    description: "list the open questions of this session",
    long_help: "A number opens that question, or answers it: allow (this call), run, session or always \
        (also later calls of the tool: for the rest of this run, for this session, or always, by a rule in your settings), deny. \
        The list also names what is allowed for this session: revoke asks again, about one tool or about all. Alt+A goes through the \
           questions.",
    argument: SlashArgument::Approval,
    ..NONE
};

/// What a command of these asks for. `None`: it is none of them.
///
/// # Errors
/// What is missing or wrong.
pub fn parse_steering(name: &str, rest: &str) -> Option<Result<SteerAction, String>> {
    Some(match name {
        "pause" => parse_run(rest, SteerAction::Pause, ControlAction::Pause),
        "continue" => Ok(SteerAction::Continue),
        "step" => Ok(SteerAction::Step),
        "stop" => parse_run(rest, SteerAction::Stop, ControlAction::Cancel),
        "status" => Ok(SteerAction::Status),
        "break" => parse_break(rest),
        "breaks" => parse_breaks(rest),
        "set" => parse_set(rest),
        "pending" => parse_pending(rest),
        "approvals" => parse_approvals(rest),
        _ => return None,
    })
}

/// Without a run the one in front is meant.
fn parse_run(rest: &str, front: SteerAction, control: ControlAction) -> Result<SteerAction, String> {
    match split_word(rest) {
        ("", _) => Ok(front),
        (run, "") => Ok(SteerAction::Control(run.to_owned(), control)),
        (_, more) => Err(format!("one run is meant, by its id, and nothing else: not `{}`", more.trim())),
    }
}

/// `/workflow pause` and its like.
pub fn parse_workflow_word(word: &str) -> Option<SteerAction> {
    Some(match word {
        "status" => SteerAction::Status,
        "pause" => SteerAction::Pause,
        "resume" => SteerAction::Continue,
        "stop" => SteerAction::Stop,
        _ => return None,
    })
}

fn parse_break(rest: &str) -> Result<SteerAction, String> {
    let (first, after) = split_word(rest);
    let after = after.trim();
    let point = match (first, after) {
        ("", _) => return Ok(SteerAction::Breaks),
        ("tool", "") => return Err("/break tool needs the name of a tool: /tools lists them".to_owned()),
        ("tool", tool) => Breakpoint::before_tool(tool),
        ("spend", amount) => parse_spend_breakpoint(amount)?,
        ("state", state) if !state.is_empty() => Breakpoint::before_state(state),
        (state, "") => Breakpoint::before_state(state),
        _ => return Err(format!("/break takes a state, `tool NAME` or `spend DOLLARS`, not `{rest}`")),
    };
    Ok(SteerAction::Break(point))
}

/// `0.50`, `$0.50`
fn parse_spend_breakpoint(amount: &str) -> Result<Breakpoint, String> {
    let dollars = amount.strip_prefix('$').unwrap_or(amount).parse::<f64>().ok();
    dollars
        .and_then(Breakpoint::after_spending)
        .ok_or_else(|| format!("/break spend needs an amount of dollars such as 0.50, not `{amount}`"))
}

fn parse_breaks(rest: &str) -> Result<SteerAction, String> {
    let (first, after) = split_word(rest);
    match (first, after.trim()) {
        ("" | "list", _) => Ok(SteerAction::Breaks),
        ("remove" | "rm" | "clear", "all") | ("clear", "") => Ok(SteerAction::Unbreak(None)),
        ("remove" | "rm" | "clear", at) => Ok(SteerAction::Unbreak(Some(parse_number(at)?))),
        _ => Err(format!(
            "/breaks lists them, /breaks remove 2 and /breaks remove all take away, not `{first}`"
        )),
    }
}

fn parse_set(rest: &str) -> Result<SteerAction, String> {
    let (rest, anyway) = match rest.strip_prefix("--anyway") {
        Some(rest) => (rest.trim_start(), true),
        None => (rest, false),
    };
    let usage = "/set NAME = VALUE, for example /set common_data.limit = 5";
    let (name, value) = rest.split_once('=').ok_or_else(|| usage.to_owned())?;
    let (name, value) = (name.trim(), value.trim());
    let path = name.strip_prefix("common_data.").unwrap_or(name);
    let path: Vec<String> = path.split('.').map(str::to_owned).collect();
    if path.iter().any(|key| key.is_empty() || key.contains(char::is_whitespace)) || name == "common_data" {
        return Err(format!("`{name}` is not a variable name: {usage}"));
    }
    let value = json_or_words(value).map_err(|error| format!("the value of {name} is not JSON: {error}"))?;
    Ok(SteerAction::Set { path, value, force: anyway })
}

fn parse_pending(rest: &str) -> Result<SteerAction, String> {
    let (first, after) = split_word(rest);
    let which = match (first, after.trim()) {
        ("" | "list", _) => PendingTextAction::List,
        ("edit", "") => PendingTextAction::Edit(None),
        ("edit", at) => PendingTextAction::Edit(Some(parse_number(at)?)),
        ("drop" | "remove", "all") => PendingTextAction::Drop(None),
        ("drop" | "remove", at) => PendingTextAction::Drop(Some(parse_number(at)?)),
        _ => {
            return Err(format!(
                "/pending lists them, /pending edit 1 and /pending drop 1 change them, not `{first}`"
            ));
        }
    };
    Ok(SteerAction::Pending(which))
}

fn parse_approvals(rest: &str) -> Result<SteerAction, String> {
    let (first, after) = split_word(rest);
    if first.is_empty() {
        return Ok(SteerAction::Approvals(None));
    }
    if first == "revoke" {
        return Ok(SteerAction::RevokeApproval(after.trim().to_owned()));
    }
    let verdict = match after.trim() {
        "" => ApprovalAction::Show,
        "allow" | "once" => ApprovalAction::Allow,
        "run" => ApprovalAction::Run,
        "session" => ApprovalAction::Session,
        "always" => ApprovalAction::Always,
        "deny" => ApprovalAction::Deny,
        other => return Err(format!("an approval is allow, run, session, always or deny, not `{other}`")),
    };
    Ok(SteerAction::Approvals(Some((parse_number(first)?, verdict))))
}

/// Lists count from 1.
fn parse_number(word: &str) -> Result<usize, String> {
    match word.parse::<usize>() {
        Ok(at) if at > 0 => Ok(at),
        _ => Err(format!("`{word}` is not a number of the list")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::slash::{self, SlashAction};

    #[test]
    fn commands_that_steer_are_understood() {
        let check = |line: &str, expected: SteerAction| {
            assert_eq!(slash::parse_command_line(line), Ok(SlashAction::Steer(expected)), "{line}")
        };
        let set = |path: &[&str], value: Value, anyway| SteerAction::Set {
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            value,
            force: anyway,
        };
        check("/pause", SteerAction::Pause);
        check("/cont", SteerAction::Continue);
        check("/workflow pause", SteerAction::Pause);
        check("/workflow resume", SteerAction::Continue);
        check("/workflow stop", SteerAction::Stop);
        check("/workflow status", SteerAction::Status);
        check("/break", SteerAction::Breaks);
        check("/break review", SteerAction::Break(Breakpoint::before_state("review")));
        check("/break tool run_it", SteerAction::Break(Breakpoint::before_tool("run_it")));
        check("/break spend $0.50", SteerAction::Break(Breakpoint::after_spending(0.5).unwrap()));
        check("/breaks remove 2", SteerAction::Unbreak(Some(2)));
        check("/breaks clear", SteerAction::Unbreak(None));
        check("/set common_data.a.b = {\"c\": 1}", set(&["a", "b"], json!({"c": 1}), false));
        check("/set a=two words", set(&["a"], json!("two words"), false));
        check("/set --anyway a = 1 = 2", set(&["a"], json!("1 = 2"), true));
        check("/pending", SteerAction::Pending(PendingTextAction::List));
        check("/pending drop all", SteerAction::Pending(PendingTextAction::Drop(None)));
        check("/approvals 2 session", SteerAction::Approvals(Some((2, ApprovalAction::Session))));
        check("/approvals revoke", SteerAction::RevokeApproval(String::new()));
        check("/approvals revoke write_file", SteerAction::RevokeApproval("write_file".to_owned()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, part) in [
            ("/break spend much", "0.50"),
            ("/break spend -1", "0.50"),
            ("/break tool", "name of a tool"),
            ("/break a b", "not `a b`"),
            ("/breaks remove", "not a number"),
            ("/set a", "NAME = VALUE"),
            ("/set common_data = 1", "not a variable name"),
            ("/set a..b = 1", "not a variable name"),
            ("/set a = {\"b\"", "not JSON"),
            ("/pending edit 0", "not a number"),
            ("/approvals 1 perhaps", "perhaps"),
        ] {
            let told = slash::parse_command_line(line).unwrap_err();
            assert!(told.contains(part), "{line}: {told}");
        }
    }
}
