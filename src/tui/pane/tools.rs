//! Calls of tools: how each stands, how long it took, what was asked about it; opened, its arguments and result.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::Panes;
use super::body::{Row, paragraph};
use crate::tui::run_view::calls::{Approval, Call, Calls, Status};
use crate::tui::text::{duration, fit, thousands, width};
use crate::tui::theme::Theme;

pub fn rows(calls: &Calls, panes: &Panes, columns: usize, theme: Theme) -> Vec<Row> {
    let mut rows = Vec::new();
    if calls.earlier() > 0 {
        rows.push(Row::new(Line::styled(format!("… {} earlier", thousands(calls.earlier())), theme.dim())));
    }
    for call in calls.iter() {
        let key = format!("call {}", call.number);
        let open = panes.toggled.contains(&key);
        rows.push(head(call, open, columns, theme).key(key.clone()));
        if open {
            let below = inside(call, columns, theme).into_iter();
            rows.extend(below.map(|row| Row { key: Some(key.clone()), ..row }));
        }
    }
    rows
}

/// `✓ coder execute_terminal  command=cargo test   allowed · 1.2 s`
fn head(call: &Call, open: bool, columns: usize, theme: Theme) -> Row {
    let (mark, style) = mark(call.status, theme);
    let mut notes: Vec<String> = Vec::new();
    notes.extend(call.approval.map(|approval| {
        match approval {
            Approval::Allowed => "allowed",
            Approval::Always => "always allowed",
            Approval::Denied => "denied",
        }
        .to_owned()
    }));
    notes.extend(match call.status {
        Status::Asked => Some("asks you".to_owned()),
        Status::Allowed => None,
        Status::Running => Some("runs".to_owned()),
        Status::Done | Status::Failed => call.duration_ms.map(duration),
        Status::Refused => call.approval.is_none().then(|| "refused".to_owned()),
        Status::Stopped => Some("stopped".to_owned()),
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
    Row::new(Line::from(vec![
        Span::styled(lead, style),
        Span::raw(name),
        Span::styled(words, theme.dim()),
        Span::raw(gap),
        Span::styled(tail, style),
    ]))
    .copied(text.trim_end())
}

fn inside(call: &Call, columns: usize, theme: Theme) -> Vec<Row> {
    let mut rows = paragraph(&call.arguments, 4, columns, theme.text());
    if !call.summary.is_empty() {
        let style = if matches!(call.status, Status::Done) { theme.good() } else { theme.bad() };
        rows.extend(paragraph(&call.summary, 4, columns, style));
    }
    rows.extend(paragraph(&call.content, 4, columns, theme.dim()));
    if rows.is_empty() {
        rows.push(Row::new(Line::styled("    no arguments, no result", theme.dim())));
    }
    rows
}

fn mark(status: Status, theme: Theme) -> (char, Style) {
    match status {
        Status::Asked => ('?', theme.human()),
        Status::Allowed | Status::Running => ('…', theme.warning()),
        Status::Done => ('✓', theme.good()),
        Status::Failed | Status::Refused => ('✗', theme.bad()),
        Status::Stopped => ('■', theme.dim()),
    }
}
