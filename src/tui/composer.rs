//! The input box: multi-line text, history, pastes folded to a placeholder.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui_textarea::{CursorMove, TextArea, WrapMode};

use crate::tui::text::{clean, thousands, wrap};

/// A paste of this many lines or bytes is folded.
const FOLD_LINES: usize = 30;
const FOLD_BYTES: usize = 8_000;
const HISTORY: usize = 500;

#[derive(Clone, Debug)]
pub struct Composer {
    area: TextArea<'static>,
    history: Vec<String>,
    /// Position in the history while going through it, and what was typed before.
    recall: Option<(usize, String)>,
    /// Placeholder and what it stands for.
    pastes: Vec<(String, String)>,
}

impl Default for Composer {
    fn default() -> Self {
        Self { area: new_area(""), history: Vec::new(), recall: None, pastes: Vec::new() }
    }
}

impl Composer {
    /// What is seen, with placeholders.
    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    pub fn first_line(&self) -> &str {
        self.area.lines().first().map_or("", String::as_str)
    }

    /// The first line up to the cursor, if the cursor is in it: what completion works on.
    pub fn before_cursor(&self) -> Option<&str> {
        let cursor = self.area.cursor();
        let line = self.first_line();
        if cursor.0 != 0 {
            return None;
        }
        let end = line.char_indices().nth(cursor.1).map_or(line.len(), |(at, _)| at);
        Some(&line[..end])
    }

    /// Nothing was ever sent from it.
    pub fn is_fresh(&self) -> bool {
        self.is_empty() && self.history.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    pub fn area(&self) -> &TextArea<'static> {
        &self.area
    }

    /// Rows the text takes in `columns`.
    pub fn rows(&self, columns: usize) -> usize {
        self.area.lines().iter().map(|line| wrap(line, columns).len()).sum()
    }

    pub fn set(&mut self, text: &str) {
        self.area = new_area(text);
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Empties the box; what was in it can be had back with Up.
    pub fn put_aside(&mut self) {
        let shown = self.text();
        if !shown.trim().is_empty() {
            self.remember(&shown);
        }
        self.set("");
        self.recall = None;
    }

    /// Takes the text with pastes expanded, remembers it, empties the box. `None`: nothing but blanks.
    pub fn take(&mut self) -> Option<String> {
        let shown = self.text();
        if shown.trim().is_empty() {
            return None;
        }
        self.remember(&shown);
        let text = self.expand(&shown);
        self.area = new_area("");
        self.recall = None;
        Some(text)
    }

    /// Puts a text into the history.
    pub fn remember(&mut self, text: &str) {
        if self.history.last().is_none_or(|last| last != text) {
            self.history.push(text.to_owned());
        }
        if self.history.len() > HISTORY {
            self.history.remove(0);
        }
    }

    /// Text from the clipboard: short ones as they are, long ones folded. Line ends become `\n`.
    pub fn paste(&mut self, text: &str) {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let lines = text.lines().count();
        if lines < FOLD_LINES && text.len() < FOLD_BYTES {
            self.area.insert_str(clean(&text));
            return;
        }
        let mut name = format!("[pasted {} lines]", thousands(lines as u64));
        let mut count = 1;
        while self.pastes.iter().any(|(known, kept)| *known == name && *kept != text) {
            count += 1;
            name = format!("[pasted {} lines #{count}]", thousands(lines as u64));
        }
        self.area.insert_str(&name);
        self.pastes.push((name, text));
    }

    pub fn newline(&mut self) {
        self.area.insert_newline();
    }

    /// Any other key.
    pub fn key(&mut self, key: KeyEvent) {
        match (key.code, key.modifiers) {
            (KeyCode::Up, KeyModifiers::NONE) if self.area.cursor().0 == 0 => self.older(),
            (KeyCode::Down, KeyModifiers::NONE) if self.area.cursor().0 + 1 == self.area.lines().len() => {
                self.newer();
            }
            // What shells taught: the widget has undo on Ctrl+U.
            (KeyCode::Char('u'), KeyModifiers::CONTROL) => {
                self.area.delete_line_by_head();
            }
            (KeyCode::Char('z'), KeyModifiers::CONTROL) => {
                self.area.undo();
            }
            (KeyCode::Char('y'), KeyModifiers::CONTROL) => {
                self.area.redo();
            }
            _ => {
                self.area.input(key);
            }
        }
    }

    fn older(&mut self) {
        let at = self.recall.as_ref().map_or(self.history.len(), |recall| recall.0);
        if at == 0 {
            self.area.move_cursor(CursorMove::Head);
            return;
        }
        let draft = self.recall.take().map_or_else(|| self.text(), |recall| recall.1);
        self.recall = Some((at - 1, draft));
        let text = self.history[at - 1].clone();
        self.set(&text);
        // Going on upwards must not first walk through a recalled text's lines.
        self.area.move_cursor(CursorMove::Top);
        self.area.move_cursor(CursorMove::End);
    }

    fn newer(&mut self) {
        let Some((at, draft)) = self.recall.take() else {
            self.area.move_cursor(CursorMove::End);
            return;
        };
        if at + 1 < self.history.len() {
            self.recall = Some((at + 1, draft));
            let text = self.history[at + 1].clone();
            self.set(&text);
        } else {
            self.set(&draft);
        }
    }

    fn expand(&self, shown: &str) -> String {
        let mut text = String::with_capacity(shown.len());
        let mut rest = shown;
        // One pass from the left, so that a placeholder inside a pasted text stays as it is.
        while let Some((at, paste)) = self
            .pastes
            .iter()
            .filter_map(|paste| rest.find(&paste.0).map(|at| (at, paste)))
            .min_by_key(|(at, _)| *at)
        {
            text.push_str(&rest[..at]);
            text.push_str(&paste.1);
            rest = &rest[at + paste.0.len()..];
        }
        text.push_str(rest);
        text
    }
}

fn new_area(text: &str) -> TextArea<'static> {
    let mut area = TextArea::new(text.split('\n').map(str::to_owned).collect());
    area.set_wrap_mode(WrapMode::WordOrGlyph);
    area.set_cursor_line_style(ratatui::style::Style::new());
    // The terminal's own cursor is used: input methods and screen readers look for it.
    area.set_cursor_style(ratatui::style::Style::new());
    area
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(composer: &mut Composer, code: KeyCode) {
        composer.key(KeyEvent::new(code, KeyModifiers::NONE));
    }

