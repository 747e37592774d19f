//! How far a question was read: its rows at one width, what of them is on screen, and when a yes counts.

use ratatui::text::Line;

use super::{AnswerDraft, AnswerForm, AnswerMeaning, DialogKind, DraftPurpose, EditableCall, QuestionDialog};
use crate::key_guard::guard_ms_left;
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;
use synthdev_domain::question_text::approval_lines;
use synthdev_domain::tool::ToolPreview;

/// How many rows the text has, and how many of them are on screen at once.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RowExtent {
    pub rows: usize,
    pub page: usize,
}

impl RowExtent {
    /// The first row at the end of the text.
    pub fn last_scroll(self) -> usize {
        self.rows.saturating_sub(self.page)
    }
}

/// The rows of the text as they were laid out last: a frame draws the visible ones of them and lays out none.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct QuestionRows {
    columns: usize,
    theme: ColorTheme,
    rows: Vec<Line<'static>>,
}

impl QuestionDialog {
    /// Lays the text out if its width or its look is another one now.
    pub fn lay_out(
        &mut self,
        columns: usize,
        theme: ColorTheme,
        layout: impl FnOnce(&Self) -> Vec<Line<'static>>,
    ) {
        if self.rows.columns != columns || self.rows.theme != theme || self.rows.rows.is_empty() {
            let rows = layout(self);
            self.rows = QuestionRows { columns, theme, rows };
        }
    }

    /// The rows of the text.
    pub fn rows(&self) -> &[Line<'static>] {
        &self.rows.rows
    }

    /// What others wrote in it is Markdown.
    pub fn is_markdown(&self) -> bool {
        self.is_markdown
    }

    /// A frame has room for so many of its rows; `is_covered`: its last row has an answer in place of the text.
    pub fn record_visible_rows(&mut self, extent: RowExtent, is_covered: bool, now: Timestamp) {
        let before = std::mem::replace(&mut self.extent, extent);
        // another width has other rows: the place in the text stays
        if before.rows != extent.rows && before.last_scroll() > 0 {
            let is_at_end = self.scroll >= before.last_scroll();
            self.scroll = if is_at_end { usize::MAX } else { self.scroll * extent.rows / before.rows };
        }
        self.scroll = self.scroll.min(extent.last_scroll());
        self.shown_at.get_or_insert(now);
        self.read_to_end |= extent.page > 0 && self.scroll == extent.last_scroll() && !is_covered;
    }

    /// It has been on screen for too short a time to be read, or not at all; or a text was typed a moment ago.
    pub fn is_fresh(&self, now: Timestamp) -> bool {
        self.guard_ms(now) > 0
    }

    /// For how long no key is taken yet.
    pub fn guard_ms(&self, now: Timestamp) -> i64 {
        guard_ms_left(self.shown_at, self.typed_at, now)
    }

    /// It has been on screen for too short a time to be read, or not at all.
    pub fn is_new(&self, now: Timestamp) -> bool {
        guard_ms_left(self.shown_at, None, now) > 0
    }

    /// A letter came before the question takes keys: it is for the input box, which holds `text`, and may be an answer
    /// that came too early.
    pub fn note_early_letter(&mut self, text: &str, letter: char, at: Timestamp) {
        self.early_text = format!("{text}{letter}");
        self.typed_at = Some(at);
    }

    /// The text is nothing but an answer that came too early, however often.
    pub fn is_early_answer(&self, text: &str) -> bool {
        let early = self.early_text.chars().next().filter(|_| !text.is_empty());
        early.is_some_and(|letter| text.chars().all(|c| c == letter))
    }

    /// Part of the text is above or below the screen.
    pub fn has_overflow(&self) -> bool {
        self.extent.last_scroll() > 0
    }

    /// Rows of the text below the screen.
    pub fn rows_below(&self) -> usize {
        self.extent.last_scroll().saturating_sub(self.scroll)
    }

    /// Scrolls by rows, at most to the ends.
    pub fn scroll_by(&mut self, rows: usize, down: bool) {
        let to = if down { self.scroll.saturating_add(rows) } else { self.scroll.saturating_sub(rows) };
        (self.scroll, self.covers_text) = (to.min(self.extent.last_scroll()), false);
    }

    /// Scrolls to the beginning or the end; bounded while drawing.
    pub fn scroll_to_edge(&mut self, end: bool) {
        (self.scroll, self.covers_text) = (if end { usize::MAX } else { 0 }, false);
    }

    /// Scrolls by the visible rows; one row stays.
    pub fn turn_page(&mut self, down: bool) {
        let step = self.extent.page.saturating_sub(1).max(1);
        let to = if down { self.scroll.saturating_add(step) } else { self.scroll.saturating_sub(step) };
        (self.scroll, self.covers_text) = (to, false);
    }

    /// Up or Down: through the text to its end, then through the answers, and back the same way.
    pub fn step_through(&mut self, down: bool) {
        let count = self.answers().len();
        self.picked.clear();
        if count == 0 || down && self.rows_below() > 0 || !down && self.is_up_for_text() {
            return self.scroll_by(1, down);
        }
        self.choose_beside(down);
    }

