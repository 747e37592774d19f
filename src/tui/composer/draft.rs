//! The text of the input box and the cursor in it. Positions count characters of the whole text, newlines included; the
//! cursor is never inside of a grapheme.

use std::ops::Range;

use ratatui::crossterm::event::{KeyCode, KeyEvent};
use ratatui::style::{Modifier, Style};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};
use unicode_segmentation::UnicodeSegmentation;

use super::undo::{DraftChangeKind, DraftCursor, ReplacedLines, UndoHistory, UndoRecord};

#[derive(Clone, Debug)]
pub struct ComposerDraft {
    area: TextArea<'static>,
    undo: UndoHistory,
}

impl Default for ComposerDraft {
    fn default() -> Self {
        Self { area: new_area(""), undo: UndoHistory::default() }
    }
}

impl ComposerDraft {
    pub fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    pub fn text(&self) -> String {
        let text = self.area.lines().join("\n");
        #[cfg(test)]
        tests::note_amount(text.len());
        text
    }

    pub fn to_chars(&self) -> Vec<char> {
        self.text().chars().collect()
    }

    /// Line and column of the cursor, in characters.
    pub fn cursor(&self) -> (usize, usize) {
        let cursor = self.area.cursor();
        (cursor.0, cursor.1)
    }

    pub fn cursor_offset(&self) -> usize {
        let (row, column) = self.cursor();
        #[cfg(test)]
        tests::note_amount(row);
        self.area.lines()[..row].iter().map(|line| line.chars().count() + 1).sum::<usize>() + column
    }

    /// The position of the cursor in the whole text, in bytes.
    pub fn cursor_byte(&self) -> usize {
        let before = &self.area.lines()[..self.cursor().0];
        before.iter().map(|line| line.len() + 1).sum::<usize>() + self.line_before().len()
    }

    pub fn move_to_byte(&mut self, byte: usize) {
        let text = self.text();
        self.move_to(text.get(..byte).unwrap_or(&text).chars().count());
    }

    /// The text of the cursor's line before the cursor.
    pub fn line_before(&self) -> &str {
        let (row, column) = self.cursor();
        let line = &self.area.lines()[row];
        &line[..byte_at(line, column)]
    }

    fn line_after(&self) -> &str {
        &self.area.lines()[self.cursor().0][self.line_before().len()..]
    }

    /// Replaces the text and puts the cursor at its end; the old text cannot be restored.
    pub fn set_text(&mut self, text: &str) {
        self.area = new_area(text);
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
        self.undo.forget_all();
    }

    /// Another text, as a change that can be undone.
    pub fn replace_text(&mut self, text: &str, place: usize) {
        let (before, cursor) = (self.text(), self.cursor());
        let undo = std::mem::take(&mut self.undo);
        self.set_text(text);
        self.undo = undo;
        self.move_to(place);
        self.undo.note_change(before, cursor, DraftChangeKind::Other);
    }

    /// To a place; `false`: the cursor cannot get there, which only texts of absurd size have.
    pub fn move_to(&mut self, place: usize) -> bool {
        self.area.cancel_selection();
        self.jump_to_offset(place) && {
            self.snap_to_letter();
            true
        }
    }

    /// Between two places everything is marked.
    pub fn mark_range(&mut self, from: usize, to: usize) {
        self.area.cancel_selection();
        if from != to && self.jump_to_offset(from) {
            self.area.start_selection();
            self.jump_to_offset(to);
        } else {
            self.move_to(to);
        }
    }

    fn jump_to_offset(&mut self, place: usize) -> bool {
        let mut left = place;
        let last = self.area.lines().len() - 1;
        for (row, line) in self.area.lines().iter().enumerate() {
            let length = line.chars().count();
            if left <= length || row == last {
                // a place behind the text is its end
                return self.jump_to((row, left.min(length)));
            }
            left -= length + 1;
        }
        false
    }

    fn jump_to(&mut self, (row, column): DraftCursor) -> bool {
        let (Ok(to_row), Ok(to_column)) = (u16::try_from(row), u16::try_from(column)) else { return false };
        self.area.move_cursor(CursorMove::Jump(to_row, to_column));
        self.cursor() == (row, column)
    }

