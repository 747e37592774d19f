//! The column of each cell, and where lines end at the borders of boxes.
//!
//! Layer by layer each cell wants to be where its neighbours are; what is best for a whole layer is found at once
//! (least squares under the distances that must be kept). Then lines are made straight where there is room.

use super::ordering::{CellKind, CellLink, LayeredCells};
use super::returns::ReturnPlan;

/// Sweeps down and up.
const SWEEPS: usize = 5;

#[derive(Clone, Debug, Default)]
pub(super) struct CellColumns {
    /// The first column of each cell.
    pub(super) lefts: Vec<isize>,
    /// Where each link leaves the cell above, and reaches the one below.
    pub(super) link_tops: Vec<isize>,
    pub(super) link_bottoms: Vec<isize>,
    /// Where the lines of each column at the right side reach a box from above.
    pub(super) entries: Vec<isize>,
}

pub(super) fn assign_columns(cells: &mut LayeredCells, returns: &ReturnPlan) -> CellColumns {
    widen_boxes(cells, returns);
    let mut spread = ColumnSpread::from_cells(cells);
    for _ in 0..SWEEPS {
        (1..cells.layers.len()).for_each(|layer| spread.place_layer(layer, true));
        (0..cells.layers.len() - 1).rev().for_each(|layer| spread.place_layer(layer, false));
    }
    (1..cells.layers.len()).for_each(|layer| spread.place_layer(layer, true));
    (1..cells.layers.len()).for_each(|layer| spread.straighten_layer(layer));
    let centers = spread.centers;
    let lefts: Vec<isize> =
        centers.iter().enumerate().map(|(at, center)| center - center_offset(cells, at)).collect();
    assign_ports(cells, returns, lefts)
}

/// Each line that ends above or below a box has a column of its own there.
fn widen_boxes(cells: &mut LayeredCells, returns: &ReturnPlan) {
    let mut ends: Vec<(usize, usize)> =
        cells.above.iter().zip(&cells.below).map(|(above, below)| (above.len(), below.len())).collect();
    for column in &returns.columns {
        ends[column.to].0 += usize::from(column.entry_row.is_none());
    }
    for (cell, (above, below)) in cells.cells.iter_mut().zip(ends) {
        if matches!(cell.kind, CellKind::Box(_)) {
            cell.width = cell.width.max((2 * above.max(below) + 1).cast_signed());
        }
    }
}

/// A box is where its middle is, a line where it runs.
fn center_offset(cells: &LayeredCells, at: usize) -> isize {
    let cell = &cells.cells[at];
    if matches!(cell.kind, CellKind::Box(_)) { cell.width / 2 } else { 0 }
}

struct ColumnSpread<'c> {
    cells: &'c LayeredCells,
    centers: Vec<isize>,
}

impl<'c> ColumnSpread<'c> {
    /// All cells as far left as they can be.
    fn from_cells(cells: &'c LayeredCells) -> Self {
        let mut spread = Self { cells, centers: vec![0; cells.cells.len()] };
        for layer in &cells.layers {
            for pair in layer.windows(2) {
                spread.centers[pair[1]] = spread.centers[pair[0]] + spread.distance(pair[0], pair[1]);
            }
        }
        spread
    }

    /// The least distance of two neighbours.
    fn distance(&self, left: usize, right: usize) -> isize {
        let (one, other) = (&self.cells.cells[left], &self.cells.cells[right]);
        let is_box = |kind| matches!(kind, CellKind::Box(_));
        let gap = match (is_box(one.kind), is_box(other.kind)) {
            (true, true) => 3,
            (false, false) if one.width == 1 => 1,
            _ => 2,
        };
        one.width - center_offset(self.cells, left) + gap + center_offset(self.cells, right)
    }

