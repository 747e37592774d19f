//! The side panel on and off, one pane over the whole screen and back. Refuses to change what would not be seen.

use ratatui::layout::Rect;

use crate::keymap::KeyAction;
use crate::layout::{LayoutSlot, PaneKind, WIDE};
use crate::model::UiModel;

/// What would change nothing on screen is not done, but said.
pub(super) fn toggle_side_panel(model: &mut UiModel) {
    let before = placed_slots(model);
    model.panel = !model.panel;
    if placed_slots(model) != before {
        return;
    }
    model.panel = !model.panel;
    model.hint = Some(if model.panes.zoomed_pane.is_some() {
        let zoom =
            model.keymap.key(KeyAction::Zoom).map_or(String::new(), |key| format!(": {key} ends that"));
        format!("no side panel beside a pane that fills the screen{zoom}")
    } else if model.is_narrow() {
        let agents = model.keymap.key(KeyAction::Show(PaneKind::Agents));
        let instead = agents.map_or(String::new(), |key| format!(" · {key}: agents"));
        format!("the side panel needs {WIDE} columns, here are {}{instead}", model.size.0)
    } else {
        "the panes that are open leave the side panel no room".to_owned()
    });
}

/// What would change nothing on screen is not done, but said.
pub(super) fn toggle_zoom(model: &mut UiModel) {
    let before = placed_slots(model);
    model.panes.toggle_zoom();
    if placed_slots(model) != before {
        return;
    }
    model.panes.toggle_zoom();
    let graph = model.keymap.key(KeyAction::Show(PaneKind::Graph));
    let another = graph.map_or(String::new(), |key| format!(" · {key}: graph"));
    model.hint = Some(if model.is_narrow() {
        format!("several panes need {WIDE} columns, here are {}{another}", model.size.0)
    } else {
        format!("the only pane fills the screen already{another}")
    });
}

fn placed_slots(model: &UiModel) -> Vec<(LayoutSlot, Rect)> {
    let (width, height) = model.size;
    model.place_slots(Rect { x: 0, y: 0, width, height })
}
