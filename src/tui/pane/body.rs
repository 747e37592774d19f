//! The rows of a pane, whatever it shows: how many there are, one as a line, one as text to search and to copy.
//!
//! A timeline of a hundred thousand rows and a graph of two hundred states make only the rows that are seen.

use std::borrow::Cow;

use ratatui::text::Line;

use super::timeline::{list_line, row_index};
use crate::run_view::run_graph::RunGraphDrawing;
use crate::run_view::timeline::RunTimeline;
use crate::text::wrap_line;
use crate::theme::ColorTheme;
use synthdev_domain::ids::Timestamp;

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
    Graph(&'m RunGraphDrawing),
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
            Self::Graph(drawing) => drawing.size().height,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn line(&self, at: usize, columns: usize, theme: ColorTheme) -> Line<'static> {
        match self {
            Self::Rows(rows) => rows.get(at).map(|row| row.line.clone()).unwrap_or_default(),
            Self::Timeline(timeline, now) => list_line(timeline, at, *now, columns, theme),
            // its pane draws it
            Self::Graph(drawing) => Line::raw(drawing.row_text(at)),
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
            Self::Graph(drawing) => drawing.row_text(at),
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