    fn neighbours(&self, at: usize, above: bool) -> impl Iterator<Item = usize> + '_ {
        let links = if above { &self.cells.above[at] } else { &self.cells.below[at] };
        links.iter().map(move |link| {
            let CellLink { from, to } = self.cells.links[*link];
            if above { from } else { to }
        })
    }

    /// Puts the cells of a layer where their neighbours above, or below, are.
    fn place_layer(&mut self, layer: usize, by_above: bool) {
        let order = &self.cells.layers[layer];
        let mut blocks: Vec<PlacedBlock> = Vec::new();
        let mut shift = 0;
        for (position, at) in order.iter().enumerate() {
            if position > 0 {
                shift += self.distance(order[position - 1], *at);
            }
            let (wanted, weight) = self.wanted_center(*at, by_above);
            let mut block = PlacedBlock { sum: (wanted - shift as f64) * weight, weight, count: 1 };
            while let Some(last) = blocks.pop_if(|last| last.mean() >= block.mean()) {
                block.sum += last.sum;
                block.weight += last.weight;
                block.count += last.count;
            }
            blocks.push(block);
        }
        let means =
            blocks.iter().flat_map(|block| std::iter::repeat_n(block.mean().round() as isize, block.count));
        let mut shift = 0;
        for (position, mean) in means.enumerate() {
            if position > 0 {
                shift += self.distance(order[position - 1], order[position]);
            }
            self.centers[order[position]] = mean + shift;
        }
    }

    /// Where a cell wants to be, and how much.
    fn wanted_center(&self, at: usize, by_above: bool) -> (f64, f64) {
        let kind = self.cells.cells[at].kind;
        let is_trunk = |at: usize| self.cells.cells[at].kind == CellKind::Trunk;
        let (mut sum, mut total) = (0.0, 0.0);
        for other in self.neighbours(at, by_above) {
            let weight = match (kind, is_trunk(other)) {
                (CellKind::Trunk, true) => 8.0,
                (CellKind::Box(_), false) => 1.0,
                _ => 2.0,
            };
            sum += self.centers[other] as f64 * weight;
            total += weight;
        }
        if total == 0.0 { (self.centers[at] as f64, 0.1) } else { (sum / total, total) }
    }

    /// Moves lines of a layer straight below where they come from, as far as their neighbours let them.
    fn straighten_layer(&mut self, layer: usize) {
        let order = &self.cells.layers[layer];
        for (position, at) in order.iter().enumerate() {
            if matches!(self.cells.cells[*at].kind, CellKind::Box(_)) {
                continue;
            }
            let sources: Vec<usize> = self.neighbours(*at, true).collect();
            let trunk = sources.iter().find(|one| self.cells.cells[**one].kind == CellKind::Trunk);
            let Some(source) = trunk.or(sources.first()).copied() else { continue };
            let center = self.centers[*at];
            let wanted = match self.cells.cells[source].kind {
                CellKind::Box(_) => {
                    let left = self.centers[source] - center_offset(self.cells, source);
                    center.clamp(left + 1, left + self.cells.cells[source].width - 2)
                }
                CellKind::Label(_) | CellKind::Trunk => self.centers[source],
            };
            let least = position
                .checked_sub(1)
                .map(|before| self.centers[order[before]] + self.distance(order[before], *at));
            let most = order.get(position + 1).map(|next| self.centers[*next] - self.distance(*at, *next));
            self.centers[*at] = wanted.max(least.unwrap_or(isize::MIN)).min(most.unwrap_or(isize::MAX));
        }
    }
}

/// Cells that touch each other, by the mean of where they want to be.
#[derive(Clone, Copy)]
struct PlacedBlock {
    sum: f64,
    weight: f64,
    count: usize,
}

impl PlacedBlock {
    fn mean(&self) -> f64 {
        self.sum / self.weight
    }
}

fn assign_ports(cells: &LayeredCells, returns: &ReturnPlan, lefts: Vec<isize>) -> CellColumns {
    let mut columns = CellColumns {
        link_tops: cells.links.iter().map(|link| lefts[link.from]).collect(),
        link_bottoms: cells.links.iter().map(|link| lefts[link.to]).collect(),
        entries: vec![0; returns.columns.len()],
        lefts,
    };
    let mut entries = vec![Vec::new(); cells.cells.len()];
    for (at, column) in returns.columns.iter().enumerate().filter(|(_, column)| column.entry_row.is_none()) {
        entries[column.to].push(at);
    }
    for (at, cell) in cells.cells.iter().enumerate() {
        if !matches!(cell.kind, CellKind::Box(_)) {
            continue;
        }
        let (first, last) = (columns.lefts[at] + 1, columns.lefts[at] + cell.width - 2);
        let mut below = cells.below[at].clone();
        below.sort_by_key(|link| cells.cells[cells.links[*link].to].position);
        let mut above = cells.above[at].clone();
        above.sort_by_key(|link| cells.cells[cells.links[*link].from].position);
        let wanted: Vec<isize> = below.iter().map(|link| columns.link_bottoms[*link]).collect();
        let ports = spread_ports(&wanted, first, last);
        for (link, port) in below.iter().zip(&ports) {
            columns.link_tops[*link] = *port;
        }
        // lines that lead up come from the right side: they are last
        let right = std::iter::repeat_n(last, entries[at].len());
        let wanted: Vec<isize> = above.iter().map(|link| columns.link_tops[*link]).chain(right).collect();
        let ports = spread_ports(&wanted, first, last);
        for (link, port) in above.iter().zip(&ports) {
            columns.link_bottoms[*link] = *port;
        }
        for (column, port) in entries[at].iter().zip(&ports[above.len()..]) {
            columns.entries[*column] = *port;
        }
    }
    columns
}

/// Columns between `first` and `last`, two apart at least, near the wanted ones and in their order.
fn spread_ports(wanted: &[isize], first: isize, last: isize) -> Vec<isize> {
    let mut ports: Vec<isize> = Vec::with_capacity(wanted.len());
    for want in wanted {
        let least = ports.last().map_or(first, |before| before + 2);
        ports.push((*want).max(least));
    }
    let mut most = last;
    for port in ports.iter_mut().rev() {
        *port = (*port).min(most);
        most = *port - 2;
    }
    ports
}
