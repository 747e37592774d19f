//! The chart of a timeline: a row for each agent with bars for model calls, tools and waits, over a time axis.
//!
//! Bars differ in shape, so that the chart is read without colours. Each column shows what took most of its time: a
//! chart of ten thousand calls costs what its columns cost. Refuses keys.

use std::collections::HashMap;

use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::chart_scale::ChartScale;
use super::timeline::format_clock;
use crate::agent_identity::AgentRoster;
use crate::run_view::timeline::tracks::TimelineTrack;
use crate::run_view::timeline::{BarKind, BarMark, RunTimeline, TimelineBar, TimelineDuration, TimelineRow};
use crate::text::{
    display_width, fit_entries, fit_to_columns, format_count, format_dollars, format_duration, short_number,
};
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;

/// Every kind in the order of its number.
const KINDS: [BarKind; 4] = [BarKind::ModelCall, BarKind::ToolCall, BarKind::UserWait, BarKind::OtherWait];
/// A pane of less rows has no chart.
const LEAST_ROWS: usize = 8;
/// From this height on it explains its shapes.
const LEGEND_ROWS: usize = 14;
/// From this width on each row says how much it was.
const WIDE: usize = 90;
/// Columns of that.
const TOTALS: usize = 26;
/// Fills the chosen bar, if it is a model call: told from the others also without colours.
const CHOSEN: char = '▓';

/// What a chart shows, and in which room.
#[derive(Clone, Copy)]
pub struct TimelineChart<'t> {
    pub timeline: &'t RunTimeline,
    pub roster: &'t AgentRoster,
    pub now: Timestamp,
    /// The chosen row of the timeline.
    pub chosen_row: Option<usize>,
    pub columns: usize,
    pub theme: ColorTheme,
}

/// Where the parts of a chart are.
struct ChartLayout {
    first_track: usize,
    track_count: usize,
    label_columns: usize,
    totals_columns: usize,
    scale: ChartScale,
}

/// Rows of the chart in a pane of this height, with its axis, its line about the chosen bar, and its legend.
pub fn chart_height(timeline: &RunTimeline, rows: usize) -> usize {
    if timeline.tracks().is_empty() || rows < LEAST_ROWS {
        return 0;
    }
    3 + shown_tracks(timeline, rows) + usize::from(rows >= LEGEND_ROWS)
}

fn shown_tracks(timeline: &RunTimeline, rows: usize) -> usize {
    timeline.tracks().len().min((rows / 2).saturating_sub(2)).max(1)
}

