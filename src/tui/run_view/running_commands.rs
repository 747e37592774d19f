//! Commands that agents of a run have left running in the background, as they were listed last.

use std::collections::HashSet;

use crate::text::{format_count, one_line};
use synthdev_domain::ids::CallId;
use synthdev_domain::tool::RunningCommand;
use synthdev_service::run_events::RunEvent;

/// The tool that leaves a command running.
const STARTS: &str = "execute_terminal";
/// Milliseconds.
const MINUTE: u64 = 60_000;

#[derive(Clone, Debug, Default)]
pub struct RunningCommandList {
    commands: Vec<RunningCommand>,
    /// Calls that start one, until they have returned.
    starting_calls: HashSet<CallId>,
    /// The backend says when one of them has ended.
    pub is_watched: bool,
}

impl RunningCommandList {
    /// Whether the list may be another one now: it is to be asked for.
    pub fn apply_event(&mut self, event: &RunEvent) -> bool {
        match event {
            RunEvent::ToolStarted { call, tool, arguments, .. } => {
                if tool == STARTS && arguments.get("background").is_some_and(|on| on == true) {
                    self.starting_calls.insert(*call);
                }
                false
            }
            RunEvent::ToolFinished { call, .. } => self.starting_calls.remove(call),
            _ => false,
        }
    }

    /// They end with their run.
    pub fn clear(&mut self) {
        self.commands.clear();
        self.starting_calls.clear();
    }

    pub fn set_commands(&mut self, commands: Vec<RunningCommand>) {
        self.commands = commands;
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub fn has_command(&self, id: &str) -> bool {
        self.commands.iter().any(|command| command.id == id)
    }

    /// For the status line; `None`: none runs.
    pub fn count_text(&self) -> Option<String> {
        let count = self.commands.len() as u64;
        (count > 0).then(|| format!("{} in background", format_count(count, "command")))
    }

    /// `c1 npm run dev · 3 min`, a line each.
    pub fn lines(&self) -> Vec<String> {
        let line = |command: &RunningCommand| {
            let since = match command.elapsed_ms / MINUTE {
                0 => "less than a minute".to_owned(),
                minutes if minutes < 60 => format!("{minutes} min"),
                minutes => format!("{} h {} min", minutes / 60, minutes % 60),
            };
            format!("{} {} · {since}", command.id, one_line(&command.command))
        };
        self.commands.iter().map(line).collect()
    }
}
