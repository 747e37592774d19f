//! A part of a chart with characters: only what is in the window is drawn, however large the chart is.

use std::collections::HashMap;

use unicode_width::UnicodeWidthStr;

use super::super::layout::{ArrowHead, CellRect};
use super::super::model::{GraphVisitStatus, GraphVisitTally, WorkflowGraph};
use super::super::terminal::{GraphTone, tally_text};
use super::parts::{ChartBox, ChartFrame, ChartWire, GraphChart};
use super::text_cells::{cut_with_ellipsis, text_columns, text_signs};

/// What a part of a line is; how that looks is for the front-end to say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ChartStyle {
    pub tone: GraphTone,
    /// The state where the run is.
    pub is_filled: bool,
    /// The state that was chosen.
    pub is_chosen: bool,
    /// The sign of an agent, by the number that the front-end gave it.
    pub agent: Option<usize>,
}

impl ChartStyle {
    fn from_tone(tone: GraphTone) -> Self {
        Self { tone, is_filled: false, is_chosen: false, agent: None }
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChartSpan {
    pub text: String,
    pub style: ChartStyle,
}

/// A line of the window; what is blank at its end is left out.
pub type ChartLine = Vec<ChartSpan>;

/// What is drawn, and what is marked in it.
pub struct ChartView<'a> {
    /// The one of the chart, with other marks of a run on it perhaps.
    pub graph: &'a WorkflowGraph,
    pub chart: &'a GraphChart,
    pub chosen: Option<usize>,
    /// States before which a run stops.
    pub has_breakpoint: &'a dyn Fn(usize) -> bool,
    /// The sign of the agent of a state, one column wide, and the agent's number; `None`: the sign of the state's kind.
    pub agent_sign: &'a dyn Fn(usize) -> Option<(&'static str, usize)>,
}

const UP: u8 = 1;
const DOWN: u8 = 2;
const LEFT: u8 = 4;
const RIGHT: u8 = 8;

/// By the directions in which a line leaves a cell.
const LINES: [char; 16] = [' ', '╵', '╷', '│', '╴', '╯', '╮', '┤', '╶', '╰', '╭', '├', '─', '┴', '┬', '┼'];

#[derive(Clone, Copy)]
struct PaintedCell {
    /// A sign of one or two columns; `'\0'`: the second half of one, or the place of a longer one.
    sign: char,
    lines: u8,
    is_dashed: bool,
    style: ChartStyle,
}

struct WindowCanvas {
    area: CellRect,
    cells: Vec<PaintedCell>,
    /// Signs of several characters.
    joined: HashMap<usize, String>,
}

