//! From one box to the next with the arrow keys.

use super::parts::{ChartBox, GraphChart};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChartDirection {
    Up,
    Down,
    Left,
    Right,
}

/// A row is about as high as two columns are wide.
const ROW: usize = 2;

impl GraphChart {
    /// The nearest state in a direction; `None`: there is none.
    pub fn next_node(&self, from: usize, direction: ChartDirection) -> Option<usize> {
        let start = self.box_of_node(from)?;
        let found = self.boxes.iter().filter(|one| one.node != from);
        let ahead = found.filter_map(|one| Some((distance_to(start, one, direction)?, one.node)));
        ahead.min().map(|(_, node)| node)
    }
}

/// How far a box is in a direction, sideways steps counted more; `None`: it is not there.
fn distance_to(from: &ChartBox, to: &ChartBox, direction: ChartDirection) -> Option<usize> {
    let middle = |one: &ChartBox| one.area.x + one.area.width / 2;
    let (dx, dy) = (middle(from).abs_diff(middle(to)), from.area.y.abs_diff(to.area.y));
    let is_ahead = match direction {
        ChartDirection::Up => to.area.y < from.area.y,
        ChartDirection::Down => to.area.y > from.area.y,
        ChartDirection::Left => middle(to) < middle(from),
        ChartDirection::Right => middle(to) > middle(from),
    };
    is_ahead.then_some(match direction {
        ChartDirection::Up | ChartDirection::Down => ROW * dy + dx / 2,
        ChartDirection::Left | ChartDirection::Right => dx + 4 * ROW * dy,
    })
}
