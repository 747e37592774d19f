//! Commands that agents of a run have left running in the background, as they were listed last.

use std::collections::HashSet;

use crate::text::{format_duration, one_line};
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_domain::tool::RunningCommand;
use synthdev_service::run_events::RunEvent;

/// The tool that leaves a command running.
const STARTS: &str = "execute_terminal";
/// Milliseconds.
const MINUTE: u64 = 60_000;

#[derive(Clone, Debug, Default)]
pub struct RunningCommandList {
    commands: Vec<RunningCommand>,
    /// When they were listed.
    listed_at: Timestamp,
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
        self.is_watched = false;
    }

    pub fn set_commands(&mut self, commands: Vec<RunningCommand>, at: Timestamp) {
        (self.commands, self.listed_at) = (commands, at);
    }

    pub fn is_empty(&self) -> bool {
        self.commands.is_empty()
    }

    pub fn has_command(&self, id: &str) -> bool {
        self.commands.iter().any(|command| command.id == id)
    }

    pub fn len(&self) -> usize {
        self.commands.len()
    }

    /// The id of the one that began first.
    pub fn first_id(&self) -> Option<&str> {
        self.commands.first().map(|command| command.id.as_str())
    }

    /// Another number: `lines` are other ones.
    pub fn shown_minutes(&self, now: Timestamp) -> u64 {
        self.commands.iter().map(|command| self.elapsed_ms(command, now) / MINUTE).sum()
    }

    /// Until now: they are not listed anew only because time passes.
    fn elapsed_ms(&self, command: &RunningCommand, now: Timestamp) -> u64 {
        command.elapsed_ms + u64::try_from(now.0.saturating_sub(self.listed_at.0)).unwrap_or(0)
    }

    /// `c1 npm run dev · 3 min`, a line each.
    pub fn lines(&self, now: Timestamp) -> Vec<String> {
        let line = |command: &RunningCommand| {
            let since = match self.elapsed_ms(command, now) / MINUTE {
                0 => "less than a minute".to_owned(),
                minutes if minutes < 60 => format!("{minutes} min"),
                minutes => format_duration(minutes * MINUTE),
            };
            format!("{} {} · {since}", command.id, one_line(&command.command))
        };
        self.commands.iter().map(line).collect()
    }
}
