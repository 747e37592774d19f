//! Which actions do something in the part of the history that is in front: only their keys are listed there.

use crate::history_browser::{HistoryBrowser, RunAction};
use crate::keymap::KeyAction;
use crate::layout::PaneKind;
use crate::model::UiModel;

/// Whether the action does something now.
pub fn acts_in_front(model: &UiModel, action: KeyAction) -> bool {
    model.history_browser.as_deref().is_some_and(|browser| acts_in(browser, action))
}

/// Keep it as `keys` acts.
fn acts_in(browser: &HistoryBrowser, action: KeyAction) -> bool {
    let is_page = browser.page.is_some();
    let is_comparison = browser.comparison.is_some() && !is_page;
    let is_run = browser.run.is_some() && !is_page && !is_comparison;
    let is_graph = is_run && browser.run.as_ref().is_some_and(|run| run.graph.is_some());
    let is_list = browser.run.is_none() && !is_page && !is_comparison;
    match action {
        KeyAction::Help
        | KeyAction::Repaint
        | KeyAction::Back
        | KeyAction::Copy
        | KeyAction::CopyAll
        | KeyAction::RowUp
        | KeyAction::RowDown
        | KeyAction::PaneUp
        | KeyAction::PaneDown
        | KeyAction::First
        | KeyAction::Last => true,
        KeyAction::LineUp | KeyAction::LineDown => !is_graph,
        KeyAction::Open | KeyAction::Search => !is_comparison,
        KeyAction::NextHit | KeyAction::PreviousHit => !is_list,
        KeyAction::NextItem | KeyAction::PreviousItem => is_page,
        KeyAction::ChooseLeft | KeyAction::ChooseRight | KeyAction::Show(PaneKind::Graph) => is_run,
        KeyAction::GraphNames | KeyAction::GraphLeft | KeyAction::GraphRight => is_graph,
        KeyAction::ByStatus | KeyAction::ByWorkflow | KeyAction::ByProject => is_list,
        // of such a page no run is known
        KeyAction::Deed(_) if browser.is_single_page => false,
        KeyAction::Deed(RunAction::Why) => !is_comparison,
        KeyAction::Deed(_) => !is_comparison && !is_graph,
        _ => false,
    }
}
