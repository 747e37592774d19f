//! The input box: text of several lines, earlier input, pastes folded to a placeholder, optional vi keys.

use std::ops::Range;

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, TextArea};

use self::draft::ComposerDraft;
use self::history::ComposerHistory;
use self::motion::{rest_of_word, word_after, word_before};
use self::pastes::FoldedPastes;
use self::undo::DraftChangeKind;
use self::vim::{VimInput, VimKeyOutcome};
use crate::text::{fit_to_columns, wrap_line};
use synthdev_domain::terminal_safe;

mod draft;
mod history;
mod motion;
mod pastes;
mod undo;
mod vim;

/// Longer texts are not kept for later sessions.
const KEPT: usize = 16 << 10;

/// As wide as a tab can be.
const TAB: &str = "    ";

/// What a key of the table does to the text.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ComposerEdit {
    Undo,
    Redo,
    WordBack,
    WordForward,
    DeleteWord,
    DeleteNextWord,
    DeleteToStart,
    DeleteToEnd,
    /// Inserts the text that was deleted last, by words or lines.
    Yank,
    SearchHistory,
    /// A folded paste is shown as what it is.
    Unfold,
}

#[derive(Clone, Debug, Default)]
pub struct InputComposer {
    draft: ComposerDraft,
    history: ComposerHistory,
    pastes: FoldedPastes,
    vim: Option<VimInput>,
    /// Empty: [`PREFIX`].
    prefix: String,
}

/// What stands before the text unless the user has set another.
const PREFIX: &str = "❯";
/// Columns of one that the user has set.
const PREFIX_COLUMNS: usize = 16;

impl InputComposer {
    /// The text as shown, with placeholders.
    pub fn text(&self) -> String {
        self.draft.text()
    }

    pub fn first_line(&self) -> &str {
        self.draft.area().lines().first().map_or("", String::as_str)
    }

    /// The first line up to the cursor, if the cursor is in it: what completion works on.
    pub fn before_cursor(&self) -> Option<&str> {
        (self.draft.cursor().0 == 0).then(|| self.draft.line_before())
    }

    /// The word before the cursor, in any line.
    pub fn word_before_cursor(&self) -> &str {
        let before = self.draft.line_before();
        before.rsplit(char::is_whitespace).next().unwrap_or(before)
    }

    /// Nothing was ever sent from it.
    pub fn is_fresh(&self) -> bool {
        self.is_empty() && self.history.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.draft.area().is_empty()
    }

