//! The title of a question: who asks for what. Its beginning stands on the upper edge, what does not fit there before the
//! text. Only on a low screen, which has no row for that, it is cut.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;

use super::super::draw_helpers::put_line;
use super::question_columns::{question_width, text_columns};
use crate::dialog::QuestionDialog;
use crate::model::UiModel;
use crate::text::{display_width, fit_to_columns, wrap_hanging};
use synthdev_domain::terminal_safe;

/// Columns that the title has beside what is at risk.
const TITLE_COLUMNS: usize = 24;

/// A lower screen has no rows for the rest of a title.
const WRAPPED_HEIGHT: u16 = 16;

/// A title as it is wrapped.
pub(super) struct QuestionTitle {
    /// On the upper edge.
    pub first: String,
    /// The rows before the text.
    pub rest: Vec<String>,
    /// What is at risk, the run, and which of how many questions it is.
    right: String,
    /// Of the frame, by what is at risk.
    pub edge_style: Style,
    style: Style,
}

impl QuestionTitle {
    /// For a screen of the model's width.
    pub(super) fn arrange(model: &UiModel, dialog: &QuestionDialog) -> Self {
        let theme = model.theme;
        let risky = dialog.risk_label().starts_with('!');
        let edge_style = if risky { theme.bad_style() } else { theme.warning_style() };
        let columns = usize::from(question_width(model.size.0).saturating_sub(2));
        let (name, title) = titled_run(model, dialog);
        let right = right_text(model, dialog, &name, display_width(&title), columns);
        let room = columns.saturating_sub(display_width(&right) + 3);
        let style = edge_style.patch(theme.bold_style());
        if model.size.1 < WRAPPED_HEIGHT {
            let first = fit_to_columns(&title, room).into_owned();
            return Self { first, rest: Vec::new(), right, edge_style, style };
        }
        let mut rows = wrap_hanging(&title, room, text_columns(model.size.0))
            .into_iter()
            .map(|row| title[row].trim_end().to_owned());
        let first = rows.next().unwrap_or_default();
        Self { first, rest: rows.collect(), right, edge_style, style }
    }

    /// The rows before the text.
    pub(super) fn rest_lines(&self) -> Vec<Line<'static>> {
        self.rest.iter().map(|row| Line::styled(row.clone(), self.style)).collect()
    }

    /// On the upper edge of the frame.
    pub(super) fn draw(&self, area: Rect, frame: &mut Frame<'_>) {
        let title = Line::styled(format!(" {} ", self.first), self.style);
        put_line(frame, area.x + 1, area.y, &title, area.width - 2);
        let columns = u16::try_from(display_width(&self.right)).unwrap_or(0);
        let from = area.right().saturating_sub(1 + columns);
        if from > area.x {
            let right = Line::styled(self.right.as_str(), self.style);
            put_line(frame, from, area.y, &right, area.right() - 1 - from);
        }
    }
}

/// What stands on the right of the upper edge: where there is no room for all of it, the title is more.
fn right_text(
    model: &UiModel,
    dialog: &QuestionDialog,
    name: &str,
    title_width: usize,
    columns: usize,
) -> String {
    let count = model.question_position().filter(|(_, all)| *all > 1);
    let count = count.map(|(at, all)| format!("{at} of {all}")).unwrap_or_default();
    let walk = if count.is_empty() { "" } else { "Tab" };
    let choices = [
        &[name, dialog.risk_label(), &count, walk][..],
        &[dialog.risk_label(), &count, walk],
        &[&count, walk],
        &[&count],
    ];
    let texts = choices
        .map(|parts| parts.iter().copied().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" · "));
    let least = |at: usize| if at == 0 { title_width + 5 } else { TITLE_COLUMNS };
    let fits = |(at, text): &(usize, &String)| display_width(text) + least(*at) <= columns;
    let right = texts.iter().enumerate().find(fits).map_or(&texts[3], |(_, text)| text);
    if right.is_empty() { String::new() } else { format!(" {right} ") }
}

/// The run that asks, and the title. Where several runs could, the title begins with it.
fn titled_run(model: &UiModel, dialog: &QuestionDialog) -> (String, String) {
    let title = terminal_safe::escape_name(&dialog.title).into_owned();
    let run = dialog.run_id().and_then(|id| model.find_run(id));
    match run {
        Some(run) if model.has_several_live_runs() => {
            let name = if run.chat { "conversation" } else { &run.workflow };
            (String::new(), format!("{name} {} · {title}", run.id))
        }
        Some(run) if !run.chat => (run.workflow.clone(), title),
        _ => (String::new(), title),
    }
}
