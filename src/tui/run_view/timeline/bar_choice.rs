//! Which bar of the chart the arrow keys choose.

use super::{RunTimeline, TimelineBar};
use synthdev_domain::ids::Timestamp;

/// From one bar to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarStep {
    Before,
    Next,
    TrackAbove,
    TrackBelow,
}

impl RunTimeline {
    pub fn bar(&self, row: usize) -> Option<&TimelineBar> {
        self.row(row)?.bar.as_ref()
    }

    /// The row itself if it is a bar, else the bar before it, else the one after it.
    pub fn nearest_bar(&self, row: usize) -> Option<usize> {
        let is_bar = |at: &usize| self.bar(*at).is_some();
        let before = (0..=row.min(self.len().saturating_sub(1))).rev().find(is_bar);
        before.or_else(|| (row..self.len()).find(is_bar))
    }

    /// The first bar that begins at this time or later, else the last one.
    pub fn first_bar_from(&self, at: Timestamp) -> Option<usize> {
        let row = (0..self.len())
            .find(|row| self.row(*row).is_some_and(|found| found.at >= at && found.bar.is_some()));
        row.or_else(|| self.nearest_bar(self.len().saturating_sub(1)))
    }

    /// The row of the timeline that is chosen next; the same one at the edge. `None`: there is no bar.
    pub fn bar_after_step(&self, row: usize, step: BarStep) -> Option<usize> {
        match step {
            BarStep::Before => self.bar_beside(row, false),
            BarStep::Next => self.bar_beside(row, true),
            BarStep::TrackAbove => self.bar_of_track_beside(row, false),
            BarStep::TrackBelow => self.bar_of_track_beside(row, true),
        }
    }

    /// The next bar of the same row of the chart, or the one before.
    fn bar_beside(&self, row: usize, forward: bool) -> Option<usize> {
        let at = self.nearest_bar(row)?;
        let track = self.bar(at)?.track;
        let is_same = |at: &usize| self.bar(*at).is_some_and(|bar| bar.track == track);
        if forward {
            (at + 1..self.len()).find(is_same).or(Some(at))
        } else {
            (0..at).rev().find(is_same).or(Some(at))
        }
    }

    /// The bar of the next row of the chart, or of the one before, that began next to this one.
    fn bar_of_track_beside(&self, row: usize, down: bool) -> Option<usize> {
        let at = self.nearest_bar(row)?;
        let bar = self.bar(at)?;
        let tracks = (0..self.len()).filter_map(|at| self.bar(at)).map(|bar| bar.track);
        let track = if down {
            tracks.filter(|track| *track > bar.track).min()
        } else {
            tracks.filter(|track| *track < bar.track).max()
        };
        let Some(track) = track else { return Some(at) };
        let inside = (0..self.len()).filter(|at| self.bar(*at).is_some_and(|bar| bar.track == track));
        inside.min_by_key(|at| self.bar(*at).map_or(u64::MAX, |found| found.start_ms.abs_diff(bar.start_ms)))
    }

    /// The bar of a row of the chart at a moment, or the nearest one.
    pub fn bar_at(&self, track: u32, chart_ms: u64) -> Option<usize> {
        let inside = (0..self.len()).filter(|at| self.bar(*at).is_some_and(|bar| bar.track == track));
        inside.min_by_key(|at| self.bar(*at).map_or(u64::MAX, |bar| bar.distance_to(chart_ms)))
    }
}

impl TimelineBar {
    /// Milliseconds from the bar to a moment; 0: the moment is in it.
    fn distance_to(&self, chart_ms: u64) -> u64 {
        let after = self.end_ms.map_or(0, |end| chart_ms.saturating_sub(end));
        self.start_ms.saturating_sub(chart_ms).max(after)
    }
}
