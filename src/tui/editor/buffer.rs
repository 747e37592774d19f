//! The text that is edited: lines, cursor, selection, undo; finding words and the other one of two brackets.
//!
//! Counts its changes. Line ends are `\n` inside; a text that came with `\r\n` goes out with them.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, DataCursor, Input, TextArea};

use super::json_lexer::{EditorTokenKind, editor_tokens};
use super::undo_history::EditorUndoHistory;

/// Blanks of one level, where the text shows none.
const INDENT: &str = "  ";
/// A wider first level is no indentation.
const WIDEST: usize = 8;

#[derive(Clone, Debug)]
pub struct EditorBuffer {
    area: TextArea<'static>,
    undo_history: EditorUndoHistory,
    /// Counts changes.
    version: u64,
    /// Lines end with `\r\n` outside.
    windows: bool,
    /// Blanks of one level, as the text has them.
    indent: String,
}

impl EditorBuffer {
    pub fn new(text: &str) -> Self {
        let windows = text.contains("\r\n") && !text.replace("\r\n", "").contains('\n');
        let text = if windows { text.replace("\r\n", "\n") } else { text.to_owned() };
        let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
        // the history is here
        area.set_max_histories(0);
        let indent = first_indent(&text);
        Self { area, undo_history: EditorUndoHistory::default(), version: 0, windows, indent }
    }

    /// As it is checked and looked at.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    /// As it is written to a file.
    pub fn to_file_text(&self) -> String {
        self.area.lines().join(self.line_end())
    }

    /// Whether a file with this text would stay as it is. Each frame asks: no text is put together for it.
    pub fn equals_file_text(&self, text: &str) -> bool {
        text.split(self.line_end()).eq(self.area.lines())
    }

