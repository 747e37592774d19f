//! A tool's call: one line of what, how it went, how long, how much; opened, its result and its diff.

use ratatui::text::{Line, Span};

use crate::text::{duration, fit, format_count, one_line, width};
use crate::transcript::diff;
use crate::transcript::item::{ToolItem, ToolStatus};
use crate::transcript::layout_options::{INDENT, ItemLayoutOptions, lay_more, lay_plain};
use synthdev_domain::tool::strip_result_header;

/// Lines of a failed tool's output that are always shown.
const FAILED_SHOWN: usize = 3;

/// Lines of a small change that are always shown; of a larger one the first.
const CHANGE_FROM: usize = 14;
const CHANGE_SHOWN: usize = 10;

/// How lines begin that the sandbox says.
const SANDBOX: &str = "[sandbox] ";

/// Calls that took less are not worth a time.
const WORTH_MS: u64 = 100;

pub(super) fn layout(tool: &ToolItem, look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    let theme = look.theme;
    let (mark, style) = match tool.status {
        ToolStatus::Running => ("•", theme.dim()),
        ToolStatus::Done => ("✓", theme.good()),
        ToolStatus::Failed => ("✗", theme.bad()),
        ToolStatus::Stopped => ("✗", theme.warning()),
    };
    let mut room = look.columns.saturating_sub(INDENT + 2);
    let name = fit(&tool.tool, room).into_owned();
    room = room.saturating_sub(width(&name) + 1);
    // The result matters more than the arguments: they get what is left.
    let result = fit(&result(tool, look), room - width(&tool.arguments).min(room / 2)).into_owned();
    let denial = denial(tool).filter(|denial| !result.contains(without_policy(denial)));
    let arguments = fit(&tool.arguments, room.saturating_sub(width(&result))).into_owned();
    rows.push(Line::from(vec![
        Span::styled(format!("{:INDENT$}{mark} ", ""), style),
        Span::styled(format!("{name} "), theme.bold()),
        Span::raw(arguments),
        Span::styled(result, theme.dim()),
    ]));
    lay_change(tool, look, rows);
    if look.details {
        let shown = strip_result_header(tool.content.trim_end());
        if !shown.is_empty() {
            lay_plain(shown, theme.dim(), look.columns, INDENT * 2, rows);
        }
    } else {
        let words = last_words(&tool.content).filter(|_| tool.status == ToolStatus::Failed);
        let words = words.unwrap_or_default();
        let denial = denial.filter(|denial| !words.lines().any(|line| line == *denial));
        let shown: Vec<&str> = denial.into_iter().chain(words.lines()).collect();
        if !shown.is_empty() {
            lay_plain(&shown.join("\n"), theme.dim(), look.columns, INDENT * 2, rows);
        }
    }
}

/// The first thing that the sandbox denied, with the path: the line of the call may have no room for it.
fn denial(tool: &ToolItem) -> Option<&str> {
    let mut printed = strip_result_header(tool.content.trim_end()).lines();
    let is_denial = |line: &&str| line.starts_with(SANDBOX);
    printed.find(is_denial).or_else(|| Some(tool.summary.as_str()).filter(is_denial))
}

fn without_policy(denial: &str) -> &str {
    denial.split(" (policy ").next().unwrap_or(denial)
}

/// How it went, how long it took, and how much there is to read.
fn result(tool: &ToolItem, look: ItemLayoutOptions) -> String {
    let mut text = match tool.status {
        ToolStatus::Running => return " — running".to_owned(),
        ToolStatus::Stopped => " — interrupted".to_owned(),
        _ if tool.summary.is_empty() => String::new(),
        _ => format!(" — {}", one_line(&tool.summary)),
    };
    let time = tool.took_ms.filter(|ms| *ms >= WORTH_MS).map(duration);
    let lines = strip_result_header(tool.content.trim_end()).lines().count() as u64;
    let told = text.contains(" line");
    let lines = (lines > 1 && !told && !look.details).then(|| format_count(lines, "line"));
    for part in time.into_iter().chain(lines) {
        text.push_str(if text.is_empty() { " — " } else { " · " });
        text.push_str(&part);
    }
    text
}

/// What a call has changed in a file. A call that failed has changed nothing.
fn lay_change(tool: &ToolItem, look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    let Some(change) = tool.change.as_ref().filter(|_| tool.status == ToolStatus::Done) else { return };
    let lines = change.diff.lines().count();
    let shown = if look.details || lines <= CHANGE_FROM { lines } else { CHANGE_SHOWN };
    let page = look.page(INDENT * 2, look.theme.text());
    diff::layout(change.diff.lines().take(shown), Some(change.first_line.saturating_sub(1)), page, rows);
    if shown < lines {
        lay_more(lines - shown, look, INDENT * 2, rows);
    }
}

/// The end of what a failed tool printed, which mostly says why.
fn last_words(content: &str) -> Option<String> {
    let printed: Vec<&str> =
        strip_result_header(content.trim_end()).split('\n').filter(|line| !line.trim().is_empty()).collect();
    let hidden = printed.len().saturating_sub(FAILED_SHOWN);
    let more = (hidden > 0).then(|| format!("… {} (Ctrl+O)", format_count(hidden as u64, "more line")));
    let shown = printed[hidden..].iter().map(|line| (*line).to_owned());
    let lines: Vec<String> = more.into_iter().chain(shown).collect();
    (!lines.is_empty()).then(|| lines.join("\n"))
}