    /// The answer behind the chosen one, or before it. They stand in rows beside each other, too.
    pub fn choose_beside(&mut self, forward: bool) {
        let count = self.answers().len();
        self.picked.clear();
        if count == 0 {
            return;
        }
        self.covers_text = true;
        self.selected = Some(match self.selected {
            None if forward => 0,
            None => count - 1,
            Some(at) if forward => (at + 1) % count,
            Some(at) => (at + count - 1) % count,
        });
    }

    /// Home and End: of a text that is longer than its room the edges, else the first or the last answer.
    pub fn go_to_edge(&mut self, end: bool) {
        if self.has_overflow() || self.answers().is_empty() {
            return self.scroll_to_edge(end);
        }
        self.selected = Some(if end { self.answers().len() - 1 } else { 0 });
        self.covers_text = true;
        self.picked.clear();
    }

    /// Up is for a text that is longer than its room, inside of it or where no answer is above the chosen one.
    pub fn is_up_for_text(&self) -> bool {
        self.has_overflow() && (self.rows_below() > 0 || self.selected.is_none_or(|at| at == 0))
    }

    /// A yes before the end of the text was on screen does not count: more of it is shown instead. Whether it was so.
    pub fn scroll_before_yes(&mut self) -> bool {
        if self.read_to_end {
            return false;
        }
        self.turn_page(true);
        // it stays chosen, and the blank behind it shows more
        self.picked.clear();
        self.problem = Some("read to the end first, then answer".to_owned());
        true
    }

    /// Takes what is typed inside of the question; `None`: none of it is the user's own.
    pub fn take_own_words(&mut self) -> Option<AnswerDraft> {
        let call = self.edited_call.as_ref().map(EditableCall::editable_text);
        self.draft.take().filter(|draft| match draft.purpose {
            DraftPurpose::Reason => true,
            DraftPurpose::Rule => false,
            DraftPurpose::Call => call.is_some_and(|call| call != draft.text.expanded_text()),
        })
    }

    /// What is asked may be another call than before: it is read before a key counts.
    pub fn ask_anew(&mut self, now: Option<Timestamp>) {
        (self.draft, self.is_armed, self.covers_text) = (None, false, false);
        (self.shown_at, self.typed_at) = (None, now);
    }

    /// The call was changed: what is asked now is the changed one, from its beginning.
    ///
    /// # Errors
    /// The text is no such call, in one line.
    pub fn accept_edited_text(&mut self, text: &str) -> Result<(), String> {
        let Some(call) = &mut self.edited_call else { return Ok(()) };
        if !call.accept_text(text)? {
            return Ok(());
        }
        if let Some(arguments) = self.edited_call.as_ref().and_then(EditableCall::changed_arguments) {
            let of_server = self
                .server_line
                .as_ref()
                .map(|line| ToolPreview::Text { text: format!("{line}\n\n{arguments:#}") });
            let body = approval_lines(&self.tool, arguments, of_server.as_ref());
            let shows_state = self.body.contains(&self.state_line());
            self.body = body;
            if shows_state {
                self.insert_state_line();
            }
        }
        if !self.title.ends_with(CHANGED) {
            self.title.push_str(CHANGED);
        }
        (self.rows, self.scroll) = (QuestionRows::default(), 0);
        (self.extent, self.read_to_end) = (RowExtent::default(), false);
        Ok(())
    }

    /// The arrows that choose an answer now: the others scroll.
    fn answer_arrows(&self) -> &'static str {
        match (self.rows_below() > 0, self.is_up_for_text()) {
            (true, _) => "",
            (false, true) => "↓",
            (false, false) => "↑↓",
        }
    }

    /// The keys, for the last line.
    pub fn keys(&self) -> &'static str {
        if let Some(draft) = &self.draft {
            return draft.keys(self);
        }
        match &self.kind {
            DialogKind::Write { form, .. } => written_keys(form),
            _ if self.chosen_answer() == Some(AnswerMeaning::Reason) => "Enter, then write the reason",
            _ if !self.picked.is_empty() => "Enter gives this answer · with more letters it is text",
            DialogKind::Choose { .. } | DialogKind::Look { .. } => match self.answer_arrows() {
                "" => "a number, then Enter",
                "↓" => "↓ or a number, then Enter",
                _ => "↑↓ or a number, then Enter",
            },
            _ => match self.answer_arrows() {
                "" => "a letter, then Enter",
                "↓" => "↓ or a letter, then Enter",
                _ => "↑↓ or a letter, then Enter",
            },
        }
    }
}

/// Behind the title of a call that the user has changed.
const CHANGED: &str = " (changed)";

fn written_keys(form: &AnswerForm) -> &'static str {
    match form {
        AnswerForm { draft: Some(true), .. } => {
            "Enter puts what you were writing into the history · then answer"
        }
        AnswerForm { accepts_nothing: true, .. } => "write below · Enter answers, also without one",
        AnswerForm { fields: Some(fields), .. } if fields.is_started() => {
            "write below · Enter the next · Enter alone goes back"
        }
        AnswerForm { default: Some(_), .. } => "write below · Enter answers, empty takes the default",
        _ => "write below · Enter answers",
    }
}
