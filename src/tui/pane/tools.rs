//! Calls of tools: how each stands, how long it took, what was asked about it; opened, its arguments and result.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::PaneSet;
use super::body::{PaneRow, paragraph};
use crate::run_view::tool_calls::{CallApproval, ToolCallEntry, ToolCallLog, ToolCallStatus};
use crate::text::{duration, fit, thousands, width};
use crate::theme::ColorTheme;

pub fn rows(calls: &ToolCallLog, panes: &PaneSet, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let mut rows = Vec::new();
    if calls.earlier() > 0 {
        rows.push(PaneRow::new(Line::styled(
            format!("… {} earlier", thousands(calls.earlier())),
            theme.dim(),
        )));
    }
    for call in calls.iter() {
        let key = format!("call {}", call.number);
        let open = panes.toggled.contains(&key);
        rows.push(head(call, open, columns, theme).key(key.clone()));
        if open {
            let below = inside(call, columns, theme).into_iter();
            rows.extend(below.map(|row| PaneRow { key: Some(key.clone()), ..row }));
        }
    }
    rows
}

/// `✓ coder execute_terminal  command=cargo test   allowed · 1.2 s`
fn head(call: &ToolCallEntry, open: bool, columns: usize, theme: ColorTheme) -> PaneRow {
    let (mark, style) = mark(call.status, theme);
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
        ToolCallStatus::Done | ToolCallStatus::Failed => call.duration_ms.map(duration),
        ToolCallStatus::Refused => call.approval.is_none().then(|| "refused".to_owned()),
        ToolCallStatus::Stopped => Some("stopped".to_owned()),
    });
    let tail = notes.join(" · ");
    let lead = format!("{} {mark} ", if open { '▾' } else { '▸' });
    let room = columns.saturating_sub(width(&lead) + width(&tail) + 2);
    let name = fit(&format!("{} {}", call.agent, call.tool), room).into_owned();
    let rest = room.saturating_sub(width(&name) + 2);
    let words = if call.short.is_empty() { &call.summary } else { &call.short };
    let words = if rest > 8 { fit(words, rest).into_owned() } else { String::new() };
    let used = width(&name) + if words.is_empty() { 0 } else { 2 + width(&words) };
    let gap = " ".repeat(room.saturating_sub(used) + 2);
    let words = if words.is_empty() { words } else { format!("  {words}") };
    let text = format!("{} {} {}", call.agent, call.tool, call.short);
    PaneRow::new(Line::from(vec![
        Span::styled(lead, style),
        Span::raw(name),
        Span::styled(words, theme.dim()),
        Span::raw(gap),
        Span::styled(tail, style),
    ]))
    .copied(text.trim_end())
}

fn inside(call: &ToolCallEntry, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let mut rows = paragraph(&call.arguments, 4, columns, theme.text());
    if !call.summary.is_empty() {
        let style = if matches!(call.status, ToolCallStatus::Done) { theme.good() } else { theme.bad() };
        rows.extend(paragraph(&call.summary, 4, columns, style));
    }
    rows.extend(paragraph(&call.content, 4, columns, theme.dim()));
    if rows.is_empty() {
        rows.push(PaneRow::new(Line::styled("    no arguments, no result", theme.dim())));
    }
    rows
}

fn mark(status: ToolCallStatus, theme: ColorTheme) -> (char, Style) {
    match status {
        ToolCallStatus::Asked => ('?', theme.human()),
        ToolCallStatus::Allowed | ToolCallStatus::Running => ('…', theme.warning()),
        ToolCallStatus::Done => ('✓', theme.good()),
        ToolCallStatus::Failed | ToolCallStatus::Refused => ('✗', theme.bad()),
        ToolCallStatus::Stopped => ('■', theme.dim()),
    }
}
