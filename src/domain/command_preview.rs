//! What a call of a tool that executes a command is about to do, read from its arguments alone.

use std::collections::BTreeSet;

use serde_json::Value;

use super::refused_commands::{self, CommandText};
use super::tool::{CommandReach, ToolPreview};

/// The tool with which agents execute a command line.
pub const TERMINAL: &str = "execute_terminal";
/// The same of workflows, with a directory, variables and arguments of its own.
pub const SHELL: &str = "shell";

/// `None`: the tool executes no command, or the call has none.
pub fn command_preview(tool: &str, arguments: &Value) -> Option<ToolPreview> {
    let command = arguments["command"].as_str()?;
    match tool {
        TERMINAL => {
            let warning = refused_commands::risk_warning(CommandText::Line(command));
            Some(ToolPreview::Command {
                command: command.to_owned(),
                cwd: arguments["directory"].as_str().unwrap_or(".").to_owned(),
                warning,
                ports: BTreeSet::new(),
                background: arguments["background"] == true,
                reach: CommandReach::default(),
            })
        }
        SHELL => Some(shell_preview(command, arguments)),
        _ => None,
    }
}

fn shell_preview(command: &str, arguments: &Value) -> ToolPreview {
    let mut line = command.to_owned();
    for argument in arguments["args"].as_array().into_iter().flatten() {
        line.push(' ');
        line.push_str(&quote_for_shell(&scalar_text(argument).unwrap_or_else(|| argument.to_string())));
    }
    let warning = refused_commands::risk_warning(CommandText::Line(&line));
    let set = arguments["env"].as_object().into_iter().flatten();
    let set = set
        .map(|(name, value)| format!("{name}={} ", quote_for_shell(&scalar_text(value).unwrap_or_default())));
    let cwd = arguments["cwd"].as_str().unwrap_or(".").to_owned();
    ToolPreview::Command {
        command: set.chain([line]).collect(),
        cwd,
        warning,
        ports: BTreeSet::new(),
        background: false,
        reach: CommandReach::default(),
    }
}

/// A text, a number or a boolean as text; `None` for anything else.
pub fn scalar_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Quoted for a shell, for display.
pub fn quote_for_shell(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-./=:,@%+".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
