//! The time on the chart of a run: that of the run, without long periods in which it did nothing but wait.
//!
//! A run that waits a night for its user would otherwise have all its work in one column.

use synthdev_domain::ids::Timestamp;

/// Milliseconds that are shown of a period in which nothing works.
const LONGEST_IDLE: u64 = 60_000;

/// Milliseconds since the first event, without what was left out.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ChartClock {
    started_at: Option<Timestamp>,
    last_at: Timestamp,
    skipped_ms: u64,
    /// Where time was left out: the place on the chart, and what was left out up to there.
    breaks: Vec<(u64, u64)>,
}

impl ChartClock {
    pub fn started_at(&self) -> Timestamp {
        self.started_at.unwrap_or_default()
    }

    /// When the last event came.
    pub fn last_at(&self) -> Timestamp {
        self.last_at
    }

    /// The place of an event that comes now. `is_working`: a model or a tool has worked since the last one.
    pub fn advance(&mut self, at: Timestamp, is_working: bool) -> u64 {
        if self.started_at.is_none() {
            (self.started_at, self.last_at) = (Some(at), at);
        }
        let idle = milliseconds_between(self.last_at, at);
        self.last_at = self.last_at.max(at);
        if !is_working && idle > LONGEST_IDLE {
            self.skipped_ms += idle - LONGEST_IDLE;
            self.breaks.push((self.last_ms(), self.skipped_ms));
        }
        self.last_ms()
    }

    /// The place of the last event.
    pub fn last_ms(&self) -> u64 {
        milliseconds_between(self.started_at(), self.last_at).saturating_sub(self.skipped_ms)
    }

    /// The place of this moment, after the last event.
    pub fn now_ms(&self, now: Timestamp, is_working: bool) -> u64 {
        let since = milliseconds_between(self.last_at, now);
        self.last_ms() + if is_working { since } else { since.min(LONGEST_IDLE) }
    }

    /// Milliseconds since the run began, at a place of the chart.
    pub fn elapsed_ms(&self, chart_ms: u64) -> u64 {
        let before = self.breaks.partition_point(|(place, _)| *place <= chart_ms);
        chart_ms + before.checked_sub(1).map_or(0, |at| self.breaks[at].1)
    }

    /// Places where time was left out, in order.
    pub fn breaks(&self) -> impl Iterator<Item = u64> + '_ {
        self.breaks.iter().map(|(place, _)| *place)
    }
}

pub(super) fn milliseconds_between(from: Timestamp, to: Timestamp) -> u64 {
    u64::try_from(to.0.saturating_sub(from.0)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_take_one_minute_of_the_chart() {
        // milliseconds of the event, whether something worked until then, place on the chart, elapsed time there
        let check = |events: &[(i64, bool, u64, u64)], breaks: &[u64]| {
            let mut clock = ChartClock::default();
            for (at, is_working, place, elapsed) in events {
                let found = clock.advance(Timestamp(*at), *is_working);
                assert_eq!((found, clock.elapsed_ms(found)), (*place, *elapsed), "{at} of {events:?}");
            }
            assert_eq!(clock.breaks().collect::<Vec<_>>(), breaks);
        };
        check(&[], &[]);
        check(&[(5_000, false, 0, 0)], &[]);
        check(&[(5_000, false, 0, 0), (65_000, false, 60_000, 60_000)], &[]);
        check(&[(0, false, 0, 0), (600_000, true, 600_000, 600_000)], &[]);
        let night = 8 * 3_600_000;
        check(
            &[
                (0, false, 0, 0),
                (night, false, 60_000, 8 * 3_600_000),
                (night + 1_000, true, 61_000, 28_801_000),
            ],
            &[60_000],
        );
        // a clock that was set back counts as no time
        check(&[(9_000, false, 0, 0), (4_000, true, 0, 0), (10_000, true, 1_000, 1_000)], &[]);
    }

    #[test]
    fn the_present_stops_after_a_minute_of_waiting() {
        let mut clock = ChartClock::default();
        clock.advance(Timestamp(0), false);
        let now = Timestamp(90_000);
        assert_eq!((clock.now_ms(now, true), clock.now_ms(now, false)), (90_000, 60_000));
    }
}
