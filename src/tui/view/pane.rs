//! Draws a pane: a line with its name, and the rows that fit below. Rows are made when what they show has changed,
//! drawn as many as are seen. `view.rs` draws the pane of the conversation.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::draw_helpers::{put_line, select_row};
use super::graph_pane;
use super::pane_border::{area_above_border, draw_border, list_keys};
use crate::keymap::KeyAction;
use crate::layout::{LayoutSlot, PaneKind};
use crate::model::UiModel;
use crate::pane::body::{PaneBody, PaneRow, paragraph_rows};
use crate::pane::timeline::{list_index, row_index};
use crate::pane::timeline_chart::{TimelineChart, chart_height};
use crate::pane::{PaneRowsKey, agents, costs, data, tools};
use crate::run_view::pane_data::RunDefinitionState;
use crate::text::{display_width, fit_to_columns, scroll_text};

/// What a pane shows now; `None`: the conversation, which is no list of rows.
pub fn pane_body(model: &UiModel, pane: PaneKind) -> Option<PaneBody<'_>> {
    let state = model.panes.state(pane);
    let run = model.watched_run();
    Some(match (pane, run.map(|run| &run.pane_data)) {
        (PaneKind::Conversation, _) => return None,
        (PaneKind::Timeline, Some(watch)) if !watch.timeline.is_empty() => {
            PaneBody::Timeline(&watch.timeline, model.now)
        }
        (PaneKind::Graph, Some(watch)) => match &watch.definition {
            RunDefinitionState::Known(drawing) => PaneBody::Graph(drawing),
            RunDefinitionState::Unasked | RunDefinitionState::Asked | RunDefinitionState::Unknown(_) => {
                PaneBody::Rows(&state.rows)
            }
        },
        _ => PaneBody::Rows(&state.rows),
    })
}

/// Makes the rows of every pane on screen that shows something else than before.
pub fn arrange_panes(model: &mut UiModel, placed: &[(LayoutSlot, Rect)]) {
    for (slot, area) in placed {
        if let LayoutSlot::Pane(pane) = slot
            && *pane != PaneKind::Conversation
        {
            arrange_one(model, *pane, inner_area(*area));
        }
    }
}

fn arrange_one(model: &mut UiModel, pane: PaneKind, area: Rect) {
    if pane == PaneKind::Graph && graph_pane::arrange_graph(model, area) {
        return;
    }
    let area = area_above_border(area);
    let columns = usize::from(area.width);
    let made_of = rows_key(model, pane, columns);
    if model.panes.state(pane).rows_key.as_ref() != Some(&made_of) {
        let other_run = model.panes.state(pane).rows_key.as_ref().is_some_and(|old| old.run != made_of.run);
        let (rows, is_placeholder) = build_rows(model, pane, columns);
        let state = model.panes.state_mut(pane);
        if other_run {
            (state.cursor, state.top_row, state.cursor_held, state.mark_start) = (0, 0, false, None);
        }
        (state.rows, state.is_placeholder, state.rows_key) = (rows, is_placeholder, Some(made_of));
    }
    let Some(body) = pane_body(model, pane) else { return };
    let len = body.len();
    let calls = model.watched_run().is_some_and(|run| run.pane_data.calls.iter().next().is_some());
    let follow = match (pane, body) {
        (_, PaneBody::Timeline(..)) => len.checked_sub(1),
        (PaneKind::Tools, _) if calls => len.checked_sub(1),
        _ => None,
    };
    let above = chart_rows(model, pane, area);
    let state = model.panes.state_mut(pane);
    state.height = usize::from(area.height).saturating_sub(above);
    state.settle_cursor(len, follow);
}

/// The chart above the rows of a timeline.
fn pane_chart(model: &UiModel, pane: PaneKind, columns: u16) -> Option<TimelineChart<'_>> {
    let run = model.watched_run().filter(|_| pane == PaneKind::Timeline)?;
    let timeline = &run.pane_data.timeline;
    Some(TimelineChart {
        timeline,
        roster: &run.roster,
        now: model.now,
        chosen_row: row_index(timeline, model.panes.state(pane).cursor),
        columns: usize::from(columns),
        theme: model.theme,
    })
}

