//! The text of a question: lines of ours, and lines of others, each with a mark of ours at its left edge.
//!
//! Every front-end shows the same lines. A command, a file or an argument cannot pass for a line of ours, push what
//! follows out of sight with blank lines, or hide characters that have no shape.

use std::collections::BTreeSet;

use serde_json::Value;
use unicode_width::UnicodeWidthChar;

use super::command_preview::command_preview;
use super::terminal_safe;
use super::tool::{ASKED_BY, CommandReach, ToolPreview};

/// Marks every row that others wrote, at its left.
pub const MARK: &str = "┃ ";
/// Columns of a row where the width of the screen is not known.
pub const COLUMNS: usize = 76;

/// So many blank lines in a row, and so many spaces, are counted instead of shown.
const BLANK_LINES: usize = 3;
const SPACES: usize = 80;
/// A path or a directory up to this width is shown inside a sentence.
const SHORT: usize = 40;

/// A line of a question, by its author. It has no invisible characters and no newline.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum QuestionLine {
    /// Ours.
    Own(String),
    /// Ours, about a danger.
    Warning(String),
    /// Ours, about what nothing would stop.
    Danger(String),
    /// Written by others.
    Quoted(String),
    /// A line of a unified diff, written by others.
    Changed(String),
    /// Ours, in the place of blank lines of others; of a diff with the sign that each of them has.
    Blank { count: usize, line_sign: Option<char> },
}

impl QuestionLine {
    /// Others wrote it: each of its rows bears the mark.
    pub fn is_marked(&self) -> bool {
        matches!(self, Self::Quoted(_) | Self::Changed(_))
    }

    /// Without the mark.
    pub fn text(&self) -> String {
        match self {
            Self::Own(text) | Self::Quoted(text) | Self::Changed(text) => text.clone(),
            Self::Warning(text) | Self::Danger(text) => format!("! {text}"),
            Self::Blank { count, line_sign: sign } => {
                let what = match sign {
                    Some('+') => " added",
                    Some('-') => " removed",
                    _ => "",
                };
                format!("… {count} blank lines{what}")
            }
        }
    }
}

/// Lines of ours.
pub fn program_lines(text: &str) -> Vec<QuestionLine> {
    show_spaces(text.trim_end()).split('\n').map(|line| QuestionLine::Own(line.to_owned())).collect()
}

/// What others wrote, with its runs of blank lines and of spaces counted.
pub fn quoted_lines(text: &str) -> Vec<QuestionLine> {
    let text = show_spaces(text.strip_suffix('\n').unwrap_or(text));
    let sign = |line: &str| line.trim().is_empty().then_some(None);
    fold_alike_lines(text.split('\n'), sign, QuestionLine::Quoted)
}

/// What is indented was written by others: each of its rows gets the mark, wherever the screen breaks a line.
pub fn indented_as_quoted(text: &str) -> Vec<QuestionLine> {
    let text = text.trim_end();
    let lines: Vec<&str> = text.split('\n').collect();
    let groups = lines.chunk_by(|one, next| one.starts_with("  ") == next.starts_with("  "));
    let of_group = |group: &[&str]| match group {
        [first, ..] if first.starts_with("  ") => {
            quoted_lines(&group.iter().map(|line| &line[2..]).collect::<Vec<_>>().join("\n"))
        }
        _ => group.iter().map(|line| QuestionLine::Own((*line).to_owned())).collect(),
    };
    groups.flat_map(of_group).collect()
}

/// The same for a unified diff.
fn changed_lines(diff: &str) -> Vec<QuestionLine> {
    let diff = show_spaces(diff.strip_suffix('\n').unwrap_or(diff));
    let sign = |line: &str| {
        let (first, rest) = line.split_at_checked(1).unwrap_or((" ", line));
        let blank = matches!(first, "+" | "-" | " ") && rest.trim().is_empty();
        blank.then(|| first.chars().next())
    };
    fold_alike_lines(diff.split('\n'), sign, QuestionLine::Changed)
}

