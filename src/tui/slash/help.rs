//! The texts of `/help`: commands in groups, one group or command in full, the keys.

use super::{SlashCommand, find_command, unknown_command_text};

/// Commands that belong together; the first [`FIRST`] stand in the overview.
struct HelpGroup {
    /// The word for `/help WORD`.
    word: &'static str,
    title: &'static str,
    commands: &'static [&'static str],
}

const FIRST: usize = 5;

const GROUPS: &[HelpGroup] = &[
    HelpGroup {
        word: "talk",
        title: "Talk",
        commands: &["role", "roles", "compact", "resume", "clear", "rename", "help", "exit"],
    },
    HelpGroup {
        word: "run",
        title: "Run",
        commands: &[
            "workflow",
            "workflows",
            "pause",
            "continue",
            "stop",
            "step",
            "break",
            "breaks",
            "set",
            "pending",
            "simulate",
        ],
    },
    HelpGroup {
        word: "look",
        title: "Look",
        commands: &[
            "status",
            "agents",
            "graph",
            "cost",
            "history",
            "why",
            "runs",
            "search",
            "watch",
            "agent",
            "review",
            "pane",
            "budget",
            "contexts",
            "tools",
            "verbosity",
        ],
    },
    HelpGroup { word: "change", title: "Change", commands: &["edit", "cmd", "task", "index", "export"] },
    HelpGroup { word: "undo", title: "Undo", commands: &["undo", "rewind", "fork", "snapshot"] },
    HelpGroup {
        word: "setup",
        title: "Set up",
        commands: &[
            "configure",
            "models",
            "approvals",
            "theme",
            "keys",
            "config",
            "mcp",
            "sandbox",
            "trust",
            "mouse",
            "vim",
        ],
    },
];

/// Keys that no table has: they are the text field's, or mean different things one after the other.
const MORE_KEYS: &str = "\
Up, Down         what was sent before   Tab              complete a command
Ctrl+C           stop; twice: leave     /keys            all keys
In a question: y once · s this session · a always · e edit first · n deny · r deny with a reason
               Up, Down choose · PgUp, PgDn scroll · Tab the next question";

/// What there is instead of keys where lines come and go.
pub const LINE_MODE_KEYS: &str = "\
Enter            send the line; a line that ends in \\ goes on in the next one
Ctrl+C           stop what runs; twice: leave
Ctrl+D           the end of the input: leave
/esc             what Esc is on the screen: interrupt a workflow, stop an answer, leave a question
In a question: its letter or its number, as on the screen
An empty line    shows more of a long text; at its end the default, where there is one
/back            from a reason, a rule or a changed call back to the answers
/later           leave the question open, where that is possible";

/// The title and text of `/help`, or of `/help NAME`: a command, a group or `keys`; `keys` are those of the table. `None`:
/// lines come and go, and there are none.
///
/// # Errors
/// There is no such command: the text says which is meant.
pub fn help_text(name: Option<&str>, keys: Option<&str>) -> Result<(String, String), String> {
    let Some(name) = name else { return Ok(("Commands".to_owned(), overview_text())) };
    if let Some(group) = GROUPS.iter().find(|group| group.word == name) {
        // `undo` is a command, too
        let own = find_command(name).map(|command| format!("{}\n\n", command_text(command)));
        return Ok((group.title.to_owned(), own.unwrap_or_default() + &command_lines(group.commands)));
    }
    if name == "keys" {
        let Some(keys) = keys else { return Ok(("Keys".to_owned(), LINE_MODE_KEYS.to_owned())) };
        let about = find_command(name).map(command_text).unwrap_or_default();
        return Ok(("Keys".to_owned(), format!("{about}\n\n{MORE_KEYS}\n{keys}")));
    }
    let command = find_command(name).ok_or_else(|| unknown_command_text(name))?;
    Ok((format!("/{} {}", command.name, command.usage).trim_end().to_owned(), command_text(command)))
}

/// The words that `/help` takes besides commands.
pub fn help_words() -> impl Iterator<Item = &'static str> {
    GROUPS.iter().map(|group| group.word)
}

fn command_text(command: &SlashCommand) -> String {
    let mut text = command.description.to_owned();
    if !command.aliases.is_empty() {
        let also: Vec<String> = command.aliases.iter().map(|alias| format!("/{alias}")).collect();
        text.push_str("\nalso: ");
        text.push_str(&also.join(", "));
    }
    if !command.long_help.is_empty() {
        text.push('\n');
        text.push_str(command.long_help);
    }
    text
}

fn overview_text() -> String {
    let mut text = String::new();
    for group in GROUPS {
        let (first, rest) = group.commands.split_at(group.commands.len().min(FIRST));
        text.push_str(&format!("{}\n{}", group.title, command_lines(first)));
        if !rest.is_empty() {
            let rest: Vec<String> = rest.iter().map(|name| format!("/{name}")).collect();
            text.push_str(&format!("  more: {}\n", rest.join(" ")));
        }
        text.push('\n');
    }
    let words: Vec<&str> = help_words().collect();
    text.push_str(&format!(
        "/help WORD says more: a command, {} or keys. Plain text goes to the agent.",
        words.join(", ")
    ));
    text
}

fn command_lines(names: &[&str]) -> String {
    let mut text = String::new();
    for command in names.iter().filter_map(|name| find_command(name)) {
        let usage = if command.usage.len() > 20 { "…" } else { command.usage };
        let left = format!("/{} {usage}", command.name);
        text.push_str(&format!("  {left:<27} {}\n", command.description));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::COMMANDS;
    use super::*;

    #[test]
    fn every_command_has_help_in_one_group() {
        let overview = overview_text();
        for command in COMMANDS {
            assert!(help_text(Some(command.name), Some("")).is_ok());
            let groups = GROUPS.iter().filter(|group| group.commands.contains(&command.name));
            assert_eq!(groups.count(), 1, "/{}", command.name);
            assert!(overview.contains(&format!("/{}", command.name)), "/{}", command.name);
            for alias in command.aliases {
                assert_eq!(find_command(alias).unwrap().name, command.name);
            }
        }
        let named: usize = GROUPS.iter().map(|group| group.commands.len()).sum();
        assert_eq!(named, COMMANDS.len(), "a group names a command that is not there");
    }

    #[test]
    fn a_word_of_help_is_a_group_a_command_or_keys() {
        let check = |word: &str, title: &str, part: &str| {
            let (shown, text) = help_text(Some(word), Some("Esc stop")).unwrap();
            assert_eq!(shown, title);
            assert!(text.contains(part), "{text}");
        };
        check("talk", "Talk", "/compact");
        check("setup", "Set up", "/vim");
        // the command and its group
        check("undo", "Undo", "/snapshot");
        check("keys", "Keys", "Esc stop");
        let (_, lines) = help_text(Some("keys"), None).unwrap();
        assert_eq!(lines, LINE_MODE_KEYS);
        check("wf", "/workflow NAME [\"INPUT\"]", "also: /wf");
        let unknown = help_text(Some("wrkflow"), None).unwrap_err();
        assert!(unknown.contains("did you mean /workflow?"), "{unknown}");
    }
}
