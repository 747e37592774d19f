//! Numbers and lengths of time for display, the same on the screen and on the command line.

/// `1234567` → `1,234,567`.
pub fn format_thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// `1 file`, `2 files`, `1,234 files`.
pub fn format_count(number: u64, thing: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", format_thousands(number))
}

/// Dollars, or that the price is not known.
pub fn format_dollars(cost: Option<f64>) -> String {
    match cost {
        None => "price unknown".to_owned(),
        Some(0.0) => "$0".to_owned(),
        Some(cost) if cost < 0.01 => format!("${cost:.4}"),
        Some(cost) => format!("${cost:.2}"),
    }
}

/// Milliseconds for display, at most eleven columns: `0.4 s`, `12 s`, `3 min 05 s`, `2 h 07 min`, `3 d 04 h`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn format_duration(ms: u64) -> String {
    match ms {
        0..9_950 => format!("{:.1} s", ms as f64 / 1e3),
        // one decimal would round it up to `10.0 s`
        9_950..60_000 => format!("{} s", (ms / 1_000).max(10)),
        60_000..3_600_000 => format!("{} min {:02} s", ms / 60_000, ms / 1_000 % 60),
        3_600_000..DAY_MS => format!("{} h {:02} min", ms / 3_600_000, ms / 60_000 % 60),
        _ => format!("{} d {:02} h", ms / DAY_MS, ms / 3_600_000 % 24),
    }
}

const DAY_MS: u64 = 24 * 3_600_000;

/// The same in whole seconds, for a time that grows on screen, where tenths only flicker: `4 s`.
pub fn format_whole_seconds(ms: u64) -> String {
    if ms < 10_000 { format!("{} s", ms / 1_000) } else { format_duration(ms) }
}

/// Short form for narrow places: `950`, `12.3k`, `4.1M`.
#[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
pub fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_one_decimal_below_ten_seconds() {
        let rows = [
            (0, "0.0 s"),
            (440, "0.4 s"),
            (9_949, "9.9 s"),
            (9_960, "10 s"),
            (12_500, "12 s"),
            (59_999, "59 s"),
            (185_000, "3 min 05 s"),
            (7_620_000, "2 h 07 min"),
            (86_399_999, "23 h 59 min"),
            (273_600_000, "3 d 04 h"),
        ];
        for (ms, expected) in rows {
            assert_eq!(format_duration(ms), expected, "{ms}");
        }
        for (ms, expected) in [(0, "0 s"), (9_999, "9 s"), (10_000, "10 s"), (63_400, "1 min 03 s")] {
            assert_eq!(format_whole_seconds(ms), expected, "{ms}");
        }
    }
}