/// What a user is asked before a tool runs: dangers and the place first, then all that the tool is given.
pub fn approval_lines(tool: &str, arguments: &Value, preview: Option<&ToolPreview>) -> Vec<QuestionLine> {
    let read = if preview.is_none() { command_preview(tool, arguments) } else { None };
    match preview.or(read.as_ref()) {
        Some(ToolPreview::Command { command, cwd, warning, ports, background, reach }) => {
            let mut lines: Vec<_> =
                warning.iter().map(|text| QuestionLine::Warning(show_spaces(text))).collect();
            lines.extend(path_lines("in", cwd, "the project's directory"));
            lines.extend(reached_ports(ports).map(QuestionLine::Own));
            lines.extend(opened_lines(reach));
            if *background {
                lines.push(QuestionLine::Own(
                    "it runs on in the background, at most until the run ends".to_owned(),
                ));
            }
            lines.extend(quoted_lines(command));
            lines
        }
        Some(ToolPreview::Diff { path, diff }) => {
            let mut lines = path_lines("the file", path, "the project's directory");
            lines.extend(changed_lines(diff));
            lines
        }
        Some(ToolPreview::Text { text }) => quoted_lines(text),
        None => argument_lines(arguments),
    }
}

fn reached_ports(ports: &BTreeSet<u16>) -> Option<String> {
    let named: Vec<String> = ports.iter().map(u16::to_string).collect();
    let what = if ports.len() == 1 { "port" } else { "ports" };
    (!ports.is_empty()).then(|| format!("it reaches {what} {} of this machine", named.join(", ")))
}

/// What the sandbox opens besides, for this command alone.
fn opened_lines(reach: &CommandReach) -> Vec<QuestionLine> {
    let mut lines = Vec::new();
    if reach.network {
        lines.push(QuestionLine::Own("it reaches the network".to_owned()));
    }
    for (what, paths) in [("it may also write", &reach.writable), ("it may also read", &reach.readable)] {
        lines.extend(paths.iter().flat_map(|path| path_lines(what, path, "the project's directory")));
    }
    lines
}

/// The same without a dialog: the caller, then the rows.
pub fn approval_message(agent: &str, tool: &str, arguments: &Value) -> String {
    let who = match agent {
        ASKED_BY => "the workflow".to_owned(),
        agent => format!("`{}`", terminal_safe::escape_invisible_name(agent)),
    };
    let mut rows = vec![format!("{who} wants to use `{}`", terminal_safe::escape_invisible_name(tool))];
    rows.extend(plain_rows(&approval_lines(tool, arguments, None), COLUMNS));
    rows.join("\n")
}

/// What is asked after a crash where there is no dialog: which tool had begun and what is known of it, then the rows.
pub fn uncertain_message(tool: &str, arguments: &Value, reason: &str) -> String {
    let (tool_name, reason) =
        (terminal_safe::escape_invisible_name(tool), terminal_safe::escape_invisible_name(reason));
    let begun = format!("`{tool_name}` had begun when the run was cut off: {reason}");
    let mut lines = program_lines(&begun);
    lines.extend(approval_lines(tool, arguments, None));
    plain_rows(&lines, COLUMNS).join("\n")
}

/// Arguments, one after the other; values of several lines are below their name, indented.
pub fn argument_lines(arguments: &Value) -> Vec<QuestionLine> {
    let Value::Object(map) = arguments else { return quoted_lines(&arguments.to_string()) };
    let mut lines = Vec::new();
    for (key, value) in map {
        let key = terminal_safe::escape_invisible_name(key);
        match value {
            Value::String(text) if text.contains('\n') => {
                lines.push(QuestionLine::Quoted(format!("{key}:")));
                lines.extend(quoted_lines(text).into_iter().map(|line| match line {
                    QuestionLine::Quoted(text) => QuestionLine::Quoted(format!("  {text}")),
                    other => other,
                }));
            }
            Value::String(text) => lines.extend(quoted_lines(&format!("{key}: {text}"))),
            other => lines.extend(quoted_lines(&format!("{key}: {other}"))),
        }
    }
    lines
}

/// Rows of text no wider than `columns`, where nothing else lays them out: what others wrote has the mark on each row.
pub fn plain_rows(lines: &[QuestionLine], columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in lines {
        let (first, rest) = if line.is_marked() { (MARK, MARK) } else { ("", "  ") };
        let text = line.text();
        let room = columns.saturating_sub(rest.chars().count()).max(1);
        for (at, row) in wrap_rows(&text, room).into_iter().enumerate() {
            rows.push(format!("{}{row}", if at == 0 { first } else { rest }));
        }
    }
    rows
}

/// A place in a line of ours; a long one is quoted below it. `root`: what the project itself is called.
fn path_lines(what: &str, path: &str, root: &str) -> Vec<QuestionLine> {
    if path == "." {
        return vec![QuestionLine::Own(format!("{what} {root}"))];
    }
    let path = terminal_safe::escape_invisible_name(path);
    if path.chars().count() <= SHORT {
        return vec![QuestionLine::Own(format!("{what} {path}"))];
    }
    vec![QuestionLine::Own(format!("{what}:")), QuestionLine::Quoted(path)]
}

