//! The rows of a pane, whatever it shows: how many there are, one as a line, one as text to search and to copy.
//!
//! A timeline of a hundred thousand rows and a graph of two hundred states make only the rows that are seen.

use std::borrow::Cow;

use ratatui::text::{Line, Span};

use crate::run_view::run_graph::RunGraphDrawing;
use crate::run_view::timeline::{RunTimeline, TimelineDuration};
use crate::text::{display_width, fit_to_columns, format_duration, format_thousands, wrap_line};
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;
use synthdev_service::definition_views::graph::terminal::GraphSheetColumns;
use synthdev_service::event_description::{EventKind, EventSeverity};

pub type PaneGraphLayout = Vec<GraphSheetColumns>;

/// One row that was made.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct PaneRow {
    pub line: Line<'static>,
    /// What is copied, if not the line itself.
    pub copied: Option<PaneRowCopy>,
    /// What Enter opens or closes.
    pub key: Option<String>,
    /// Continues the text of the row above: it is not copied twice.
    pub is_continuation: bool,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PaneRowCopy {
    Text(String),
    /// A value of `common_data`: scope and JSON pointer.
    Data(String, String),
}

/// What a pane shows.
#[derive(Clone, Copy, Debug)]
pub enum PaneBody<'m> {
    Rows(&'m [PaneRow]),
    Timeline(&'m RunTimeline, Timestamp),
    Graph(&'m RunGraphDrawing, &'m [GraphSheetColumns]),
}

impl PaneRow {
    pub fn new(line: impl Into<Line<'static>>) -> Self {
        Self { line: line.into(), ..Self::default() }
    }

    #[must_use]
    pub fn with_copy_text(mut self, text: impl Into<String>) -> Self {
        self.copied = Some(PaneRowCopy::Text(text.into()));
        self
    }

    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }
}

impl PaneBody<'_> {
    pub fn len(&self) -> usize {
        match self {
            Self::Rows(rows) => rows.len(),
            Self::Timeline(timeline, _) => timeline.len() + usize::from(timeline.dropped_count() > 0),
            Self::Graph(drawing, _) => drawing.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn line(&self, at: usize, columns: usize, theme: ColorTheme) -> Line<'static> {
        match self {
            Self::Rows(rows) => rows.get(at).map(|row| row.line.clone()).unwrap_or_default(),
            Self::Timeline(timeline, now) => moment_row(timeline, at, *now, columns, theme),
            Self::Graph(drawing, looks) => {
                let spans = drawing.line(at, looks).into_iter();
                spans.map(|span| Span::styled(span.text, theme.graph(span.tone))).collect::<Vec<_>>().into()
            }
        }
    }

    /// The row as text, in full.
    pub fn text(&self, at: usize) -> String {
        match self {
            Self::Rows(rows) => match rows.get(at).map(|row| (&row.copied, &row.line)) {
                Some((Some(PaneRowCopy::Text(text)), _)) => text.clone(),
                Some((_, line)) => plain_text(line),
                None => String::new(),
            },
            Self::Timeline(_, _) => plain_text(&self.line(at, usize::MAX, ColorTheme::default())),
            Self::Graph(..) => plain_text(&self.line(at, 0, ColorTheme::default())),
        }
    }

    /// Rows as text, without continuation rows.
    pub fn texts(&self, rows: impl Iterator<Item = usize>) -> String {
        let goes_on = |at: usize| match self {
            Self::Rows(rows) => rows.get(at).is_some_and(|row| row.is_continuation),
            Self::Timeline(..) | Self::Graph(..) => false,
        };
        let rows = rows.filter(|at| *at < self.len() && !goes_on(*at)).map(|at| self.text(at));
        rows.collect::<Vec<_>>().join("\n")
    }

    /// Whether a row holds the words, which are in lower case.
    pub fn row_contains(&self, at: usize, words: &str) -> bool {
        let text: Cow<'_, str> = match self {
            Self::Timeline(timeline, _) => match row_index(timeline, at).and_then(|at| timeline.row(at)) {
                Some(row) => Cow::Borrowed(&*row.text),
                None => return false,
            },
            Self::Rows(_) | Self::Graph(..) => Cow::Owned(self.text(at)),
        };
        text.to_lowercase().contains(words)
    }
}

/// Without its styles.
pub fn plain_text(line: &Line<'_>) -> String {
    let text: String = line.spans.iter().map(|span| span.content.as_ref()).collect();
    text.trim_end().to_owned()
}

/// A text below a row: wrapped, moved in, each line copied as a whole.
pub fn paragraph_rows(
    text: &str,
    indent: usize,
    columns: usize,
    style: ratatui::style::Style,
) -> Vec<PaneRow> {
    let room = columns.saturating_sub(indent).max(8);
    let mut rows = Vec::new();
    for line in text.lines() {
        for (at, range) in wrap_line(line, room).into_iter().enumerate() {
            let shown = format!("{}{}", " ".repeat(indent), line[range].trim_end());
            let row = PaneRow::new(Line::styled(shown, style)).with_copy_text(line);
            rows.push(PaneRow { is_continuation: at > 0, ..row });
        }
    }
    rows
}

/// Below this width what happened matters more than when.
const NARROW: usize = 32;

/// `… 12 earlier` is the first row where rows were dropped.
fn row_index(timeline: &RunTimeline, at: usize) -> Option<usize> {
    at.checked_sub(usize::from(timeline.dropped_count() > 0))
}

/// ` 1:02.3  state     review ×2            4.2 s`
fn moment_row(
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
        TimelineDuration::Never => ("cut off".to_owned(), theme.bad_style()),
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
