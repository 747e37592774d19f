//! What the index says of the project as a whole, for the prompts of agents.

use super::summary_requests::shorten_text;
use super::{ProjectIndexEntries, ProjectIndexEntry, ROOT};
use crate::terminal_safe::escape_name;

/// Characters of a summary in an overview.
const SUMMARY_CHARS: usize = 200;

impl ProjectIndexEntries {
    /// What is said of the project and of what lies directly in it: directories first, a line each, as many as fit into so
    /// many characters.
    pub fn overview_lines(&self, most_chars: usize) -> Vec<String> {
        let is_near = |entry: &&ProjectIndexEntry| entry.path == ROOT || !entry.path.contains('/');
        let mut near: Vec<&ProjectIndexEntry> = self.entries.values().filter(is_near).collect();
        near.sort_by_key(|entry| (entry.path != ROOT, !entry.directory));
        let mut left = most_chars;
        let mut lines = Vec::new();
        for entry in near {
            let sign = if entry.directory && entry.path != ROOT { "/" } else { "" };
            let (path, summary) = (escape_name(&entry.path), escape_name(&entry.summary));
            let line = format!("{path}{sign}: {}", shorten_text(&summary, SUMMARY_CHARS));
            let Some(rest) = left.checked_sub(line.chars().count() + 1) else { break };
            left = rest;
            lines.push(line);
        }
        lines
    }
}