    fn line_end(&self) -> &'static str {
        if self.windows { "\r\n" } else { "\n" }
    }

    pub fn lines(&self) -> &[String] {
        self.area.lines()
    }

    pub fn version(&self) -> u64 {
        self.version
    }

    /// Row and column from 0, the column in characters.
    pub fn cursor(&self) -> (usize, usize) {
        let DataCursor(row, column) = self.area.cursor();
        (row, column)
    }

    pub fn line(&self) -> &str {
        self.area.lines().get(self.cursor().0).map_or("", String::as_str)
    }

    /// Byte of the text at which the cursor is.
    pub fn offset(&self) -> usize {
        let (row, column) = self.cursor();
        self.offset_at(row, column)
    }

    pub fn offset_at(&self, row: usize, column: usize) -> usize {
        let before: usize = self.area.lines().iter().take(row).map(|line| line.len() + 1).sum();
        before + self.area.lines().get(row).map_or(0, |line| byte_at(line, column))
    }

    pub fn selection_range(&self) -> Option<((usize, usize), (usize, usize))> {
        self.area.selection_range().filter(|(from, to)| from != to)
    }

    pub fn selected_text(&self) -> Option<String> {
        let (from, to) = self.selection_range()?;
        let (from, to) = (self.offset_at(from.0, from.1), self.offset_at(to.0, to.1));
        self.text().get(from..to).map(str::to_owned)
    }

    /// To a row and column from 0; past an end means that end.
    pub fn move_to(&mut self, row: usize, column: usize) {
        self.area.cancel_selection();
        self.jump_to(row, column);
    }

    pub fn move_to_offset(&mut self, offset: usize) {
        let (row, column) = self.position(offset);
        self.move_to(row, column);
    }

    /// Rows up or down, as with a page key.
    pub fn scroll_rows(&mut self, rows: isize) {
        let (row, column) = self.cursor();
        self.move_to(row.saturating_add_signed(rows), column);
    }

    /// Puts a text in the place of these bytes.
    pub fn replace_range(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.change_text(false, |buffer| buffer.put_text(range, text));
    }

    fn put_text(&mut self, range: std::ops::Range<usize>, text: &str) {
        self.move_to_offset(range.start);
        if !range.is_empty() {
            let (row, column) = self.position(range.end);
            self.area.start_selection();
            self.jump_to(row, column);
        }
        self.area.insert_str(text);
    }

    pub fn replace_all(&mut self, text: &str) {
        let (row, column) = self.cursor();
        self.change_text(false, |buffer| {
            buffer.area.select_all();
            buffer.area.insert_str(text.replace("\r\n", "\n"));
        });
        self.move_to(row, column);
    }

    pub fn insert_text(&mut self, text: &str) {
        self.change_text(false, |buffer| {
            buffer.area.insert_str(text);
        });
    }

    /// A change that can be taken back; the words of typing are one.
    fn change_text(&mut self, is_typed: bool, change: impl FnOnce(&mut Self)) {
        let (before, cursor) = (self.text(), self.offset());
        change(self);
        let after = self.text();
        self.version += u64::from(before != after);
        self.undo_history.note_change(&before, &after, cursor, is_typed);
    }

    pub fn paste_text(&mut self, text: &str) {
        self.insert_text(&text.replace("\r\n", "\n").replace('\r', "\n"));
    }

    pub fn undo(&mut self) -> bool {
        let Some(change) = self.undo_history.undo() else { return false };
        self.put_text(change.at..change.at + change.inserted.len(), &change.removed);
        self.move_to_offset(change.cursor);
        self.version += 1;
        true
    }

    pub fn redo(&mut self) -> bool {
        let Some(change) = self.undo_history.redo() else { return false };
        self.put_text(change.at..change.at + change.removed.len(), &change.inserted);
        self.version += 1;
        true
    }

    /// Takes the selection away; what it was.
    pub fn cut_selection(&mut self) -> Option<String> {
        let text = self.selected_text()?;
        self.change_text(false, |buffer| {
            buffer.area.cut();
        });
        Some(text)
    }

    /// From where the cursor is, or the selection began, to there.
    pub fn select_to(&mut self, row: usize, column: usize) {
        if !self.area.is_selecting() {
            self.area.start_selection();
        }
        self.jump_to(row, column);
    }

    pub fn copy_selection(&mut self) -> Option<String> {
        let text = self.selected_text();
        if text.is_some() {
            self.area.copy();
        }
        text
    }

    /// What is selected, which stays selected; pasting puts it in again.
    pub fn mark_copied(&mut self) -> Option<String> {
        let text = self.selected_text()?;
        self.area.set_yank_text(&text);
        Some(text)
    }

    /// What was cut or copied here last. Whether there is anything.
    pub fn paste_clipboard(&mut self) -> bool {
        let has_text = !self.area.yank_text().is_empty();
        if has_text {
            self.change_text(false, |buffer| {
                buffer.area.paste();
            });
        }
        has_text
    }

    pub fn select_all(&mut self) {
        self.area.select_all();
    }

    /// A new line, as far in as this one; after an opening bracket one level more.
    pub fn insert_newline(&mut self) {
        let (_, column) = self.cursor();
        let line = self.line();
        let before = &line[..byte_at(line, column)];
        let blanks: String = before.chars().take_while(|c| matches!(c, ' ' | '\t')).collect();
        let deeper = before.trim_end().ends_with(['{', '[']);
        let between = deeper && line[before.len()..].trim_start().starts_with(['}', ']']);
        let more = if deeper { self.indent.as_str() } else { "" };
        let (opened, closed) = (format!("\n{blanks}{more}"), format!("\n{blanks}"));
        self.change_text(false, |buffer| {
            buffer.area.insert_str(&opened);
            if between {
                let (row, column) = buffer.cursor();
                buffer.area.insert_str(&closed);
                buffer.move_to(row, column);
            }
        });
    }

    /// The line is one level less far in, or as far as there is of it.
    fn outdent_line(&mut self) {
        let (row, column) = self.cursor();
        let level = self.indent.chars().count();
        let is_blank = |c: &char| if self.indent.starts_with('\t') { *c == '\t' } else { *c == ' ' };
        let blanks = self.line().chars().take(level).take_while(is_blank).count();
        let start = self.offset_at(row, 0);
        if blanks > 0 {
            self.replace_range(start..start + blanks, "");
            self.move_to(row, column.saturating_sub(blanks));
        }
    }

    /// Any other key.
    pub fn on_key(&mut self, mut key: KeyEvent) {
        if matches!(key.code, KeyCode::Left | KeyCode::Right) && key.modifiers.contains(KeyModifiers::ALT) {
            // a word, as with Ctrl
            key.modifiers = (key.modifiers - KeyModifiers::ALT) | KeyModifiers::CONTROL;
        }
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let shift = key.modifiers.contains(KeyModifiers::SHIFT);
        match key.code {
            KeyCode::Home | KeyCode::End if control => {
                let end = if key.code == KeyCode::Home { CursorMove::Top } else { CursorMove::Bottom };
                let edge = if key.code == KeyCode::Home { CursorMove::Head } else { CursorMove::End };
                self.move_by(&[end, edge], shift);
            }
            // the first word of the line, then its very beginning
            KeyCode::Home => {
                let first = self.line().chars().take_while(|c| c.is_whitespace()).count();
                let (row, column) = self.cursor();
                if column == first || first == self.line().chars().count() {
                    self.move_by(&[CursorMove::Head], shift);
                } else {
                    self.move_by(&[cursor_move(row, first)], shift);
                }
            }
            KeyCode::BackTab => self.outdent_line(),
            KeyCode::Tab if shift => self.outdent_line(),
            KeyCode::Tab => self.insert_text(&self.indent.clone()),
            // in a terminal it is the end of a line
            KeyCode::Char('j') if control => self.insert_newline(),
            KeyCode::Backspace if self.selection_range().is_none() && self.in_margin() => {
                let level = self.indent.len();
                self.change_text(true, |buffer| {
                    for _ in 0..level {
                        buffer.area.delete_char();
                    }
                });
            }
            KeyCode::Char(_) | KeyCode::Backspace | KeyCode::Delete => self.change_text(true, |buffer| {
                buffer.area.input(Input::from(key));
            }),
            // what only moves compares no texts
            _ => {
                self.area.input(Input::from(key));
            }
        }
    }

    /// Goes to the next place of these words, from the cursor on and around the end; how many places there are, and
    /// the number of this one. Case counts only if a capital is among them.
    pub fn find_next(&mut self, words: &str, way: EditorSearchStart) -> Option<(usize, usize)> {
        let text = self.text();
        let all = find_places(&text, words);
        let here = self.offset();
        let at = match way {
            EditorSearchStart::Here => all.iter().position(|at| *at >= here).unwrap_or(0),
            EditorSearchStart::Next => all.iter().position(|at| *at > here).unwrap_or(0),
            EditorSearchStart::Back => {
                all.iter().rposition(|at| *at < here).unwrap_or(all.len().saturating_sub(1))
            }
        };
        self.move_to_offset(*all.get(at)?);
        Some((at + 1, all.len()))
    }

    /// Where the bracket at the cursor, or before it, and its other one are.
    pub fn pair(&self) -> Option<[(usize, usize); 2]> {
        let offset = self.offset();
        let line = self.line();
        let at = byte_at(line, self.cursor().1);
        let is_bracket = |byte: Option<&u8>| byte.is_some_and(|byte| b"{}[]".contains(byte));
        let bytes = line.as_bytes();
        let here = if is_bracket(bytes.get(at)) {
            offset
        } else if at > 0 && is_bracket(bytes.get(at - 1)) {
            offset - 1
        } else {
            return None;
        };
        let other = other_bracket(&self.text(), here)?;
        Some([self.position(here), self.position(other)])
    }

    /// Row and column of a byte of the text.
    pub fn position(&self, offset: usize) -> (usize, usize) {
        let mut left = offset;
        let lines = self.area.lines();
        for (row, line) in lines.iter().enumerate() {
            if left <= line.len() {
                let column = line.char_indices().take_while(|(at, _)| *at < left).count();
                return (row, column);
            }
            left -= line.len() + 1;
        }
        (lines.len().saturating_sub(1), usize::MAX)
    }

    fn in_margin(&self) -> bool {
        let (_, column) = self.cursor();
        let level = self.indent.len();
        column >= level && column.is_multiple_of(level) && self.line().chars().take(column).all(|c| c == ' ')
    }

    fn move_by(&mut self, moves: &[CursorMove], shift: bool) {
        if !shift {
            self.area.cancel_selection();
        } else if !self.area.is_selecting() {
            self.area.start_selection();
        }
        moves.iter().for_each(|one| self.area.move_cursor(*one));
    }

    fn jump_to(&mut self, row: usize, column: usize) {
        self.area.move_cursor(cursor_move(row, column));
    }
}