fn chart_rows(model: &UiModel, pane: PaneKind, area: Rect) -> usize {
    let chart = pane_chart(model, pane, area.width);
    chart.map_or(0, |chart| chart_height(chart.timeline, usize::from(area.height)))
}

/// The row of a pane's list that a row of the screen shows; of a chart, the row whose bar is there.
pub fn row_under_pointer(model: &UiModel, pane: PaneKind, area: Rect, column: u16, row: u16) -> usize {
    let inside = area_above_border(inner_area(area));
    if row >= inside.bottom() {
        return model.panes.state(pane).cursor;
    }
    let (above, at) = (chart_rows(model, pane, inside), usize::from(row.saturating_sub(inside.y)));
    match pane_chart(model, pane, inside.width).filter(|_| at < above) {
        Some(chart) => {
            let column = usize::from(column.saturating_sub(inside.x));
            let found = chart.row_at(usize::from(inside.height), at, column);
            found.map_or(model.panes.state(pane).cursor, |row| list_index(chart.timeline, row))
        }
        None => model.panes.state(pane).top_row + at.saturating_sub(above),
    }
}

/// What the rows depend on. Of a timeline and a graph only what is seen is made, so nothing is kept of them.
fn rows_key(model: &UiModel, pane: PaneKind, columns: usize) -> PaneRowsKey {
    let run = model.watched_run();
    let version = run.map_or(0, |run| match pane {
        PaneKind::Conversation => 0,
        PaneKind::Timeline => u64::from(run.pane_data.timeline.is_empty()),
        PaneKind::Graph => match &run.pane_data.definition {
            RunDefinitionState::Known(_) => 4,
            RunDefinitionState::Unasked => 1,
            RunDefinitionState::Asked => 2,
            RunDefinitionState::Unknown(_) => 3,
        },
        PaneKind::Agents => {
            // time passes without a change of the run
            let minutes = run.pane_data.running_commands.shown_minutes(model.now);
            (run.pane_data.agents * 2 + u64::from(run.is_over)) ^ minutes.rotate_left(32)
        }
        PaneKind::Data => run.pane_data.data.version,
        PaneKind::Tools => run.pane_data.calls.version,
        PaneKind::Costs => run.pane_data.run_costs.version + run.pane_data.agents,
    });
    let budget = run.and_then(|run| run.budget.cost_usd.hard.map(f64::to_bits).or(run.budget.tokens.hard));
    PaneRowsKey {
        run: run.map(|run| run.id.clone()),
        version,
        budget,
        columns,
        theme: model.theme,
        toggle_count: model.panes.toggle_count,
    }
}

/// The rows; else a sentence in their place, and `true`.
fn build_rows(model: &UiModel, pane: PaneKind, columns: usize) -> (Vec<PaneRow>, bool) {
    let (theme, panes) = (model.theme, &model.panes);
    let sentence = |text: &str, style: Style| (paragraph_rows(text, 0, columns, style), true);
    let Some(run) = model.watched_run() else { return sentence(loading_text(pane), theme.dim_style()) };
    let rows = match pane {
        PaneKind::Conversation | PaneKind::Timeline => Vec::new(),
        PaneKind::Graph => match &run.pane_data.definition {
            RunDefinitionState::Known(_) => return (Vec::new(), false),
            RunDefinitionState::Unknown(why) => return sentence(why, theme.bad_style()),
            RunDefinitionState::Unasked | RunDefinitionState::Asked => Vec::new(),
        },
        PaneKind::Agents => agents::agents_pane_rows(run, model.now, columns, theme),
        PaneKind::Data => data::data_rows(&run.pane_data.data, panes, columns, theme),
        PaneKind::Tools => tools::tool_rows(&run.pane_data.calls, panes, columns, theme),
        PaneKind::Costs => costs::cost_rows(run, columns, theme),
    };
    if rows.is_empty() { sentence(empty_text(pane), theme.dim_style()) } else { (rows, false) }
}

