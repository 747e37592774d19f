//! Files that a text names, with a line: `src/a.rs:12`. Whether they exist is for others to say.

use std::ops::Range;

use super::TranscriptList;
use super::item::TranscriptItem;
use crate::text::display_cells;
use synthdev_service::session::FilePosition;

/// Bytes of a text that are searched: those of a long answer's end.
const SEARCHED: usize = 64 << 10;
/// The longest ending of a file's name.
const ENDING: usize = 10;

/// A name in a text, and where it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileMention {
    pub range: Range<usize>,
    pub position: FilePosition,
}

/// The files that a text names, in their order. A name has a directory or a line, and an ending.
pub fn file_mentions(text: &str) -> impl Iterator<Item = FileMention> {
    let mut next = 0;
    text.split_inclusive(is_gap).filter_map(move |word| {
        let start = next;
        next += word.len();
        let word = word.trim_end_matches(is_gap).trim_end_matches(['.', ':', '!', '?', '…']);
        let position = parse_position(word)?;
        Some(FileMention { range: start..start + word.len(), position })
    })
}

/// What stands between names.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || "()[]{}<>\"'`,;|│▌".contains(c)
}

/// `src/a.rs`, `a.rs:12`, `src/a.rs:12:5`
fn parse_position(word: &str) -> Option<FilePosition> {
    if word.contains("://") {
        return None;
    }
    let mut parts = word.split(':');
    let path = parts.next()?;
    let line = parts.next().and_then(|number| number.parse::<u32>().ok()).filter(|line| *line > 0);
    let name = path.rsplit('/').next()?;
    let (stem, ending) = name.rsplit_once('.')?;
    let has_ending = !stem.is_empty()
        && (1..=ENDING).contains(&ending.len())
        && ending.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && ending.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_named = path.contains('/') || line.is_some();
    (has_ending && is_named).then(|| FilePosition { path: path.to_owned(), line })
}

impl TranscriptList {
    /// The file that a cell of the screen names, counted from the first row and column of the conversation.
    pub fn mention_at(&self, row: usize, column: usize) -> Option<FilePosition> {
        let line = self.visible_rows().nth(row)??;
        let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
        let mut left = column;
        let mut byte = None;
        for (start, _, wide) in display_cells(&text) {
            if left < wide {
                byte = Some(start);
                break;
            }
            left -= wide;
        }
        let byte = byte?;
        let found = file_mentions(&text).find(|mention| mention.range.contains(&byte));
        found.map(|mention| mention.position)
    }

    /// The files that the chosen item names, each once.
    pub fn chosen_mentions(&self) -> Vec<FilePosition> {
        let Some(item) = self.selected_index().and_then(|at| self.get(at)) else { return Vec::new() };
        let text = match item {
            TranscriptItem::Reply(reply) => reply.text.clone(),
            other => other.text(),
        };
        let from = text.ceil_char_boundary(text.len().saturating_sub(SEARCHED));
        let mut found: Vec<FilePosition> = Vec::new();
        for mention in file_mentions(&text[from..]) {
            if !found.contains(&mention.position) {
                found.push(mention.position);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_found_with_their_lines() {
        let check = |text: &str, expected: &[(&str, Option<u32>)]| {
            let found: Vec<_> = file_mentions(text).collect();
            let shown: Vec<_> =
                found.iter().map(|found| (found.position.path.as_str(), found.position.line)).collect();
            assert_eq!(shown, expected, "{text}");
            for found in found {
                assert!(text[found.range.clone()].starts_with(&found.position.path), "{text}");
            }
        };
        check("see src/a.rs:12 and (lib/b.py).", &[("src/a.rs", Some(12)), ("lib/b.py", None)]);
        check(" --> src/main.rs:3:5", &[("src/main.rs", Some(3))]);
        check("`a.rs:7`: wrong", &[("a.rs", Some(7))]);
        check("日本/x.md:2, ./y.txt", &[("日本/x.md", Some(2)), ("./y.txt", None)]);
        check("a.rs alone, e.g. 1.2 or 10:30 or and/or v1/2.5", &[]);
        check("https://x.y/a.rs:3 and .gitignore:4 src/ a:1", &[]);
        check("a.rs:0", &[]);
    }
}
