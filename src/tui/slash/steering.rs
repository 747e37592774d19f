//! Commands that steer a run which goes on: where it stands still, what it goes on with, what waits in it.

use serde_json::Value;

use super::{Action, Argument, SlashCommand, split_word};
use crate::engine::steering::Breakpoint;

/// What is asked of the run in front.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Steer {
    Pause,
    Continue,
    Step,
    Stop,
    Status,
    Break(Breakpoint),
    Breaks,
    /// One of the list by its number, or all.
    Unbreak(Option<usize>),
    Set {
        path: Vec<String>,
        value: Value,
        /// Also if it is of another kind than what stands there.
        anyway: bool,
    },
    Pending(Which),
    /// Everything that waits for an answer, or what is said to one of them.
    Approvals(Option<(usize, Verdict)>),
}

/// Words that wait to be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Which {
    List,
    /// By its number; back into the input box.
    Edit(Option<usize>),
    /// By its number, or all.
    Drop(Option<usize>),
}

/// What is done with one of the open questions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is asked now.
    Show,
    Allow,
    /// Also later ones of this tool: in this run, in this session, or always.
    Run,
    Session,
    Always,
    Deny,
}

const fn command(
    name: &'static str,
    usage: &'static str,
    about: &'static str,
    more: &'static str,
    parse: fn(&str) -> Result<Action, String>,
) -> SlashCommand {
    SlashCommand { name, aliases: &[], usage, about, more, argument: Argument::None, parse }
}

pub const PAUSE: SlashCommand = command(
    "pause",
    "",
    "let the state end, then stand still",
    "What is under way ends; the run stands before its next state. /step goes one state on, /continue goes on, /set \
     changes common_data. Esc, or /stop, ends the run at once.",
    |_| Ok(Action::Steer(Steer::Pause)),
);

pub const CONTINUE: SlashCommand = SlashCommand {
    aliases: &["cont"],
    ..command(
        "continue",
        "",
        "go on with a run that stands still",
        "It leaves step mode; breakpoints stay.",
        |_| Ok(Action::Steer(Steer::Continue)),
    )
};

pub const STEP: SlashCommand = command(
    "step",
    "",
    "go on to the next state, and stand still there",
    "While no workflow runs: the next one that is started stands before each of its states.",
    |_| Ok(Action::Steer(Steer::Step)),
);

pub const STOP: SlashCommand = command(
    "stop",
    "",
    "end the workflow that runs",
    "What it did stays in its history, and /undo brings the files back.",
    |_| Ok(Action::Steer(Steer::Stop)),
);

pub const STATUS: SlashCommand =
    command("status", "", "where the run is, what it costs, what waits", "", |_| {
        Ok(Action::Steer(Steer::Status))
    });

pub const BREAK: SlashCommand = command(
    "break",
    "STATE | tool NAME | spend DOLLARS",
    "stand still before a state or tool, or when so much was spent",
    "A state is named as in the graph; inside of a called workflow or a branch its own name is enough. An amount counts \
     once. While no workflow runs: for the next one that is started. /breaks lists them.\n\
     Examples: /break review · /break tool execute_terminal · /break spend 0.50",
    parse_break,
);

pub const BREAKS: SlashCommand =
    command("breaks", "[remove NUMBER|all]", "breakpoints; take one or all away", "", parse_breaks);

pub const SET: SlashCommand = command(
    "set",
    "common_data.NAME = JSON",
    "change a variable while the run stands still",
    "What is no JSON is a text. A value of another kind than before is refused; /set --anyway NAME = VALUE takes it. The \
     change is recorded with the run.\nExamples: /set common_data.limit = 5 · /set task.title = \"a new title\"",
    parse_set,
);

pub const PENDING: SlashCommand = command(
    "pending",
    "[edit [N] | drop N|all]",
    "what you typed and the run has not read yet",
    "Up on an empty line takes the last one back to change it.",
    parse_pending,
);

pub const APPROVALS: SlashCommand = command(
    "approvals",
    "[N [allow|run|session|always|deny]]",
    "everything that waits for your answer, in every run",
    "With a number that question is asked now, or answered: allow (this call), run, session or always (also later calls \
     of the tool: in this run, until you leave, or saved in your settings), deny. Alt+A goes through the questions.",
    parse_approvals,
);

fn parse_break(rest: &str) -> Result<Action, String> {
    let (word, after) = split_word(rest);
    let after = after.trim();
    let point = match (word, after) {
        ("", _) => return Ok(Action::Steer(Steer::Breaks)),
        ("tool", "") => return Err("/break tool needs the name of a tool: /tools lists them".to_owned()),
        ("tool", tool) => Breakpoint::tool(tool),
        ("spend", amount) => spend(amount)?,
        ("state", state) if !state.is_empty() => Breakpoint::state(state),
        (state, "") => Breakpoint::state(state),
        _ => return Err(format!("/break takes a state, `tool NAME` or `spend DOLLARS`, not `{rest}`")),
    };
    Ok(Action::Steer(Steer::Break(point)))
}

