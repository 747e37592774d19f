//! The pane of the graph: which part of the drawing is seen, and which state is chosen.

use crate::run_view::run_graph::{GraphStateRef, RunGraphDrawing};
use synthdev_domain::ids::RunId;
use synthdev_service::definition_views::graph::layout::{CellRect, CellSize};

#[derive(Clone, Debug, Default)]
pub struct GraphPaneState {
    /// The run whose drawing it shows.
    pub run: Option<RunId>,
    /// The state that keys act on.
    pub chosen: Option<GraphStateRef>,
    /// The user chose it: it does not follow the run.
    pub is_held: bool,
    pub names_only: bool,
    /// The card of the chosen state is open.
    pub card_open: bool,
    /// The first line of the card on screen.
    pub card_top: usize,
    /// The first column and row of the drawing on screen.
    pub left: usize,
    pub top: usize,
    /// Of the pane.
    pub size: CellSize,
    /// Where the chosen state is must be on screen with the next frame.
    pub reveals_chosen: bool,
}

impl GraphPaneState {
    /// After the drawing or the pane changed: the chosen state follows the run and is on screen.
    pub fn settle(&mut self, drawing: &RunGraphDrawing) {
        let current = drawing.current_state();
        if !self.is_held && current.is_some() && self.chosen != current {
            (self.chosen, self.reveals_chosen) = (current, true);
        }
        if self.chosen.is_none_or(|chosen| drawing.state_area(chosen).is_none()) {
            self.chosen = drawing.drawn_states().first().copied();
        }
        if std::mem::take(&mut self.reveals_chosen)
            && let Some(area) = self.chosen.and_then(|chosen| drawing.state_area(chosen))
        {
            self.reveal_area(area);
        }
        let size = drawing.size();
        self.left = self.left.min(size.width.saturating_sub(self.size.width));
        self.top = self.top.min(size.height.saturating_sub(self.size.height));
    }

    /// Puts what is not on screen into its middle.
    fn reveal_area(&mut self, area: CellRect) {
        let start = |seen: usize, room: usize, first: usize, length: usize| {
            if first >= seen && first + length <= seen + room {
                seen
            } else {
                (first + length / 2).saturating_sub(room / 2).min(first)
            }
        };
        self.left = start(self.left, self.size.width, area.x, area.width);
        // the line into it is of interest, too
        self.top = start(self.top, self.size.height, area.y.saturating_sub(1), area.height + 2);
    }

    pub fn scroll_rows(&mut self, rows: usize, down: bool, drawing: CellSize) {
        let most = drawing.height.saturating_sub(self.size.height);
        self.top = if down { (self.top + rows).min(most) } else { self.top.saturating_sub(rows) };
        self.is_held = true;
    }
}
