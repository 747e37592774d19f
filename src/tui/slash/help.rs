//! The texts of `/help`.

use super::{COMMANDS, find_command, unknown_command_text};

/// The text of `/help` and `/help NAME`; `keys` are those of the table.
pub fn help_text(name: Option<&str>, keys: &str) -> Result<(String, String), String> {
    let Some(name) = name else { return Ok(("Commands".to_owned(), overview_text(keys))) };
    let command = find_command(name).ok_or_else(|| unknown_command_text(name))?;
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
    Ok((format!("/{} {}", command.name, command.usage).trim_end().to_owned(), text))
}

/// Keys that no table has: they are the text field's, or mean different things one after the other.
const MORE_KEYS: &str = "\
Up, Down         what was sent before   Tab              complete a command
Ctrl+C           stop; twice: leave     /keys            all keys";

fn overview_text(keys: &str) -> String {
    let mut text = String::new();
    for command in COMMANDS {
        let usage = if command.usage.len() > 20 { "…" } else { command.usage };
        let left = format!("/{} {usage}", command.name);
        text.push_str(&format!("{left:<27} {}\n", command.description));
    }
    text.push_str(&format!("\nKeys\n{MORE_KEYS}\n{keys}"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_help() {
        for command in COMMANDS {
            assert!(help_text(Some(command.name), "").is_ok());
            assert!(overview_text("").contains(command.description));
            for alias in command.aliases {
                assert_eq!(find_command(alias).unwrap().name, command.name);
            }
        }
    }
}