/// Where a search goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EditorSearchStart {
    /// What is under the cursor counts.
    Here,
    Next,
    Back,
}

/// What the first line that is further in than the others begins with.
fn first_indent(text: &str) -> String {
    let blanks = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let inner = text.lines().find(|line| blanks(line) > 0 && !line.trim().is_empty());
    let found = inner.map(|line| &line[..blanks(line)]).filter(|indent| indent.len() <= WIDEST);
    found.unwrap_or(INDENT).to_owned()
}

fn cursor_move(row: usize, column: usize) -> CursorMove {
    let short = |number: usize| u16::try_from(number).unwrap_or(u16::MAX);
    CursorMove::Jump(short(row), short(column))
}

/// The byte of a character of a line.
pub fn byte_at(line: &str, column: usize) -> usize {
    line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
}

fn find_places(text: &str, words: &str) -> Vec<usize> {
    if words.is_empty() {
        return Vec::new();
    }
    if words.chars().any(char::is_uppercase) {
        return text.match_indices(words).map(|(at, _)| at).collect();
    }
    let (text, words) = (text.as_bytes(), words.as_bytes());
    let first = words.first().map_or(0, u8::to_ascii_lowercase);
    let fits = |at: &usize| {
        text[*at].to_ascii_lowercase() == first
            && text.get(*at..at + words.len()).is_some_and(|part| part.eq_ignore_ascii_case(words))
    };
    (0..text.len()).filter(fits).collect()
}

