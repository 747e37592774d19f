//! What a command needs before it can do anything: the list of commands shows it beforehand, with the reason.

/// The state of the session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SlashCommandContext {
    /// Something runs, is being read or copied.
    pub is_busy: bool,
    /// There is a run to show something of.
    pub run: bool,
    /// Lines come and go instead of a screen.
    pub line_mode: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SlashCommandNeed {
    /// No other activity.
    Quiet,
    Run,
    Screen,
}

/// Commands that are not listed need nothing.
const NEEDS: &[(&str, SlashCommandNeed)] = &[
    ("role", SlashCommandNeed::Quiet),
    ("resume", SlashCommandNeed::Quiet),
    ("undo", SlashCommandNeed::Quiet),
    ("rewind", SlashCommandNeed::Quiet),
    ("fork", SlashCommandNeed::Quiet),
    ("review", SlashCommandNeed::Run),
    ("agents", SlashCommandNeed::Run),
    ("agent", SlashCommandNeed::Run),
    ("budget", SlashCommandNeed::Run),
    ("watch", SlashCommandNeed::Run),
    ("configure", SlashCommandNeed::Screen),
    ("edit", SlashCommandNeed::Screen),
    ("history", SlashCommandNeed::Screen),
    ("mouse", SlashCommandNeed::Screen),
    ("pane", SlashCommandNeed::Screen),
    ("theme", SlashCommandNeed::Screen),
    ("vim", SlashCommandNeed::Screen),
];

/// Why a command can do nothing now, as half a sentence.
pub fn unavailable_reason(name: &str, now: SlashCommandContext) -> Option<&'static str> {
    let needed = NEEDS.iter().filter(|(command, _)| *command == name).map(|(_, need)| *need);
    needed.filter_map(|need| missing_need_reason(need, now)).next()
}

/// Why a command makes no sense where lines come and go: with what to do instead.
pub fn without_screen(name: &str) -> Option<String> {
    let screen = NEEDS.iter().any(|(command, need)| *command == name && *need == SlashCommandNeed::Screen);
    screen.then(|| match name {
        "configure" => "/configure needs the screen: synthdev configure does the same".to_owned(),
        "history" => "/history needs the screen: /runs, /search and synthdev runs show the same".to_owned(),
        "edit" => "/edit needs the screen: edit the file with your own editor, synthdev check looks at it"
            .to_owned(),
        _ => format!("/{name} is about the screen, which is not used here"),
    })
}

fn missing_need_reason(need: SlashCommandNeed, now: SlashCommandContext) -> Option<&'static str> {
    match need {
        SlashCommandNeed::Quiet if now.is_busy => Some("something is running"),
        SlashCommandNeed::Run if !now.run => Some("nothing has run in this session"),
        SlashCommandNeed::Screen if now.line_mode => Some("it needs the screen"),
        SlashCommandNeed::Quiet | SlashCommandNeed::Run | SlashCommandNeed::Screen => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::COMMANDS;
    use super::*;

    #[test]
    fn needs_are_of_commands_that_exist_and_are_told() {
        for (name, _) in NEEDS {
            assert!(COMMANDS.iter().any(|command| command.name == *name), "{name}");
        }
        let check = |name: &str, now: SlashCommandContext, expected: Option<&str>| {
            assert_eq!(unavailable_reason(name, now), expected, "{name} {now:?}");
        };
        let (quiet, busy) = (
            SlashCommandContext::default(),
            SlashCommandContext { is_busy: true, run: true, line_mode: false },
        );
        check("help", busy, None);
        check("role", quiet, None);
        check("role", busy, Some("something is running"));
        check("agents", quiet, Some("nothing has run in this session"));
        check("agents", busy, None);
        check("mouse", quiet, None);
        check("mouse", SlashCommandContext { line_mode: true, ..quiet }, Some("it needs the screen"));
    }
}
