//! The rows of the layers, and the corners of every line.

use std::collections::HashMap;

use super::channels::{ChannelNet, ChannelRows, assign_rows};
use super::columns::CellColumns;
use super::geometry::{ArrowHead, CellRect, CellSize, EdgeRoute, GraphLayout, LayoutInput};
use super::ordering::{CellKind, LayeredCells};
use super::returns::{ReturnPlan, ReturnTrack};

/// Blank columns between a line at the right side and what is left of it.
const RETURN_GAP: isize = 2;

pub(super) fn draw_routes(
    input: &LayoutInput<'_>,
    cells: &LayeredCells,
    columns: &CellColumns,
    returns: ReturnPlan,
) -> GraphLayout {
    let channels = LayerChannels::from_columns(cells, columns, &returns);
    let rows = LayerRows::from_channels(input, cells, &channels, &returns);
    let mut drawing =
        RouteDrawing { input, cells, columns, returns, channels, rows, routes: HashMap::new(), right: 0 };
    for (at, label) in cells.label_cells.iter().enumerate() {
        if let Some(label) = label {
            drawing.draw_down(at, *label);
        }
    }
    drawing.draw_returns();
    drawing.finish()
}

/// The nets between layers: above the first one, then below each.
struct LayerChannels {
    channels: Vec<ChannelRows>,
    /// The net of each link in its channel.
    link_nets: Vec<usize>,
    /// Of each line that leaves a box below it and leads up, below its text.
    exit_nets: Vec<usize>,
    /// Of each column at the right side whose lines reach a box from above.
    entry_nets: Vec<usize>,
}

impl LayerChannels {
    fn from_columns(cells: &LayeredCells, columns: &CellColumns, returns: &ReturnPlan) -> Self {
        let mut nets: Vec<Vec<ChannelNet>> = vec![Vec::new(); cells.layers.len() + 1];
        let mut known: HashMap<(usize, isize), usize> = HashMap::new();
        let mut link_nets = Vec::with_capacity(cells.links.len());
        for (at, link) in cells.links.iter().enumerate() {
            let (channel, bottom) = (&mut nets[cells.cells[link.to].layer], columns.link_bottoms[at]);
            let net = *known.entry((link.to, bottom)).or_insert_with(|| {
                channel.push(ChannelNet { bottom: Some(bottom), ..ChannelNet::default() });
                channel.len() - 1
            });
            channel[net].tops.push(columns.link_tops[at]);
            link_nets.push(net);
        }
        let mut add = |channel: usize, tops: Vec<isize>, bottom: Option<isize>| {
            nets[channel].push(ChannelNet { tops, bottom, reaches_right: true });
            nets[channel].len() - 1
        };
        let (mut exit_nets, mut entry_nets) = (Vec::new(), Vec::new());
        for track in &returns.tracks {
            exit_nets.push(match track.label_cell {
                Some(label) => add(cells.cells[label].layer + 1, vec![columns.lefts[label]], None),
                None => 0,
            });
        }
        for (at, column) in returns.columns.iter().enumerate() {
            entry_nets.push(match column.entry_row {
                Some(_) => 0,
                None => add(cells.cells[column.to].layer, Vec::new(), Some(columns.entries[at])),
            });
        }
        let leftmost = columns.lefts.iter().copied().min().unwrap_or(0);
        let channels = nets.iter().map(|nets| assign_rows(nets, leftmost)).collect();
        Self { channels, link_nets, exit_nets, entry_nets }
    }
}

/// The first row of each layer, its rows, and the first row of each channel.
struct LayerRows {
    tops: Vec<isize>,
    heights: Vec<isize>,
    channel_tops: Vec<isize>,
    end: isize,
}