    pub fn area(&self) -> &TextArea<'static> {
        self.draft.area()
    }

    /// Line and column of the cursor, in characters.
    pub fn cursor(&self) -> (usize, usize) {
        self.draft.cursor()
    }

    /// Rows the text takes in `columns`.
    pub fn rows(&self, columns: usize) -> usize {
        let rows = |line: &String| {
            if line.contains('\t') {
                wrap_line(&line.replace('\t', TAB), columns).len()
            } else {
                wrap_line(line, columns).len()
            }
        };
        self.area().lines().iter().map(rows).sum()
    }

    pub fn set_text(&mut self, text: &str) {
        self.draft.set_text(text);
        if let Some(vim) = self.vim.as_mut().filter(|vim| vim.is_inserting()) {
            vim.begin_insertion(&mut self.draft);
        }
    }

    /// Replaces the first characters of the text and puts the cursor after them; can be undone.
    pub fn complete_prefix(&mut self, typed: usize, with: &str) {
        let rest: String = self.text().chars().skip(typed).collect();
        self.draft.replace_text(&format!("{with}{}", rest.trim_start_matches(' ')), with.chars().count());
    }

    /// The word before the cursor becomes something else; can be undone.
    pub fn complete_word(&mut self, with: &str) {
        let (text, place) = (self.draft.to_chars(), self.draft.cursor_offset());
        let from = place - self.word_before_cursor().chars().count();
        let line: String =
            text[..from].iter().chain(&with.chars().collect::<Vec<_>>()).chain(&text[place..]).collect();
        self.draft.replace_text(&line, from + with.chars().count());
    }

    /// Another program has written the text anew; can be undone.
    pub fn replace_undoably(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n");
        let text = terminal_safe::strip_escape_sequences(text.trim_end_matches('\n'));
        self.draft.replace_text(&text, text.chars().count());
    }

    /// Empties the box; Up brings the text back.
    pub fn clear_into_history(&mut self) {
        let shown = self.text();
        if !shown.trim().is_empty() {
            self.remember_text(&shown);
        }
        self.set_text("");
        self.history.settle_position();
    }

    /// Takes the text with pastes expanded, remembers it, empties the box. `None`: nothing but blanks.
    pub fn take_text(&mut self) -> Option<String> {
        let shown = self.text();
        if shown.trim().is_empty() {
            return None;
        }
        self.remember_text(&shown);
        let text = self.pastes.expand_all(&shown);
        // as in shells: a blank before it keeps a text out
        if text.len() <= KEPT && !text.starts_with(' ') {
            self.history.keep_for_later_sessions(text.clone());
        }
        self.set_text("");
        if let Some(vim) = &mut self.vim {
            vim.begin_insertion(&mut self.draft);
        }
        Some(text)
    }

    /// Drops the text that was taken last, so that later sessions do not get it.
    pub fn discard_unsaved_texts(&mut self) {
        drop(self.history.take_unsaved_texts());
    }

    /// Texts that later sessions shall have.
    pub fn take_unsaved_texts(&mut self) -> Vec<String> {
        self.history.take_unsaved_texts()
    }

    /// Whether to load the input of earlier sessions; `true` once.
    pub fn take_recall_request(&mut self) -> bool {
        self.history.take_recall_request()
    }

    /// Requests the input of earlier sessions. `false`: it is loaded.
    pub fn request_recall(&mut self) -> bool {
        self.history.request_recall()
    }

    /// Adds the input of earlier sessions; shows it if the user waits for it.
    pub fn add_recalled_texts(&mut self, texts: Vec<String>) {
        let waits = self.history.take_retry_text().is_some_and(|shown| shown == self.text());
        self.history.add_recalled_texts(texts);
        if self.is_searching() {
            let hit = self.history.update_search(|_| {}).map(str::to_owned);
            hit.into_iter().for_each(|hit| self.set_text(&hit));
        } else if waits {
            self.show_older();
        }
    }

    /// The text with pastes expanded; the box keeps it.
    pub fn expanded_text(&self) -> String {
        self.pastes.expand_all(&self.text())
    }

    /// Puts a text into the history.
    pub fn remember_text(&mut self, text: &str) {
        self.history.remember_text(text);
        let gone = self.pastes.trim_oldest();
        self.history.forget_containing(&gone);
    }

    /// Text from the clipboard: short ones as they are, long ones folded. Line ends become `\n`.
    pub fn paste_text(&mut self, text: &str) {
        self.close_search();
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        match self.pastes.fold_text(&text) {
            Some(name) => self.draft.insert_text(&name),
            // the tabs of a makefile are sent as they are
            None => self.draft.insert_text(&terminal_safe::strip_escape_sequences(&text)),
        }
    }

    /// Puts a text in place of a part of it, and the cursor behind it.
    pub fn replace_bytes(&mut self, range: Range<usize>, text: &str) {
        self.draft.replace_bytes(range, text);
    }

    /// At the cursor, and never folded.
    pub fn insert_plain_text(&mut self, text: &str) {
        self.draft.insert_text(text);
    }

    pub fn insert_newline(&mut self) {
        self.draft.insert_newline();
    }

    /// Applies an editing action of the key table.
    pub fn apply_edit(&mut self, edit: ComposerEdit) -> Result<(), String> {
        let (text, at) = (self.draft.to_chars(), self.draft.cursor_offset());
        let nothing = |what: &str, done: bool| if done { Ok(()) } else { Err(format!("nothing to {what}")) };
        match edit {
            ComposerEdit::Undo => return nothing("undo", self.draft.undo()),
            ComposerEdit::Redo => return nothing("redo", self.draft.redo()),
            ComposerEdit::WordBack => drop(self.draft.move_to(word_before(&text, at))),
            ComposerEdit::WordForward => drop(self.draft.move_to(word_after(&text, at))),
            ComposerEdit::DeleteWord => self.cut_range(word_before(&text, at), at),
            ComposerEdit::DeleteNextWord => self.cut_range(at, rest_of_word(&text, at)),
            ComposerEdit::DeleteToStart => {
                let start = motion::line_start(&text, at);
                self.cut_range(if start == at { at.saturating_sub(1) } else { start }, at);
            }
            ComposerEdit::DeleteToEnd => {
                let end = motion::line_end(&text, at);
                self.cut_range(at, if end == at { at + 1 } else { end }.min(text.len()));
            }
            ComposerEdit::Yank => self.draft.paste_cut_text(),
            ComposerEdit::SearchHistory if self.history.is_known_empty() => {
                return nothing("search: nothing was sent", false);
            }
            ComposerEdit::SearchHistory => {
                let shown = self.text();
                self.history.start_search(&shown);
            }
            ComposerEdit::Unfold => return self.unfold_paste(),
        }
        Ok(())
    }

    /// Any other key.
    pub fn on_key(&mut self, key: KeyEvent) {
        match (key.code, key.modifiers) {
            (KeyCode::Up, KeyModifiers::NONE) if self.draft.cursor().0 == 0 => self.show_older(),
            (KeyCode::Down, KeyModifiers::NONE)
                if self.draft.cursor().0 + 1 == self.draft.area().lines().len() =>
            {
                self.show_newer();
            }
            (KeyCode::Left, KeyModifiers::NONE) => drop(self.draft.move_back()),
            (KeyCode::Right, KeyModifiers::NONE) => self.draft.move_forward(),
            (KeyCode::Backspace, KeyModifiers::NONE | KeyModifiers::SHIFT)
            | (KeyCode::Char('h'), KeyModifiers::CONTROL) => return self.delete_letter(false),
            (KeyCode::Delete, KeyModifiers::NONE | KeyModifiers::SHIFT)
            | (KeyCode::Char('d'), KeyModifiers::CONTROL) => return self.delete_letter(true),
            (KeyCode::Char(c), KeyModifiers::NONE | KeyModifiers::SHIFT) => {
                // a slash command that was begun in another mode continues as text
                self.to_insert();
                // in vi everything that was inserted is one change
                if c.is_whitespace() && self.vim.is_none() {
                    self.draft.end_undo_group();
                }
                return self.draft.on_key(key, DraftChangeKind::Typed);
            }
            _ => self.draft.on_widget_key(key),
        }
        if let Some(vim) = self.vim.as_mut().filter(|vim| vim.is_inserting()) {
            vim.break_insertion(&mut self.draft);
        }
    }

    /// Keys as in vi, or not.
    pub fn use_vim(&mut self, on: bool) {
        if on != self.vim.is_some() {
            self.draft.end_undo_group();
            self.draft.join_changes(false);
            self.vim = on.then(VimInput::default);
            self.to_insert();
        }
    }

    pub fn uses_vim(&self) -> bool {
        self.vim.is_some()
    }

    /// What stands before the text from now on, as far as there is room for it.
    pub fn set_prefix(&mut self, text: &str) {
        let shown = terminal_safe::escape_name(text.trim());
        self.prefix = fit_to_columns(&shown, PREFIX_COLUMNS).into_owned();
    }

    /// What stands before the text: the mode, if there are several.
    pub fn prefix(&self) -> &str {
        let usual = if self.prefix.is_empty() { PREFIX } else { &self.prefix };
        self.vim.as_ref().map_or(usual, |vim| vim.mode_sign())
    }

    /// Handles a key in vi mode; whether it was one of vi's.
    pub fn vim_key(&mut self, key: KeyEvent) -> bool {
        if !self.is_vim_key(key) {
            return false;
        }
        let Some(vim) = &mut self.vim else { return false };
        match vim.on_key(key, &mut self.draft, &self.pastes) {
            VimKeyOutcome::Done => return true,
            VimKeyOutcome::Older => self.show_older(),
            VimKeyOutcome::Newer => self.show_newer(),
        }
        if let Some(vim) = &mut self.vim {
            vim.settle_cursor(&mut self.draft, &self.pastes);
        }
        true
    }

    /// Whether vi would take a key.
    pub fn is_vim_key(&self, key: KeyEvent) -> bool {
        let Some(vim) = &self.vim else { return false };
        let plain = !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT);
        let commands = !vim.is_inserting();
        match key.code {
            KeyCode::Esc => vim.owns_escape(),
            KeyCode::Char('r') if key.modifiers == KeyModifiers::CONTROL => commands,
            // a slash command begins with it
            KeyCode::Char('/') if self.is_empty() && !vim.is_command_pending() => false,
            KeyCode::Char(_) => commands && plain,
            KeyCode::Backspace | KeyCode::Delete | KeyCode::Left | KeyCode::Right => {
                commands && key.modifiers.is_empty()
            }
            KeyCode::Up | KeyCode::Down | KeyCode::Home | KeyCode::End => {
                vim.is_marking() && key.modifiers.is_empty()
            }
            _ => false,
        }
    }

    /// A key begins a command of vi.
    pub fn awaits_vim_command(&self) -> bool {
        self.vim.as_ref().is_some_and(|vim| !vim.is_inserting() && !vim.is_command_pending())
    }

    /// Returns to insert mode.
    pub fn to_insert(&mut self) {
        if let Some(vim) = self.vim.as_mut().filter(|vim| !vim.is_inserting()) {
            vim.begin_insertion(&mut self.draft);
        }
    }

    pub fn is_searching(&self) -> bool {
        self.history.is_searching()
    }

    /// A key during a search in the history; whether the search takes it.
    pub fn search_key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let hit = match key.code {
            KeyCode::Esc => {
                self.close_search();
                return true;
            }
            KeyCode::Char('c' | 'g') if control => {
                self.close_search();
                return true;
            }
            KeyCode::Char('r') if control => self.history.search_on(true),
            KeyCode::Char('s') if control => self.history.search_on(false),
            KeyCode::Up => self.history.search_on(true),
            KeyCode::Down => self.history.search_on(false),
            KeyCode::Backspace => self.history.update_search(|words| {
                words.pop();
            }),
            KeyCode::Char(c) if !key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) => {
                self.history.update_search(|words| words.push(c))
            }
            // the hit stays in the box, and the key has its usual meaning
            code => {
                self.history.end_search();
                self.to_insert();
                return matches!(code, KeyCode::Enter | KeyCode::Tab);
            }
        };
        if let Some(hit) = hit.map(str::to_owned) {
            self.set_text(&hit);
        }
        true
    }

    /// The line above the box during a search in the history.
    pub fn search_line(&self) -> Option<String> {
        self.history.search_line()
    }

    /// Leaves the search and restores the text from before; whether there was one.
    pub fn close_search(&mut self) -> bool {
        let draft = self.history.end_search();
        if let Some(draft) = &draft {
            self.set_text(draft);
        }
        draft.is_some()
    }

    /// Deletes the letter before or after the cursor, or a whole placeholder.
    fn delete_letter(&mut self, forward: bool) {
        let (text, at) = (self.text(), self.draft.cursor_byte());
        let is_beside = |span: &Range<usize>| {
            if forward {
                (span.start..span.end).contains(&at)
            } else {
                (span.start + 1..=span.end).contains(&at)
            }
        };
        match self.pastes.placeholder_ranges(&text).find(is_beside) {
            Some(span) if !self.draft.area().is_selecting() => drop(self.draft.replace_bytes(span, "")),
            _ if forward => self.draft.delete_forward(),
            _ => self.draft.delete_before_cursor(),
        }
    }

    /// Deletes the text between two positions; a placeholder only as a whole.
    fn cut_range(&mut self, from: usize, to: usize) {
        let text = self.text();
        let byte = |place: usize| text.char_indices().nth(place).map_or(text.len(), |(at, _)| at);
        let mut range = byte(from)..byte(to);
        for span in self.pastes.placeholder_ranges(&text) {
            if span.start < range.end && range.start < span.end {
                range = range.start.min(span.start)..range.end.max(span.end);
            }
        }
        if !range.is_empty() {
            self.draft.replace_bytes(range, "");
        }
    }

    fn unfold_paste(&mut self) -> Result<(), String> {
        let text = self.text();
        let byte = self.draft.cursor_byte();
        let (at, name, whole) = self.pastes.placeholder_at(&text, byte)?;
        let (before, after) = (&text[..at], &text[at + name.len()..]);
        let middle = terminal_safe::strip_escape_sequences(whole);
        let place = before.chars().count() + middle.chars().count();
        self.draft.replace_text(&format!("{before}{middle}{after}"), place);
        Ok(())
    }

    fn show_older(&mut self) {
        let shown = self.text();
        match self.history.older_entry(&shown).map(str::to_owned) {
            Some(text) => {
                self.set_text(&text);
                // The next Up must go to an older text, not through the lines of this one.
                self.draft.move_cursor(CursorMove::Top);
                self.draft.move_cursor(CursorMove::End);
            }
            None => self.draft.move_cursor(CursorMove::Head),
        }
    }

    fn show_newer(&mut self) {
        match self.history.newer_entry() {
            Some(text) => self.set_text(&text),
            None => self.draft.move_cursor(CursorMove::End),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(composer: &mut InputComposer, code: KeyCode) {
        composer.on_key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn long_pastes_are_folded_and_sent_whole() {
        let long = "zeile mit é\n".repeat(10_000);
        let mut composer = InputComposer::default();
        composer.draft.insert_text("look: ");
        composer.paste_text(&long);
        assert_eq!(composer.text(), "look: [pasted 10,000 lines #1]");
        composer.draft.insert_text(" thanks");
        assert_eq!(composer.take_text().unwrap(), format!("look: {long} thanks"));
        assert!(composer.is_empty());
    }

    #[test]
    fn a_folded_paste_that_was_put_aside_comes_back_whole() {
        let long = "x\n".repeat(100);
        let mut composer = InputComposer::default();
        composer.paste_text(&long);
        composer.clear_into_history();
        assert!(composer.is_empty());
        press(&mut composer, KeyCode::Up);
        assert_eq!(composer.take_text().unwrap(), long);
    }

    #[test]
    fn short_pastes_stay_as_they_are() {
        let check = |pasted: &str, expected: &str| {
            let mut composer = InputComposer::default();
            composer.paste_text(pasted);
            assert_eq!(composer.take_text().unwrap(), expected, "{pasted:?}");
        };
        check("à\r\nb\rc", "à\nb\nc");
        check("all:\n\tcargo\tbuild", "all:\n\tcargo\tbuild");
        check("\x1b[31m\tred\x1b[0m", "\tred");
    }

    #[test]
    fn a_tab_takes_its_columns() {
        let mut composer = InputComposer::default();
        composer.paste_text("\t\tabcd");
        assert_eq!((composer.rows(12), composer.rows(11)), (1, 2));
    }

    #[test]
    fn two_different_pastes_keep_apart() {
        let (one, two) = ("a\n".repeat(40), "b\n".repeat(40));
        let mut composer = InputComposer::default();
        composer.paste_text(&one);
        composer.paste_text(&two);
        assert_eq!(composer.text(), "[pasted 40 lines #1][pasted 40 lines #2]");
        assert_eq!(composer.take_text().unwrap(), format!("{one}{two}"));
    }

    #[test]
    fn history_keeps_the_draft() {
        let mut composer = InputComposer::default();
        for text in ["first", "second\nline"] {
            composer.draft.insert_text(text);
            composer.take_text();
        }
        composer.draft.insert_text("draft");
        let mut seen = Vec::new();
        for code in [KeyCode::Up, KeyCode::Up, KeyCode::Up, KeyCode::Down, KeyCode::Down] {
            press(&mut composer, code);
            seen.push(composer.text());
        }
        assert_eq!(seen, ["second\nline", "first", "first", "second\nline", "draft"]);
    }

    fn send_text(composer: &mut InputComposer, text: &str) {
        composer.draft.insert_text(text);
        composer.take_text();
    }

    #[test]
    fn what_was_sent_in_earlier_sessions_is_read_when_it_is_wanted() {
        let mut composer = InputComposer::default();
        assert!(!composer.take_recall_request(), "nothing is read at the start");
        send_text(&mut composer, "of now");
        press(&mut composer, KeyCode::Up);
        assert!(composer.take_recall_request() && !composer.take_recall_request(), "asked for once");
        composer.add_recalled_texts(vec![
            "old".into(),
            "of now".into(),
            "old".into(),
            "older".into(),
            "older".into(),
        ]);
        assert_eq!(composer.text(), "of now", "what is shown stays");
        let mut seen = Vec::new();
        for _ in 0..4 {
            press(&mut composer, KeyCode::Up);
            seen.push(composer.text());
        }
        assert_eq!(seen, ["older", "old", "old", "old"]);
        // where nothing was sent yet, the key that asked for it is answered
        let mut composer = InputComposer::default();
        press(&mut composer, KeyCode::Up);
        assert!(composer.take_recall_request());
        composer.add_recalled_texts(vec!["old".into()]);
        assert_eq!(composer.text(), "old");
        // unless something was typed meanwhile
        let mut composer = InputComposer::default();
        press(&mut composer, KeyCode::Up);
        press(&mut composer, KeyCode::Char('x'));
        composer.add_recalled_texts(vec!["old".into()]);
        assert_eq!(composer.text(), "x");
        // a search that has begun finds it
        let mut composer = InputComposer::default();
        composer.apply_edit(ComposerEdit::SearchHistory).unwrap();
        composer.search_key(KeyEvent::new(KeyCode::Char('l'), KeyModifiers::NONE));
        assert!(composer.take_recall_request());
        composer.add_recalled_texts(vec!["old".into(), "new".into()]);
        assert_eq!(composer.text(), "old");
        let mut nothing = InputComposer::default();
        press(&mut nothing, KeyCode::Up);
        nothing.add_recalled_texts(Vec::new());
        assert!(nothing.apply_edit(ComposerEdit::SearchHistory).is_err());
    }

    #[test]
    fn what_is_kept_is_whole_and_no_answer() {
        let mut composer = InputComposer::default();
        composer.paste_text(&"a line\n".repeat(40));
        composer.take_text();
        composer.paste_text(&"much\n".repeat(10_000));
        composer.take_text();
        send_text(&mut composer, " not this");
        assert_eq!(composer.take_unsaved_texts(), ["a line\n".repeat(40)]);
        send_text(&mut composer, "an answer");
        composer.discard_unsaved_texts();
        assert!(composer.take_unsaved_texts().is_empty());
        press(&mut composer, KeyCode::Up);
        assert_eq!(composer.text(), "an answer", "in this session it can be had back");
    }
}
