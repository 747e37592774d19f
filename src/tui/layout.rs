//! Which panes are on screen and where: a pure function of the size and of the panes that the user opened.
//!
//! 80×24 shows one pane at a time over the whole width; from 100 columns on there is one column beside the
//! conversation, from 160 on with two panes in it, from 240 on two such columns. Refuses: what is in a pane, and which
//! one has the keys.

use ratatui::layout::Rect;

/// From this width on there is a column beside the conversation.
pub const WIDE: u16 = 100;
/// From here on it holds two panes.
const WIDER: u16 = 160;
/// From here on there are two columns.
const WIDEST: u16 = 240;
/// From this height on a column holds a pane more.
const TALL: u16 = 60;
/// Columns of the digest.
const DIGEST: u16 = 34;
/// Rows of the digest below a pane: they hold the path and the agents of a usual workflow. The pane gets the others.
const DIGEST_ROWS: u16 = 20;
/// A pane has no digest below it where it had less rows than this.
const LEAST_ABOVE_DIGEST: u16 = 14;
/// The graph gets twice the rows of a pane beside it where the others keep so many.
const LEAST_BESIDE_GRAPH: u16 = 12;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum PaneKind {
    Conversation,
    Graph,
    Agents,
    Data,
    Tools,
    Timeline,
    Costs,
}

impl PaneKind {
    pub const ALL: [Self; 7] =
        [Self::Conversation, Self::Graph, Self::Agents, Self::Data, Self::Tools, Self::Timeline, Self::Costs];

    pub fn title(self) -> &'static str {
        match self {
            Self::Conversation => "conversation",
            Self::Graph => "graph",
            Self::Agents => "agents",
            Self::Data => "data",
            Self::Tools => "tools",
            Self::Timeline => "timeline",
            Self::Costs => "costs",
        }
    }
}

/// What is shown in a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutSlot {
    Pane(PaneKind),
    /// Path, agents and cost in short, beside the conversation while no pane is open.
    Digest,
}

/// The user's choice of panes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LayoutRequest<'a> {
    /// Panes beside the conversation, the one opened last at the end.
    pub open_panes: &'a [PaneKind],
    /// What a narrow screen shows; `None`: the conversation.
    pub front_pane: Option<PaneKind>,
    /// Fills everything.
    pub zoomed_pane: Option<PaneKind>,
    /// The side panel is switched on.
    pub panel: bool,
    /// A workflow is shown: its graph is worth a place where there is much.
    pub graph: bool,
}

/// Every slot with its place. No two overlap, and none is outside of `area`.
pub fn place_slots(area: Rect, wish: LayoutRequest<'_>) -> Vec<(LayoutSlot, Rect)> {
    let whole = |pane: PaneKind| vec![(LayoutSlot::Pane(pane), area)];
    if let Some(pane) = wish.zoomed_pane {
        return whole(pane);
    }
    if area.width < WIDE {
        return whole(wish.front_pane.unwrap_or(PaneKind::Conversation));
    }
    let side = side_slots(area, wish);
    if side.is_empty() {
        return whole(PaneKind::Conversation);
    }
    let per_column = per_column(area);
    let columns = side.len().div_ceil(per_column).max(1);
    let digest_only = side == [LayoutSlot::Digest];
    let each = if digest_only { DIGEST } else { column_width(area.width, columns) };
    let taken = each * u16::try_from(columns).unwrap_or(1);
    let conversation = Rect { width: area.width - taken, ..area };
    let mut placed = vec![(LayoutSlot::Pane(PaneKind::Conversation), conversation)];
    for (at, slots) in (0..).zip(side.chunks(side.len().div_ceil(columns))) {
        let column = Rect { x: conversation.right() + at * each, width: each, ..area };
        placed.extend(stack_slots(column, slots));
    }
    placed
}

/// The slots beside the conversation, in the order of the panes' keys.
fn side_slots(area: Rect, wish: LayoutRequest<'_>) -> Vec<LayoutSlot> {
    if !wish.panel && wish.open_panes.is_empty() {
        return Vec::new();
    }
    let most = per_column(area) * if area.width >= WIDEST { 2 } else { 1 };
    let mut panes: Vec<PaneKind> = wish.open_panes.iter().rev().take(most).copied().collect();
    panes.sort_by_key(|pane| *pane as u8);
    let mut slots: Vec<LayoutSlot> = panes.into_iter().map(LayoutSlot::Pane).collect();
    let room = area.width >= WIDER && wish.panel;
    if slots.is_empty() && wish.graph && room {
        slots.push(LayoutSlot::Pane(PaneKind::Graph));
    }
    let has_rows = area.height >= 2 * LEAST_ABOVE_DIGEST;
    if wish.panel && (slots.is_empty() || room && has_rows && slots.len() < per_column(area)) {
        slots.push(LayoutSlot::Digest);
    }
    slots
}

fn per_column(area: Rect) -> usize {
    1 + usize::from(area.width >= WIDER) + usize::from(area.width >= WIDER && area.height >= TALL)
}

/// Wide enough to read, and never more than the conversation keeps.
fn column_width(width: u16, columns: usize) -> u16 {
    // some terminals say that they are 65,535 columns wide
    let width = width.min(1_000);
    let share = if columns > 1 { width * 3 / 10 } else { width * 2 / 5 };
    share.clamp(40, 84)
}

/// Slots one below the other. A graph is drawn, so it cannot wrap: it gets more than the others.
fn stack_slots(column: Rect, slots: &[LayoutSlot]) -> Vec<(LayoutSlot, Rect)> {
    let mut y = column.y;
    let heights = slot_heights(column.height, slots);
    let placed = slots.iter().zip(heights).map(|(slot, height)| {
        let rect = Rect { y, height, ..column };
        y += height;
        (*slot, rect)
    });
    placed.collect()
}