fn other_bracket(text: &str, here: usize) -> Option<usize> {
    let mut open: Vec<usize> = Vec::new();
    for token in editor_tokens(text, false) {
        match token.kind {
            EditorTokenKind::Open(_) => open.push(token.range.start),
            EditorTokenKind::Close(_) => {
                let from = open.pop();
                if token.range.start == here {
                    return from;
                }
                if from == Some(here) {
                    return Some(token.range.start);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(buffer: &mut EditorBuffer, keys: &[(KeyCode, KeyModifiers)]) {
        for (code, modifiers) in keys {
            buffer.on_key(KeyEvent::new(*code, *modifiers));
        }
    }

    #[test]
    fn lines_go_in_as_far_as_the_one_before() {
        let check = |marked: &str, expected: &str| {
            let at = marked.find('|').unwrap();
            let mut buffer = EditorBuffer::new(&marked.replace('|', ""));
            buffer.move_to_offset(at);
            buffer.insert_newline();
            let (mut text, at) = (buffer.text(), buffer.offset());
            text.insert(at, '|');
            assert_eq!(text, expected, "{marked}");
        };
        check("{|}", "{\n  |\n}");
        check("  \"a\": 1,|", "  \"a\": 1,\n  |");
        check("  \"a\": [ |", "  \"a\": [ \n    |");
        check("|{", "\n|{");
        check("é{|", "é{\n  |");
        check("{\n    \"a\": [|]", "{\n    \"a\": [\n        |\n    ]");
        check("{\n\t\"a\": {|", "{\n\t\"a\": {\n\t\t|");
    }

    #[test]
    fn shift_tab_and_ctrl_j_change_the_text_as_other_keys_do() {
        let (back, line) =
            ((KeyCode::BackTab, KeyModifiers::SHIFT), (KeyCode::Char('j'), KeyModifiers::CONTROL));
        let check = |before: &str, at: usize, key: (KeyCode, KeyModifiers), expected: &str, cursor: usize| {
            let mut buffer = EditorBuffer::new(before);
            buffer.move_to_offset(at);
            press(&mut buffer, &[key]);
            assert_eq!((buffer.text().as_str(), buffer.offset()), (expected, cursor), "{before}");
            assert_eq!(buffer.version() > 0, before != expected, "a change is counted: {before}");
            assert_eq!(buffer.undo(), before != expected);
            assert_eq!(buffer.text(), before);
        };
        check("{\n    \"a\": 1\n}", 8, back, "{\n\"a\": 1\n}", 4);
        check("{\n  \"a\": {\n    \"b\": 1\n", 16, back, "{\n  \"a\": {\n  \"b\": 1\n", 14);
        check("{\n \"a\": 1\n}", 3, back, "{\n\"a\": 1\n}", 2);
        check("{\n\"a\": 1\n}", 3, back, "{\n\"a\": 1\n}", 3);
        check("\"a\": 1, \"b\": 2", 8, line, "\"a\": 1, \n\"b\": 2", 9);
        check("one two", 7, (KeyCode::Left, KeyModifiers::ALT), "one two", 4);
        check("one two", 0, (KeyCode::Right, KeyModifiers::ALT), "one two", 4);
    }

    #[test]
    fn changes_are_taken_back_and_counted() {
        let mut buffer = EditorBuffer::new("{\n  \"a\": 1\n}");
        buffer.replace_range(4..7, "\"name\"");
        assert_eq!(buffer.text(), "{\n  \"name\": 1\n}");
        let version = buffer.version();
        while buffer.undo() {}
        assert_eq!(buffer.text(), "{\n  \"a\": 1\n}");
        assert!(buffer.version() > version);
        while buffer.redo() {}
        assert_eq!(buffer.text(), "{\n  \"name\": 1\n}");
        let version = buffer.version();
        press(&mut buffer, &[(KeyCode::Left, KeyModifiers::NONE), (KeyCode::End, KeyModifiers::CONTROL)]);
        assert_eq!((buffer.version(), buffer.cursor()), (version, (2, 1)));
    }

    #[test]
    fn undo_takes_back_words_and_not_letters() {
        let mut buffer = EditorBuffer::new("");
        let letter = |c: char| (KeyCode::Char(c), KeyModifiers::NONE);
        press(&mut buffer, &"one two".chars().map(letter).collect::<Vec<_>>());
        let mut seen = Vec::new();
        while buffer.undo() {
            seen.push(buffer.text());
        }
        assert_eq!(seen, ["one ", ""]);
        while buffer.redo() {}
        assert_eq!((buffer.text().as_str(), buffer.cursor()), ("one two", (0, 7)));
        press(&mut buffer, &[(KeyCode::Backspace, KeyModifiers::NONE); 3]);
        assert_eq!(buffer.text(), "one ");
        buffer.undo();
        assert_eq!(buffer.text(), "one two", "a burst of deletions is one change");
        // a new line with its margin is one, too
        let mut buffer = EditorBuffer::new("{}");
        buffer.move_to(0, 1);
        buffer.insert_newline();
        assert_eq!(buffer.text(), "{\n  \n}");
        buffer.undo();
        assert_eq!((buffer.text().as_str(), buffer.cursor()), ("{}", (0, 1)));
    }

    #[test]
    fn windows_line_ends_stay() {
        let mut buffer = EditorBuffer::new("a\r\nb\r\n");
        assert_eq!(buffer.text(), "a\nb\n");
        buffer.insert_text("x\ny");
        assert_eq!(buffer.to_file_text(), "x\r\nya\r\nb\r\n");
        assert_eq!(EditorBuffer::new("a\r\nb\n").to_file_text(), "a\r\nb\n");
    }

    #[test]
    fn words_are_found_around_the_end() {
        let mut buffer = EditorBuffer::new("state é State\nstate");
        let mut seen = Vec::new();
        for way in [
            EditorSearchStart::Here,
            EditorSearchStart::Next,
            EditorSearchStart::Next,
            EditorSearchStart::Next,
            EditorSearchStart::Back,
        ] {
            seen.push((buffer.find_next("state", way), buffer.cursor()));
        }
        let expected = [
            (Some((1, 3)), (0, 0)),
            (Some((2, 3)), (0, 8)),
            (Some((3, 3)), (1, 0)),
            (Some((1, 3)), (0, 0)),
            (Some((3, 3)), (1, 0)),
        ];
        assert_eq!(seen, expected);
        assert_eq!(buffer.find_next("State", EditorSearchStart::Next), Some((1, 1)));
        assert_eq!(buffer.find_next("é S", EditorSearchStart::Next), Some((1, 1)));
        assert_eq!(buffer.find_next("none", EditorSearchStart::Next), None);
    }

    #[test]
    fn brackets_find_each_other_outside_of_texts() {
        let mut buffer = EditorBuffer::new("{\"a\": [\"]\", {}]}");
        let mut check = |at: usize, expected: Option<[usize; 2]>| {
            buffer.move_to_offset(at);
            let found = buffer.pair().map(|pair| pair.map(|(_, column)| column));
            assert_eq!(found, expected, "{at}");
        };
        check(0, Some([0, 15]));
        check(6, Some([6, 14]));
        check(16, Some([15, 0]));
        check(13, Some([13, 12]));
        check(9, None);
        check(3, None);
    }

    #[test]
    fn a_selection_is_cut_and_put_back() {
        let mut buffer = EditorBuffer::new("one two");
        press(&mut buffer, &[(KeyCode::Right, KeyModifiers::CONTROL | KeyModifiers::SHIFT)]);
        assert_eq!(buffer.cut_selection().as_deref(), Some("one "));
        assert_eq!(buffer.text(), "two");
        press(&mut buffer, &[(KeyCode::End, KeyModifiers::NONE)]);
        buffer.paste_clipboard();
        assert_eq!(buffer.text(), "twoone ");
        assert_eq!(buffer.cut_selection(), None);
    }
}
