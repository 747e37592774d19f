//! The completion list above the input box.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};

use super::draw_helpers::{draw_box, put_line, select_row};
use crate::layout::WIDE;
use crate::model::UiModel;
use crate::text::{display_width, fit_to_columns, one_line};

const MOST: usize = 8;
/// Columns of what marks the chosen row.
const MARK: usize = 2;

pub fn draw_popup(model: &UiModel, composer: Rect, frame: &mut Frame<'_>) {
    let Some(popup) = &model.popup else { return };
    let count = popup.candidates.len().min(MOST).min(usize::from(composer.y.saturating_sub(2)));
    if count == 0 || composer.width < 10 {
        return;
    }
    let height = u16::try_from(count + 2).unwrap_or(u16::MAX);
    // scraps of text beside the frame would only disturb
    let aside = u16::from(composer.width >= WIDE);
    let columns = (composer.width - aside).min(if aside > 0 { 90 } else { WIDE });
    let area = Rect { x: composer.x + aside, y: composer.y - height, width: columns, height };
    let theme = model.theme;
    let hidden = popup.candidates.len() - count;
    let more = if hidden > 0 { format!("· ↑↓ {hidden} more ") } else { String::new() };
    let inside = draw_box(frame, area, &format!(" Tab completes {more}"), theme.dim_style());
    // The selected one stays in view.
    let first = (popup.selected + 1).saturating_sub(count);
    let room = usize::from(inside.width);
    let names = popup
        .candidates
        .iter()
        .map(|candidate| display_width(&candidate.label))
        .max()
        .unwrap_or(0)
        .min(room / 2);
    for (at, candidate) in popup.candidates.iter().enumerate().skip(first).take(count) {
        let label = fit_to_columns(&candidate.label, names).into_owned();
        let pad = " ".repeat(names - display_width(&label) + 2);
        let told = match candidate.unavailable_reason {
            Some(why) => format!("not now: {why}"),
            None => one_line(&candidate.description),
        };
        let about = fit_to_columns(&told, room.saturating_sub(names + 2 + MARK)).into_owned();
        let style = match candidate.unavailable_reason {
            Some(_) => theme.dim_style(),
            None => theme.text(),
        };
        let mark = if at == popup.selected { "▸ " } else { "  " };
        let line = Line::from(vec![
            Span::styled(mark, style),
            Span::styled(label, style),
            Span::raw(pad),
            Span::styled(about, theme.dim_style()),
        ]);
        let y = inside.y + u16::try_from(at - first).unwrap_or(0);
        put_line(frame, inside.x, y, &line, inside.width);
        if at == popup.selected {
            let selected = theme.selected_style();
            let style = if candidate.unavailable_reason.is_some() {
                selected.patch(theme.dim_style())
            } else {
                selected
            };
            select_row(frame, Rect { y, height: 1, ..inside }, style);
        }
    }
}
