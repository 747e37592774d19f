//! The cells of each layer and their order from left to right. Boxes are in even layers, labels in odd ones; a line
//! that passes a layer has a cell there, which all lines to one box share.

use std::collections::HashMap;

use super::geometry::{LayoutEdge, LayoutInput};
use super::layering::EdgeCourse;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CellKind {
    Box(usize),
    /// Of an edge.
    Label(usize),
    /// A line to a box farther down.
    Trunk,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct LayerCell {
    pub(super) kind: CellKind,
    pub(super) layer: usize,
    pub(super) width: isize,
    /// In its layer, from the left.
    pub(super) position: usize,
}

/// A part of a line between two layers that follow each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct CellLink {
    pub(super) from: usize,
    pub(super) to: usize,
}

#[derive(Clone, Debug, Default)]
pub(super) struct LayeredCells {
    pub(super) cells: Vec<LayerCell>,
    /// From left to right.
    pub(super) layers: Vec<Vec<usize>>,
    pub(super) links: Vec<CellLink>,
    /// Links of a cell to the layer below, and from the layer above.
    pub(super) below: Vec<Vec<usize>>,
    pub(super) above: Vec<Vec<usize>>,
    /// The label's cell of an edge; `None`: it has no cells.
    pub(super) label_cells: Vec<Option<usize>>,
}

impl LayeredCells {
    /// The first cells are the boxes, in their order.
    pub(super) fn from_input(input: &LayoutInput<'_>) -> Self {
        let deepest = input.layering.layers.iter().copied().max().unwrap_or(0);
        let mut cells = Self { layers: vec![Vec::new(); 2 * deepest + 1], ..Self::default() };
        for (at, size) in input.boxes.iter().enumerate() {
            cells.add_cell(CellKind::Box(at), 2 * input.layering.layers[at], size.width);
        }
        let mut trunks = HashMap::new();
        for (at, (edge, course)) in input.edges.iter().zip(&input.layering.courses).enumerate() {
            let label = cells.add_edge(at, edge, *course, input, &mut trunks);
            cells.label_cells.push(label);
        }
        cells.order_as_met();
        cells
    }

    fn add_cell(&mut self, kind: CellKind, layer: usize, width: usize) -> usize {
        let position = self.layers[layer].len();
        let at = self.cells.len();
        self.cells.push(LayerCell { kind, layer, width: width.cast_signed(), position });
        self.layers[layer].push(at);
        self.below.push(Vec::new());
        self.above.push(Vec::new());
        at
    }

    fn add_link(&mut self, from: usize, to: usize) {
        let at = self.links.len();
        self.links.push(CellLink { from, to });
        self.below[from].push(at);
        self.above[to].push(at);
    }

    fn add_edge(
        &mut self,
        at: usize,
        edge: &LayoutEdge,
        course: EdgeCourse,
        input: &LayoutInput<'_>,
        trunks: &mut HashMap<(usize, usize), usize>,
    ) -> Option<usize> {
        if matches!(course, EdgeCourse::Return | EdgeCourse::Loop) {
            return None;
        }
        let label = self.add_label(at, edge);
        let layer = self.cells[label].layer;
        if course == EdgeCourse::Reference {
            return Some(label);
        }
        let mut last = label;
        for passed in layer + 1..2 * input.layering.layers[edge.to] {
            if let Some(trunk) = trunks.get(&(edge.to, passed)) {
                self.add_link(last, *trunk);
                return Some(label);
            }
            let trunk = self.add_cell(CellKind::Trunk, passed, 1);
            trunks.insert((edge.to, passed), trunk);
            self.add_link(last, trunk);
            last = trunk;
        }
        self.add_link(last, edge.to);
        Some(label)
    }

    /// In the layer below the box that the edge leaves.
    fn add_label(&mut self, at: usize, edge: &LayoutEdge) -> usize {
        let layer = self.cells[edge.from].layer + 1;
        if layer >= self.layers.len() {
            self.layers.push(Vec::new());
        }
        let width = if edge.label.width == 0 { 1 } else { edge.label.width + 2 };
        let label = self.add_cell(CellKind::Label(at), layer, width);
        self.add_link(edge.from, label);
        label
    }

