//! Keys, pastes and the mouse go down the layers of the screen: each takes what it gets, or passes it on (`None`).
//!
//! Owns the way down. Refuses: the order (`layers` has it), and what a layer does with its input.

use ratatui::crossterm::event::{KeyEvent, MouseEvent, MouseEventKind};

use super::key_press::KeyPress;
use super::{
    completion, editor, history_browser, input_keys, key_help, mouse, panes, question_keys, resume_picker,
    session_keys, setup,
};
use crate::layers::ScreenLayer;
use crate::model::UiModel;
use crate::msg::UiCommand;
use synthdev_domain::ids::Timestamp;

pub fn handle_key(model: &mut UiModel, key: KeyEvent, at: Timestamp) -> Vec<UiCommand> {
    let press = KeyPress::record(model, key, at);
    if key_help::opens_key_help(model, key) {
        return Vec::new();
    }
    pass_down(model, |model, layer| match layer {
        ScreenLayer::KeyHelp => key_help::on_key(model, key),
        ScreenLayer::ModelSetup => setup::on_key(model, press),
        ScreenLayer::WorkflowEditor => Some(editor::on_key(model, press)),
        ScreenLayer::ResumePicker => resume_picker::on_key(model, press),
        ScreenLayer::HistoryBrowser => Some(history_browser::on_key(model, press)),
        ScreenLayer::SessionKeys => session_keys::on_key(model, press),
        ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion => question_keys::on_key(model, press),
        ScreenLayer::FocusedPane => panes::on_key(model, key),
        ScreenLayer::CompletionPopup => completion::on_key(model, key),
        ScreenLayer::Conversation => Some(input_keys::on_key(model, key)),
    })
}

pub fn handle_paste(model: &mut UiModel, text: &str) -> Vec<UiCommand> {
    pass_down(model, |model, layer| match layer {
        ScreenLayer::KeyHelp => {
            model.key_help = None;
            None
        }
        ScreenLayer::ModelSetup => setup::on_paste(model, text),
        ScreenLayer::WorkflowEditor => Some(editor::on_paste(model, text)),
        ScreenLayer::ResumePicker => {
            resume_picker::on_paste(model, text);
            Some(Vec::new())
        }
        ScreenLayer::HistoryBrowser => Some(history_browser::on_paste(model, text)),
        ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion => question_keys::on_paste(model, text),
        ScreenLayer::FocusedPane => panes::on_paste(model, text),
        ScreenLayer::SessionKeys | ScreenLayer::CompletionPopup => None,
        ScreenLayer::Conversation => Some(input_keys::on_paste(model, text)),
    })
}

/// A layer that has no use for the mouse keeps it from what is below.
pub fn handle_mouse(model: &mut UiModel, event: MouseEvent) -> Vec<UiCommand> {
    if !model.mouse {
        return Vec::new();
    }
    if let Some(cmds) = mouse::drag_selection(model, event) {
        return cmds;
    }
    let cmds = pass_down(model, |model, layer| match layer {
        ScreenLayer::KeyHelp => {
            key_help::on_mouse(model, event);
            Some(Vec::new())
        }
        ScreenLayer::WorkflowEditor => Some(editor::on_mouse(model, event)),
        ScreenLayer::ResumePicker => {
            resume_picker::on_mouse(model, event);
            Some(Vec::new())
        }
        ScreenLayer::HistoryBrowser => Some(history_browser::on_mouse(model, event)),
        ScreenLayer::ModelSetup => Some(Vec::new()),
        ScreenLayer::KeyQuestion | ScreenLayer::TypedQuestion => {
            // the wheel scrolls what is under it; nothing else acts beside a question
            let passes = is_wheel(event) && !question_keys::on_wheel(model, event);
            (!passes).then(Vec::new)
        }
        ScreenLayer::SessionKeys | ScreenLayer::FocusedPane | ScreenLayer::CompletionPopup => None,
        ScreenLayer::Conversation => Some(mouse::on_mouse(model, event)),
    });
    mouse::begin_selection(model, event);
    cmds
}

fn is_wheel(event: MouseEvent) -> bool {
    let sideways = matches!(event.kind, MouseEventKind::ScrollLeft | MouseEventKind::ScrollRight);
    sideways || matches!(event.kind, MouseEventKind::ScrollUp | MouseEventKind::ScrollDown)
}

/// From the highest layer down to the one that takes it.
fn pass_down(
    model: &mut UiModel,
    mut take_input: impl FnMut(&mut UiModel, ScreenLayer) -> Option<Vec<UiCommand>>,
) -> Vec<UiCommand> {
    let layers = model.active_layers();
    layers.into_iter().rev().find_map(|layer| take_input(model, layer)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