impl ChartView<'_> {
    /// The whole chart.
    pub fn all_lines(&self) -> Vec<ChartLine> {
        let size = self.chart.size;
        self.window_lines(CellRect { x: 0, y: 0, width: size.width, height: size.height })
    }

    /// The lines of a part of the chart.
    pub fn window_lines(&self, area: CellRect) -> Vec<ChartLine> {
        if area.width == 0 {
            return vec![ChartLine::new(); area.height];
        }
        let blank = PaintedCell {
            sign: ' ',
            lines: 0,
            is_dashed: false,
            style: ChartStyle::from_tone(GraphTone::Plain),
        };
        let mut canvas =
            WindowCanvas { area, cells: vec![blank; area.width * area.height], joined: HashMap::new() };
        for frame in self.chart.frames.iter().filter(|frame| frame.area.intersects(&area)) {
            self.paint_frame(frame, &mut canvas);
        }
        let boxes = || self.chart.boxes.iter().filter(|one| one.area.intersects(&area));
        boxes().for_each(|one| self.paint_border(one, &mut canvas));
        for wire in &self.chart.wires {
            self.paint_wire(wire, &mut canvas);
        }
        boxes().for_each(|one| self.paint_text(one, &mut canvas));
        canvas.into_lines()
    }

    fn paint_frame(&self, frame: &ChartFrame, canvas: &mut WindowCanvas) {
        let style = ChartStyle::from_tone(GraphTone::Dim);
        canvas.draw_border(frame.area, style);
        canvas.put_text(frame.area.x + 2, frame.area.y, &format!(" {} ", frame.title), style);
    }

    fn node_style(&self, node: usize) -> ChartStyle {
        let found = self.graph.nodes.get(node);
        let standing = found.and_then(|node| node.tally).map(|tally| tally.standing);
        let tone = match standing {
            Some(GraphVisitStatus::Current) => GraphTone::Current,
            Some(GraphVisitStatus::Done) => GraphTone::Done,
            Some(GraphVisitStatus::Untouched) => GraphTone::Plain,
            None if found.is_some_and(|node| !node.reachable) => GraphTone::Dim,
            None => GraphTone::Plain,
        };
        let is_filled = standing == Some(GraphVisitStatus::Current);
        ChartStyle { is_filled, is_chosen: self.chosen == Some(node), ..ChartStyle::from_tone(tone) }
    }

    fn paint_border(&self, one: &ChartBox, canvas: &mut WindowCanvas) {
        let style = self.node_style(one.node);
        if self.is_innermost(one) {
            canvas.fill_area(one.area, style);
        }
        canvas.draw_border(one.area, style);
        let tally = self.graph.nodes.get(one.node).and_then(|node| node.tally);
        let room = one.area.width.saturating_sub(4);
        if let Some(text) = fitting_tally(tally.as_ref(), room.saturating_sub(1)) {
            let text = format!(" {text} ");
            let x = one.area.right().saturating_sub(text_columns(&text) + 1);
            canvas.put_text(x, one.area.y, &text, style);
        }
        if (self.has_breakpoint)(one.node) {
            let style = ChartStyle { tone: GraphTone::Breakpoint, ..style };
            canvas.put_text(one.area.x + 1, one.area.y, "●", style);
        }
    }

    /// No other state is in it.
    fn is_innermost(&self, one: &ChartBox) -> bool {
        self.graph.bodies(one.node).next().is_none()
    }

    fn paint_text(&self, one: &ChartBox, canvas: &mut WindowCanvas) {
        let style = self.node_style(one.node);
        let (x, y) = (one.area.x + 2, one.area.y + 1);
        for (row, line) in one.lines.iter().enumerate() {
            let tone = match (row, style.tone) {
                (1.., GraphTone::Plain | GraphTone::Done) => GraphTone::Dim,
                (_, tone) => tone,
            };
            canvas.put_text(x, y + row, line, ChartStyle { tone, ..style });
        }
        if let Some((sign, agent)) = (self.agent_sign)(one.node) {
            canvas.put_text(x, y, sign, ChartStyle { agent: Some(agent), ..style });
        }
        if style.tone == GraphTone::Current {
            canvas.put_text(x - 1, y, "▶", style);
        } else if style.is_chosen {
            canvas.put_text(x - 1, y, "▸", style);
        }
    }

    fn paint_wire(&self, wire: &ChartWire, canvas: &mut WindowCanvas) {
        let tally = self.graph.edges.get(wire.edge).and_then(|edge| edge.tally);
        let tone = match tally.map(|tally| tally.standing) {
            Some(GraphVisitStatus::Untouched) => GraphTone::Dim,
            Some(GraphVisitStatus::Done | GraphVisitStatus::Current) => GraphTone::Done,
            None => GraphTone::Edge,
        };
        let style = ChartStyle::from_tone(tone);
        for pair in wire.points.windows(2) {
            canvas.draw_line(pair[0], pair[1], style, wire.is_dashed);
        }
        if let Some((x, y)) = wire.points.last() {
            let head = match wire.head {
                ArrowHead::Down => "▼",
                ArrowHead::Left => "◀",
                ArrowHead::Right => "▸",
            };
            canvas.put_text(*x, *y, head, style);
        }
        if !wire.label.intersects(&canvas.area) {
            return;
        }
        let words = ChartStyle::from_tone(if tone == GraphTone::Edge { GraphTone::Plain } else { tone });
        for (row, line) in wire.lines.iter().enumerate() {
            canvas.put_text(wire.label.x, wire.label.y + row, line, words);
        }
        if let Some((row, text)) = wire.tally_line.zip(fitting_tally(tally.as_ref(), wire.label.width)) {
            canvas.put_text(wire.label.x, wire.label.y + row, &text, words);
        }
    }
}

/// As much of the numbers as there is room for: first the costs go.
fn fitting_tally(tally: Option<&GraphVisitTally>, room: usize) -> Option<String> {
    let whole = tally_text(tally);
    let count = whole.split("  ").next().unwrap_or_default();
    [whole.as_str(), count]
        .into_iter()
        .find(|text| !text.is_empty() && text_columns(text) <= room)
        .map(str::to_owned)
}

impl WindowCanvas {
    /// `None`: the cell is not in the window.
    fn index(&self, x: usize, y: usize) -> Option<usize> {
        let inside = self.area.contains(x, y);
        inside.then(|| (y - self.area.y) * self.area.width + (x - self.area.x))
    }

    fn fill_area(&mut self, area: CellRect, style: ChartStyle) {
        for y in area.y.max(self.area.y)..area.bottom().min(self.area.bottom()) {
            for x in area.x.max(self.area.x)..area.right().min(self.area.right()) {
                if let Some(at) = self.index(x, y) {
                    self.cells[at].style = style;
                }
            }
        }
    }

    fn draw_border(&mut self, area: CellRect, style: ChartStyle) {
        let (right, bottom) = (area.right() - 1, area.bottom() - 1);
        for (from, to) in [
            ((area.x, area.y), (right, area.y)),
            ((area.x, bottom), (right, bottom)),
            ((area.x, area.y), (area.x, bottom)),
            ((right, area.y), (right, bottom)),
        ] {
            self.draw_line(from, to, style, false);
        }
    }