    /// The label of an edge that leads up, right of what comes from its box and from boxes left of it.
    pub(super) fn add_return_label(&mut self, edge: usize, from: usize, input: &LayoutInput<'_>) -> usize {
        let label = self.add_label(edge, &input.edges[edge]);
        let layer = self.cells[label].layer;
        let mut order: Vec<usize> =
            self.layers[layer].iter().copied().filter(|cell| *cell != label).collect();
        let own = self.cells[from].position * 1_000;
        let before = order.iter().rposition(|cell| self.mean_position(*cell, true) <= own);
        order.insert(before.map_or(0, |before| before + 1), label);
        self.set_order(layer, order);
        label
    }

    /// Each layer in the order in which the one above leads to it.
    fn order_as_met(&mut self) {
        for layer in 1..self.layers.len() {
            let mut rank: HashMap<usize, usize> = HashMap::new();
            for cell in &self.layers[layer - 1] {
                for link in &self.below[*cell] {
                    let next = rank.len();
                    rank.entry(self.links[*link].to).or_insert(next);
                }
            }
            let mut order = self.layers[layer].clone();
            order.sort_by_key(|cell| rank.get(cell).copied().unwrap_or(usize::MAX));
            self.set_order(layer, order);
        }
    }

    fn set_order(&mut self, layer: usize, order: Vec<usize>) {
        for (position, cell) in order.iter().enumerate() {
            self.cells[*cell].position = position;
        }
        self.layers[layer] = order;
    }

    /// Moves cells to the middle of their neighbours, down and up again, and keeps the order with the fewest crossings.
    pub(super) fn reduce_crossings(&mut self) {
        let sweeps = if self.cells.len() > 20_000 { 2 } else { 8 };
        let mut best = (self.count_crossings(), self.layers.clone());
        for sweep in 0..sweeps {
            if best.0 == 0 {
                break;
            }
            let down = sweep % 2 == 0;
            let count = self.layers.len();
            for step in 1..count {
                self.sort_layer(if down { step } else { count - 1 - step }, down);
            }
            let crossings = self.count_crossings();
            if crossings < best.0 {
                best = (crossings, self.layers.clone());
            }
        }
        for (layer, order) in best.1.into_iter().enumerate() {
            self.set_order(layer, order);
        }
    }

    fn sort_layer(&mut self, layer: usize, by_above: bool) {
        let mut order: Vec<(usize, usize)> =
            self.layers[layer].iter().map(|cell| (self.mean_position(*cell, by_above), *cell)).collect();
        order.sort_by_key(|(mean, _)| *mean);
        self.set_order(layer, order.into_iter().map(|(_, cell)| cell).collect());
    }

    /// The mean place of the neighbours, in thousandths; without any, its own.
    fn mean_position(&self, cell: usize, by_above: bool) -> usize {
        let links = if by_above { &self.above[cell] } else { &self.below[cell] };
        if links.is_empty() {
            return self.cells[cell].position * 1_000;
        }
        let neighbour = |link: &usize| {
            let link = self.links[*link];
            self.cells[if by_above { link.from } else { link.to }].position
        };
        links.iter().map(neighbour).sum::<usize>() * 1_000 / links.len()
    }

    fn count_crossings(&self) -> usize {
        self.layers.iter().map(|layer| self.crossings_below(layer)).sum()
    }

    /// Inversions of the links from a layer to the next, counted with a tree of sums.
    fn crossings_below(&self, layer: &[usize]) -> usize {
        let mut ends: Vec<usize> = Vec::new();
        for cell in layer {
            let start = ends.len();
            ends.extend(self.below[*cell].iter().map(|link| self.cells[self.links[*link].to].position));
            ends[start..].sort_unstable();
        }
        let size = ends.iter().max().map_or(0, |most| most + 1);
        let mut sums = vec![0_usize; size + 1];
        let mut crossings = 0;
        for (before, end) in ends.iter().enumerate() {
            let mut at = end + 1;
            let mut not_right = 0;
            while at > 0 {
                not_right += sums[at];
                at &= at - 1;
            }
            crossings += before - not_right;
            let mut at = end + 1;
            while at <= size {
                sums[at] += 1;
                at += at & at.wrapping_neg();
            }
        }
        crossings
    }

    /// Nothing is to the right of it in its layer.
    pub(super) fn is_last(&self, cell: usize) -> bool {
        let cell = &self.cells[cell];
        cell.position + 1 == self.layers[cell.layer].len()
    }
}
