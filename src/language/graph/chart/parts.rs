//! Boxes, frames and wires of a chart, each with its texts and its place.

use super::super::layout::{ArrowHead, CellRect, CellSize};

/// The boxes and arrows of one workflow.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct GraphChart {
    pub size: CellSize,
    /// A state with branches comes before the states in them.
    pub boxes: Vec<ChartBox>,
    /// Around the states of a branch or a loop.
    pub frames: Vec<ChartFrame>,
    pub wires: Vec<ChartWire>,
}

/// A state.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChartBox {
    /// Its index in the graph.
    pub node: usize,
    pub area: CellRect,
    /// The first one is its name, behind a sign of what it does.
    pub lines: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChartFrame {
    pub area: CellRect,
    pub title: String,
}

/// A way from one state to another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChartWire {
    /// Its index in the graph.
    pub edge: usize,
    /// From the border of a box to the head; see `EdgeRoute`.
    pub points: Vec<(usize, usize)>,
    pub head: ArrowHead,
    pub label: CellRect,
    pub lines: Vec<String>,
    /// The line of its label where numbers of a run are; `None`: there is no room for them.
    pub tally_line: Option<usize>,
    /// It is taken when something went wrong.
    pub is_dashed: bool,
}

impl GraphChart {
    /// The box of a state.
    pub fn box_of_node(&self, node: usize) -> Option<&ChartBox> {
        self.boxes.iter().find(|one| one.node == node)
    }

    /// The state at a cell, the innermost one.
    pub fn node_at(&self, x: usize, y: usize) -> Option<usize> {
        self.boxes.iter().rev().find(|one| one.area.contains(x, y)).map(|one| one.node)
    }
}