    /// A line along a row or a column. Where it meets another one, both are seen; the look is the one that says more.
    fn draw_line(&mut self, from: (usize, usize), to: (usize, usize), style: ChartStyle, is_dashed: bool) {
        let is_row = from.1 == to.1;
        let (one, other) = (from.min(to), from.max(to));
        let is_beside = if is_row {
            !(self.area.y..self.area.bottom()).contains(&one.1)
        } else {
            !(self.area.x..self.area.right()).contains(&one.0)
        };
        if is_beside {
            return;
        }
        let start = if is_row { one.0.max(self.area.x) } else { one.1.max(self.area.y) };
        let (before, after) = if is_row { (LEFT, RIGHT) } else { (UP, DOWN) };
        let (first, last) = if is_row { (one.0, other.0) } else { (one.1, other.1) };
        let end = last.min(if is_row { self.area.right() } else { self.area.bottom() });
        for place in start..=end {
            let (x, y) = if is_row { (place, one.1) } else { (one.0, place) };
            let Some(at) = self.index(x, y) else { continue };
            let lines = if place > first { before } else { 0 } | if place < last { after } else { 0 };
            let cell = &mut self.cells[at];
            if cell.lines == 0 || importance(style) > importance(cell.style) {
                cell.style = style;
            }
            cell.is_dashed = is_dashed && (cell.lines == 0 || cell.is_dashed);
            cell.lines |= lines;
        }
    }

    fn put_text(&mut self, x: usize, y: usize, text: &str, style: ChartStyle) {
        let mut column = x;
        for sign in text_signs(text) {
            let width = sign.width();
            let cut = (width > 1 && self.index(column + width - 1, y).is_none()).then_some(" ");
            self.put_sign(column, y, cut.unwrap_or(sign), style);
            for part in 1..width {
                self.put_sign(column + part, y, if cut.is_some() { " " } else { "\0" }, style);
            }
            column += width;
        }
    }

    fn put_sign(&mut self, x: usize, y: usize, sign: &str, style: ChartStyle) {
        let Some(at) = self.index(x, y) else { return };
        let mut signs = sign.chars();
        let first = signs.next().unwrap_or(' ');
        if signs.next().is_some() {
            self.joined.insert(at, sign.to_owned());
        } else {
            self.joined.remove(&at);
        }
        let cell = &mut self.cells[at];
        (cell.sign, cell.lines, cell.style) = (first, 0, style);
    }

    fn into_lines(self) -> Vec<ChartLine> {
        let width = self.area.width;
        (0..self.area.height).map(|row| self.line(row * width, width)).collect()
    }

    fn line(&self, first: usize, width: usize) -> ChartLine {
        let cells = &self.cells[first..first + width];
        let is_blank = |cell: &PaintedCell| {
            cell.sign == ' ' && cell.lines == 0 && !cell.style.is_filled && !cell.style.is_chosen
        };
        let end = cells.iter().rposition(|cell| !is_blank(cell)).map_or(0, |last| last + 1);
        let mut line = ChartLine::new();
        for (column, cell) in cells[..end].iter().enumerate() {
            if line.last().is_none_or(|span| span.style != cell.style) {
                line.push(ChartSpan { text: String::new(), style: cell.style });
            }
            let Some(span) = line.last_mut() else { continue };
            match (self.joined.get(&(first + column)), cell.sign) {
                (Some(sign), _) => span.text.push_str(sign),
                (None, '\0') => {}
                (None, ' ') => span.text.push(line_sign(cell)),
                (None, sign) => span.text.push(sign),
            }
        }
        line
    }
}

fn line_sign(cell: &PaintedCell) -> char {
    match LINES[usize::from(cell.lines & 15)] {
        '│' if cell.is_dashed => '╎',
        '─' if cell.is_dashed => '╌',
        sign => sign,
    }
}

/// Of two lines in one cell the look of the more important one is drawn; the border of a box is, most of all.
fn importance(style: ChartStyle) -> u8 {
    match style.tone {
        _ if style.is_filled || style.is_chosen => 4,
        GraphTone::Current => 3,
        GraphTone::Done => 2,
        GraphTone::Edge | GraphTone::Plain | GraphTone::Breakpoint => 1,
        GraphTone::Dim => 0,
    }
}

/// A heading in at most so many columns.
pub fn chart_heading(graph: &WorkflowGraph, columns: usize) -> Vec<ChartLine> {
    let heading = super::super::terminal::heading_texts(graph).into_iter();
    let line = |(text, tone): (String, GraphTone)| {
        let text = cut_with_ellipsis(&text, columns);
        if text.is_empty() {
            ChartLine::new()
        } else {
            vec![ChartSpan { text, style: ChartStyle::from_tone(tone) }]
        }
    };
    heading.map(line).collect()
}
