//! A row of the timeline, and the bar of the chart that it is.

use std::sync::Arc;

use synthdev_domain::cost::{CostEntry, TokenUsage};
use synthdev_domain::ids::{CallId, Timestamp};
use synthdev_service::event_description::{EventKind, EventSeverity};

/// How long something took.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimelineDuration {
    /// It has no length.
    Moment,
    /// In progress.
    Open,
    /// Milliseconds.
    Ms(u64),
    /// It did not end: it was interrupted, or the run was cut off, after so many milliseconds.
    CutOff(u64),
}

/// What a bar of the chart is.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BarKind {
    ModelCall,
    ToolCall,
    UserWait,
    OtherWait,
}

/// How a bar ended that did not end well.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BarMark {
    Failed,
    CutOff,
}

/// A row as a bar of the chart.
#[derive(Clone, PartialEq, Debug)]
pub struct TimelineBar {
    pub track: u32,
    pub kind: BarKind,
    /// Places on the chart, in milliseconds; no end: in progress.
    pub start_ms: u64,
    pub end_ms: Option<u64>,
    /// What can be opened.
    pub call: Option<CallId>,
    pub tokens: u64,
    /// `None`: the price is not known.
    pub cost_usd: Option<f64>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct TimelineRow {
    pub at: Timestamp,
    pub duration: TimelineDuration,
    pub kind: EventKind,
    pub text: Arc<str>,
    pub severity: EventSeverity,
    pub bar: Option<TimelineBar>,
    /// Of the visit of a state.
    pub step: Option<u32>,
}

/// A visit of a state of the workflow itself, on the chart.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StateSpan {
    pub start_ms: u64,
    pub name: Arc<str>,
}

/// What a bar begins with.
pub(super) struct BarStart {
    pub(super) track: u32,
    pub(super) kind: BarKind,
    pub(super) call: Option<CallId>,
    pub(super) state: String,
}

/// How something ended.
#[derive(Clone, Copy, Default)]
pub(super) struct RowEnd {
    pub(super) has_failed: bool,
    pub(super) is_cut_off: bool,
    pub(super) tokens: u64,
    pub(super) cost_usd: Option<f64>,
}

impl BarKind {
    /// The run goes on by itself meanwhile.
    pub(super) fn is_work(self) -> bool {
        matches!(self, Self::ModelCall | Self::ToolCall)
    }
}

impl BarStart {
    pub(super) fn new(track: u32, kind: BarKind, call: CallId, state: &str) -> Self {
        Self { track, kind, call: Some(call), state: state.to_owned() }
    }
}

impl RowEnd {
    pub(super) fn answered(usage: &TokenUsage, cost_usd: Option<f64>) -> Self {
        Self { tokens: usage.total(), cost_usd, ..Self::default() }
    }

    pub(super) fn of_entries(spent: &[CostEntry]) -> Self {
        let sum =
            |total: Option<f64>, entry: &CostEntry| total.zip(entry.cost_usd).map(|(sum, one)| sum + one);
        Self {
            tokens: spent.iter().map(|entry| entry.usage.total()).sum(),
            cost_usd: spent.iter().fold(Some(0.0), sum),
            ..Self::default()
        }
    }

    pub(super) fn mark(self) -> Option<BarMark> {
        match (self.is_cut_off, self.has_failed) {
            (true, _) => Some(BarMark::CutOff),
            (false, true) => Some(BarMark::Failed),
            (false, false) => None,
        }
    }
}
