//! Numbers and times as users read them, and text made safe for a terminal.

use std::fmt::{self, Display};
use std::io::{self, Write};

use synthdev_domain::cost::TokenUsage;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::journal::{OpenPause, PauseReason};
use synthdev_domain::question_text::{MARK, QuestionLine, plain_rows, quoted_lines};
use synthdev_domain::terminal_safe;
pub use synthdev_domain::terminal_safe::first_line;
pub use synthdev_service::run_costs::cost_text;

/// Columns of text for users.
pub const WIDTH: usize = 80;

/// Text for users on its way to stdout: every human-readable answer is written through this, so that no name, file or
/// reply controls the terminal. JSON does not pass through this: it is data and stays unchanged.
pub struct TerminalSafeWriter<'a>(pub &'a mut dyn Write);

impl Write for TerminalSafeWriter<'_> {
    /// Each call must contain whole characters; invalid UTF-8 is shown as U+FFFD.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write_all(terminal_safe(&String::from_utf8_lossy(bytes)).as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn write_fmt(&mut self, text: fmt::Arguments<'_>) -> io::Result<()> {
        self.0.write_all(terminal_safe(&text.to_string()).as_bytes())
    }
}

/// A line for the user on stderr. It is no data: a closed stderr neither stops nor breaks a run.
pub fn print_stderr(text: impl Display) {
    print_stderr_styled(&terminal_safe(&text.to_string()));
}

/// One JSON object in one line on stdout. A closed stdout is no error.
pub fn print_json(value: &serde_json::Value) {
    let _ = writeln!(io::stdout().lock(), "{value}");
}

