//! What the screen knows of the person's own commands: the last ones, what the last one printed, and what goes along
//! with the next text of the conversation.

use crate::slash::ShellLine;
use crate::text::clean;

/// Commands that are listed.
const RECENT: usize = 10;

#[derive(Clone, Debug, Default)]
pub struct UserShellCommands {
    /// Oldest first, none twice.
    recent: Vec<String>,
    /// The last one with what it printed.
    last: Option<String>,
    /// Those whose answers the conversation has not got yet.
    along: Vec<String>,
    /// What is wanted as soon as earlier sessions are read.
    pub waits: Option<ShellLine>,
}

impl UserShellCommands {
    /// The newest first.
    pub fn recent(&self) -> impl Iterator<Item = &str> {
        self.recent.iter().rev().map(String::as_str)
    }

    /// By its number in the list, from 1.
    pub fn nth(&self, number: usize) -> Option<&str> {
        self.recent().nth(number.checked_sub(1)?)
    }

    pub fn note(&mut self, command: &str) {
        self.recent.retain(|known| known != command);
        self.recent.push(command.to_owned());
        let more = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..more);
    }

    /// Commands of earlier sessions, oldest first: they come before those of this one.
    pub fn earlier(&mut self, commands: impl IntoIterator<Item = String>) {
        let here = std::mem::take(&mut self.recent);
        for command in commands.into_iter().chain(here) {
            self.note(&command);
        }
    }

    pub fn ran(&mut self, command: &str, text: &str, along: bool) {
        let told = clean(&format!("$ {command}\n{}\n", text.trim_end())).into_owned();
        if along {
            self.along.push(told.clone());
            let more = self.along.len().saturating_sub(RECENT);
            self.along.drain(..more);
        }
        self.last = Some(told);
    }

    /// What the last one printed; it does not go along twice.
    pub fn take_last(&mut self) -> Option<String> {
        let last = self.last.clone()?;
        self.along.retain(|told| *told != last);
        Some(last)
    }

    /// A text for the conversation, with what goes along.
    pub fn with_along(&mut self, text: String) -> String {
        if self.along.is_empty() {
            return text;
        }
        let mut whole = self.along.join("\n");
        self.along.clear();
        whole.push('\n');
        whole.push_str(&text);
        whole
    }

    pub fn forget_along(&mut self) {
        self.along.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_ten_are_listed_newest_first_and_none_twice() {
        let mut shell = UserShellCommands::default();
        for number in 0..12 {
            shell.note(&format!("c{number}"));
        }
        shell.note("c5");
        let list: Vec<&str> = shell.recent().collect();
        assert_eq!(list, ["c5", "c11", "c10", "c9", "c8", "c7", "c6", "c4", "c3", "c2"]);
        assert_eq!(
            (shell.nth(1), shell.nth(2), shell.nth(0), shell.nth(11)),
            (Some("c5"), Some("c11"), None, None)
        );
        let mut shell = UserShellCommands::default();
        shell.note("b");
        shell.earlier(["a", "b", "c"].map(str::to_owned));
        assert_eq!(shell.recent().collect::<Vec<_>>(), ["b", "c", "a"]);
    }

    #[test]
    fn what_goes_along_goes_once() {
        let mut shell = UserShellCommands::default();
        shell.ran("a", "1\n", true);
        shell.ran("b", "2\u{1b}[2J", true);
        shell.ran("c", "", false);
        assert_eq!(shell.with_along("why?".into()), "$ a\n1\n\n$ b\n2\n\nwhy?");
        assert_eq!(shell.with_along("and?".into()), "and?");
        shell.ran("d", "4", true);
        assert_eq!(shell.take_last().as_deref(), Some("$ d\n4\n"));
        assert_eq!(shell.with_along("so".into()), "so");
    }
}