    /// Removes the text between two positions and returns it.
    pub fn cut_range(&mut self, from: usize, to: usize) -> String {
        let taken: String = self.text().chars().skip(from).take(to.saturating_sub(from)).collect();
        if taken.is_empty() {
            return taken;
        }
        let (before, cursor) = (self.text(), self.cursor());
        self.area.cancel_selection();
        if !self.jump_to_offset(from) {
            return String::new();
        }
        self.area.delete_str(taken.chars().count());
        self.snap_to_letter();
        self.undo.note_change(before, cursor, DraftChangeKind::Other);
        taken
    }

    /// Replaces these bytes by a text; `false`: the cursor cannot get there.
    pub fn replace_bytes(&mut self, range: Range<usize>, text: &str) -> bool {
        let whole = self.text();
        let (Some(before), Some(taken)) = (whole.get(..range.start), whole.get(range)) else { return false };
        let (place, count) = (before.chars().count(), taken.chars().count());
        let cursor = self.cursor();
        self.area.cancel_selection();
        if !self.jump_to_offset(place) {
            return false;
        }
        self.area.delete_str(count);
        self.area.insert_str(text);
        self.snap_to_letter();
        if self.text() != whole {
            self.undo.note_change(whole, cursor, DraftChangeKind::Other);
        }
        true
    }

    pub fn insert_text(&mut self, text: &str) {
        self.record_change(DraftChangeKind::Other, |area| area.insert_str(text));
    }

    /// What was cut last, once more.
    pub fn paste_cut_text(&mut self) {
        self.record_change(DraftChangeKind::Other, |area| area.paste());
    }

    pub fn insert_newline(&mut self) {
        self.in_line(DraftChangeKind::Other, |area| {
            area.insert_newline();
            true
        });
    }

    /// A key of the widget; a letter belongs to the word before it.
    pub fn on_key(&mut self, key: KeyEvent, change: DraftChangeKind) {
        match key.code {
            KeyCode::Char(_) => self.in_line(change, |area| area.input_without_shortcuts(key)),
            _ => self.record_change(change, |area| area.input_without_shortcuts(key)),
        }
    }

    /// A key with everything that the widget knows.
    pub fn on_widget_key(&mut self, key: KeyEvent) {
        self.undo.end_undo_group();
        self.record_change(DraftChangeKind::Other, |area| area.input(key));
    }

    pub fn move_cursor(&mut self, movement: CursorMove) {
        self.undo.end_undo_group();
        self.area.cancel_selection();
        self.area.move_cursor(movement);
        self.snap_to_letter();
    }

    /// One letter back; whether there was one.
    pub fn move_back(&mut self) -> bool {
        self.undo.end_undo_group();
        let place = self.cursor_offset();
        let letter = self.line_before().graphemes(true).next_back().map_or(1, |one| one.chars().count());
        place > 0 && self.move_to(place - letter.min(place))
    }

    /// One letter on.
    pub fn move_forward(&mut self) {
        self.undo.end_undo_group();
        let place = self.cursor_offset();
        let letter = self.line_after().graphemes(true).next().map_or(1, |one| one.chars().count());
        self.move_to(place + letter);
    }

    /// Takes the letter before the cursor away, or what is marked.
    pub fn delete_before_cursor(&mut self) {
        if self.area.is_selecting() {
            return self.record_change(DraftChangeKind::Other, |area| area.delete_char());
        }
        let place = self.cursor_offset();
        let letter = self.line_before().graphemes(true).next_back().map_or(1, |one| one.chars().count());
        self.without_yank(|draft| draft.cut_range(place.saturating_sub(letter), place));
    }

    pub fn delete_forward(&mut self) {
        if self.area.is_selecting() {
            return self.record_change(DraftChangeKind::Other, |area| area.delete_char());
        }
        let place = self.cursor_offset();
        let letter = self.line_after().graphemes(true).next().map_or(1, |one| one.chars().count());
        self.without_yank(|draft| draft.cut_range(place, place + letter));
    }

    pub fn undo(&mut self) -> bool {
        let mut undo = std::mem::take(&mut self.undo);
        let before = undo.undo(|before| self.undo_record_against(before));
        self.undo = undo;
        self.restore_record(before)
    }

    pub fn redo(&mut self) -> bool {
        let mut undo = std::mem::take(&mut self.undo);
        let after = undo.redo(|after| self.undo_record_against(after));
        self.undo = undo;
        self.restore_record(after)
    }

