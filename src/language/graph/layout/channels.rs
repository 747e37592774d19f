//! The rows between two layers: a line that changes its column there needs a row for that.
//!
//! Lines to one place share a row. Two lines never share a column or a row otherwise; where two would have to be above
//! each other, one of them takes a detour over a column at the left.

/// Lines that come from above, or from the right side, and run together to one place below, or to the right side.
#[derive(Clone, Debug, Default)]
pub(super) struct ChannelNet {
    pub(super) tops: Vec<isize>,
    pub(super) bottom: Option<isize>,
    /// It comes from the right side, or leads there.
    pub(super) reaches_right: bool,
}

/// Where a net changes its column.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct NetRows {
    /// `None`: it is straight.
    pub(super) row: Option<usize>,
    /// The column of the detour, and the row after it.
    pub(super) detour: Option<(isize, usize)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct ChannelRows {
    /// As the nets.
    pub(super) nets: Vec<NetRows>,
    pub(super) count: usize,
}

/// A net, or a half of one with a detour, while rows are assigned.
#[derive(Clone, Debug)]
struct NetPiece {
    net: usize,
    tops: Vec<isize>,
    bottom: Option<isize>,
    reaches_right: bool,
    /// The part after the detour.
    is_second: bool,
    /// Pieces that must be above this one and have no row yet.
    waits_for: usize,
}

impl NetPiece {
    fn span(&self) -> (isize, isize) {
        let columns = || self.tops.iter().copied().chain(self.bottom);
        let right = if self.reaches_right { Some(isize::MAX) } else { columns().max() };
        (columns().min().unwrap_or(0), right.unwrap_or(0))
    }

    fn covers(&self, column: isize) -> bool {
        let (left, right) = self.span();
        (left..=right).contains(&column)
    }

    /// How many lines cross if this one is above the other.
    fn crossings_above(&self, other: &Self) -> isize {
        let from_top = other.tops.iter().filter(|top| self.covers(**top)).count().cast_signed();
        from_top + isize::from(self.bottom.is_some_and(|bottom| other.covers(bottom)))
    }
}

/// Rows for the nets between two layers; detours are left of `leftmost`.
pub(super) fn assign_rows(nets: &[ChannelNet], leftmost: isize) -> ChannelRows {
    let bent = |net: &ChannelNet| net.reaches_right || net.tops.iter().any(|top| Some(*top) != net.bottom);
    let pieces = nets.iter().enumerate().filter(|(_, net)| bent(net)).map(|(at, net)| NetPiece {
        net: at,
        tops: net.tops.clone(),
        bottom: net.bottom,
        reaches_right: net.reaches_right,
        is_second: false,
        waits_for: 0,
    });
    let mut stack = RowStack {
        rows: ChannelRows { nets: vec![NetRows::default(); nets.len()], count: 0 },
        placed: Vec::new(),
        detour_column: leftmost - 2,
    };
    let mut open: Vec<NetPiece> = pieces.collect();
    sort_by_crossings(&mut open);
    count_waiting(&mut open);
    while !open.is_empty() {
        let free = open.iter().position(|piece| piece.waits_for == 0);
        let piece = match free {
            Some(at) => open.remove(at),
            None => stack.split_piece(&mut open),
        };
        stack.place_piece(&piece);
        for other in &mut open {
            if must_be_above(&piece, other) {
                other.waits_for = other.waits_for.saturating_sub(1);
            }
        }
    }
    stack.rows
}

/// A line that comes down in the column in which another one ends must turn before that one comes.
fn must_be_above(one: &NetPiece, other: &NetPiece) -> bool {
    other.bottom.is_some_and(|bottom| one.tops.contains(&bottom))
        || other.is_second && !one.is_second && other.net == one.net
}

fn count_waiting(open: &mut [NetPiece]) {
    for at in 0..open.len() {
        let above = (0..open.len()).filter(|other| *other != at && must_be_above(&open[*other], &open[at]));
        open[at].waits_for = above.count();
    }
}

/// Those first that cross less if they are above the others.
fn sort_by_crossings(open: &mut Vec<NetPiece>) {
    let score = |at: usize| -> isize {
        let others = open.iter().enumerate().filter(|(other, _)| *other != at);
        others.map(|(_, other)| open[at].crossings_above(other) - other.crossings_above(&open[at])).sum()
    };
    let mut order: Vec<(isize, usize)> = (0..open.len()).map(|at| (score(at), at)).collect();
    order.sort_unstable();
    *open = order.into_iter().map(|(_, at)| open[at].clone()).collect();
}

struct RowStack {
    rows: ChannelRows,
    /// Columns and row of what has one.
    placed: Vec<(isize, isize, usize)>,
    detour_column: isize,
}

impl RowStack {
    /// Below everything that was placed before and shares a column.
    fn place_piece(&mut self, piece: &NetPiece) {
        let (left, right) = piece.span();
        let under = self.placed.iter().filter(|(first, last, _)| *first <= right && left <= *last);
        let row = under.map(|(_, _, row)| row + 1).max().unwrap_or(0);
        self.placed.push((left, right, row));
        self.rows.count = self.rows.count.max(row + 1);
        let rows = &mut self.rows.nets[piece.net];
        match (piece.is_second, &mut rows.detour) {
            (true, Some((_, second))) => *second = row,
            _ => rows.row = Some(row),
        }
    }

    /// All wait for each other: the first one goes to the detour's column, and from there on later.
    fn split_piece(&mut self, open: &mut Vec<NetPiece>) -> NetPiece {
        let mut first = open.remove(0);
        let column = self.detour_column;
        self.detour_column -= 2;
        self.rows.nets[first.net].detour = Some((column, 0));
        let mut second = first.clone();
        (second.is_second, second.tops, second.reaches_right) = (true, vec![column], false);
        second.waits_for += 1;
        open.push(second);
        first.bottom = Some(column);
        first
    }
}
