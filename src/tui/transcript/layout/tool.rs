//! A tool's call: one line of what, how it went, how long, how much; opened, its arguments, its diff and its result.

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::text::{
    display_width, fit_to_columns, format_count, format_duration, format_whole_seconds, one_line,
};
use crate::transcript::diff;
use crate::transcript::item::{ToolItem, ToolStatus};
use crate::transcript::layout_options::{INDENT, ItemLayoutOptions, layout_plain};
use synthdev_domain::tool::strip_result_header;

/// Lines of a failed tool's output that are always shown.
const FAILED_SHOWN: usize = 3;

/// How lines begin that the sandbox says.
const SANDBOX: &str = "[sandbox] ";

/// Calls that took less are not worth a time.
const WORTH_MS: u64 = 100;

/// One after the other, a second each.
const SPINNER: [&str; 8] = ["⠋", "⠙", "⠸", "⠴", "⠦", "⠇", "⠏", "⠛"];

pub(super) fn layout_tool(tool: &ToolItem, look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    let theme = look.theme;
    let (mark, style) = match tool.status {
        ToolStatus::Running => (spinner(tool, look), theme.warning_style()),
        ToolStatus::Done => ("✓", theme.good_style()),
        ToolStatus::Failed => ("✗", theme.bad_style()),
        ToolStatus::Stopped => ("✗", theme.warning_style()),
    };
    let mut room = look.columns.saturating_sub(INDENT + 2);
    let name = fit_to_columns(&tool.tool, room).into_owned();
    room = room.saturating_sub(display_width(&name) + 1);
    let mut counts = change_counts(tool, look);
    let counted: usize = counts.iter().map(|(_, text)| display_width(text)).sum();
    if counted > room {
        counts.clear();
    } else {
        room -= counted;
    }
    // The result matters more than the arguments: they get what is left.
    let needed = display_width(&tool.input.line).min(room / 2);
    let result = fit_to_columns(&result_text(tool, look), room - needed).into_owned();
    let denial = denial(tool).filter(|denial| !result.contains(without_policy(denial)));
    let line = fit_to_columns(&tool.input.line, room.saturating_sub(display_width(&result))).into_owned();
    let is_cut = line != tool.input.line;
    let mut spans = vec![
        agent_mark(tool, look),
        Span::styled(format!("{mark} "), style),
        Span::styled(format!("{name} "), theme.bold_style()),
        Span::raw(line),
    ];
    if tool.input.line.is_empty()
        && let Some((_, first)) = counts.first_mut()
    {
        first.remove(0);
    }
    spans.extend(counts.into_iter().map(|(style, text)| Span::styled(text, style)));
    spans.push(Span::styled(result, theme.dim_style()));
    rows.push(Line::from(spans));
    if look.details {
        layout_whole_call(tool, is_cut, look, rows);
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

/// In front of the line, as wide as the indentation: which agent calls.
fn agent_mark(tool: &ToolItem, look: ItemLayoutOptions) -> Span<'static> {
    if !tool.identity.is_known() {
        return Span::raw(format!("{:INDENT$}", ""));
    }
    Span::styled(format!("{:INDENT$}", tool.identity.mark()), tool.identity.style(look.theme))
}

fn spinner(tool: &ToolItem, look: ItemLayoutOptions) -> &'static str {
    running_seconds(tool, look).map_or("•", |second| SPINNER[second as usize % SPINNER.len()])
}

/// How long it runs; `None`: that is not shown.
fn running_seconds(tool: &ToolItem, look: ItemLayoutOptions) -> Option<u32> {
    let (now, began) = look.clock.zip(tool.started_at)?;
    Some(u32::try_from((now - began.0) / 1_000).unwrap_or_default())
}

/// What an opened call shows: what the line lacks of the arguments, what it changes, what it printed.
fn layout_whole_call(tool: &ToolItem, is_cut: bool, look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    let theme = look.theme;
    let input = if !tool.input.rest.is_empty() {
        &tool.input.rest
    } else if is_cut {
        &tool.input.line
    } else {
        ""
    };
    if !input.is_empty() {
        layout_plain(input, theme.text(), look.columns, INDENT * 2, rows);
    }
    layout_file_change(tool, look, rows);
    let shown = strip_result_header(tool.content.trim_end());
    if !shown.is_empty() {
        layout_plain(shown, theme.dim_style(), look.columns, INDENT * 2, rows);
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

/// ` +3 −1`: lines that the call has added and removed. A call that failed has changed nothing.
fn change_counts(tool: &ToolItem, look: ItemLayoutOptions) -> Vec<(Style, String)> {
    let Some(change) = tool.change.as_ref().filter(|_| tool.status == ToolStatus::Done) else {
        return Vec::new();
    };
    let (added, removed) = change.line_counts();
    vec![(look.theme.good_style(), format!(" +{added}")), (look.theme.bad_style(), format!(" −{removed}"))]
}

/// How it went, how long it took, and how much there is to read.
fn result_text(tool: &ToolItem, look: ItemLayoutOptions) -> String {
    let said = match tool.status {
        ToolStatus::Running => return running_text(tool, look),
        ToolStatus::Stopped => return " — interrupted".to_owned(),
        // the counts say it
        ToolStatus::Done if tool.change.is_some() => String::new(),
        _ => one_line(&tool.summary),
    };
    let time = tool.took_ms.filter(|ms| *ms >= WORTH_MS).map(format_duration);
    let lines = strip_result_header(tool.content.trim_end()).lines().count() as u64;
    let is_counted = said.contains(" line") || tool.change.is_some();
    let lines = (lines > 1 && !is_counted && !look.details).then(|| format_count(lines, "line"));
    join_parts(Some(said).filter(|said| !said.is_empty()).into_iter().chain(time).chain(lines))
}

/// The seconds so far, and what the tool reported last.
fn running_text(tool: &ToolItem, look: ItemLayoutOptions) -> String {
    let seconds = running_seconds(tool, look).filter(|seconds| *seconds > 0);
    let time = seconds.map(|seconds| format_whole_seconds(u64::from(seconds) * 1_000));
    let time = time.unwrap_or_else(|| "running".to_owned());
    let report = Some(one_line(&tool.summary)).filter(|report| !report.is_empty());
    join_parts([time].into_iter().chain(report))
}

fn join_parts(parts: impl Iterator<Item = String>) -> String {
    let text = parts.collect::<Vec<_>>().join(" · ");
    if text.is_empty() { text } else { format!(" — {text}") }
}

/// What a call has changed in a file.
fn layout_file_change(tool: &ToolItem, look: ItemLayoutOptions, rows: &mut Vec<Line<'static>>) {
    let Some(change) = &tool.change else { return };
    if matches!(tool.status, ToolStatus::Failed | ToolStatus::Stopped) {
        layout_plain("not applied:", look.theme.warning_style(), look.columns, INDENT * 2, rows);
    }
    let page = look.text_options(INDENT * 2, look.theme.text());
    let shift = change.first_line.map(|line| line.saturating_sub(1));
    let state = diff::DiffLayoutState::for_file(&change.path, shift);
    diff::layout_diff(change.diff.lines(), state, page, rows);
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