    /// What is typed next can be undone by itself.
    pub fn end_undo_group(&mut self) {
        self.undo.end_undo_group();
    }

    /// Whether the following changes are one change, until a group ends.
    pub fn join_changes(&mut self, on: bool) {
        self.undo.join_changes(on);
    }

    /// Joins the following changes; `apart` separates them from the change before.
    pub fn begin_joined_changes(&mut self, apart: bool) {
        if apart {
            self.end_undo_group();
        }
        self.join_changes(true);
    }

    /// The record that redoes a change after `held` has undone it.
    fn undo_record_against(&self, held: &UndoRecord) -> UndoRecord {
        let UndoRecord::Lines(ReplacedLines { first_line: from, line_count: over, lines_before: before }, _) =
            held
        else {
            return UndoRecord::Whole(self.text(), self.cursor());
        };
        let now = self.area.lines().iter().skip(*from).take(*over).cloned().collect();
        UndoRecord::Lines(
            ReplacedLines { first_line: *from, line_count: before.len(), lines_before: now },
            self.cursor(),
        )
    }

    fn restore_record(&mut self, held: Option<UndoRecord>) -> bool {
        let (text, cursor) = match held {
            None => return false,
            Some(UndoRecord::Whole(text, cursor)) => (text, cursor),
            Some(UndoRecord::Lines(lines, cursor)) => {
                (lines.restore_text(self.area.lines().iter().map(String::as_str)), cursor)
            }
        };
        let undo = std::mem::take(&mut self.undo);
        let cut = self.area.yank_text();
        self.set_text(&text);
        self.area.set_yank_text(cut);
        self.undo = undo;
        self.jump_to(cursor) && {
            self.snap_to_letter();
            true
        }
    }

    /// A change of the cursor's line alone, which may become two; only that line is looked at.
    fn in_line(&mut self, change: DraftChangeKind, act: impl FnOnce(&mut TextArea<'static>) -> bool) {
        if self.area.is_selecting() {
            return self.record_change(change, act);
        }
        let (cursor, count) = (self.cursor(), self.area.lines().len());
        let before = self.area.lines()[cursor.0].clone();
        act(&mut self.area);
        self.snap_to_letter();
        let lines = self.area.lines();
        let over = 1 + lines.len().saturating_sub(count);
        if over > 1 || lines[cursor.0] != before {
            let own = ReplacedLines { first_line: cursor.0, line_count: over, lines_before: vec![before] };
            self.undo.note_line(change, own, cursor, lines);
        }
    }

    fn record_change(&mut self, change: DraftChangeKind, act: impl FnOnce(&mut TextArea<'static>) -> bool) {
        let (before, cursor) = (self.text(), self.cursor());
        act(&mut self.area);
        self.snap_to_letter();
        if self.text() != before {
            self.undo.note_change(before, cursor, change);
        }
    }

    /// What single letters leave is nothing that `paste_cut_text` should bring.
    fn without_yank(&mut self, act: impl FnOnce(&mut Self) -> String) {
        let cut = self.area.yank_text();
        act(self);
        self.area.set_yank_text(cut);
    }

    /// Out of the middle of a letter, to its end.
    fn snap_to_letter(&mut self) {
        let (row, column) = self.cursor();
        let line = &self.area.lines()[row];
        if line.is_ascii() {
            return;
        }
        let byte = byte_at(line, column);
        let end = line.grapheme_indices(true).map(|(at, _)| at).chain([line.len()]).find(|at| *at >= byte);
        if let Some(end) = end.filter(|end| *end > byte) {
            let more = line[byte..end].chars().count();
            if let (Ok(row), Ok(column)) = (u16::try_from(row), u16::try_from(column + more)) {
                self.area.move_cursor(CursorMove::Jump(row, column));
            }
        }
    }
}

fn byte_at(line: &str, column: usize) -> usize {
    line.char_indices().nth(column).map_or(line.len(), |(at, _)| at)
}

fn new_area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(Style::new());
    // The terminal's own cursor is used: input methods and screen readers look for it.
    area.set_cursor_style(Style::new());
    area.set_selection_style(Style::new().add_modifier(Modifier::REVERSED));
    // undo works by changes as users see them, not by letters
    area.set_max_histories(0);
    area
}

#[cfg(test)]
mod tests;
