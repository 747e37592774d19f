//! How fast the models of a run write: tokens of their answers over the time of the run's chart.

use super::timeline::busy_buckets::BusyBuckets;

/// Kinds of amounts in the buckets.
const TOKENS: usize = 0;

#[derive(Clone, PartialEq, Debug, Default)]
pub struct TokenRate {
    buckets: BusyBuckets,
    end_ms: u64,
    /// Tokens a second, of one call.
    last: Option<f64>,
    highest: f64,
}

impl TokenRate {
    /// An answer came, at this place of the chart, after so many milliseconds.
    #[expect(clippy::cast_precision_loss, reason = "a rate with few digits")]
    pub fn add_reply(&mut self, end_ms: u64, duration_ms: u64, tokens: u64) {
        if tokens == 0 {
            return;
        }
        let start_ms = end_ms.saturating_sub(duration_ms);
        self.buckets.add_amount(TOKENS, start_ms, end_ms, tokens as f32);
        self.end_ms = self.end_ms.max(end_ms);
        if duration_ms > 0 {
            let rate = tokens as f64 * 1_000.0 / duration_ms as f64;
            self.last = Some(rate);
            self.highest = self.highest.max(rate);
        }
    }

    /// Of the last answer and the fastest one, in tokens a second; `None`: no answer took any time.
    pub fn last_and_highest(&self) -> Option<(f64, f64)> {
        self.last.map(|last| (last, self.highest))
    }

    /// Tokens a second in so many equal parts of the time until the last answer, of all models together.
    #[expect(clippy::cast_precision_loss, reason = "a rate with few digits")]
    pub fn per_second(&self, parts: usize) -> Vec<f64> {
        if self.end_ms == 0 {
            return Vec::new();
        }
        let parts = parts.min(usize::try_from(self.end_ms).unwrap_or(usize::MAX));
        let edge = |at: usize| self.end_ms * at as u64 / parts.max(1) as u64;
        let rate = |at: usize| {
            let (from, to) = (edge(at), edge(at + 1));
            f64::from(self.buckets.sum_between(from, to)[TOKENS]) * 1_000.0 / (to - from).max(1) as f64
        };
        (0..parts).map(rate).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_spread_over_the_time_of_their_answer() {
        // end, milliseconds, tokens of each answer
        let check =
            |answers: &[(u64, u64, u64)], parts: usize, expected: &[f64], ends: Option<(f64, f64)>| {
                let mut rate = TokenRate::default();
                answers.iter().for_each(|(end, took, tokens)| rate.add_reply(*end, *took, *tokens));
                let found: Vec<f64> = rate.per_second(parts).iter().map(|value| value.round()).collect();
                assert_eq!(found, expected, "{answers:?} in {parts}");
                assert_eq!(rate.last_and_highest(), ends, "{answers:?}");
            };
        check(&[], 4, &[], None);
        check(&[(100, 100, 0)], 4, &[], None);
        check(&[(100, 100, 10)], 2, &[100.0, 100.0], Some((100.0, 100.0)));
        check(&[(100, 50, 10), (200, 100, 40)], 4, &[0.0, 200.0, 400.0, 400.0], Some((400.0, 400.0)));
        // two models at once
        check(&[(100, 100, 10), (100, 100, 30)], 1, &[400.0], Some((300.0, 300.0)));
        // an answer without a time is no rate, and there are no more parts than milliseconds
        check(&[(1, 0, 5)], 8, &[5_000.0], None);
    }
}
