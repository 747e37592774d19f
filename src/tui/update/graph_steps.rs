//! What keys mean in a graph, in its pane and in the history.

use crate::keymap::KeyAction;
use crate::pane::graph::GraphStep;
use crate::pane::graph_card::card_lines;
use crate::pane::shown_graph::ShownGraph;
use crate::theme::ColorTheme;
use synthdev_service::definition_views::graph::chart::ChartDirection;

/// `None`: it has another meaning.
pub fn graph_step(action: KeyAction, shown: &ShownGraph<'_>) -> Option<GraphStep> {
    Some(match action {
        KeyAction::RowUp => GraphStep::Choose(ChartDirection::Up),
        KeyAction::RowDown => GraphStep::Choose(ChartDirection::Down),
        KeyAction::ChooseLeft => GraphStep::Choose(ChartDirection::Left),
        KeyAction::ChooseRight => GraphStep::Choose(ChartDirection::Right),
        KeyAction::PaneUp => GraphStep::Page { down: false },
        KeyAction::PaneDown => GraphStep::Page { down: true },
        KeyAction::GraphLeft => GraphStep::Sideways { right: false },
        KeyAction::GraphRight => GraphStep::Sideways { right: true },
        KeyAction::First => GraphStep::Edge { last: false },
        KeyAction::Last => GraphStep::Edge { last: true },
        KeyAction::Open => GraphStep::ToggleCard,
        KeyAction::GraphNames => GraphStep::ToggleNames,
        KeyAction::Back if shown.state.card_open => GraphStep::CloseCard,
        _ => return None,
    })
}

/// Lines of the card, if it is open.
pub fn open_card_length(shown: &ShownGraph<'_>, theme: ColorTheme) -> usize {
    let columns = shown.state.size.width.saturating_sub(4);
    if shown.state.card_open { card_lines(shown, theme, columns).len() } else { 0 }
}
