//! The panes: which are open, who has the keys, and where each is scrolled to.
//!
//! Refuses: drawing, and what is in them (`body` reads that from a run).

use std::collections::HashSet;
use std::ops::RangeInclusive;

use crate::layout::{LayoutRequest, PaneKind};
use crate::theme::ColorTheme;
use synthdev_domain::ids::RunId;

pub mod agents;
pub mod body;
pub mod costs;
pub mod data;
pub mod tools;

use body::{PaneGraphLayout, PaneRow};

/// Panes that stay open beside the conversation; more are never seen at once.
const OPEN: usize = 6;

#[derive(Clone, Debug, Default)]
pub struct PaneSet {
    /// The one opened last at the end.
    pub open: Vec<PaneKind>,
    /// What a narrow screen shows; `None`: the conversation.
    pub front: Option<PaneKind>,
    /// Who has the keys; `None`: the input box.
    pub focus: Option<PaneKind>,
    pub zoomed: Option<PaneKind>,
    pub search: Option<PaneSearch>,
    /// What was opened or closed by hand, by the row's key.
    pub toggled: HashSet<String>,
    /// Counts changes of `toggled`.
    pub toggles: u64,
    states: [PaneState; 7],
}

/// What is looked for in the pane that has the keys.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct PaneSearch {
    pub words: String,
    /// It is still being typed.
    pub typing: bool,
    /// Nothing like it was found.
    pub missing: bool,
}

#[derive(Clone, Debug, Default)]
pub struct PaneState {
    /// The first row on screen.
    pub top: usize,
    pub cursor: usize,
    /// Where marked rows begin.
    pub marked: Option<usize>,
    /// The cursor was moved off what is new.
    pub held: bool,
    /// Rows on screen when it was laid out last.
    pub height: usize,
    /// Of the panes whose rows are made all at once.
    pub rows: Vec<PaneRow>,
    /// Of the graph.
    pub looks: PaneGraphLayout,
    /// What `rows` and `looks` were made of.
    pub made_of: Option<PaneRowsKey>,
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
    pub toggles: u64,
}

impl PaneSearch {
    /// `/words`, with a cursor while it is typed.
    pub fn shown(&self) -> String {
        let end = match (self.typing, self.missing) {
            (true, _) => "▏",
            (false, true) => " not found",
            (false, false) => "",
        };
        format!("/{}{end}", self.words)
    }
}

impl PaneSet {
    pub fn state(&self, pane: PaneKind) -> &PaneState {
        &self.states[pane as usize]
    }

    pub fn state_mut(&mut self, pane: PaneKind) -> &mut PaneState {
        &mut self.states[pane as usize]
    }

    pub fn layout_request(&self, panel: bool, graph: bool) -> LayoutRequest<'_> {
        LayoutRequest { open: &self.open, front: self.front, zoomed: self.zoomed, panel, graph }
    }

    /// Shows a pane and gives it the keys; one that has them goes away. From another pane the way back to the
    /// conversation is the way back to the input box: who goes there means to type.
    pub fn show(&mut self, pane: PaneKind) {
        let elsewhere =
            self.front.is_some() || self.focus.is_some_and(|focus| focus != PaneKind::Conversation);
        if pane == PaneKind::Conversation && elsewhere {
            return self.to_conversation();
        }
        if self.focus == Some(pane) {
            return self.hide(pane);
        }
        self.give_keys(pane);
        if pane != PaneKind::Conversation {
            self.open.retain(|open| *open != pane);
            self.open.push(pane);
            if self.open.len() > OPEN {
                self.open.remove(0);
            }
        }
    }

    fn hide(&mut self, pane: PaneKind) {
        self.open.retain(|open| *open != pane);
        self.leave();
        if self.front == Some(pane) {
            self.front = None;
        }
    }

    /// Gives a pane the keys without moving anything; a narrow screen shows it.
    pub fn give_keys(&mut self, pane: PaneKind) {
        self.unmark();
        self.focus = Some(pane);
        self.search = None;
        self.front = (pane != PaneKind::Conversation).then_some(pane);
        if self.zoomed.is_some() {
            self.zoomed = Some(pane);
        }
    }

    /// The input box has the keys again; panes stay where they are.
    pub fn leave(&mut self) {
        self.unmark();
        (self.focus, self.search, self.zoomed) = (None, None, None);
    }

    fn unmark(&mut self) {
        if let Some(pane) = self.focus {
            self.state_mut(pane).marked = None;
        }
    }

    /// The conversation is seen again: something is said in it.
    pub fn to_conversation(&mut self) {
        self.leave();
        self.front = None;
    }

    /// The pane that has the keys, else the one in front, over everything; and back.
    pub fn zoom(&mut self) {
        self.zoomed = match self.zoomed {
            Some(_) => None,
            None => Some(self.focus.or(self.front).unwrap_or(PaneKind::Conversation)),
        };
    }

    pub fn toggle(&mut self, key: &str) {
        if !self.toggled.remove(key) {
            self.toggled.insert(key.to_owned());
        }
        self.toggles += 1;
    }
}

impl PaneState {
    /// The rows that are meant: those that are marked, else the one of the cursor.
    pub fn chosen(&self) -> RangeInclusive<usize> {
        let from = self.marked.unwrap_or(self.cursor);
        from.min(self.cursor)..=from.max(self.cursor)
    }

    /// Puts the cursor on a row and the row on screen.
    pub fn go_to(&mut self, row: usize, len: usize) {
        self.cursor = row.min(len.saturating_sub(1));
        self.held = self.cursor + 1 < len;
        self.keep_in_view(len);
    }

    /// After the rows or the height changed: what is new stays in view where it is followed.
    pub fn settle(&mut self, len: usize, follow: Option<usize>) {
        if let Some(row) = follow.filter(|_| !self.held) {
            self.cursor = row;
        }
        self.cursor = self.cursor.min(len.saturating_sub(1));
        self.keep_in_view(len);
    }

    fn keep_in_view(&mut self, len: usize) {
        let height = self.height.max(1);
        let lowest = (self.cursor + 1).saturating_sub(height);
        self.top = self.top.clamp(lowest, self.cursor.max(lowest)).min(len.saturating_sub(height));
    }
}
