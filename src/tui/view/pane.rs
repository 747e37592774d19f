//! One pane: a line with its name, and the rows that fit below. Rows are made when what they show has changed, drawn as
//! many as are seen.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::draw_helpers::put;
use crate::keymap::KeyAction;
use crate::layout::{LayoutSlot, PaneKind};
use crate::model::UiModel;
use crate::pane::body::{PaneBody, PaneRow, paragraph};
use crate::pane::{PaneRowsKey, agents, costs, data, tools};
use crate::run_view::pane_data::RunDefinitionState;
use crate::text::{fit, width};

/// What a pane shows now; `None`: the conversation, which is no list of rows.
pub fn body(model: &UiModel, pane: PaneKind) -> Option<PaneBody<'_>> {
    let state = model.panes.state(pane);
    let run = model.watched_run();
    Some(match (pane, run.map(|run| &run.watch)) {
        (PaneKind::Conversation, _) => return None,
        (PaneKind::Timeline, Some(watch)) if !watch.timeline.is_empty() => {
            PaneBody::Timeline(&watch.timeline, model.now)
        }
        (PaneKind::Graph, Some(watch)) => match &watch.drawing {
            RunDefinitionState::Known(drawing) => PaneBody::Graph(drawing, &state.looks),
            RunDefinitionState::Unasked | RunDefinitionState::Asked | RunDefinitionState::Unknown(_) => {
                PaneBody::Rows(&state.rows)
            }
        },
        _ => PaneBody::Rows(&state.rows),
    })
}

/// Makes the rows of every pane on screen that shows something else than before.
pub fn arrange(model: &mut UiModel, placed: &[(LayoutSlot, Rect)]) {
    for (slot, area) in placed {
        if let LayoutSlot::Pane(pane) = slot
            && *pane != PaneKind::Conversation
        {
            arrange_one(model, *pane, inside(*area));
        }
    }
}

fn arrange_one(model: &mut UiModel, pane: PaneKind, area: Rect) {
    if pane == PaneKind::Graph
        && let Some(id) = model.watched_run().map(|run| run.id.clone())
        && let Some(run) = model.run_mut(&id)
    {
        run.watch.mark();
    }
    let columns = usize::from(area.width);
    let made_of = made_of(model, pane, columns);
    if model.panes.state(pane).made_of.as_ref() != Some(&made_of) {
        let other_run = model.panes.state(pane).made_of.as_ref().is_some_and(|old| old.run != made_of.run);
        let rows = made(model, pane, columns);
        let looks = match body(model, pane) {
            Some(PaneBody::Graph(drawing, _)) => drawing.looks(columns),
            _ => Vec::new(),
        };
        let state = model.panes.state_mut(pane);
        if other_run {
            (state.cursor, state.top, state.held, state.marked) = (0, 0, false, None);
        }
        (state.rows, state.looks, state.made_of) = (rows, looks, Some(made_of));
    }
    let Some(body) = body(model, pane) else { return };
    let len = body.len();
    let calls = model.watched_run().is_some_and(|run| run.watch.calls.iter().next().is_some());
    let follow = match (pane, body) {
        (_, PaneBody::Graph(drawing, _)) => drawing.current(),
        (_, PaneBody::Timeline(..)) => len.checked_sub(1),
        (PaneKind::Tools, _) if calls => len.checked_sub(1),
        _ => None,
    };
    let state = model.panes.state_mut(pane);
    state.height = usize::from(area.height);
    state.settle(len, follow);
}

/// What the rows depend on. Of a timeline and a graph only what is seen is made, so nothing is kept of them.
fn made_of(model: &UiModel, pane: PaneKind, columns: usize) -> PaneRowsKey {
    let run = model.watched_run();
    let version = run.map_or(0, |run| match pane {
        PaneKind::Conversation => 0,
        PaneKind::Timeline => u64::from(run.watch.timeline.is_empty()),
        PaneKind::Graph => match &run.watch.drawing {
            RunDefinitionState::Known(drawing) => 4 + drawing.version(),
            RunDefinitionState::Unasked => 1,
            RunDefinitionState::Asked => 2,
            RunDefinitionState::Unknown(_) => 3,
        },
        PaneKind::Agents => run.watch.agents * 2 + u64::from(run.over),
        PaneKind::Data => run.watch.data.version,
        PaneKind::Tools => run.watch.calls.version,
        PaneKind::Costs => run.watch.spending.version + run.watch.agents,
    });
    let budget = run.and_then(|run| run.budget.cost_usd.hard.map(f64::to_bits).or(run.budget.tokens.hard));
    PaneRowsKey {
        run: run.map(|run| run.id.clone()),
        version,
        budget,
        columns,
        theme: model.theme,
        toggles: model.panes.toggles,
    }
}

