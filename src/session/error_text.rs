//! Errors as texts for the screen.

use synthdev_domain::terminal_safe::escape_name;
use synthdev_ports::run_store::StoreError;
use synthdev_service::breakpoint_check::UnknownBreakpoint;
use synthdev_service::run_start::{FlaglessFrontEnd, RunStartError};
use synthdev_service::workflow_requirements::UnmetRequirements;

pub(crate) fn with_hint(message: &str, hint: Option<&str>) -> String {
    hint.map_or_else(|| message.to_owned(), |hint| format!("{message}\nhint: {hint}"))
}

/// An error with its causes and its hint, with what to do on the screen.
pub(crate) fn screen_error_text(error: &anyhow::Error) -> String {
    to_slash_commands(&format!("{error:#}"))
}

/// Why the history does not answer, with what to do on the screen.
pub(crate) fn store_error_text(error: &StoreError) -> String {
    to_slash_commands(&with_hint(&error.message, error.hint.as_deref()))
}

/// Why a run does not start, with what to do on the screen.
pub(crate) fn start_error_text(error: &RunStartError) -> String {
    to_slash_commands(&with_hint(&error.to_string(), error.hint()))
}

/// Why a breakpoint that was set beforehand is none of the workflow that begins or goes on.
pub(crate) fn unknown_breakpoint_text(unknown: &UnknownBreakpoint) -> String {
    let closest = unknown.hint().map_or_else(String::new, |hint| format!("{hint} "));
    let hint = format!("{closest}/breaks lists the breakpoints, /breaks remove NUMBER takes one away");
    with_hint(&format!("breakpoint {}: {unknown}", escape_name(&unknown.name())), Some(&hint))
}

/// What a workflow requires and lacks, with what to do on the screen.
pub(crate) fn unmet_text(unmet: &UnmetRequirements) -> String {
    to_slash_commands(&unmet.to_string())
}

/// How to set up a model; shown wherever a model is missing.
pub(crate) const HOW_TO_SET: &str = "/configure sets up a model, and so does `synthdev configure`. Or set SYNTHDEV_API_KEY and \
    SYNTHDEV_BASE_MODEL, for a server of your own SYNTHDEV_BASE_URL (Ollama: http://127.0.0.1:11434/v1), and start again.";

/// Without a model the program says so in a line and offers what works; it never pretends.
pub(crate) fn no_model(missing: &str) -> String {
    format!("{missing}: /configure sets one up (or `synthdev demo`)")
}

const PROGRAM: &str = "synthdev ";

