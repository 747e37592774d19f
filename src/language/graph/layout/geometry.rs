//! Sizes and places on a grid of cells: what a layout is made of, and what it gives.

use super::layering::GraphLayering;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellSize {
    pub width: usize,
    pub height: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CellRect {
    pub x: usize,
    pub y: usize,
    pub width: usize,
    pub height: usize,
}

impl CellRect {
    pub fn right(&self) -> usize {
        self.x + self.width
    }

    pub fn bottom(&self) -> usize {
        self.y + self.height
    }

    pub fn contains(&self, x: usize, y: usize) -> bool {
        (self.x..self.right()).contains(&x) && (self.y..self.bottom()).contains(&y)
    }

    pub fn intersects(&self, other: &Self) -> bool {
        self.x < other.right() && other.x < self.right() && self.y < other.bottom() && other.y < self.bottom()
    }
}

/// A line from one box to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LayoutEdge {
    pub from: usize,
    pub to: usize,
    /// Room for its text; empty: it has none.
    pub label: CellSize,
}

#[derive(Clone, Copy, Debug)]
pub struct LayoutInput<'a> {
    /// With their borders: at least three cells each way. A box becomes larger where more lines end at it than fit.
    pub boxes: &'a [CellSize],
    pub edges: &'a [LayoutEdge],
    /// Of these boxes and edges.
    pub layering: &'a GraphLayering,
}

/// Which way the head of a line points.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ArrowHead {
    Down,
    Left,
    /// The line ends before a name instead of at a box.
    Right,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeRoute {
    /// Corners from the border of the box where it starts to its head; two that follow share a row or a column.
    pub points: Vec<(usize, usize)>,
    pub head: ArrowHead,
    /// The first cell of its text.
    pub label: (usize, usize),
}

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GraphLayout {
    pub size: CellSize,
    /// As in the input.
    pub boxes: Vec<CellRect>,
    /// As the edges in the input.
    pub routes: Vec<EdgeRoute>,
}
