//! The lower border of a pane: the keys that act in it, or how it gets the keys.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Line;

use super::draw_helpers::put_line;
use crate::keymap::KeyAction;
use crate::layers::ScreenLayer;
use crate::layout::PaneKind;
use crate::model::UiModel;
use crate::text::display_width;

/// A lower pane has no room for a border.
const BORDERED: u16 = 8;

/// What of a pane, without its title, is above its lower border.
pub fn area_above_border(area: Rect) -> Rect {
    let border = u16::from(area.height >= BORDERED);
    Rect { height: area.height - border, ..area }
}

/// `─ Enter opens · Ctrl+F finds · Ctrl+Y copies ─────`; `area` is the pane without its title.
pub(super) fn draw_border(
    model: &UiModel,
    keys: &[String],
    is_focused: bool,
    area: Rect,
    frame: &mut Frame<'_>,
) {
    let inside = area_above_border(area);
    if inside.height == area.height {
        return;
    }
    let style = if is_focused { model.theme.accent_style() } else { model.theme.dim_style() };
    let line = Line::styled(border_text(keys, usize::from(area.width)), style);
    put_line(frame, area.x, inside.bottom(), &line, area.width);
}

/// What has no room is in the list of keys (F1).
fn border_text(keys: &[String], columns: usize) -> String {
    let mut text = String::from("─");
    for (key, before) in keys.iter().zip([" "].into_iter().chain(std::iter::repeat(" · "))) {
        if display_width(&text) + display_width(before) + display_width(key) + 2 > columns {
            break;
        }
        text.push_str(before);
        text.push_str(key);
    }
    text.push(' ');
    let rule = "─".repeat(columns.saturating_sub(display_width(&text)));
    text + &rule
}

/// The keys of a pane that is a list of rows, the most useful ones first.
pub(super) fn list_keys(model: &UiModel, pane: PaneKind, is_focused: bool) -> Vec<String> {
    if !is_focused && model.keyed_pane() == Some(pane) && model.is_open(ScreenLayer::KeyQuestion) {
        return vec!["the question has the keys".to_owned()];
    }
    if !is_focused {
        let about = match pane {
            PaneKind::Data => "opens values",
            PaneKind::Tools | PaneKind::Timeline => "opens calls",
            PaneKind::Graph => "chooses states",
            PaneKind::Conversation | PaneKind::Agents | PaneKind::Costs => "finds, copies",
        };
        let key = model.keymap.key(KeyAction::Show(pane));
        return key.map(|key| format!("{key} {about}")).into_iter().collect();
    }
    let search = model.panes.search.as_ref();
    let wanted: &[(KeyAction, &str)] = match pane {
        _ if search.is_some_and(|search| search.is_typing) => {
            return vec!["Enter finds".to_owned(), "Esc ends".to_owned()];
        }
        _ if search.is_some() => {
            &[(KeyAction::NextHit, "next"), (KeyAction::PreviousHit, "before"), (KeyAction::Back, "ends")]
        }
        PaneKind::Timeline => &[
            (KeyAction::Open, "opens"),
            (KeyAction::ChooseRight, "next bar"),
            (KeyAction::Search, "finds"),
            (KeyAction::Copy, "copies"),
            (KeyAction::Mark, "marks rows"),
        ],
        PaneKind::Data | PaneKind::Tools => &[
            (KeyAction::Open, "opens"),
            (KeyAction::Search, "finds"),
            (KeyAction::Copy, "copies"),
            (KeyAction::Mark, "marks rows"),
            (KeyAction::CopyAll, "copies all"),
        ],
        PaneKind::Conversation | PaneKind::Graph | PaneKind::Agents | PaneKind::Costs => &[
            (KeyAction::Search, "finds"),
            (KeyAction::Copy, "copies"),
            (KeyAction::Mark, "marks rows"),
            (KeyAction::CopyAll, "copies all"),
        ],
    };
    let key =
        |(action, about): &(KeyAction, &str)| Some(format!("{} {about}", model.keymap.pane_key(*action)?));
    wanted.iter().filter_map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_left_out_whole() {
        let keys = ["Enter opens", "Ctrl+F finds", "Ctrl+Y copies"].map(str::to_owned);
        let check = |columns: usize, expected: &str| assert_eq!(border_text(&keys, columns), expected);
        check(48, "─ Enter opens · Ctrl+F finds · Ctrl+Y copies ───");
        check(46, "─ Enter opens · Ctrl+F finds · Ctrl+Y copies ─");
        check(45, "─ Enter opens · Ctrl+F finds ────────────────");
        check(20, "─ Enter opens ──────");
        check(8, "─ ──────");
        check(0, "─ ");
    }
}