/// Which arguments of a command line the slash command takes.
#[derive(Clone, Copy)]
enum TypedArguments {
    /// Those that follow, as they are.
    Same,
    /// The id of a run.
    Run,
    /// The id of a run, and the step behind this option. `STEP` itself is left out: without a step, the command lists them.
    RunAndStep(&'static str),
    /// None: the id of the run is left out.
    NoRun,
}

/// A command line as hints write it, behind the name of the program, and what the screen has for it. In the order of
/// the first: of two that fit, the later one is longer.
const SLASH_COMMANDS: [(&str, &str, TypedArguments); 16] = [
    ("--resume", "/resume", TypedArguments::Run),
    ("mcp add", "/mcp add", TypedArguments::Same),
    ("mcp remove", "/mcp remove", TypedArguments::Same),
    ("mcp test", "/mcp test", TypedArguments::Same),
    ("resume", "/resume", TypedArguments::Run),
    ("runs cancel", "/stop", TypedArguments::Run),
    ("runs fork", "/fork", TypedArguments::RunAndStep("--at")),
    ("runs list", "/runs", TypedArguments::Same),
    ("runs list --status", "/runs", TypedArguments::Same),
    ("runs pause", "/pause", TypedArguments::Run),
    ("runs rewind", "/rewind", TypedArguments::RunAndStep("--to")),
    ("runs show", "/history", TypedArguments::NoRun),
    ("runs steps", "/why", TypedArguments::Run),
    ("runs undo", "/undo", TypedArguments::Run),
    ("snapshot", "/snapshot", TypedArguments::Same),
    ("workflows", "/workflows", TypedArguments::Same),
];

/// Rewrites command lines in hints as slash commands. One with an option that the screen has not stays as it is, and so
/// does one for another project (`-C`).
pub(crate) fn to_slash_commands(text: &str) -> String {
    let text = FlaglessFrontEnd::Screen.translate_start_hint(text);
    // without an id, /pause is for the run in front
    let text = text.replace("`synthdev runs pause`", "/pause with its id");
    let mut lines = text.split(PROGRAM);
    let mut translated = lines.next().unwrap_or_default().to_owned();
    for line in lines {
        let (command, rest) = translate_command(line).unwrap_or_else(|| (PROGRAM.to_owned(), line));
        translated.push_str(&command);
        translated.push_str(rest);
    }
    translated
}

/// The slash command for a command line, and the text behind that.
fn translate_command(line: &str) -> Option<(String, &str)> {
    let fitting = |(typed, slash, arguments): &(&str, &'static str, TypedArguments)| {
        let rest = line.strip_prefix(typed)?;
        let is_whole_word = !rest.starts_with(|next: char| next.is_alphanumeric() || next == '-');
        is_whole_word.then_some((*slash, *arguments, rest))
    };
    let (slash, arguments, rest) = SLASH_COMMANDS.iter().rev().find_map(fitting)?;
    let (run, step, rest) = match arguments {
        TypedArguments::Same => ("", "", rest),
        TypedArguments::NoRun => ("", "", split_argument(rest).1),
        TypedArguments::Run => {
            let (run, rest) = split_argument(rest);
            (run, "", rest)
        }
        TypedArguments::RunAndStep(option) => {
            let (run, rest) = split_argument(rest);
            let (step, rest) = split_step(rest, option);
            (run, step, rest)
        }
    };
    (!rest.starts_with(" --")).then(|| (format!("{slash}{run}{step}"), rest))
}

/// The word that follows, with the space before it.
fn split_argument(text: &str) -> (&str, &str) {
    let word = text.strip_prefix(' ').unwrap_or_default();
    if !word.starts_with(char::is_alphanumeric) {
        return ("", text);
    }
    let behind = word.trim_start_matches(|next: char| next.is_alphanumeric() || next == '-' || next == '_');
    text.split_at(text.len() - behind.len())
}

fn split_step<'t>(text: &'t str, option: &str) -> (&'t str, &'t str) {
    let Some(value) = text.strip_prefix(' ').and_then(|text| text.strip_prefix(option)) else {
        return ("", text);
    };
    let (step, rest) = split_argument(value);
    if step == " STEP" { ("", rest) } else { (step, rest) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_runtime::handle::WAIT_OR_SHARE_RESUMED;
    use synthdev_tui::slash::find_command;

    #[test]
    fn the_table_is_sorted_and_names_commands_of_the_screen() {
        assert!(SLASH_COMMANDS.is_sorted_by(|(first, ..), (second, ..)| first < second));
        for (typed, slash, _) in SLASH_COMMANDS {
            let name = slash.strip_prefix('/').and_then(|line| line.split(' ').next()).unwrap();
            assert!(find_command(name).is_some(), "{typed}: there is no {slash}");
            assert_ne!(to_slash_commands(&format!("synthdev {typed}")), format!("synthdev {typed}"));
        }
    }

    #[test]
    fn hints_for_the_command_line_name_commands_of_the_screen() {
        let rows = [
            ("pause it there (`synthdev runs pause`), then", "pause it there (/pause with its id), then"),
            ("synthdev --resume r1", "/resume r1"),
            ("synthdev resume r1: it", "/resume r1: it"),
            ("`synthdev resume` goes on", "`/resume` goes on"),
            ("`synthdev runs list` shows all", "`/runs` shows all"),
            ("`synthdev runs list --status paused` shows what waits", "`/runs paused` shows what waits"),
            ("synthdev runs pause r1; then synthdev resume r1", "/pause r1; then /resume r1"),
            (
                "`synthdev runs show r1` shows it, `synthdev runs cancel r1` ends it",
                "`/history` shows it, `/stop r1` ends it",
            ),
            ("synthdev runs rewind r1 --to STEP goes back", "/rewind r1 goes back"),
            ("synthdev runs rewind r1 --to 3", "/rewind r1 3"),
            (
                "synthdev runs fork r1 --at STEP, which synthdev runs steps r1 lists",
                "/fork r1, which /why r1 lists",
            ),
            ("undo it: synthdev runs undo r1", "undo it: /undo r1"),
            ("undo this: synthdev snapshot restore ab12", "undo this: /snapshot restore ab12"),
            ("synthdev snapshot create", "/snapshot create"),
            (WAIT_OR_SHARE_RESUMED, "wait for it, or end it with /stop; /runs running shows what runs"),
        ];
        for (typed, expected) in rows {
            assert_eq!(to_slash_commands(typed), expected, "{typed}");
        }
    }

    #[test]
    fn what_the_screen_cannot_do_stays_a_command_line() {
        for line in [
            "synthdev -C /other runs undo r1",
            "synthdev runs rewind r1 --to 3 --keep-files",
            "synthdev runs fork r1 --at 2 --restore-files",
            "`synthdev runs list --tree` has all",
            "synthdev runs show r1 --request 2",
            "synthdev resume r1 --upgrade",
            "synthdev runs merge r1 brings its changes here",
            "synthdev resumes it",
        ] {
            assert_eq!(to_slash_commands(line), line);
        }
    }

    #[test]
    fn an_error_of_the_history_names_commands_of_the_screen() {
        let error = StoreError {
            message: "there is no run `zzz`".to_owned(),
            hint: Some("`synthdev runs list` shows the runs that are stored".to_owned()),
        };
        assert_eq!(
            store_error_text(&error),
            "there is no run `zzz`\nhint: `/runs` shows the runs that are stored"
        );
    }
}