impl TimelineChart<'_> {
    /// The lines of the chart, `chart_height` many.
    pub fn lines(&self, rows: usize) -> Vec<Line<'static>> {
        if chart_height(self.timeline, rows) == 0 {
            return Vec::new();
        }
        let layout = self.layout(rows);
        let mut lines = vec![self.axis_line(&layout), self.state_line(&layout)];
        let open = self.open_bars_by_track();
        for at in layout.first_track..layout.first_track + layout.track_count {
            lines.push(self.track_line(at, &layout, &open));
        }
        if rows >= LEGEND_ROWS {
            lines.push(self.legend_line());
        }
        lines.push(self.chosen_line());
        lines
    }

    /// The row of the timeline whose bar is drawn there, or nearest to it.
    pub fn row_at(&self, rows: usize, line: usize, column: usize) -> Option<usize> {
        let layout = self.layout(rows);
        let at = line.checked_sub(2).filter(|at| *at < layout.track_count)?;
        let column = column.saturating_sub(layout.label_columns + 1).min(layout.scale.columns - 1);
        let track = u32::try_from(layout.first_track + at).ok()?;
        self.timeline.bar_at(track, layout.scale.start_of(column))
    }

    fn layout(&self, rows: usize) -> ChartLayout {
        let tracks = self.timeline.tracks();
        let track_count = shown_tracks(self.timeline, rows);
        let chosen = self.chosen_bar().map_or(0, |bar| bar.track as usize);
        let first_track = chosen.saturating_sub(track_count / 2).min(tracks.len() - track_count);
        let widest = tracks[first_track..first_track + track_count]
            .iter()
            .map(|track| display_width(&track.label) + 2);
        let label_columns = widest.max().unwrap_or(0).clamp(8, (self.columns / 4).clamp(8, 24));
        let totals_columns = if self.columns >= WIDE { TOTALS } else { 0 };
        let room = self.columns.saturating_sub(label_columns + 1 + totals_columns).max(1);
        let length = self.timeline.now_ms(self.now);
        let scale = ChartScale::new(length, room, self.timeline.is_live());
        ChartLayout { first_track, track_count, label_columns, totals_columns, scale }
    }

    fn chosen_bar(&self) -> Option<&TimelineBar> {
        self.timeline.bar(self.timeline.nearest_bar(self.chosen_row?)?)
    }

    /// `time        0:00      0:10      0:20`; `≈` where a long wait is left out.
    fn axis_line(&self, layout: &ChartLayout) -> Line<'static> {
        let scale = layout.scale;
        let mut cells = vec![' '; scale.columns];
        for place in self.timeline.clock().breaks() {
            cells[scale.column_at(place)] = '≈';
        }
        let mut free_from = 0;
        for (column, ms) in scale.marks() {
            let text = format!("│{}", tick_text(self.timeline.clock().elapsed_ms(ms), scale.step_ms));
            let end = column + text.chars().count();
            if column >= free_from && end <= scale.columns && !cells[column..end].contains(&'≈') {
                cells[column..end].iter_mut().zip(text.chars()).for_each(|(cell, letter)| *cell = letter);
                free_from = end + 1;
            }
        }
        let all = self.timeline.tracks().len();
        let label = if all > layout.track_count {
            format!("{}–{} of {all}", layout.first_track + 1, layout.first_track + layout.track_count)
        } else {
            "time".to_owned()
        };
        let text = format!("{} {}", fill_columns(&label, layout.label_columns), String::from_iter(cells));
        Line::styled(text, self.theme.dim_style())
    }

    /// The states of the workflow, each with its name where that has room.
    fn state_line(&self, layout: &ChartLayout) -> Line<'static> {
        let (scale, states) = (layout.scale, self.timeline.states());
        let end = scale.column_at(self.timeline.now_ms(self.now));
        let state_at = |column: usize| {
            let next = scale.start_of(column + 1);
            states.partition_point(|state| state.start_ms < next).checked_sub(1)
        };
        let mut spans =
            vec![Span::styled(fill_columns("state", layout.label_columns + 1), self.theme.dim_style())];
        let mut column = 0;
        while column <= end && !states.is_empty() {
            let state = state_at(column);
            let wide = (column..=end).take_while(|at| state_at(*at) == state).count();
            let name = state.map_or("", |at| &*states[at].name);
            let text = if state.is_some() { format!("▏{name}") } else { String::new() };
            let style = if state.is_some_and(|at| at + 1 == states.len()) {
                self.theme.text()
            } else {
                self.theme.dim_style()
            };
            spans.push(Span::styled(fill_columns(&text, wide), style));
            column += wide;
        }
        Line::from(spans)
    }

    fn track_line(
        &self,
        at: usize,
        layout: &ChartLayout,
        open: &HashMap<u32, Vec<&TimelineBar>>,
    ) -> Line<'static> {
        let track = &self.timeline.tracks()[at];
        let number = u32::try_from(at).unwrap_or(u32::MAX);
        let identity = self.roster.identity(&track.agent);
        let style = if track.agent.is_empty() { self.theme.text() } else { identity.style(self.theme) };
        let mark = if track.agent.is_empty() { " " } else { identity.mark() };
        let label = fill_columns(&format!("{mark} {}", track.label), layout.label_columns);
        let open = open.get(&number).map(Vec::as_slice).unwrap_or_default();
        let mut cells: Vec<(char, Style)> = (0..layout.scale.columns)
            .map(|column| self.cell(track, column, layout.scale, open, style))
            .collect();
        let chosen = self.chosen_row.and_then(|row| self.timeline.bar(row));
        if let Some(bar) = chosen.filter(|bar| bar.track == number) {
            let last = layout.scale.column_at(self.end_of(bar).saturating_sub(1).max(bar.start_ms));
            for (letter, style) in &mut cells[layout.scale.column_at(bar.start_ms)..=last] {
                // a full block in reverse is as the background
                if *letter == fill_character(BarKind::ModelCall) {
                    (*letter, *style) = (CHOSEN, self.theme.text().patch(self.theme.bold_style()));
                } else {
                    *style = style.patch(self.theme.selected_style());
                }
            }
        }
        let mut spans = vec![Span::styled(label, style), Span::raw(" ")];
        spans.extend(merge_cells(&cells));
        if layout.totals_columns > 0 {
            let text = fit_to_columns(&totals_text(track), layout.totals_columns - 2).into_owned();
            let text = format!("{text:>width$}", width = layout.totals_columns);
            spans.push(Span::styled(text, self.theme.dim_style()));
        }
        Line::from(spans)
    }

    /// What took most of the time of a column.
    fn cell(
        &self,
        track: &TimelineTrack,
        column: usize,
        scale: ChartScale,
        open: &[&TimelineBar],
        agent: Style,
    ) -> (char, Style) {
        let (from, to) = (scale.start_of(column), scale.start_of(column + 1));
        // more columns than milliseconds: the one before has the moment
        let (from, to) = if from < to { (from, to) } else { (from.saturating_sub(1), from) };
        let mut sums = track.buckets.sum_between(from, to);
        for bar in open {
            let end = self.end_of(bar).max(bar.start_ms + 1);
            #[expect(clippy::cast_precision_loss, reason = "a column of a chart")]
            let here = end.min(to).saturating_sub(bar.start_ms.max(from)) as f32;
            sums[bar.kind as usize] += here;
        }
        match track.mark_between(from, to) {
            Some(BarMark::Failed) => return ('✗', self.theme.bad_style()),
            Some(BarMark::CutOff) => return ('┊', self.theme.bad_style()),
            None => {}
        }
        let most =
            KINDS.into_iter().max_by(|one, other| sums[*one as usize].total_cmp(&sums[*other as usize]));
        match most.filter(|kind| sums[*kind as usize] > 0.0) {
            Some(kind) => (fill_character(kind), self.bar_style(kind, agent)),
            None => (' ', self.theme.text()),
        }
    }

    fn bar_style(&self, kind: BarKind, agent: Style) -> Style {
        match kind {
            BarKind::ModelCall | BarKind::ToolCall => agent,
            BarKind::UserWait => self.theme.user_attention(),
            BarKind::OtherWait => self.theme.dim_style(),
        }
    }

    /// `█ model  ▄ tool  ? waits for you  · waits  ✗ failed  ┊ cut off  ▓ chosen`
    fn legend_line(&self) -> Line<'static> {
        let kinds = KINDS.map(|kind| format!("{} {}", fill_character(kind), kind_name(kind)));
        let mut parts: Vec<String> =
            kinds.into_iter().chain(["✗ failed", "┊ cut off"].map(str::to_owned)).collect();
        let chosen = self.chosen_row.and_then(|row| self.timeline.bar(row));
        if chosen.is_some_and(|bar| bar.kind == BarKind::ModelCall) {
            parts.push(format!("{CHOSEN} chosen"));
        }
        if self.timeline.clock().breaks().next().is_some() {
            parts.push("≈ a long wait, left out".to_owned());
        }
        // none is cut
        while parts.len() > 1 && display_width(&parts.join("  ")) > self.columns {
            parts.pop();
        }
        let text = parts.join("  ");
        Line::styled(fit_to_columns(&text, self.columns).into_owned(), self.theme.dim_style())
    }

    /// `─ coder asks m-base · from 0:02.1 · 4.2 s · 1.2k tokens · $0.01 ─────`
    fn chosen_line(&self) -> Line<'static> {
        let row = self.chosen_row.and_then(|at| self.timeline.row(at));
        let text = row.map(|row| {
            let text = chosen_text(self.timeline, row, self.now);
            format!("─ {} ", fit_entries(&text, self.columns.saturating_sub(3)))
        });
        let text = fit_to_columns(&text.unwrap_or_default(), self.columns).into_owned();
        let rest = "─".repeat(self.columns.saturating_sub(display_width(&text)));
        Line::styled(text + &rest, self.theme.accent_style())
    }

    fn end_of(&self, bar: &TimelineBar) -> u64 {
        bar.end_ms.unwrap_or_else(|| self.timeline.now_ms(self.now))
    }

    fn open_bars_by_track(&self) -> HashMap<u32, Vec<&TimelineBar>> {
        let mut open: HashMap<u32, Vec<&TimelineBar>> = HashMap::new();
        for bar in self.timeline.open_bars() {
            open.entry(bar.track).or_default().push(bar);
        }
        open
    }
}