/// A pane in whose place a sentence stands that is on screen as a whole, as it was laid out last.
pub fn is_empty_pane(model: &UiModel, pane: PaneKind) -> bool {
    let is_drawn = matches!(pane_body(model, pane), Some(PaneBody::Timeline(..) | PaneBody::Graph(_)) | None);
    let state = model.panes.state(pane);
    !is_drawn && state.is_placeholder && state.rows.len() <= state.height
}

/// What will be here, and how it comes.
fn loading_text(pane: PaneKind) -> &'static str {
    match pane {
        PaneKind::Conversation => "",
        PaneKind::Graph => "The states of a workflow and its current position. /workflow NAME starts one.",
        PaneKind::Agents => {
            "The agents, with their activity and cost. Write a message, or start a workflow with \
                /workflow NAME."
        }
        PaneKind::Data => {
            "The variables of a workflow, with a dot at each change. /workflow NAME starts one."
        }
        PaneKind::Tools => {
            "Tool calls with their arguments and results. Write a message, or start a workflow with \
                /workflow NAME."
        }
        PaneKind::Timeline => {
            "Events with their times and durations. Write a message, or start a workflow with /workflow NAME."
        }
        PaneKind::Costs => {
            "Tokens and dollars by agent, model and state. Write a message, or start a workflow with /workflow NAME."
        }
    }
}

fn empty_text(pane: PaneKind) -> &'static str {
    match pane {
        PaneKind::Conversation => "",
        PaneKind::Graph => "the workflow is being read …",
        PaneKind::Agents => "no agent has spoken yet",
        PaneKind::Data => "no variables so far: scripts keep them in common_data",
        PaneKind::Tools => "no tool was called yet",
        PaneKind::Timeline => "nothing has happened yet",
        PaneKind::Costs => "nothing was spent yet",
    }
}

pub fn draw_pane(model: &UiModel, pane: PaneKind, area: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    let focused = model.focused_pane() == Some(pane);
    if area.x > 0 {
        // heavy lines tell it without colours, too
        let edge = Line::styled(if focused { "┃" } else { "│" }, line_style(focused, model));
        for y in area.y..area.bottom() {
            put_line(frame, area.x, y, &edge, 1);
        }
    }
    let inside = inner_area(area);
    let Some(body) = pane_body(model, pane).filter(|_| area.height > 0 && inside.width > 0) else { return };
    put_line(
        frame,
        inside.x,
        area.y,
        &pane_title(model, pane, &body, usize::from(inside.width)),
        inside.width,
    );
    if pane == PaneKind::Graph && graph_pane::draw_graph(model, inside, frame) {
        return;
    }
    draw_border(model, &list_keys(model, pane, focused), focused, inside, frame);
    let inside = area_above_border(inside);
    let state = model.panes.state(pane);
    let (columns, chosen) = (usize::from(inside.width), state.chosen_rows());
    let chart = pane_chart(model, pane, inside.width).map(|chart| chart.lines(usize::from(inside.height)));
    let chart = chart.unwrap_or_default();
    let list_y = inside.y + u16::try_from(chart.len()).unwrap_or(0).min(inside.height);
    for (y, line) in (inside.y..list_y).zip(&chart) {
        put_line(frame, inside.x, y, line, inside.width);
    }
    for (y, at) in (list_y..inside.bottom()).zip(state.top_row..body.len()) {
        let line = body.line(at, columns, theme);
        put_line(frame, inside.x, y, &line, inside.width);
        if focused && chosen.contains(&at) {
            select_row(frame, Rect { y, height: 1, ..inside }, theme.selected_style());
        }
    }
}

/// Below the conversation while it has the keys: its rows stay where they are.
pub fn conversation_title(model: &UiModel, columns: usize) -> Line<'static> {
    let place = model.transcript.scroll_position().map(|position| format!(" {} ━", position.to_text()));
    title_line(model, "━ conversation ".to_owned(), place.unwrap_or_default(), columns, true)
}