impl LayerRows {
    fn from_channels(
        input: &LayoutInput<'_>,
        cells: &LayeredCells,
        channels: &LayerChannels,
        returns: &ReturnPlan,
    ) -> Self {
        let height = |cell: &usize| match cells.cells[*cell].kind {
            CellKind::Box(at) => returns.heights[at],
            CellKind::Label(edge) => input.edges[edge].label.height,
            CellKind::Trunk => 1,
        };
        let mut rows = Self { tops: Vec::new(), heights: Vec::new(), channel_tops: vec![0], end: 0 };
        // a head needs a row below what turns above it
        let before_boxes = |count: usize| if count > 0 { count + 1 } else { 0 };
        rows.end += before_boxes(channels.channels[0].count).cast_signed();
        for (at, layer) in cells.layers.iter().enumerate() {
            let most = layer.iter().map(height).max().unwrap_or(0).max(1).cast_signed();
            rows.tops.push(rows.end);
            rows.heights.push(most);
            rows.channel_tops.push(rows.end + most);
            let count = channels.channels[at + 1].count;
            let count = if at % 2 == 1 { before_boxes(count) } else { count };
            rows.end += most + count.cast_signed();
        }
        rows
    }
}

/// A line whose columns may be left of the first one: detours are.
struct SignedRoute {
    points: Vec<(isize, isize)>,
    head: ArrowHead,
    label: (isize, isize),
}

struct RouteDrawing<'a> {
    input: &'a LayoutInput<'a>,
    cells: &'a LayeredCells,
    columns: &'a CellColumns,
    returns: ReturnPlan,
    channels: LayerChannels,
    rows: LayerRows,
    /// By edge.
    routes: HashMap<usize, SignedRoute>,
    /// The first column right of all lines that lead up.
    right: isize,
}