/// Runs of lines for which `sign` gives the same are counted where they are long.
fn fold_alike_lines<'a>(
    lines: impl Iterator<Item = &'a str>,
    sign: impl Fn(&str) -> Option<Option<char>>,
    whole: impl Fn(String) -> QuestionLine,
) -> Vec<QuestionLine> {
    let mut out = Vec::new();
    let mut run: Vec<&str> = Vec::new();
    let mut last = None;
    let flush = |run: &mut Vec<&str>, last: Option<Option<char>>, out: &mut Vec<QuestionLine>| {
        match last {
            Some(sign) if run.len() >= BLANK_LINES => {
                out.push(QuestionLine::Blank { count: run.len(), line_sign: sign })
            }
            _ => out.extend(run.iter().map(|line| whole((*line).to_owned()))),
        }
        run.clear();
    };
    for line in lines {
        let now = sign(line);
        if now != last || now.is_none() {
            flush(&mut run, last, &mut out);
        }
        run.push(line);
        last = now;
    }
    flush(&mut run, last, &mut out);
    out
}

/// Everything visible, tabs as spaces, and long runs of spaces as their number.
fn show_spaces(text: &str) -> String {
    let text = terminal_safe::escape_invisible(text).replace('\t', "    ");
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(' ') {
        let (before, found) = rest.split_at(at);
        let after = found.trim_start_matches(' ');
        let count = found.len() - after.len();
        out.push_str(before);
        // blank lines are counted as lines
        let alone = (before.is_empty() && out.is_empty() || out.ends_with('\n'))
            && (after.is_empty() || after.starts_with('\n'));
        if count > SPACES && !alone {
            out.push_str(&format!("‹{count} spaces›"));
        } else {
            out.push_str(&found[..count.min(SPACES)]);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Rows of at most so many columns, broken after spaces where there are any; spaces at the end of a row are left out.
pub fn wrap_rows(text: &str, columns: usize) -> Vec<&str> {
    let mut rows = Vec::new();
    let (mut start, mut used, mut space) = (0, 0, None);
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let wide = c.width().unwrap_or(0);
        if c != ' ' && used + wide > columns && at > start {
            let end = space.filter(|space| *space > start).unwrap_or(at);
            rows.push(text[start..end].trim_end_matches(' '));
            (start, at, used, space) = (end, end, 0, None);
            continue;
        }
        used += wide;
        at += c.len_utf8();
        if c == ' ' {
            space = Some(at);
        }
    }
    rows.push(text[start..].trim_end_matches(' '));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(tool: &str, arguments: &Value, preview: Option<&ToolPreview>, expected: &[&str]) {
        let rows = plain_rows(&approval_lines(tool, arguments, preview), 40);
        assert_eq!(rows, expected, "{tool} {arguments}");
    }

    #[test]
    fn what_others_wrote_bears_the_mark_on_every_row() {
        let command = |command: &str| json!({"command": command});
        let blank = "\n".repeat(60);
        check("execute_terminal", &command("ls"), None, &["in the project's directory", "┃ ls"]);
        check(
            "execute_terminal",
            &command(&format!("echo hello{blank}rm -rf x\n\nin /safe\n! harmless")),
            None,
            &[
                "! This command deletes directories for",
                "  good.",
                "in the project's directory",
                "┃ echo hello",
                "… 59 blank lines",
                "┃ rm -rf x",
                "┃ ",
                "┃ in /safe",
                "┃ ! harmless",
            ],
        );
        check(
            "execute_terminal",
            &command(&format!("a{}b{}c", " ".repeat(2_000), "y".repeat(60))),
            None,
            &[
                "in the project's directory",
                "┃ a‹2000",
                &format!("┃ spaces›b{}", "y".repeat(30)),
                &format!("┃ {}c", "y".repeat(30)),
            ],
        );
        check(
            "execute_terminal",
            &command("r\u{200b}m \u{202e}x\u{e0041}\u{3164}\u{a0}\rz\u{1b}[2K\u{85}"),
            None,
            &[
                "in the project's directory",
                "┃ r‹U+200B›m",
                "┃ ‹U+202E›x‹U+E0041›‹U+3164›‹U+00A0›␍z␛[",
                "┃ 2K‹U+0085›",
            ],
        );
    }

    #[test]
    fn a_command_names_the_ports_that_it_reaches() {
        for (ports, expected) in [
            (&[][..], &[][..]),
            (&[5432], &["it reaches port 5432 of this machine"]),
            (&[6379, 5432], &["it reaches ports 5432, 6379 of this", "  machine"]),
        ] {
            let ports = ports.iter().copied().collect();
            let (command, cwd) = ("psql".to_owned(), ".".to_owned());
            let reach = CommandReach::default();
            let preview =
                ToolPreview::Command { command, cwd, warning: None, ports, background: false, reach };
            let rows = [&["in the project's directory"], expected, &["┃ psql"]].concat();
            check("execute_terminal", &json!({}), Some(&preview), &rows);
        }
    }

    #[test]
    fn a_command_names_what_the_sandbox_opens_for_it_alone() {
        let long = format!("~/{}", "x".repeat(40));
        let reach = CommandReach {
            network: true,
            writable: vec!["~/.cache/x".to_owned(), long.clone()],
            readable: vec!["~/.kube".to_owned()],
        };
        let (command, cwd, ports) = ("x".to_owned(), ".".to_owned(), BTreeSet::new());
        let preview = ToolPreview::Command { command, cwd, warning: None, ports, background: false, reach };
        let rows = [
            "in the project's directory",
            "it reaches the network",
            "it may also write ~/.cache/x",
            "it may also write:",
            "┃ ~/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
            "┃ xxxx",
            "it may also read ~/.kube",
            "┃ x",
        ];
        check("rollout", &json!({}), Some(&preview), &rows);
    }

    #[test]
    fn a_background_command_shows_its_place_and_that_it_stays() {
        let call = json!({"command": "npm start", "directory": "web", "background": true});
        let rows = ["in web", "it runs on in the background, at most", "  until the run ends", "┃ npm start"];
        check("execute_terminal", &call, None, &rows);
    }

    #[test]
    fn a_step_of_a_workflow_shows_its_place_and_arguments() {
        let shell = json!({"command": "rm", "args": ["-rf", "a b"], "cwd": "sub\ndir", "env": {"A": 1}});
        check(
            "shell",
            &shell,
            None,
            &["! This command deletes directories for", "  good.", "in sub␊dir", "┃ A=1 rm -rf 'a b'"],
        );
        let far = json!({"command": "ls", "cwd": format!("a/{}\n! safe", "b".repeat(40))});
        check("shell", &far, None, &["in:", &format!("┃ a/{}", "b".repeat(36)), "┃ bbbb␊! safe", "┃ ls"]);
        check(
            "write_file",
            &json!({"path": "a\nb", "content": "x\npath: /etc/passwd\n\n\n\n\ny"}),
            None,
            &[
                "┃ path:",
                "┃   a",
                "┃   b",
                "┃ content:",
                "┃   x",
                "┃   path: /etc/passwd",
                "… 4 blank lines",
                "┃   y",
            ],
        );
    }

    #[test]
    fn a_diff_is_marked_and_its_blank_lines_are_counted() {
        let diff = format!("--- a/x\n+++ b/x\n@@ -1 +1,61 @@\n a\n{}+rm\n-\n-\n-\n", "+\n".repeat(58));
        let preview = ToolPreview::Diff { path: "x".to_owned(), diff };
        check(
            "edit_file",
            &json!({}),
            Some(&preview),
            &[
                "the file x",
                "┃ --- a/x",
                "┃ +++ b/x",
                "┃ @@ -1 +1,61 @@",
                "┃  a",
                "… 58 blank lines added",
                "┃ +rm",
                "… 3 blank lines removed",
            ],
        );
    }

    #[test]
    fn a_message_says_who_asks() {
        let arguments = json!({"command": "ls"});
        let rows = "in the project's directory\n┃ ls";
        for (agent, who) in [("coder", "`coder`"), (ASKED_BY, "the workflow"), ("a\nb", "`a␊b`")] {
            let told = approval_message(agent, TOOL, &arguments);
            assert_eq!(told, format!("{who} wants to use `{TOOL}`\n{rows}"));
        }
    }

    #[test]
    fn a_question_after_a_crash_begins_with_what_is_known_and_the_danger() {
        let command = json!({"command": format!("echo{}rm -rf x\u{200b}", "\n".repeat(60))});
        let told = uncertain_message(TOOL, &command, "it may have done\n┃ nothing");
        assert_eq!(
            told,
            "`execute_terminal` had begun when the run was cut off: it may have done␊┃\n  nothing\n\
             ! This command deletes directories for good.\nin the project's directory\n\
             ┃ echo\n… 59 blank lines\n┃ rm -rf x‹U+200B›"
        );
    }

    const TOOL: &str = "execute_terminal";
}