/// A shape for each kind, also without colours.
fn fill_character(kind: BarKind) -> char {
    match kind {
        BarKind::ModelCall => '█',
        BarKind::ToolCall => '▄',
        BarKind::UserWait => '?',
        BarKind::OtherWait => '·',
    }
}

fn kind_name(kind: BarKind) -> &'static str {
    match kind {
        BarKind::ModelCall => "model",
        BarKind::ToolCall => "tool",
        BarKind::UserWait => "waits for you",
        BarKind::OtherWait => "waits",
    }
}

/// What a row was, when, how long, and what it took.
fn chosen_text(timeline: &RunTimeline, row: &TimelineRow, now: Timestamp) -> String {
    let since = |from: Timestamp, to: Timestamp| u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0);
    let mut parts =
        vec![row.text.to_string(), format!("at {}", format_clock(since(timeline.start_time(), row.at)))];
    match row.duration {
        TimelineDuration::Moment => {}
        TimelineDuration::Open => parts.push(format!("{} so far", format_duration(since(row.at, now)))),
        TimelineDuration::Ms(ms) => parts.push(format_duration(ms)),
        TimelineDuration::CutOff(ms) => parts.push(format!("cut off after {}", format_duration(ms))),
    }
    if let Some(bar) = row.bar.as_ref().filter(|bar| bar.tokens > 0) {
        parts.push(format!("{} tokens", short_number(bar.tokens)));
        parts.push(format_dollars(bar.cost_usd));
    }
    parts.join(" · ")
}

