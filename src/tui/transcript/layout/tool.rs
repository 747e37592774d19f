//! A tool's call: one line of what, how it went, how long, how much; opened, its result and its diff.

use ratatui::text::{Line, Span};

use crate::text::{display_width, fit_to_columns, format_count, format_duration, one_line};
use crate::transcript::diff;
use crate::transcript::item::{ToolItem, ToolStatus};
use crate::transcript::layout_options::{INDENT, ItemLayoutOptions, layout_fold_line, layout_plain};
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

pub(super) fn layout_tool(tool: &ToolItem, look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    let theme = look.theme;
    let (mark, style) = match tool.status {
        ToolStatus::Running => ("•", theme.dim_style()),
        ToolStatus::Done => ("✓", theme.good_style()),
        ToolStatus::Failed => ("✗", theme.bad_style()),
        ToolStatus::Stopped => ("✗", theme.warning_style()),
    };
    let mut room = look.columns.saturating_sub(INDENT + 2);
    let name = fit_to_columns(&tool.tool, room).into_owned();
    room = room.saturating_sub(display_width(&name) + 1);
    // The result matters more than the arguments: they get what is left.
    let result =
        fit_to_columns(&result_text(tool, look), room - display_width(&tool.arguments).min(room / 2))
            .into_owned();
    let denial = denial(tool).filter(|denial| !result.contains(without_policy(denial)));
    let arguments = fit_to_columns(&tool.arguments, room.saturating_sub(display_width(&result))).into_owned();
    rows.push(Line::from(vec![
        Span::styled(format!("{:INDENT$}{mark} ", ""), style),
        Span::styled(format!("{name} "), theme.bold_style()),
        Span::raw(arguments),
        Span::styled(result, theme.dim_style()),
    ]));
    layout_file_change(tool, look, rows);
    if look.details {
        let shown = strip_result_header(tool.content.trim_end());
        if !shown.is_empty() {
            layout_plain(shown, theme.dim_style(), look.columns, INDENT * 2, rows);
        }
    } else {
        let words = last_words(&tool.content).filter(|_| tool.status == ToolStatus::Failed);
        let words = words.unwrap_or_default();
        let denial = denial.filter(|denial| !words.lines().any(|line| line == *denial));
        let shown: Vec<&str> = denial.into_iter().chain(words.lines()).collect();
        if !shown.is_empty() {
            layout_plain(&shown.join("\n"), theme.dim_style(), look.columns, INDENT * 2, rows);
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
fn result_text(tool: &ToolItem, look: ItemLayoutOptions) -> String {
    let mut text = match tool.status {
        ToolStatus::Running if tool.summary.is_empty() => return " — running".to_owned(),
        ToolStatus::Running => return format!(" — running, {}", one_line(&tool.summary)),
        ToolStatus::Stopped => " — interrupted".to_owned(),
        _ if tool.summary.is_empty() => String::new(),
        _ => format!(" — {}", one_line(&tool.summary)),
    };
    let time = tool.took_ms.filter(|ms| *ms >= WORTH_MS).map(format_duration);
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
fn layout_file_change(tool: &ToolItem, look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    let Some(change) = tool.change.as_ref().filter(|_| tool.status == ToolStatus::Done) else { return };
    let lines = change.diff.lines().count();
    let shown = if look.details || lines <= CHANGE_FROM { lines } else { CHANGE_SHOWN };
    let page = look.text_options(INDENT * 2, look.theme.text());
    diff::layout_diff(change.diff.lines().take(shown), Some(change.first_line.saturating_sub(1)), page, rows);
    if shown < lines {
        layout_fold_line(lines - shown, look, INDENT * 2, rows);
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
