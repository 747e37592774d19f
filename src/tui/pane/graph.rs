//! The pane of the graph: which part of the drawing is seen, and which state is chosen.

use crate::run_view::run_graph::{GraphStateRef, RunGraphDrawing};
use synthdev_domain::ids::RunId;
use synthdev_service::definition_views::graph::chart::ChartDirection;
use synthdev_service::definition_views::graph::layout::{CellRect, CellSize};

/// Columns that a key moves the drawing.
const SIDEWAYS: usize = 8;
/// Columns that one step of a wheel moves it.
pub const WHEEL_COLUMNS: usize = 4;

/// What is changed about the part of the drawing that is seen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GraphStep {
    /// The next state in a direction.
    Choose(ChartDirection),
    Page {
        down: bool,
    },
    Sideways {
        right: bool,
    },
    /// The first state, or where the run is.
    Edge {
        last: bool,
    },
    ToggleCard,
    ToggleNames,
    CloseCard,
}

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

    pub fn scroll_columns(&mut self, columns: usize, right: bool, drawing: CellSize) {
        let most = drawing.width.saturating_sub(self.size.width);
        self.left = if right { (self.left + columns).min(most) } else { self.left.saturating_sub(columns) };
        self.is_held = true;
    }

    /// `card_length`: lines of the open card.
    pub fn apply_step(&mut self, step: GraphStep, drawing: &RunGraphDrawing, card_length: usize) {
        match step {
            GraphStep::Choose(direction) => self.choose_next(drawing, direction),
            GraphStep::Page { down } => self.scroll_page(drawing.size(), card_length, down),
            GraphStep::Sideways { right } => self.scroll_columns(SIDEWAYS, right, drawing.size()),
            GraphStep::Edge { last } => self.go_to_edge(drawing, last),
            GraphStep::ToggleCard => {
                (self.card_open, self.card_top) = (!self.card_open, 0);
                self.is_held |= self.card_open;
            }
            GraphStep::ToggleNames => {
                self.names_only = !self.names_only;
                (self.left, self.top, self.reveals_chosen) = (0, 0, true);
            }
            GraphStep::CloseCard => self.card_open = false,
        }
    }

    fn choose_next(&mut self, drawing: &RunGraphDrawing, direction: ChartDirection) {
        let from = self.chosen.or_else(|| drawing.drawn_states().first().copied());
        let next = from.and_then(|from| drawing.next_state(from, direction));
        if let Some(next) = next.or(from) {
            self.choose_state(next);
        }
    }

    pub fn choose_state(&mut self, at: GraphStateRef) {
        if self.chosen != Some(at) {
            self.card_top = 0;
        }
        (self.chosen, self.is_held, self.reveals_chosen) = (Some(at), true, true);
    }

    /// To the first state, or to where the run is: the graph follows the run, not its last line.
    pub fn go_to_edge(&mut self, drawing: &RunGraphDrawing, last: bool) {
        if last {
            let last_drawn = || drawing.drawn_states().last().copied();
            self.chosen = drawing.current_state().or_else(last_drawn);
            (self.is_held, self.reveals_chosen) = (false, true);
        } else if let Some(first) = drawing.drawn_states().first().copied() {
            self.choose_state(first);
        }
    }

    fn scroll_page(&mut self, drawing: CellSize, card_length: usize, down: bool) {
        let rows = self.size.height.saturating_sub(1).max(1);
        if !self.card_open {
            return self.scroll_rows(rows, down, drawing);
        }
        let step = (rows / 3).max(1);
        self.card_top = if down {
            (self.card_top + step).min(card_length.saturating_sub(1))
        } else {
            self.card_top.saturating_sub(step)
        };
    }

    /// A click on a cell of the pane chooses the state below it; on the chosen one it opens the card.
    pub fn click_cell(&mut self, drawing: &RunGraphDrawing, column: usize, row: usize) {
        let Some(found) = drawing.state_at(self.left + column, self.top + row) else { return };
        self.card_open = self.chosen == Some(found) && self.is_held;
        self.choose_state(found);
    }

    /// Chooses the next state whose name, description or transitions hold the words, which are in lower case.
    pub fn find_state(
        &mut self,
        drawing: &RunGraphDrawing,
        words: &str,
        down: bool,
        includes_chosen: bool,
    ) -> bool {
        let states = drawing.drawn_states();
        let count = states.len();
        let start = states.iter().position(|state| Some(*state) == self.chosen).unwrap_or(0);
        let holds = |at: GraphStateRef| {
            let Some((graph, node)) = drawing.graph(at.workflow).zip(drawing.node(at)) else { return false };
            let labels = graph.outgoing_edges(at.node).map(|edge| edge.label.as_str());
            let mut texts = [node.name.as_str(), node.about.as_str()].into_iter().chain(labels);
            texts.any(|text| text.to_lowercase().contains(words))
        };
        let first = usize::from(!includes_chosen);
        let mut order = (first..count + first).map(|step| {
            states[if down { (start + step) % count } else { (start + 2 * count - step) % count }]
        });
        let found = order.find(|state| holds(*state));
        found.inspect(|found| self.choose_state(*found)).is_some()
    }
}
