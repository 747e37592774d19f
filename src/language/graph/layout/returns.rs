//! Lines that lead up, and those from a box to itself: they run in columns at the right side.
//!
//! Where nothing is to the right of a box, they leave it at its right border, with their text below them; all of these
//! that lead to one box share a column. From any other box they leave below, with their text in the layer below as that
//! of lines that lead down, and go to a column of their own from there. They reach a box at its right border, else from
//! above.

use std::collections::{BTreeMap, HashMap};

use super::geometry::LayoutInput;
use super::layering::EdgeCourse;
use super::ordering::LayeredCells;

#[derive(Clone, Copy, Debug)]
pub(super) struct ReturnTrack {
    pub(super) edge: usize,
    pub(super) from: usize,
    /// The row of the box, counted from its border, at which it starts; `None`: below it.
    pub(super) exit_row: Option<usize>,
    /// The cell of its text in the layer below the box; `None`: it starts at the side of the box.
    pub(super) label_cell: Option<usize>,
    /// Position among the columns.
    pub(super) column: usize,
}

/// A column at the right side.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReturnColumn {
    /// The box that all of its lines lead to.
    pub(super) to: usize,
    /// The row of that box at which they reach it; `None`: above it.
    pub(super) entry_row: Option<usize>,
    /// The lowest box that it starts at.
    from: usize,
    starts_below: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ReturnPlan {
    pub(super) tracks: Vec<ReturnTrack>,
    /// Short ones first: they are nearest to the boxes.
    pub(super) columns: Vec<ReturnColumn>,
    /// Of each box, with room for what starts and ends at its side.
    pub(super) heights: Vec<usize>,
}

impl ReturnColumn {
    /// What it passes, in half layers: layer `n` is `2 n`, the rows below it are `2 n + 1`. What starts below a box goes
    /// to its column below the layer of its text.
    pub(super) fn passed(&self, cells: &LayeredCells) -> (isize, isize) {
        let half = |cell: usize| 2 * cells.cells[cell].layer.cast_signed();
        let first = half(self.to) - isize::from(self.entry_row.is_none());
        (first, half(self.from) + if self.starts_below { 3 } else { 0 })
    }
}

/// What is at the side of a box, from the top: lines that lead away, those of near columns first; loops; heads, those
/// of far columns first. So none of them crosses another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SideEnd {
    Exit { column: usize, track: usize },
    Loop { track: usize },
    Entry { from_last: usize, column: usize },
}

impl ReturnPlan {
    /// Adds a cell for the text of each line that leaves a box below it.
    pub(super) fn from_cells(cells: &mut LayeredCells, input: &LayoutInput<'_>) -> Self {
        let heights = input.boxes.iter().map(|size| size.height).collect();
        let mut plan = Self { heights, ..Self::default() };
        // by target, and by edge where the column is its own
        let mut groups: BTreeMap<(usize, Option<usize>), Vec<usize>> = BTreeMap::new();
        for (at, (edge, course)) in input.edges.iter().zip(&input.layering.courses).enumerate() {
            if matches!(course, EdgeCourse::Return | EdgeCourse::Loop) {
                let own = (!cells.is_last(edge.from)).then_some(at);
                groups.entry((edge.to, own)).or_default().push(at);
            }
        }
        let layer = |cell: usize| cells.cells[cell].layer;
        let mut groups: Vec<(usize, usize, Vec<usize>)> = groups
            .into_iter()
            .map(|((to, _), edges)| {
                let lowest = edges.iter().map(|edge| layer(input.edges[*edge].from)).max();
                (lowest.unwrap_or(0) - layer(to), to, edges)
            })
            .collect();
        groups.sort();
        for (column, (_, to, edges)) in groups.into_iter().enumerate() {
            let from = |edge: &usize| input.edges[*edge].from;
            let lowest = edges.iter().map(from).max_by_key(|from| layer(*from)).unwrap_or(to);
            let starts_below = !cells.is_last(lowest);
            plan.columns.push(ReturnColumn { to, entry_row: None, from: lowest, starts_below });
            plan.tracks.extend(edges.iter().map(|edge| ReturnTrack {
                edge: *edge,
                from: from(edge),
                exit_row: None,
                label_cell: None,
                column,
            }));
        }
        plan.assign_side_rows(cells, input);
        for track in plan.tracks.iter_mut().filter(|track| track.exit_row.is_none()) {
            track.label_cell = Some(cells.add_return_label(track.edge, track.from, input));
        }
        plan
    }

    fn assign_side_rows(&mut self, cells: &LayeredCells, input: &LayoutInput<'_>) {
        let mut ends: HashMap<usize, Vec<SideEnd>> = HashMap::new();
        for (at, track) in self.tracks.iter().enumerate().filter(|(_, track)| cells.is_last(track.from)) {
            let is_loop = self.columns[track.column].to == track.from;
            let end = if is_loop {
                SideEnd::Loop { track: at }
            } else {
                SideEnd::Exit { column: track.column, track: at }
            };
            ends.entry(track.from).or_default().push(end);
        }
        for (at, column) in self.columns.iter().enumerate().filter(|(_, column)| cells.is_last(column.to)) {
            let end = SideEnd::Entry { from_last: self.columns.len() - at, column: at };
            ends.entry(column.to).or_default().push(end);
        }
        for (cell, mut list) in ends {
            list.sort();
            let mut row = 1;
            for end in list {
                match end {
                    SideEnd::Exit { track, .. } | SideEnd::Loop { track } => {
                        self.tracks[track].exit_row = Some(row);
                        let label = input.edges[self.tracks[track].edge].label.height;
                        // the text may be beside the lower border, the line may not
                        self.heights[cell] = self.heights[cell].max(row + 1 + label.max(1));
                        row += 1 + label;
                    }
                    SideEnd::Entry { column, .. } => {
                        self.columns[column].entry_row = Some(row);
                        self.heights[cell] = self.heights[cell].max(row + 2);
                        row += 1;
                    }
                }
            }
        }
    }
}
