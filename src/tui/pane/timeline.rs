//! The list below the chart of a timeline: a line an event.

use ratatui::text::{Line, Span};

use crate::run_view::timeline::{RunTimeline, TimelineDuration};
use crate::text::{display_width, fit_to_columns, format_duration, format_thousands};
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;
use synthdev_service::event_description::{EventKind, EventSeverity};

/// Below this width what happened matters more than when.
const NARROW: usize = 32;

/// `… 12 earlier` is the first row where rows were dropped.
pub fn row_index(timeline: &RunTimeline, at: usize) -> Option<usize> {
    at.checked_sub(usize::from(timeline.dropped_count() > 0))
}

/// The place in the list of a row of the timeline.
pub fn list_index(timeline: &RunTimeline, row: usize) -> usize {
    row + usize::from(timeline.dropped_count() > 0)
}

/// ` 1:02.3  state     review ×2            4.2 s`
pub fn list_line(
    timeline: &RunTimeline,
    at: usize,
    now: Timestamp,
    columns: usize,
    theme: ColorTheme,
) -> Line<'static> {
    let Some(row) = row_index(timeline, at).and_then(|at| timeline.row(at)) else {
        return Line::styled(
            format!("… {} earlier", format_thousands(timeline.dropped_count())),
            theme.dim_style(),
        );
    };
    let since = |from: Timestamp, to: Timestamp| u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0);
    let (took, took_style) = match row.duration {
        TimelineDuration::Moment => (String::new(), theme.dim_style()),
        TimelineDuration::Open => {
            (format!("{} …", format_duration(since(row.at, now))), theme.warning_style())
        }
        TimelineDuration::Ms(ms) => (format_duration(ms), theme.dim_style()),
        TimelineDuration::CutOff(ms) => (format!("cut off, {}", format_duration(ms)), theme.bad_style()),
    };
    let (kind, style) = match row.kind {
        EventKind::State => ("state", theme.accent_style()),
        EventKind::Question | EventKind::NextMessage => ("question", theme.user_attention()),
        EventKind::Approval => ("approval", theme.user_attention()),
        EventKind::Wait => ("wait", theme.warning_style()),
        EventKind::Recovery => ("recovery", theme.warning_style()),
        EventKind::Warning => ("problem", theme.warning_style()),
        EventKind::BranchEnd => ("branch", theme.text()),
        EventKind::ModelCall => ("model", theme.text()),
        EventKind::ToolCall | EventKind::ToolRefusal => ("tool", theme.text()),
        EventKind::Snapshot => ("files", theme.text()),
        _ => ("run", theme.accent_style()),
    };
    let style = if row.severity == EventSeverity::Bad { theme.bad_style() } else { style };
    let start = format_clock(since(timeline.start_time(), row.at));
    let head = if columns < NARROW { String::new() } else { format!("{start:>8} ") };
    let head = format!("{head}{kind:<8} ");
    let tail = if took.is_empty() { 0 } else { display_width(&took) + 2 };
    let room = columns.saturating_sub(display_width(&head) + tail);
    let text = fit_to_columns(&row.text, room).into_owned();
    let gap = match columns {
        usize::MAX => 2,
        _ => room.saturating_sub(display_width(&text)) + 2,
    };
    let gap = if took.is_empty() { String::new() } else { " ".repeat(gap) };
    Line::from(vec![
        Span::styled(head, theme.dim_style()),
        Span::styled(text, style),
        Span::raw(gap),
        Span::styled(took, took_style),
    ])
}

/// `0:04.2`, `12:03`, `1:02:03` since the run began.
pub fn format_clock(ms: u64) -> String {
    let (seconds, minutes, hours) = (ms / 1_000 % 60, ms / 60_000 % 60, ms / 3_600_000);
    match (hours, minutes) {
        (0, 0) => format!("0:{seconds:02}.{}", ms / 100 % 10),
        (0, _) => format!("{minutes}:{seconds:02}"),
        _ => format!("{hours}:{minutes:02}:{seconds:02}"),
    }
}
