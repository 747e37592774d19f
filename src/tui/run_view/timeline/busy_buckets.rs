//! How much of each kind of work a row of the chart has, at every time: sums of equal periods, however many calls there
//! were. The periods double when there are too many of them.

/// Periods that are kept; twice as long ones when there are more.
const MOST: usize = 512;
/// Kinds of bars.
pub const KINDS: usize = 4;

/// Milliseconds of work in each period, by kind.
#[derive(Clone, PartialEq, Debug)]
pub struct BusyBuckets {
    /// Milliseconds of one period.
    period_ms: u64,
    periods: Vec<[f32; KINDS]>,
}

impl Default for BusyBuckets {
    fn default() -> Self {
        Self { period_ms: 1, periods: Vec::new() }
    }
}

impl BusyBuckets {
    /// Adds a bar. One without length counts as a millisecond, so that it is seen.
    #[expect(clippy::cast_precision_loss, reason = "a period is drawn in a few columns")]
    pub fn add_bar(&mut self, kind: usize, start_ms: u64, end_ms: u64) {
        self.add_amount(kind, start_ms, end_ms, (end_ms.saturating_sub(start_ms)).max(1) as f32);
    }

    /// Adds an amount that is spread evenly between two moments.
    #[expect(clippy::cast_precision_loss, reason = "a period is drawn in a few columns")]
    pub fn add_amount(&mut self, kind: usize, start_ms: u64, end_ms: u64, amount: f32) {
        // what has no length and comes at the very end belongs to the millisecond before
        let start_ms = if start_ms >= end_ms { end_ms.saturating_sub(1) } else { start_ms };
        let end_ms = end_ms.max(start_ms + 1);
        let each = amount / (end_ms - start_ms) as f32;
        while end_ms.div_ceil(self.period_ms) > MOST as u64 {
            self.double_periods();
        }
        let (first, last) = (self.index_at(start_ms), self.index_at(end_ms - 1));
        if self.periods.len() <= last {
            self.periods.resize(last + 1, [0.0; KINDS]);
        }
        for (at, period) in (first as u64..).zip(&mut self.periods[first..=last]) {
            let (from, to) = (at * self.period_ms, (at + 1) * self.period_ms);
            period[kind] += (end_ms.min(to) - start_ms.max(from)) as f32 * each;
        }
    }

    /// Milliseconds of each kind between two moments.
    #[expect(clippy::cast_precision_loss, reason = "a period is drawn in a few columns")]
    pub fn sum_between(&self, from_ms: u64, to_ms: u64) -> [f32; KINDS] {
        let mut sums = [0.0; KINDS];
        if from_ms >= to_ms {
            return sums;
        }
        let (first, last) = (self.index_at(from_ms), self.index_at(to_ms - 1));
        let here = self.periods.iter().enumerate().take(last + 1).skip(first);
        for (at, period) in here {
            let (start, end) = (at as u64 * self.period_ms, (at as u64 + 1) * self.period_ms);
            let part = (to_ms.min(end) - from_ms.max(start)) as f32 / self.period_ms as f32;
            sums.iter_mut().zip(period).for_each(|(sum, one)| *sum += one * part);
        }
        sums
    }

    fn index_at(&self, ms: u64) -> usize {
        usize::try_from(ms / self.period_ms).unwrap_or(usize::MAX)
    }

    fn double_periods(&mut self) {
        self.period_ms *= 2;
        self.periods = self
            .periods
            .chunks(2)
            .map(|pair| std::array::from_fn(|kind| pair.iter().map(|period| period[kind]).sum()))
            .collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_is_found_where_it_was() {
        let check = |bars: &[(usize, u64, u64)], from: u64, to: u64, expected: [f32; KINDS]| {
            let mut buckets = BusyBuckets::default();
            bars.iter().for_each(|(kind, start, end)| buckets.add_bar(*kind, *start, *end));
            assert_eq!(buckets.sum_between(from, to), expected, "{bars:?} from {from} to {to}");
        };
        check(&[], 0, 100, [0.0; KINDS]);
        check(&[(0, 10, 30)], 0, 100, [20.0, 0.0, 0.0, 0.0]);
        check(&[(0, 10, 30)], 20, 25, [5.0, 0.0, 0.0, 0.0]);
        check(&[(0, 10, 30)], 30, 40, [0.0; KINDS]);
        check(&[(0, 10, 30)], 40, 40, [0.0; KINDS]);
        // no length, and two at once
        check(&[(1, 5, 5)], 0, 10, [0.0, 1.0, 0.0, 0.0]);
        check(&[(1, 0, 10), (2, 5, 10), (1, 5, 10)], 0, 10, [0.0, 15.0, 5.0, 0.0]);
        // 2,000 ms are more than there are periods of one millisecond
        check(&[(0, 0, 1_000), (3, 1_000, 2_000)], 0, 2_000, [1_000.0, 0.0, 0.0, 1_000.0]);
        check(&[(0, 0, 1_000), (3, 1_000, 2_000)], 500, 1_500, [500.0, 0.0, 0.0, 500.0]);
        check(&[(0, 7, 7), (0, 3_600_000, 3_600_000)], 0, 8_192, [1.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn ten_thousand_calls_take_no_more_room_than_a_few() {
        let mut buckets = BusyBuckets::default();
        (0..10_000).for_each(|at| buckets.add_bar(0, at * 1_000, at * 1_000 + 250));
        assert!(buckets.periods.len() <= MOST);
        assert_eq!(buckets.sum_between(0, 16_384 * 1_000)[0], 2_500_000.0);
    }
}
