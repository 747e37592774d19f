//! The user's own shell commands on the screen: the last ones, the output of the last one, and the outputs that are
//! sent with the next message of the conversation.

use crate::slash::ShellLine;
use crate::text::clean_text;

/// Commands that are listed.
const RECENT: usize = 10;

#[derive(Clone, Debug, Default)]
pub struct UserShellCommands {
    /// Oldest first, none twice.
    recent: Vec<String>,
    /// The last one with what it printed.
    last_run: Option<String>,
    /// Those whose answers the conversation has not got yet.
    pending_outputs: Vec<String>,
    /// What is wanted as soon as earlier sessions are read.
    pub waiting_line: Option<ShellLine>,
}

impl UserShellCommands {
    /// The newest first.
    pub fn recent_commands(&self) -> impl Iterator<Item = &str> {
        self.recent.iter().rev().map(String::as_str)
    }

    /// By its number in the list, from 1.
    pub fn nth_command(&self, number: usize) -> Option<&str> {
        self.recent_commands().nth(number.checked_sub(1)?)
    }

    pub fn add_command(&mut self, command: &str) {
        self.recent.retain(|known| known != command);
        self.recent.push(command.to_owned());
        let more = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..more);
    }

    /// Commands of earlier sessions, oldest first: they come before those of this one.
    pub fn add_earlier(&mut self, commands: impl IntoIterator<Item = String>) {
        let here = std::mem::take(&mut self.recent);
        for command in commands.into_iter().chain(here) {
            self.add_command(&command);
        }
    }

    pub fn record_output(&mut self, command: &str, text: &str, along: bool) {
        let told = clean_text(&format!("$ {command}\n{}\n", text.trim_end())).into_owned();
        if along {
            self.pending_outputs.push(told.clone());
            let more = self.pending_outputs.len().saturating_sub(RECENT);
            self.pending_outputs.drain(..more);
        }
        self.last_run = Some(told);
    }

    /// What the last one printed; it does not go along twice.
    pub fn take_last(&mut self) -> Option<String> {
        let last = self.last_run.clone()?;
        self.pending_outputs.retain(|told| *told != last);
        Some(last)
    }

    /// A text for the conversation, with what goes along.
    pub fn with_pending_output(&mut self, text: String) -> String {
        if self.pending_outputs.is_empty() {
            return text;
        }
        let mut whole = self.pending_outputs.join("\n");
        self.pending_outputs.clear();
        whole.push('\n');
        whole.push_str(&text);
        whole
    }

    pub fn discard_pending_output(&mut self) {
        self.pending_outputs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ten_are_listed_newest_first_and_none_twice() {
        let mut shell = UserShellCommands::default();
        for number in 0..12 {
            shell.add_command(&format!("c{number}"));
        }
        shell.add_command("c5");
        let list: Vec<&str> = shell.recent_commands().collect();
        assert_eq!(list, ["c5", "c11", "c10", "c9", "c8", "c7", "c6", "c4", "c3", "c2"]);
        assert_eq!(
            (shell.nth_command(1), shell.nth_command(2), shell.nth_command(0), shell.nth_command(11)),
            (Some("c5"), Some("c11"), None, None)
        );
        let mut shell = UserShellCommands::default();
        shell.add_command("b");
        shell.add_earlier(["a", "b", "c"].map(str::to_owned));
        assert_eq!(shell.recent_commands().collect::<Vec<_>>(), ["b", "c", "a"]);
    }

    #[test]
    fn what_goes_along_goes_once() {
        let mut shell = UserShellCommands::default();
        shell.record_output("a", "1\n", true);
        shell.record_output("b", "2\u{1b}[2J", true);
        shell.record_output("c", "", false);
        assert_eq!(shell.with_pending_output("why?".into()), "$ a\n1\n\n$ b\n2\n\nwhy?");
        assert_eq!(shell.with_pending_output("and?".into()), "and?");
        shell.record_output("d", "4", true);
        assert_eq!(shell.take_last().as_deref(), Some("$ d\n4\n"));
        assert_eq!(shell.with_pending_output("so".into()), "so");
    }
}
