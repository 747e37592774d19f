//! Text that is selected on the screen with the mouse: cells of one area, from where the button went down to where it is.

use ratatui::layout::{Position, Rect};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MouseSelection {
    /// Nothing outside of it is selected.
    area: Rect,
    start: Position,
    end: Position,
    /// The mouse was moved: a click selects nothing.
    is_dragged: bool,
}

impl MouseSelection {
    /// The button went down there, in the area or beside it.
    pub fn begin(area: Rect, column: u16, row: u16) -> Self {
        let start = nearest_cell(area, column, row);
        Self { area, start, end: start, is_dragged: false }
    }

    /// The mouse is there now.
    pub fn drag_to(&mut self, column: u16, row: u16) {
        self.end = nearest_cell(self.area, column, row);
        self.is_dragged |= self.end != self.start;
    }

    pub fn is_dragged(&self) -> bool {
        self.is_dragged
    }

    /// The left edge of the area.
    pub fn left_edge(&self) -> u16 {
        self.area.x
    }

    /// The selected cells, a row at a time, as text is read.
    pub fn rows(&self) -> Vec<Rect> {
        let is_backwards = (self.end.y, self.end.x) < (self.start.y, self.start.x);
        let (first, last) = if is_backwards { (self.end, self.start) } else { (self.start, self.end) };
        let row = |y: u16| {
            let from = if y == first.y { first.x } else { self.area.x };
            let to = if y == last.y { last.x.saturating_add(1) } else { self.area.right() };
            Rect { x: from, y, width: to.saturating_sub(from), height: 1 }
        };
        (first.y..=last.y).map(row).collect()
    }
}

/// The cell itself, or the nearest one of the area.
fn nearest_cell(area: Rect, column: u16, row: u16) -> Position {
    let inside = |at: u16, from: u16, count: u16| {
        at.clamp(from, from.saturating_add(count).saturating_sub(1).max(from))
    };
    Position { x: inside(column, area.x, area.width), y: inside(row, area.y, area.height) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_selected_as_they_are_read_and_inside_of_the_area() {
        let area = Rect { x: 2, y: 1, width: 10, height: 4 };
        let check = |from: (u16, u16), to: (u16, u16), expected: &[(u16, u16, u16)]| {
            let mut selection = MouseSelection::begin(area, from.0, from.1);
            selection.drag_to(to.0, to.1);
            let rows: Vec<(u16, u16, u16)> =
                selection.rows().iter().map(|row| (row.y, row.x, row.right())).collect();
            assert_eq!(rows, expected, "{from:?} {to:?}");
            assert_eq!(selection.is_dragged(), from != to);
        };
        check((4, 2), (4, 2), &[(2, 4, 5)]);
        check((4, 2), (6, 2), &[(2, 4, 7)]);
        check((6, 2), (4, 2), &[(2, 4, 7)]);
        check((8, 1), (3, 3), &[(1, 8, 12), (2, 2, 12), (3, 2, 4)]);
        check((3, 3), (8, 1), &[(1, 8, 12), (2, 2, 12), (3, 2, 4)]);
        // beyond the edges
        check((4, 2), (99, 99), &[(2, 4, 12), (3, 2, 12), (4, 2, 12)]);
        check((4, 2), (0, 0), &[(1, 2, 12), (2, 2, 5)]);
    }
}
