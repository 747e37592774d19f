//! How far long work is, for display: a bar, counts, the rate and the remaining time.

use crate::number_format::{format_thousands, format_whole_seconds};

/// Cells of the bar.
const CELLS: u64 = 10;
/// A rate is known after so long, in milliseconds.
const FIRST_MS: u64 = 1_000;

/// `▓▓▓░░░░░░░ 30 of 100 · 2.0/s · 35 s left`. `elapsed_ms`: how long it has taken so far; before there is a rate,
/// nothing is said of it.
pub fn progress_text(done: u64, total: u64, elapsed_ms: u64) -> String {
    let rate = rate_text(done, total, elapsed_ms).map(|rate| format!(" · {rate}")).unwrap_or_default();
    format!("{}{rate}", counted_text(done, total, true))
}

/// The same with fewer columns, the longest first: without the rate, then without the bar. The remaining time stays.
pub fn short_progress_texts(done: u64, total: u64, elapsed_ms: u64) -> [String; 2] {
    let left = remaining_text(done, total, elapsed_ms).map(|left| format!(" · {left}")).unwrap_or_default();
    [true, false].map(|with_bar| format!("{}{left}", counted_text(done, total, with_bar)))
}

/// `▓▓▓░░░░░░░ 30 of 100`
fn counted_text(done: u64, total: u64, with_bar: bool) -> String {
    let counts = format!("{} of {}", format_thousands(done), format_thousands(total));
    if !with_bar {
        return counts;
    }
    format!("{} {counts}", progress_bar(done, total))
}

/// `▓▓▓░░░░░░░`
pub fn progress_bar(done: u64, total: u64) -> String {
    let full = done.saturating_mul(CELLS).checked_div(total).unwrap_or(CELLS).min(CELLS);
    (0..CELLS).map(|at| if at < full { '▓' } else { '░' }).collect()
}

/// `2.0/s · 35 s left`; slow work is counted by the minute. `None`: it is not known yet, or nothing is left.
#[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
pub fn rate_text(done: u64, total: u64, elapsed_ms: u64) -> Option<String> {
    let left = remaining_text(done, total, elapsed_ms)?;
    let per_second = done as f64 * 1e3 / elapsed_ms as f64;
    let rate = match per_second {
        slow if slow < 1.0 => format!("{:.1}/min", slow * 60.0),
        slow if slow < 10.0 => format!("{slow:.1}/s"),
        fast => format!("{fast:.0}/s"),
    };
    Some(format!("{rate} · {left}"))
}

/// `35 s left`. `None`: it is not known yet, or nothing is left.
pub fn remaining_text(done: u64, total: u64, elapsed_ms: u64) -> Option<String> {
    if done == 0 || done >= total || elapsed_ms < FIRST_MS {
        return None;
    }
    let left = u128::from(elapsed_ms) * u128::from(total - done) / u128::from(done);
    // whole seconds: it is an estimate
    let left = u64::try_from(left).unwrap_or(u64::MAX).div_ceil(1_000).max(1);
    Some(format!("{} left", format_whole_seconds(left.saturating_mul(1_000))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_has_a_bar_a_rate_and_the_remaining_time() {
        let check = |done: u64, total: u64, ms: u64, expected: &str| {
            assert_eq!(progress_text(done, total, ms), expected, "{done} {total} {ms}");
        };
        check(0, 100, 5_000, "░░░░░░░░░░ 0 of 100");
        check(3, 16, 100, "▓░░░░░░░░░ 3 of 16");
        check(30, 100, 15_000, "▓▓▓░░░░░░░ 30 of 100 · 2.0/s · 35 s left");
        check(5_000, 10_000, 2_500, "▓▓▓▓▓░░░░░ 5,000 of 10,000 · 2000/s · 3 s left");
        check(1, 61, 60_000, "░░░░░░░░░░ 1 of 61 · 1.0/min · 1 h 00 min left");
        check(100, 100, 50_000, "▓▓▓▓▓▓▓▓▓▓ 100 of 100");
        check(0, 0, 50_000, "▓▓▓▓▓▓▓▓▓▓ 0 of 0");
    }

    #[test]
    fn a_short_form_keeps_the_counts_and_the_remaining_time() {
        let check = |done: u64, total: u64, ms: u64, expected: [&str; 2]| {
            assert_eq!(short_progress_texts(done, total, ms), expected, "{done} {total} {ms}");
        };
        check(3, 16, 100, ["▓░░░░░░░░░ 3 of 16", "3 of 16"]);
        check(30, 100, 15_000, ["▓▓▓░░░░░░░ 30 of 100 · 35 s left", "30 of 100 · 35 s left"]);
    }
}
