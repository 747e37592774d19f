//! Tool calls with their status, duration and approval; opened, their arguments and result.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::PaneSet;
use super::body::{PaneRow, paragraph_rows};
use crate::run_view::tool_calls::{CallApproval, ToolCallEntry, ToolCallLog, ToolCallStatus};
use crate::text::{display_width, fit_to_columns, format_duration, format_thousands};
use crate::theme::ColorTheme;

pub fn tool_rows(calls: &ToolCallLog, panes: &PaneSet, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let mut rows = Vec::new();
    if calls.dropped_count() > 0 {
        rows.push(PaneRow::new(Line::styled(
            format!("… {} earlier", format_thousands(calls.dropped_count())),
            theme.dim_style(),
        )));
    }
    for call in calls.iter() {
        let key = format!("call {}", call.number);
        let open = panes.toggled_rows.contains(&key);
        rows.push(call_heading(call, open, columns, theme).key(key.clone()));
        if open {
            let below = detail_rows(call, columns, theme).into_iter();
            rows.extend(below.map(|row| PaneRow { key: Some(key.clone()), ..row }));
        }
    }
    rows
}

/// `✓ coder execute_terminal  command=cargo test   allowed · 1.2 s`
fn call_heading(call: &ToolCallEntry, open: bool, columns: usize, theme: ColorTheme) -> PaneRow {
    let (mark, style) = status_mark(call.status, theme);
    let mut notes: Vec<String> = Vec::new();
    notes.extend(call.approval.map(|approval| {
        match approval {
            CallApproval::Allowed => "allowed",
            CallApproval::Always => "always allowed",
            CallApproval::Denied => "denied",
        }
        .to_owned()
    }));
    notes.extend(match call.status {
        ToolCallStatus::Asked => Some("asks you".to_owned()),
        ToolCallStatus::Allowed => None,
        ToolCallStatus::Running => Some("runs".to_owned()),
        ToolCallStatus::Done | ToolCallStatus::Failed => call.duration_ms.map(format_duration),
        ToolCallStatus::Refused => call.approval.is_none().then(|| "refused".to_owned()),
        ToolCallStatus::Stopped => Some("stopped".to_owned()),
    });
    let tail = notes.join(" · ");
    let lead = format!("{} {mark} ", if open { '▾' } else { '▸' });
    let room = columns.saturating_sub(display_width(&lead) + display_width(&tail) + 2);
    let name = fit_to_columns(&format!("{} {}", call.agent, call.tool), room).into_owned();
    let rest = room.saturating_sub(display_width(&name) + 2);
    let words = if call.arguments_line.is_empty() { &call.summary } else { &call.arguments_line };
    let words = if rest > 8 { fit_to_columns(words, rest).into_owned() } else { String::new() };
    let used = display_width(&name) + if words.is_empty() { 0 } else { 2 + display_width(&words) };
    let gap = " ".repeat(room.saturating_sub(used) + 2);
    let words = if words.is_empty() { words } else { format!("  {words}") };
    let text = format!("{} {} {}", call.agent, call.tool, call.arguments_line);
    PaneRow::new(Line::from(vec![
        Span::styled(lead, style),
        Span::raw(name),
        Span::styled(words, theme.dim_style()),
        Span::raw(gap),
        Span::styled(tail, style),
    ]))
    .with_copy_text(text.trim_end())
}

fn detail_rows(call: &ToolCallEntry, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let mut rows = paragraph_rows(&call.arguments, 4, columns, theme.text());
    if !call.summary.is_empty() {
        let style =
            if matches!(call.status, ToolCallStatus::Done) { theme.good_style() } else { theme.bad_style() };
        rows.extend(paragraph_rows(&call.summary, 4, columns, style));
    }
    rows.extend(paragraph_rows(&call.content, 4, columns, theme.dim_style()));
    if rows.is_empty() {
        rows.push(PaneRow::new(Line::styled("    no arguments, no result", theme.dim_style())));
    }
    rows
}

fn status_mark(status: ToolCallStatus, theme: ColorTheme) -> (char, Style) {
    match status {
        ToolCallStatus::Asked => ('?', theme.user_attention()),
        ToolCallStatus::Allowed | ToolCallStatus::Running => ('…', theme.warning_style()),
        ToolCallStatus::Done => ('✓', theme.good_style()),
        ToolCallStatus::Failed | ToolCallStatus::Refused => ('✗', theme.bad_style()),
        ToolCallStatus::Stopped => ('■', theme.dim_style()),
    }
}