/// `0.50`, `$0.50`
fn spend(amount: &str) -> Result<Breakpoint, String> {
    let dollars = amount.strip_prefix('$').unwrap_or(amount).parse::<f64>().ok();
    dollars
        .and_then(Breakpoint::spend)
        .ok_or_else(|| format!("/break spend needs an amount of dollars such as 0.50, not `{amount}`"))
}

fn parse_breaks(rest: &str) -> Result<Action, String> {
    let (word, after) = split_word(rest);
    match (word, after.trim()) {
        ("" | "list", _) => Ok(Action::Steer(Steer::Breaks)),
        ("remove" | "rm" | "clear", "all") | ("clear", "") => Ok(Action::Steer(Steer::Unbreak(None))),
        ("remove" | "rm" | "clear", at) => Ok(Action::Steer(Steer::Unbreak(Some(number(at)?)))),
        _ => Err(format!(
            "/breaks lists them, /breaks remove 2 and /breaks remove all take away, not `{word}`"
        )),
    }
}

fn parse_set(rest: &str) -> Result<Action, String> {
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
        return Err(format!("`{name}` is no name of a variable: {usage}"));
    }
    let value = match serde_json::from_str(value) {
        Ok(value) => value,
        Err(error) if value.starts_with(['{', '[', '"']) => {
            return Err(format!("the value of {name} is no JSON: {error}"));
        }
        Err(_) => Value::from(value),
    };
    Ok(Action::Steer(Steer::Set { path, value, anyway }))
}

fn parse_pending(rest: &str) -> Result<Action, String> {
    let (word, after) = split_word(rest);
    let which = match (word, after.trim()) {
        ("" | "list", _) => Which::List,
        ("edit", "") => Which::Edit(None),
        ("edit", at) => Which::Edit(Some(number(at)?)),
        ("drop" | "remove", "all") => Which::Drop(None),
        ("drop" | "remove", at) => Which::Drop(Some(number(at)?)),
        _ => {
            return Err(format!(
                "/pending lists them, /pending edit 1 and /pending drop 1 change them, not `{word}`"
            ));
        }
    };
    Ok(Action::Steer(Steer::Pending(which)))
}

fn parse_approvals(rest: &str) -> Result<Action, String> {
    let (word, after) = split_word(rest);
    if word.is_empty() {
        return Ok(Action::Steer(Steer::Approvals(None)));
    }
    let verdict = match after.trim() {
        "" => Verdict::Show,
        "allow" | "once" => Verdict::Allow,
        "run" => Verdict::Run,
        "session" => Verdict::Session,
        "always" => Verdict::Always,
        "deny" => Verdict::Deny,
        other => return Err(format!("an approval is allow, run, session, always or deny, not `{other}`")),
    };
    Ok(Action::Steer(Steer::Approvals(Some((number(word)?, verdict)))))
}

/// Lists count from 1.
fn number(word: &str) -> Result<usize, String> {
    match word.parse::<usize>() {
        Ok(at) if at > 0 => Ok(at),
        _ => Err(format!("`{word}` is no number of the list")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::parse;
    use super::*;

    #[test]
    fn commands_that_steer_are_understood() {
        let check =
            |line: &str, expected: Steer| assert_eq!(parse(line), Ok(Action::Steer(expected)), "{line}");
        let set = |path: &[&str], value: Value, anyway| Steer::Set {
            path: path.iter().map(|key| (*key).to_owned()).collect(),
            value,
            anyway,
        };
        check("/pause", Steer::Pause);
        check("/cont", Steer::Continue);
        check("/workflow pause", Steer::Pause);
        check("/workflow resume", Steer::Continue);
        check("/workflow stop", Steer::Stop);
        check("/workflow status", Steer::Status);
        check("/break", Steer::Breaks);
        check("/break review", Steer::Break(Breakpoint::state("review")));
        check("/break tool run_it", Steer::Break(Breakpoint::tool("run_it")));
        check("/break spend $0.50", Steer::Break(Breakpoint::spend(0.5).unwrap()));
        check("/breaks remove 2", Steer::Unbreak(Some(2)));
        check("/breaks clear", Steer::Unbreak(None));
        check("/set common_data.a.b = {\"c\": 1}", set(&["a", "b"], json!({"c": 1}), false));
        check("/set a=two words", set(&["a"], json!("two words"), false));
        check("/set --anyway a = 1 = 2", set(&["a"], json!("1 = 2"), true));
        check("/pending", Steer::Pending(Which::List));
        check("/pending drop all", Steer::Pending(Which::Drop(None)));
        check("/approvals 2 session", Steer::Approvals(Some((2, Verdict::Session))));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (line, part) in [
            ("/break spend much", "0.50"),
            ("/break spend -1", "0.50"),
            ("/break tool", "name of a tool"),
            ("/break a b", "not `a b`"),
            ("/breaks remove", "no number"),
            ("/set a", "NAME = VALUE"),
            ("/set common_data = 1", "no name"),
            ("/set a..b = 1", "no name"),
            ("/set a = {\"b\"", "no JSON"),
            ("/pending edit 0", "no number"),
            ("/approvals 1 perhaps", "perhaps"),
        ] {
            let told = parse(line).unwrap_err();
            assert!(told.contains(part), "{line}: {told}");
        }
    }
}