impl RouteDrawing<'_> {
    fn layer(&self, cell: usize) -> usize {
        self.cells.cells[cell].layer
    }

    fn box_top(&self, cell: usize) -> isize {
        self.rows.tops[self.layer(cell)]
    }

    /// The row of its lower border.
    fn box_floor(&self, cell: usize) -> isize {
        self.box_top(cell) + self.returns.heights[cell].cast_signed() - 1
    }

    fn draw_down(&mut self, edge: usize, label_cell: usize) {
        let from = self.input.edges[edge].from;
        let Some(mut link) = self.cells.above[label_cell].first().copied() else { return };
        let mut points = vec![(self.columns.link_tops[link], self.box_floor(from))];
        let label = (self.columns.lefts[label_cell], self.rows.tops[self.layer(label_cell)]);
        let head = loop {
            let to = self.cells.links[link].to;
            let (channel, net) = (self.layer(to), self.channels.link_nets[link]);
            self.add_turn(&mut points, channel, net, self.columns.link_bottoms[link]);
            if matches!(self.cells.cells[to].kind, CellKind::Box(_)) {
                points.push((self.columns.link_bottoms[link], self.box_top(to) - 1));
                break ArrowHead::Down;
            }
            let Some(next) = self.cells.below[to].first() else {
                let last = label.1 + self.input.edges[edge].label.height.max(1).cast_signed() - 1;
                points.extend([(label.0, last), (label.0 + 1, last)]);
                break ArrowHead::Right;
            };
            link = *next;
        };
        self.routes.insert(edge, SignedRoute { points, head, label: (label.0 + 2, label.1) });
    }

    /// The corners of a line between two layers, from the column where it is to another one.
    fn add_turn(&self, points: &mut Vec<(isize, isize)>, channel: usize, net: usize, to: isize) {
        let (first, rows) = (self.rows.channel_tops[channel], self.channels.channels[channel].nets[net]);
        let (Some(row), Some((from, _))) = (rows.row, points.last().copied()) else { return };
        let row = first + row.cast_signed();
        points.push((from, row));
        if let Some((column, second)) = rows.detour {
            let second = first + second.cast_signed();
            points.extend([(column, row), (column, second), (to, second)]);
        } else {
            points.push((to, row));
        }
    }

    fn draw_returns(&mut self) {
        let columns = self.place_returns();
        for (at, track) in self.returns.tracks.clone().into_iter().enumerate() {
            let route = self.return_route(at, &track, columns[track.column]);
            self.routes.insert(track.edge, route);
        }
    }

    /// The columns of the lines that lead up: right of everything that they pass.
    fn place_returns(&mut self) -> Vec<isize> {
        let cells = self.cells;
        let mut rights: Vec<isize> = vec![0; cells.layers.len()];
        for (cell, left) in cells.cells.iter().zip(&self.columns.lefts) {
            rights[cell.layer] = rights[cell.layer].max(left + cell.width);
        }
        for track in &self.returns.tracks {
            let label = self.input.edges[track.edge].label.width.cast_signed();
            if track.exit_row.is_some() && label > 0 {
                let end = self.columns.lefts[track.from] + cells.cells[track.from].width + 1 + label;
                let right = &mut rights[cells.cells[track.from].layer];
                *right = (*right).max(end);
            }
        }
        // first and last half layer, first free column
        let mut placed: Vec<(isize, isize, isize)> = Vec::new();
        let mut found = Vec::new();
        for column in &self.returns.columns {
            let (first, last) = column.passed(cells);
            let layers = first.div_euclid(2)..=(last + 1).div_euclid(2);
            let beside = layers.filter_map(|layer| rights.get(usize::try_from(layer).ok()?)).copied();
            let others = placed.iter().filter(|(from, to, _)| *from <= last && first <= *to);
            let x = beside.chain(others.map(|(_, _, end)| *end)).max().unwrap_or(0) + RETURN_GAP;
            placed.push((first, last, x + 1));
            self.right = self.right.max(x + 1);
            found.push(x);
        }
        found
    }

    fn return_route(&self, at: usize, track: &ReturnTrack, column: isize) -> SignedRoute {
        let border = |cell: usize| self.columns.lefts[cell] + self.cells.cells[cell].width - 1;
        let (mut points, label) = self.return_start(at, track, column);
        let target = self.returns.columns[track.column];
        let head = if let Some(row) = target.entry_row {
            let row = self.box_top(target.to) + row.cast_signed();
            points.extend([(column, row), (border(target.to) + 1, row)]);
            ArrowHead::Left
        } else {
            let entry = self.columns.entries[track.column];
            self.add_turn(&mut points, self.layer(target.to), self.channels.entry_nets[track.column], entry);
            points.push((entry, self.box_top(target.to) - 1));
            ArrowHead::Down
        };
        SignedRoute { points, head, label }
    }

    /// From the box to the column of the line, and the first cell of its text.
    fn return_start(
        &self,
        at: usize,
        track: &ReturnTrack,
        column: isize,
    ) -> (Vec<(isize, isize)>, (isize, isize)) {
        let below = track.label_cell.and_then(|label| Some((label, *self.cells.above[label].first()?)));
        if let Some((label, link)) = below {
            let (layer, left) = (self.layer(label), self.columns.lefts[label]);
            let mut points = vec![(self.columns.link_tops[link], self.box_floor(track.from))];
            self.add_turn(&mut points, layer, self.channels.link_nets[link], left);
            self.add_turn(&mut points, layer + 1, self.channels.exit_nets[at], column);
            return (points, (left + 2, self.rows.tops[layer]));
        }
        let border = self.columns.lefts[track.from] + self.cells.cells[track.from].width - 1;
        let row = self.box_top(track.from) + track.exit_row.unwrap_or(0).cast_signed();
        (vec![(border, row), (column, row)], (border + 2, row + 1))
    }

    /// Everything from the first column on.
    fn finish(mut self) -> GraphLayout {
        let lines = self.routes.values().flat_map(|route| &route.points).map(|point| point.0);
        let shift = -lines.chain(self.columns.lefts.iter().copied()).min().unwrap_or(0);
        let at = |value: isize| usize::try_from(value).unwrap_or(0);
        let boxes: Vec<CellRect> = (0..self.input.boxes.len())
            .map(|cell| CellRect {
                x: at(self.columns.lefts[cell] + shift),
                y: at(self.box_top(cell)),
                width: at(self.cells.cells[cell].width),
                height: self.returns.heights[cell],
            })
            .collect();
        let ends = self.cells.cells.iter().zip(&self.columns.lefts).map(|(cell, left)| left + cell.width);
        let right = ends.max().unwrap_or(0).max(self.right);
        let routes = (0..self.input.edges.len()).map(|edge| {
            let Some(route) = self.routes.remove(&edge) else {
                return EdgeRoute { points: Vec::new(), head: ArrowHead::Down, label: (0, 0) };
            };
            let mut points: Vec<(usize, usize)> =
                route.points.iter().map(|(x, y)| (at(x + shift), at(*y))).collect();
            points.dedup();
            EdgeRoute { points, head: route.head, label: (at(route.label.0 + shift), at(route.label.1)) }
        });
        GraphLayout {
            routes: routes.collect(),
            size: CellSize { width: at(right + shift), height: at(self.rows.end) },
            boxes,
        }
    }
}