fn made(model: &UiModel, pane: PaneKind, columns: usize) -> Vec<PaneRow> {
    let (theme, panes) = (model.theme, &model.panes);
    let Some(run) = model.watched_run() else {
        return paragraph(promise(pane), 0, columns, theme.dim());
    };
    let rows = match pane {
        PaneKind::Conversation | PaneKind::Timeline => Vec::new(),
        PaneKind::Graph => match &run.watch.drawing {
            RunDefinitionState::Known(_) => return Vec::new(),
            RunDefinitionState::Unknown(why) => return paragraph(why, 0, columns, theme.bad()),
            RunDefinitionState::Unasked | RunDefinitionState::Asked => Vec::new(),
        },
        PaneKind::Agents => agents::rows(run, columns, theme),
        PaneKind::Data => data::rows(&run.watch.data, panes, columns, theme),
        PaneKind::Tools => tools::rows(&run.watch.calls, panes, columns, theme),
        PaneKind::Costs => costs::rows(run, columns, theme),
    };
    if rows.is_empty() { paragraph(nothing(pane), 0, columns, theme.dim()) } else { rows }
}

/// What will be here, and how it comes.
fn promise(pane: PaneKind) -> &'static str {
    match pane {
        PaneKind::Conversation => "",
        PaneKind::Graph => "The states of a workflow and where it is. /workflow NAME starts one.",
        PaneKind::Agents => {
            "Who takes part, and what each of them does and costs. Write a message, or start a workflow with /workflow NAME."
        }
        PaneKind::Data => {
            "The variables of a workflow, with a dot at what has changed. /workflow NAME starts one."
        }
        PaneKind::Tools => {
            "What the tools were called with and what came back. Write a message, or start a workflow with /workflow NAME."
        }
        PaneKind::Timeline => {
            "What happened when, and how long it took. Write a message, or start a workflow with /workflow NAME."
        }
        PaneKind::Costs => {
            "Tokens and dollars by agent, model and state. Write a message, or start a workflow with /workflow NAME."
        }
    }
}

fn nothing(pane: PaneKind) -> &'static str {
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

pub fn draw(model: &UiModel, pane: PaneKind, area: Rect, frame: &mut Frame<'_>) {
    let theme = model.theme;
    if area.x > 0 {
        for y in area.y..area.bottom() {
            put(frame, area.x, y, &Line::styled("│", theme.dim()), 1);
        }
    }
    let inside = inside(area);
    let Some(body) = body(model, pane).filter(|_| area.height > 0 && inside.width > 0) else { return };
    let focused = model.panes.focus == Some(pane);
    put(frame, inside.x, area.y, &title(model, pane, &body, usize::from(inside.width)), inside.width);
    let state = model.panes.state(pane);
    let (columns, chosen) = (usize::from(inside.width), state.chosen());
    for (y, at) in (inside.y..inside.bottom()).zip(state.top..body.len()) {
        let line = body.line(at, columns, theme);
        put(frame, inside.x, y, &line, inside.width);
        if focused && chosen.contains(&at) {
            let row = Rect { y, height: 1, ..inside };
            frame.buffer_mut().set_style(row, theme.selected());
        }
    }
}

/// `graph · coder_reviewer ──── /words ── 40 % ─`
fn title(model: &UiModel, pane: PaneKind, body: &PaneBody<'_>, columns: usize) -> Line<'static> {
    let (theme, state) = (model.theme, model.panes.state(pane));
    let focused = model.panes.focus == Some(pane);
    let style = if focused { theme.accent().patch(theme.bold()) } else { theme.dim() };
    let run = model.watched_run().filter(|run| !run.chat).map(|run| format!(" · {}", run.workflow));
    let asked = model.watched_run().map_or(0, |run| run.watch.calls.asked());
    let asked =
        if pane == PaneKind::Tools && asked > 0 { format!(" · {asked} ask you") } else { String::new() };
    let name = format!("─ {}{}{asked} ", pane.title(), run.unwrap_or_default());
    let search = model.panes.search.as_ref().filter(|_| focused);
    let search = search.map(|search| format!(" {} ", search.shown()));
    let below = body.len().saturating_sub(state.height);
    let place = (below > 0).then(|| format!(" {} % ─", state.top * 100 / below));
    let tail = format!("{}{}", search.unwrap_or_default(), place.unwrap_or_default());
    let tail = fit(&tail, columns / 2).into_owned();
    let name = fit(&name, columns.saturating_sub(width(&tail))).into_owned();
    let rule = "─".repeat(columns.saturating_sub(width(&name) + width(&tail)));
    Line::from(vec![
        Span::styled(name, style),
        Span::styled(rule, line_style(focused, model)),
        Span::styled(tail, style),
    ])
}

fn line_style(focused: bool, model: &UiModel) -> Style {
    if focused { model.theme.accent() } else { model.theme.dim() }
}

/// Below the title, right of the border.
fn inside(area: Rect) -> Rect {
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
pub fn keys(model: &UiModel, pane: PaneKind) -> String {
    let key = |action: KeyAction, about: &str| model.keymap.key(action).map(|key| format!("{key} {about}"));
    let typing = model.panes.search.as_ref().is_some_and(|search| search.typing);
    let wanted: &[(KeyAction, &str)] = match pane {
        _ if typing => return "Enter finds · Esc".to_owned(),
        _ if model.panes.search.is_some() => {
            &[(KeyAction::NextHit, "next"), (KeyAction::PreviousHit, "before"), (KeyAction::Back, "ends")]
        }
        PaneKind::Conversation => &[
            (KeyAction::Search, "finds"),
            (KeyAction::PreviousItem, "chooses"),
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