/// The rows of each slot; the last one gets what is left over, beside a graph or above a digest the first one does.
fn slot_heights(rows: u16, slots: &[LayoutSlot]) -> Vec<u16> {
    let count = u16::try_from(slots.len()).unwrap_or(1).max(1);
    let others = count - 1;
    let first_gets_rest = |each: u16| {
        let rest = rows - each * others;
        std::iter::once(rest).chain(std::iter::repeat(each)).take(slots.len()).collect()
    };
    match slots {
        [_, LayoutSlot::Digest] => first_gets_rest((rows / 2).min(DIGEST_ROWS)),
        [LayoutSlot::Pane(PaneKind::Graph), _, ..] if rows / (count + 1) >= LEAST_BESIDE_GRAPH => {
            first_gets_rest(rows / (count + 1))
        }
        _ => {
            let mut heights = vec![rows / count; slots.len()];
            if let Some(last) = heights.last_mut() {
                *last = rows - rows / count * others;
            }
            heights
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `graph 96,0 64x20` for every slot but the conversation.
    fn side(width: u16, height: u16, wish: LayoutRequest<'_>) -> Vec<String> {
        let area = Rect { x: 0, y: 0, width, height };
        let text = |(slot, rect): &(LayoutSlot, Rect)| {
            let name = match slot {
                LayoutSlot::Pane(pane) => pane.title(),
                LayoutSlot::Digest => "digest",
            };
            format!("{name} {},{} {}x{}", rect.x, rect.y, rect.width, rect.height)
        };
        place_slots(area, wish).iter().map(text).collect()
    }

    #[test]
    fn panes_stand_where_there_is_room() {
        let check = |size: (u16, u16), wish: LayoutRequest<'_>, expected: &[&str]| {
            assert_eq!(side(size.0, size.1, wish), expected, "{size:?} {wish:?}");
        };
        let (none, panel) =
            (LayoutRequest::default(), LayoutRequest { panel: true, ..LayoutRequest::default() });
        let front =
            LayoutRequest { front_pane: Some(PaneKind::Data), open_panes: &[PaneKind::Data], ..panel };
        check((80, 20), panel, &["conversation 0,0 80x20"]);
        check((80, 20), front, &["data 0,0 80x20"]);
        check((120, 36), none, &["conversation 0,0 120x36"]);
        check((120, 36), panel, &["conversation 0,0 86x36", "digest 86,0 34x36"]);
        check((120, 36), front, &["conversation 0,0 72x36", "data 72,0 48x36"]);
        check(
            (120, 36),
            LayoutRequest { panel: false, ..front },
            &["conversation 0,0 72x36", "data 72,0 48x36"],
        );
        let two = LayoutRequest { open_panes: &[PaneKind::Data, PaneKind::Graph], ..panel };
        check((120, 36), two, &["conversation 0,0 72x36", "graph 72,0 48x36"]);
        check((200, 45), two, &["conversation 0,0 120x45", "graph 120,0 80x30", "data 120,30 80x15"]);
        let one = LayoutRequest { open_panes: &[PaneKind::Costs], ..panel };
        check((200, 45), one, &["conversation 0,0 120x45", "costs 120,0 80x25", "digest 120,25 80x20"]);
        let run = LayoutRequest { graph: true, ..panel };
        check((200, 45), run, &["conversation 0,0 120x45", "graph 120,0 80x25", "digest 120,25 80x20"]);
        // a question below takes rows from it: the graph keeps them all
        check((200, 20), run, &["conversation 0,0 120x20", "graph 120,0 80x20"]);
        check((200, 45), panel, &["conversation 0,0 166x45", "digest 166,0 34x45"]);
        check((120, 36), run, &["conversation 0,0 86x36", "digest 86,0 34x36"]);
        let zoomed = LayoutRequest { zoomed_pane: Some(PaneKind::Graph), ..two };
        check((200, 45), zoomed, &["graph 0,0 200x45"]);
        let four = LayoutRequest {
            open_panes: &[PaneKind::Costs, PaneKind::Data, PaneKind::Graph, PaneKind::Tools],
            ..panel
        };
        check(
            (300, 50),
            four,
            &[
                "conversation 0,0 132x50",
                "graph 132,0 84x34",
                "data 132,34 84x16",
                "tools 216,0 84x25",
                "costs 216,25 84x25",
            ],
        );
    }

    #[test]
    fn nothing_overlaps_and_nothing_is_outside() {
        let all = PaneKind::ALL;
        for (width, height) in [(1, 1), (20, 5), (99, 3), (100, 1), (160, 2), (240, 80), (300, 80), (900, 2)]
        {
            for open in 0..all.len() {
                for panel in [false, true] {
                    let wish = LayoutRequest {
                        open_panes: &all[1..=open],
                        panel,
                        graph: true,
                        ..LayoutRequest::default()
                    };
                    let area = Rect { x: 0, y: 1, width, height };
                    let placed = place_slots(area, wish);
                    let cells: u32 = placed.iter().map(|(_, rect)| rect.area()).sum();
                    assert_eq!(cells, area.area(), "{width}x{height} {wish:?}: every cell is somebody's");
                    for (at, (_, one)) in placed.iter().enumerate() {
                        assert_eq!(one.intersection(area), *one, "{width}x{height} {wish:?}");
                        assert!(placed[..at].iter().all(|(_, other)| !other.intersects(*one)));
                    }
                }
            }
        }
    }
}