/// `━ graph · coder_reviewer ━━━ /words ━ 40 % ━` of the pane that has the keys; thin lines of another.
fn pane_title(model: &UiModel, pane: PaneKind, body: &PaneBody<'_>, columns: usize) -> Line<'static> {
    let state = model.panes.state(pane);
    let focused = model.focused_pane() == Some(pane);
    let line = if focused { "━" } else { "─" };
    let run = model.watched_run().filter(|run| !run.chat).map(|run| format!(" · {}", run.workflow));
    let asked = model.watched_run().map_or(0, |run| run.pane_data.calls.pending_approval_count());
    let asked = match asked {
        1 if pane == PaneKind::Tools => " · 1 asks you".to_owned(),
        2.. if pane == PaneKind::Tools => format!(" · {asked} ask you"),
        _ => String::new(),
    };
    let name = format!("{line} {}{}{asked} ", pane.title(), run.unwrap_or_default());
    let search = model.panes.search.as_ref().filter(|_| focused);
    let search = search.map(|search| format!(" {} ", search.to_label()));
    let below = body.len().saturating_sub(state.height);
    let place = (below > 0).then(|| format!(" {} {line}", scroll_text(state.top_row * 100 / below)));
    let tail = format!("{}{}", search.unwrap_or_default(), place.unwrap_or_default());
    let legend = format!(" {} {line}", graph_pane::NUMBERS);
    let room = (columns / 2).min(columns.saturating_sub(display_width(&name)));
    let has_legend = pane == PaneKind::Graph && display_width(&legend) + display_width(&tail) <= room;
    let tail = if has_legend { legend + &tail } else { tail };
    title_line(model, name, tail, columns, focused)
}

/// The name on the left, the place on the right, and a line between them.
fn title_line(model: &UiModel, name: String, tail: String, columns: usize, focused: bool) -> Line<'static> {
    let style = line_style(focused, model);
    let words = if focused { style.patch(model.theme.bold_style()) } else { style };
    let tail = fit_to_columns(&tail, columns / 2).into_owned();
    let name = fit_to_columns(&name, columns.saturating_sub(display_width(&tail))).into_owned();
    let line = if focused { "━" } else { "─" };
    let rule = line.repeat(columns.saturating_sub(display_width(&name) + display_width(&tail)));
    Line::from(vec![Span::styled(name, words), Span::styled(rule, style), Span::styled(tail, words)])
}

fn line_style(focused: bool, model: &UiModel) -> Style {
    if focused { model.theme.accent_style() } else { model.theme.dim_style() }
}

/// Below the title, right of the border.
pub(super) fn inner_area(area: Rect) -> Rect {
    let left = if area.x > 0 { 2 } else { 0 };
    let left = area.width.min(left);
    Rect {
        x: area.x + left,
        y: area.y + area.height.min(1),
        width: area.width - left,
        height: area.height.saturating_sub(1),
    }
}

/// The keys that matter most in the pane that has them.
pub fn pane_keys(model: &UiModel, pane: PaneKind) -> String {
    let key =
        |action: KeyAction, about: &str| model.keymap.pane_key(action).map(|key| format!("{key} {about}"));
    let typing = model.panes.search.as_ref().is_some_and(|search| search.is_typing);
    let wanted: &[(KeyAction, &str)] = match pane {
        _ if typing => return "Enter finds · Esc".to_owned(),
        _ if model.panes.search.is_some() => {
            &[(KeyAction::PreviousHit, "before"), (KeyAction::NextHit, "next"), (KeyAction::Back, "ends")]
        }
        PaneKind::Conversation => &[
            (KeyAction::Search, "finds"),
            (KeyAction::PreviousItem, "chooses"),
            (KeyAction::Open, "opens"),
            (KeyAction::Back, "back"),
        ],
        PaneKind::Timeline => &[
            (KeyAction::Search, "finds"),
            (KeyAction::ChooseRight, "next bar"),
            (KeyAction::Open, "opens"),
            (KeyAction::Back, "back"),
        ],
        PaneKind::Data | PaneKind::Tools => {
            &[(KeyAction::Open, "opens"), (KeyAction::Copy, "copies"), (KeyAction::Back, "back")]
        }
        _ => &[(KeyAction::Search, "finds"), (KeyAction::Copy, "copies"), (KeyAction::Back, "back")],
    };
    let name = if pane == PaneKind::Conversation { "conversation: " } else { "" };
    let keys: Vec<String> = wanted.iter().filter_map(|(action, about)| key(*action, about)).collect();
    format!("{name}{}", keys.join(" · "))
}
