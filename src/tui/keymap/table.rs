//! The table of actions with their built-in keys.

use super::{Action, Place, Row};
use crate::tui::archive::Deed;
use crate::tui::layout::Pane;

const fn row(
    action: Action,
    name: &'static str,
    about: &'static str,
    place: Place,
    keys: &'static [&'static str],
) -> Row {
    Row { action, name, about, place, keys, fixed: false }
}

const fn fixed(
    action: Action,
    name: &'static str,
    about: &'static str,
    place: Place,
    keys: &'static [&'static str],
) -> Row {
    Row { fixed: true, ..row(action, name, about, place, keys) }
}

/// In the order in which help shows them.
pub const ACTIONS: &[Row] = &[
    fixed(Action::Send, "send", "send", Place::Input, &["Enter"]),
    row(Action::NewLine, "new_line", "new line", Place::Input, &["Alt+Enter", "Shift+Enter", "Ctrl+J"]),
    fixed(Action::Stop, "stop", "stop what runs", Place::Input, &["Esc"]),
    row(Action::Leave, "leave", "leave, on an empty line", Place::Empty, &["Ctrl+D"]),
    row(Action::PageUp, "page_up", "page up", Place::Input, &["PgUp"]),
    row(Action::PageDown, "page_down", "page down", Place::Input, &["PgDn"]),
    row(Action::LineUp, "line_up", "line up", Place::Screen, &["Ctrl+Up"]),
    row(Action::LineDown, "line_down", "line down", Place::Screen, &["Ctrl+Down"]),
    row(Action::Oldest, "oldest", "oldest message", Place::Empty, &["Home"]),
    row(Action::Newest, "newest", "newest message", Place::Empty, &["End"]),
    row(Action::Details, "details", "details: outputs, data", Place::Anywhere, &["Ctrl+O"]),
    row(Action::SidePanel, "side_panel", "side panel", Place::Anywhere, &["F2"]),
    row(Action::Repaint, "repaint", "draw it all anew", Place::Anywhere, &["Ctrl+L"]),
    row(Action::Show(Pane::Conversation), "conversation", "conversation", Place::Anywhere, &["Alt+1"]),
    row(Action::Show(Pane::Graph), "graph", "graph of the states", Place::Anywhere, &["Alt+2", "F3"]),
    row(Action::Show(Pane::Agents), "agents", "agents", Place::Anywhere, &["Alt+3", "F4"]),
    row(Action::Show(Pane::Data), "data", "common_data", Place::Anywhere, &["Alt+4", "F5"]),
    row(Action::Show(Pane::Tools), "tools", "tools and approvals", Place::Anywhere, &["Alt+5", "F7"]),
    row(Action::Show(Pane::Timeline), "timeline", "timeline", Place::Anywhere, &["Alt+6", "F8"]),
    row(Action::Show(Pane::Costs), "costs", "costs and budget", Place::Anywhere, &["Alt+7", "F9"]),
    row(Action::History, "history", "history of runs", Place::Screen, &["Alt+8"]),
    row(Action::NextPane, "next_pane", "next pane", Place::Free, &["Tab", "F6"]),
    row(Action::PreviousPane, "previous_pane", "previous pane", Place::Free, &["Shift+Tab", "Shift+F6"]),
    row(Action::Zoom, "zoom", "one pane, whole screen", Place::Anywhere, &["Alt+Z", "F10"]),
    row(Action::NextRun, "next_run", "panes: the next run", Place::Anywhere, &["Alt+N"]),
    row(Action::PreviousRun, "previous_run", "panes: the run before", Place::Anywhere, &["Alt+P"]),
    row(Action::NextQuestion, "next_question", "the next question", Place::Anywhere, &["Alt+A"]),
    row(Action::RowUp, "row_up", "row up", Place::Pane, &["Up", "k"]),
    row(Action::RowDown, "row_down", "row down", Place::Pane, &["Down", "j"]),
    row(Action::PaneUp, "pane_up", "page up", Place::Pane, &["PgUp"]),
    row(Action::PaneDown, "pane_down", "page down", Place::Pane, &["PgDn", "Space"]),
    row(Action::First, "first", "first row", Place::Pane, &["Home", "g"]),
    row(Action::Last, "last", "last row", Place::Pane, &["End", "G"]),
    row(Action::Open, "open", "opens or closes", Place::Pane, &["Enter"]),
    row(Action::NextItem, "next_item", "next message or call", Place::Pane, &["]"]),
    row(Action::PreviousItem, "previous_item", "the one before", Place::Pane, &["["]),
    row(Action::Search, "search", "search", Place::Pane, &["/"]),
    row(Action::NextHit, "next_hit", "next hit", Place::Pane, &["n"]),
    row(Action::PreviousHit, "previous_hit", "hit before", Place::Pane, &["N"]),
    row(Action::Mark, "mark", "mark rows", Place::Pane, &["v"]),
    row(Action::Copy, "copy", "copy", Place::Pane, &["y"]),
    row(Action::CopyAll, "copy_all", "copy all", Place::Pane, &["Y"]),
    fixed(Action::Back, "back", "back to the input", Place::Pane, &["Esc"]),
    row(Action::ByStatus, "by_status", "of one status", Place::History, &["s"]),
    row(Action::ByWorkflow, "by_workflow", "of one workflow", Place::History, &["o"]),
    row(Action::ByProject, "by_project", "of this project", Place::History, &["p"]),
    row(Action::Deed(Deed::Why), "why", "why a step was taken", Place::History, &["w"]),
    row(Action::Deed(Deed::Compare), "compare", "compare two runs", Place::History, &["c"]),
    row(Action::Deed(Deed::Resume), "resume", "resume", Place::History, &["r"]),
    row(Action::Deed(Deed::Retry), "retry", "retry", Place::History, &["t"]),
    row(Action::Deed(Deed::Fork), "fork", "fork at a step", Place::History, &["f"]),
    row(Action::Deed(Deed::Rewind), "rewind", "rewind to a step", Place::History, &["b"]),
    row(Action::Deed(Deed::Undo), "undo", "undo its files", Place::History, &["u"]),
    row(Action::Deed(Deed::Export), "export", "export", Place::History, &["e"]),
];
