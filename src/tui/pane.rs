//! The panes: which are open, which one has the keys, and where each is scrolled to.
//!
//! Refuses: drawing, and what is in them (`body` reads that from a run).

use std::collections::HashSet;
use std::ops::RangeInclusive;

use crate::layout::{LayoutRequest, PaneKind};
use crate::theme::ColorTheme;
use synthdev_domain::ids::RunId;

pub mod agents;
pub mod bar_text;
pub mod body;
pub mod chart_scale;
pub mod costs;
pub mod data;
pub mod graph;
pub mod graph_card;
pub mod shown_graph;
pub mod timeline;
pub mod timeline_chart;
pub mod tools;

use body::PaneRow;
use graph::GraphPaneState;

/// Panes that stay open beside the conversation; more are never seen at once.
const OPEN: usize = 6;

#[derive(Clone, Debug, Default)]
pub struct PaneSet {
    /// The one opened last at the end.
    pub open_panes: Vec<PaneKind>,
    /// What a narrow screen shows; `None`: the conversation.
    pub front_pane: Option<PaneKind>,
    /// The pane that has the keys; `None`: the input box.
    pub focus: Option<PaneKind>,
    pub zoomed_pane: Option<PaneKind>,
    pub search: Option<PaneSearch>,
    /// What was opened or closed by hand, by the row's key.
    pub toggled_rows: HashSet<String>,
    /// Counts changes of `toggled_rows`.
    pub toggle_count: u64,
    pub graph: GraphPaneState,
    states: [PaneState; 7],
}

/// What is looked for in the pane that has the keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PaneSearch {
    pub search_words: String,
    /// It is still being typed.
    pub is_typing: bool,
    /// Nothing like it was found.
    pub not_found: bool,
}

#[derive(Clone, Debug, Default)]
pub struct PaneState {
    /// The first row on screen.
    pub top_row: usize,
    pub cursor: usize,
    /// Where marked rows begin.
    pub mark_start: Option<usize>,
    /// The cursor was moved off what is new.
    pub cursor_held: bool,
    /// Rows on screen when it was laid out last.
    pub height: usize,
    /// Of the panes whose rows are made all at once.
    pub rows: Vec<PaneRow>,
    /// They are a sentence in the place of rows that are not there.
    pub is_placeholder: bool,
    /// What `rows` were made of.
    pub rows_key: Option<PaneRowsKey>,
}

/// Rows are made again when one of these is another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PaneRowsKey {
    pub run: Option<RunId>,
    pub version: u64,
    /// The end of the budget.
    pub budget: Option<u64>,
    pub columns: usize,
    pub theme: ColorTheme,
    pub toggle_count: u64,
}

impl PaneSearch {
    /// `/words`, with a cursor while it is typed.
    pub fn to_label(&self) -> String {
        let end = match (self.is_typing, self.not_found) {
            (true, _) => "▏",
            (false, true) => " not found",
            (false, false) => "",
        };
        format!("/{}{end}", self.search_words)
    }
}

impl PaneSet {
    pub fn state(&self, pane: PaneKind) -> &PaneState {
        &self.states[pane as usize]
    }

    pub fn state_mut(&mut self, pane: PaneKind) -> &mut PaneState {
        &mut self.states[pane as usize]
    }

    /// Letters go into the words that are looked for.
    pub fn is_search_typed(&self) -> bool {
        self.search.as_ref().is_some_and(|search| search.is_typing)
    }

    pub fn layout_request(&self, panel: bool, graph: bool) -> LayoutRequest<'_> {
        LayoutRequest {
            open_panes: &self.open_panes,
            front_pane: self.front_pane,
            zoomed_pane: self.zoomed_pane,
            panel,
            graph,
        }
    }

    /// Shows a pane and gives it the keys; hides it if it has them already. Switching to the conversation from another
    /// pane goes to the input box, because the user then means to type.
    pub fn show_pane(&mut self, pane: PaneKind) {
        let elsewhere =
            self.front_pane.is_some() || self.focus.is_some_and(|focus| focus != PaneKind::Conversation);
        if pane == PaneKind::Conversation && elsewhere {
            return self.to_conversation();
        }
        if self.focus == Some(pane) {
            return self.hide_pane(pane);
        }
        self.focus_pane(pane);
        if pane != PaneKind::Conversation {
            self.open_panes.retain(|open| *open != pane);
            self.open_panes.push(pane);
            if self.open_panes.len() > OPEN {
                self.open_panes.remove(0);
            }
        }
    }

    fn hide_pane(&mut self, pane: PaneKind) {
        self.open_panes.retain(|open| *open != pane);
        self.focus_input();
        if self.front_pane == Some(pane) {
            self.front_pane = None;
        }
    }

    /// Gives a pane the keys without moving anything; a narrow screen shows it.
    pub fn focus_pane(&mut self, pane: PaneKind) {
        self.clear_marks();
        self.focus = Some(pane);
        self.search = None;
        self.front_pane = (pane != PaneKind::Conversation).then_some(pane);
        if self.zoomed_pane.is_some() {
            self.zoomed_pane = Some(pane);
        }
    }

    /// The input box has the keys again; panes stay where they are.
    pub fn focus_input(&mut self) {
        self.clear_marks();
        (self.focus, self.search, self.zoomed_pane) = (None, None, None);
    }

    fn clear_marks(&mut self) {
        if let Some(pane) = self.focus {
            self.state_mut(pane).mark_start = None;
        }
    }

    /// Shows the conversation again, because it has a new message.
    pub fn to_conversation(&mut self) {
        self.focus_input();
        self.front_pane = None;
    }

    /// The pane that has the keys, else the one in front, over everything; and back.
    pub fn toggle_zoom(&mut self) {
        self.zoomed_pane = match self.zoomed_pane {
            Some(_) => None,
            None => Some(self.focus.or(self.front_pane).unwrap_or(PaneKind::Conversation)),
        };
    }

    pub fn toggle_row(&mut self, key: &str) {
        if !self.toggled_rows.remove(key) {
            self.toggled_rows.insert(key.to_owned());
        }
        self.toggle_count += 1;
    }
}

impl PaneState {
    /// The rows that are meant: those that are marked, else the one of the cursor.
    pub fn chosen_rows(&self) -> RangeInclusive<usize> {
        let from = self.mark_start.unwrap_or(self.cursor);
        from.min(self.cursor)..=from.max(self.cursor)
    }

    /// Puts the cursor on a row and the row on screen.
    pub fn go_to(&mut self, row: usize, len: usize) {
        self.cursor = row.min(len.saturating_sub(1));
        self.cursor_held = self.cursor + 1 < len;
        self.keep_cursor_in_view(len);
    }

    /// After the rows or the height changed: what is new stays in view where it is followed.
    pub fn settle_cursor(&mut self, len: usize, follow: Option<usize>) {
        if let Some(row) = follow.filter(|_| !self.cursor_held) {
            self.cursor = row;
        }
        self.cursor = self.cursor.min(len.saturating_sub(1));
        self.keep_cursor_in_view(len);
    }

    fn keep_cursor_in_view(&mut self, len: usize) {
        let height = self.height.max(1);
        let lowest = (self.cursor + 1).saturating_sub(height);
        self.top_row = self.top_row.clamp(lowest, self.cursor.max(lowest)).min(len.saturating_sub(height));
    }
}
