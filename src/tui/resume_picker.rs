//! The list of `/resume`: conversations and waiting runs of workflows, narrowed by what is typed.
//!
//! Owns which entries there are and which fit. Refuses drawing and reading them.

use crate::report::history::{format_age, resume_state_text};
use crate::text::{display_width, fit_to_columns, one_line, short_number};
use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_domain::journal::RunSummary;
use synthdev_service::session::ResumableRuns;

/// One that can be chosen.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResumableEntry {
    pub run: RunId,
    /// The first words or the name of a conversation, the input of a workflow.
    pub title: String,
    /// The role, or the name of the workflow.
    pub name: String,
    /// How long ago it was used.
    pub age: String,
    pub tokens: u64,
    /// What a workflow waits for, or that another process has the conversation open.
    pub note: Option<String>,
}

/// What is on screen.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ResumePicker {
    pub entries: Vec<ResumableEntry>,
    pub typed_filter: String,
    pub selected: usize,
}

/// Columns of the facts behind a title.
const AGE: usize = 12;
const NAME: usize = 16;
const TOKENS: usize = 11;
/// Columns that a title has at least.
const LEAST_TITLE: usize = 16;
/// And at most: facts that stand far away are read in the wrong row.
const MOST_TITLE: usize = 110;

impl ResumePicker {
    /// Conversations come first, the one that was used last at the top.
    pub fn from_runs(list: ResumableRuns, now: Timestamp) -> Self {
        let conversations = list.conversations.into_iter().map(|line| {
            let note = line.is_open_elsewhere.then(|| "open elsewhere".to_owned());
            let entry = resumable_entry(&line.run, now);
            let title = if entry.title.is_empty() { "(no words yet)".to_owned() } else { entry.title };
            ResumableEntry { title, name: one_line(&line.role), note, ..entry }
        });
        let workflows = list.workflows.iter().map(|run| {
            let entry = resumable_entry(run, now);
            ResumableEntry { note: Some(resume_state_text(run)), name: one_line(&run.workflow), ..entry }
        });
        Self { entries: conversations.chain(workflows).collect(), ..Self::default() }
    }

    /// Entries that have every typed word, in small or capital letters.
    pub fn matching_entries(&self) -> Vec<&ResumableEntry> {
        let words: Vec<String> = self.typed_filter.split_whitespace().map(str::to_lowercase).collect();
        let fits = |entry: &&ResumableEntry| {
            let note = entry.note.as_deref().unwrap_or_default();
            let text = format!("{} {} {} {note}", entry.title, entry.name, entry.run).to_lowercase();
            words.iter().all(|word| text.contains(word.as_str()))
        };
        self.entries.iter().filter(fits).collect()
    }

    /// The run that Enter resumes.
    pub fn chosen_run(&self) -> Option<RunId> {
        self.matching_entries().get(self.selected).map(|entry| entry.run.clone())
    }

    /// The filter has changed: the first that fits is chosen.
    pub fn set_filter(&mut self, change: impl FnOnce(&mut String)) {
        change(&mut self.typed_filter);
        self.selected = 0;
    }
}

impl ResumableEntry {
    /// One row of exactly so many columns or less: title, note, age, name, tokens. Where room is short the tokens go
    /// first, then the name, then the age.
    pub fn row(&self, columns: usize) -> String {
        let tokens = format!("{} tok", short_number(self.tokens));
        let age = format!("  {:>AGE$}", self.age);
        let named = format!("{age}  {}", pad(&self.name, NAME));
        let all = format!("{named}  {tokens:>TOKENS$}");
        let room_beside = |facts: &str| columns.saturating_sub(display_width(facts));
        let facts = [&all, &named, &age].into_iter().find(|facts| room_beside(facts) >= LEAST_TITLE);
        let facts = facts.map_or("", String::as_str);
        let room = room_beside(facts).min(MOST_TITLE);
        let Some(note) = &self.note else { return format!("{}{facts}", pad(&self.title, room)) };
        // a long title must not hide it
        let note = fit_to_columns(note, room / 2);
        let title = fit_to_columns(&self.title, room.saturating_sub(display_width(&note) + 3));
        format!("{}{facts}", pad(&format!("{title} — {note}"), room))
    }
}

/// The list where lines come and go, with the numbers that choose one.
pub fn numbered_list(entries: &[ResumableEntry]) -> String {
    /// Columns of a report on the narrowest usual terminal, without the number.
    const COLUMNS: usize = 71;
    let rows = entries.iter().enumerate();
    let rows = rows.map(|(at, entry)| format!("{:>3}. {}\n", at + 1, entry.row(COLUMNS).trim_end()));
    rows.collect::<String>() + "→ /resume NUMBER reopens one"
}

fn resumable_entry(run: &RunSummary, now: Timestamp) -> ResumableEntry {
    ResumableEntry {
        run: run.id.clone(),
        title: one_line(&run.input),
        name: String::new(),
        age: format_age(run.progress.updated, now),
        tokens: run.progress.usage.total(),
        note: None,
    }
}

/// A text of exactly so many columns.
fn pad(text: &str, columns: usize) -> String {
    let text = fit_to_columns(text, columns);
    let gap = " ".repeat(columns.saturating_sub(display_width(&text)));
    format!("{text}{gap}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(run: &str, title: &str, name: &str) -> ResumableEntry {
        ResumableEntry {
            run: RunId::from(run),
            title: title.to_owned(),
            name: name.to_owned(),
            age: "5 min ago".to_owned(),
            tokens: 12_345,
            note: None,
        }
    }

    #[test]
    fn typed_words_narrow_the_list() {
        let mut picker = ResumePicker {
            entries: vec![
                entry("a1", "Why does the parser fail?", "coder"),
                entry("b2", "Write the changelog", "writer"),
                entry("c3", "parser tests", "reviewer"),
            ],
            ..ResumePicker::default()
        };
        for (typed, expected) in [
            ("", &["a1", "b2", "c3"][..]),
            ("PARSER", &["a1", "c3"]),
            ("parser rev", &["c3"]),
            ("b2", &["b2"]),
            ("nothing such", &[]),
        ] {
            picker.set_filter(|filter| typed.clone_into(filter));
            let found: Vec<&str> = picker.matching_entries().iter().map(|entry| entry.run.as_str()).collect();
            assert_eq!(found, expected, "{typed}");
            assert_eq!(picker.chosen_run().as_ref().map(RunId::as_str), expected.first().copied(), "{typed}");
        }
    }

    #[test]
    fn a_row_never_passes_the_edge() {
        let long = ResumableEntry {
            note: Some("open in another process".into()),
            ..entry("a", "ünïcode 世界 words", "coder")
        };
        for columns in [0, 10, 40, 62, 80, 200] {
            assert!(display_width(&long.row(columns)) <= columns, "{columns}: {}", long.row(columns));
        }
        let row = entry("a", "first words", "coder").row(78);
        assert!(
            row.starts_with("first words") && row.contains("5 min ago") && row.contains("coder"),
            "{row}"
        );
        assert!(row.ends_with("12.3k tok"), "{row}");
    }
}