/// `12 calls · 4 min 10 s`
fn totals_text(track: &TimelineTrack) -> String {
    let total: u64 = track.total_ms.iter().sum();
    let waited = track.total_ms[BarKind::UserWait as usize];
    if track.call_count > 0 {
        format!("{} · {}", format_count(track.call_count, "call"), format_duration(total - waited))
    } else {
        format_duration(total)
    }
}

/// The time at a mark of the axis: tenths only where marks are that close.
fn tick_text(ms: u64, step_ms: u64) -> String {
    match (step_ms, ms) {
        (..1_000, ..60_000) => format_clock(ms),
        (_, ..3_600_000) => format!("{}:{:02}", ms / 60_000, ms / 1_000 % 60),
        _ => format_clock(ms),
    }
}

/// A text as wide as its column.
fn fill_columns(text: &str, columns: usize) -> String {
    let text = fit_to_columns(text, columns);
    format!("{text}{}", " ".repeat(columns.saturating_sub(display_width(&text))))
}

/// Cells of one style become one span.
fn merge_cells(cells: &[(char, Style)]) -> Vec<Span<'static>> {
    let alike = cells.chunk_by(|(_, one), (_, other)| one == other);
    alike
        .map(|cells| Span::styled(cells.iter().map(|(letter, _)| *letter).collect::<String>(), cells[0].1))
        .collect()
}