/// As `print_stderr`, for a text with our own colours: the caller has made foreign parts safe already.
pub fn print_stderr_styled(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Tool and model output is data: what would steer a terminal is shown instead.
pub fn terminal_safe(text: &str) -> String {
    terminal_safe::escape_controls(text).into_owned()
}

/// The name of a file, a state, a tool, …, escaped so that it fits one line.
pub fn safe_name(text: &str) -> String {
    terminal_safe::escape_name(text).into_owned()
}

/// Names in one line.
pub fn join_names(list: &[impl AsRef<str>], between: &str) -> String {
    let list: Vec<String> = list.iter().map(|one| safe_name(one.as_ref())).collect();
    list.join(between)
}

/// The whole question, after `lead` or below it, so that the user sees all of it before answering. Foreign lines have a
/// mark.
pub fn question_rows(lead: &str, pause: &OpenPause) -> Vec<String> {
    let lines: Vec<QuestionLine> = match pause.reason {
        // it is laid out already
        PauseReason::Approval | PauseReason::UncertainEffect => {
            terminal_safe::escape_invisible(&pause.message)
                .split('\n')
                .map(|line| match line.strip_prefix(MARK) {
                    Some(rest) => QuestionLine::Quoted(rest.to_owned()),
                    None => QuestionLine::Own(line.to_owned()),
                })
                .collect()
        }
        _ => quoted_lines(pause.message.trim()),
    };
    if let [QuestionLine::Quoted(only) | QuestionLine::Own(only)] = lines.as_slice()
        && lead.chars().count() + only.chars().count() + 2 <= WIDTH
    {
        return vec![if only.is_empty() { lead.to_owned() } else { format!("{lead}: {only}") }];
    }
    let inset = lead.len() - lead.trim_start().len() + 2;
    let rows = plain_rows(&lines, WIDTH - inset);
    let rows = rows.into_iter().map(|row| format!("{}{row}", " ".repeat(inset)));
    std::iter::once(format!("{lead}:")).chain(rows).collect()
}

/// What a pause waits for, after the word `waits`: `for approval`, `for a text`, `to go on`.
pub fn awaited_answer(pause: &OpenPause) -> String {
    match (pause.reason, pause.kind.as_deref()) {
        (PauseReason::Approval, _) => "for approval".to_owned(),
        (PauseReason::Input, Some("approval")) => "for approval".to_owned(),
        (PauseReason::Input, Some(kind @ ("text" | "number" | "boolean" | "choice"))) => {
            format!("for a {kind}")
        }
        (PauseReason::Input, _) => "for an answer".to_owned(),
        (PauseReason::Error, _) => "to be tried again".to_owned(),
        (PauseReason::Limit, _) => "for more of a limit".to_owned(),
        (PauseReason::Budget, _) => "for more of a budget".to_owned(),
        (PauseReason::User, _) => "to go on".to_owned(),
        (PauseReason::UncertainEffect, _) => "to know whether a tool took effect".to_owned(),
        (PauseReason::Delegate, _) => "for another client".to_owned(),
    }
}

pub fn tokens_text(usage: &TokenUsage) -> String {
    format!("{} tokens ({} in, {} out)", usage.total(), usage.prompt, usage.completion)
}

/// The lines of a difference with removed ones in red and added ones in green, for a terminal.
pub fn paint_diff(text: &str) -> String {
    let paint = |line: &str| match line.trim_start().get(..2) {
        Some("- ") => format!("\x1b[31m{line}\x1b[0m"),
        Some("+ ") => format!("\x1b[32m{line}\x1b[0m"),
        _ => line.to_owned(),
    };
    text.lines().map(paint).collect::<Vec<_>>().join("\n")
}

/// UTC, to the second.
pub fn time_text(at: Timestamp) -> String {
    at.format_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_is_shown_whole() {
        let check = |reason: PauseReason, message: &str, expected: &[&str]| {
            let pause = OpenPause {
                call: synthdev_domain::ids::CallId(1),
                state: "a".to_owned(),
                reason,
                message: message.to_owned(),
                kind: None,
                choices: Vec::new(),
                required_outputs: Vec::new(),
                schema: None,
                default: None,
                action: None,
                since: Timestamp(0),
            };
            assert_eq!(question_rows("  waits in a", &pause), expected, "{message}");
        };
        check(PauseReason::Input, "", &["  waits in a"]);
        check(PauseReason::Input, "Ship it?\n", &["  waits in a: Ship it?"]);
        let long = format!("Ship it?{}go on: synthdev resume other", "\n".repeat(9));
        let rows =
            ["  waits in a:", "    ┃ Ship it?", "    … 8 blank lines", "    ┃ go on: synthdev resume other"];
        check(PauseReason::Input, &long, &rows);
        let row = "    ┃ ".to_owned() + &"x".repeat(74);
        check(PauseReason::Error, &"x".repeat(148), &["  waits in a:", &row, &row]);
        let arguments = serde_json::json!({"command": format!("ls {}\u{200b}", "y".repeat(80))});
        let message =
            synthdev_domain::question_text::approval_message("coder", "execute_terminal", &arguments);
        let begun =
            synthdev_domain::question_text::uncertain_message("execute_terminal", &arguments, "who knows");
        check(
            PauseReason::UncertainEffect,
            &begun,
            &[
                "  waits in a:",
                "    `execute_terminal` had begun when the run was cut off: who knows",
                "    in the project's directory",
                "    ┃ ls",
                &format!("    ┃ {}", "y".repeat(74)),
                "    ┃ yyyyyy‹U+200B›",
            ],
        );
        check(
            PauseReason::Approval,
            &message,
            &[
                "  waits in a:",
                "    `coder` wants to use `execute_terminal`",
                "    in the project's directory",
                "    ┃ ls",
                &format!("    ┃ {}", "y".repeat(74)),
                "    ┃ yyyyyy‹U+200B›",
            ],
        );
    }

    #[test]
    fn control_characters_are_shown() {
        assert_eq!(terminal_safe("a\x1b[31mb\u{9b}c\r\nd"), "a␛[31mb‹U+009B›c\nd");
        let mut written = Vec::new();
        let mut out = TerminalSafeWriter(&mut written);
        let foreign = "\x1b[2K\u{202e}|a\r";
        writeln!(out, "{foreign}").unwrap();
        out.write_all(b"\x07b\n").unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), "␛[2K‹U+202E›|a\n␇b\n");
        assert_eq!(first_line("\n  hello world  \nx", 8), "hello w…");
        assert_eq!(paint_diff("  a\n- b\n+ c"), "  a\n\x1b[31m- b\x1b[0m\n\x1b[32m+ c\x1b[0m");
        assert_eq!(time_text(Timestamp(0)), "1970-01-01 00:00:00");
    }
}