    #[test]
    fn long_pastes_are_folded_and_sent_whole() {
        let long = "zeile mit é\n".repeat(10_000);
        let mut composer = Composer::default();
        composer.area.insert_str("look: ");
        composer.paste(&long);
        assert_eq!(composer.text(), "look: [pasted 10,000 lines]");
        composer.area.insert_str(" thanks");
        assert_eq!(composer.take().unwrap(), format!("look: {long} thanks"));
        assert!(composer.is_empty());
    }

    #[test]
    fn a_folded_paste_that_was_put_aside_comes_back_whole() {
        let long = "x\n".repeat(100);
        let mut composer = Composer::default();
        composer.paste(&long);
        composer.put_aside();
        assert!(composer.is_empty());
        press(&mut composer, KeyCode::Up);
        assert_eq!(composer.take().unwrap(), long);
    }

    #[test]
    fn short_pastes_stay_as_they_are() {
        let mut composer = Composer::default();
        composer.paste("à\r\nb\rc");
        assert_eq!(composer.take().unwrap(), "à\nb\nc");
    }

    #[test]
    fn two_different_pastes_keep_apart() {
        let (one, two) = ("a\n".repeat(40), "b\n".repeat(40));
        let mut composer = Composer::default();
        composer.paste(&one);
        composer.paste(&two);
        assert_eq!(composer.text(), "[pasted 40 lines][pasted 40 lines #2]");
        assert_eq!(composer.take().unwrap(), format!("{one}{two}"));
    }

    #[test]
    fn history_keeps_the_draft() {
        let mut composer = Composer::default();
        for text in ["first", "second\nline"] {
            composer.area.insert_str(text);
            composer.take();
        }
        composer.area.insert_str("draft");
        let mut seen = Vec::new();
        for code in [KeyCode::Up, KeyCode::Up, KeyCode::Up, KeyCode::Down, KeyCode::Down] {
            press(&mut composer, code);
            seen.push(composer.text());
        }
        assert_eq!(seen, ["second\nline", "first", "first", "second\nline", "draft"]);
    }
}
