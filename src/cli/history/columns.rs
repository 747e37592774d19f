//! Texts, ages and amounts in columns of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::output::terminal_safe;
use synthdev_domain::ids::Timestamp;

/// The first line of a text, made safe, cut to so many columns.
pub(super) fn cut_to_columns(text: &str, columns: usize) -> String {
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let line = terminal_safe(line.trim()).replace('\t', " ");
    if line.width() <= columns {
        return line;
    }
    let (mut short, mut used) = (String::new(), 1);
    for c in line.chars() {
        used += c.width().unwrap_or(0);
        if used > columns {
            break;
        }
        short.push(c);
    }
    short.push('…');
    short
}

/// The same, filled up with spaces.
pub(super) fn fit_to_columns(text: &str, columns: usize) -> String {
    let text = cut_to_columns(text, columns);
    let missing = columns.saturating_sub(text.width());
    text + &" ".repeat(missing)
}

/// At most four columns: `now`, `45s`, `12m`, `3h`, `9d`, `2y`. A clock that was set back gives no negative age.
pub(super) fn format_age(at: Timestamp, now: Timestamp) -> String {
    let seconds = now.0.saturating_sub(at.0) / 1000;
    match seconds {
        ..1 => "now".to_owned(),
        1..60 => format!("{seconds}s"),
        60..3_600 => format!("{}m", seconds / 60),
        3_600..86_400 => format!("{}h", seconds / 3_600),
        86_400..63_072_000 => format!("{}d", seconds / 86_400),
        _ => format!("{}y", seconds / 31_536_000),
    }
}

/// US dollars in eight columns; `?` for a model without a price.
pub(super) fn money_text(usd: Option<f64>) -> String {
    match usd {
        None => "?".to_owned(),
        Some(usd) if usd < 100.0 => format!("${usd:.4}"),
        Some(usd) if usd < 10_000.0 => format!("${usd:.2}"),
        Some(usd) => format!("${usd:.0}"),
    }
}

/// `12 B`, `3.4 KB`, `1.2 GB`: thousands, as the systems count that sell disks.
#[expect(clippy::cast_precision_loss, reason = "one digit behind the point is shown")]
pub fn bytes_text(number: u64) -> String {
    let mut size = number as f64;
    for unit in ["B", "KB", "MB", "GB"] {
        if size < 999.95 {
            return if unit == "B" { format!("{number} B") } else { format!("{size:.1} {unit}") };
        }
        size /= 1000.0;
    }
    format!("{size:.1} TB")
}

/// `1 run`, `2 runs`.
pub fn count_text(number: usize, one: &str) -> String {
    format!("{number} {one}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_stays_in_its_columns() {
        for (text, columns, expected) in [
            ("abc", 5, "abc  "),
            ("abcdef", 5, "abcd…"),
            ("日本語です", 6, "日本… "),
            ("\n  a\tb\nc", 4, "a b "),
            ("a\x1b[2J", 9, "a␛[2J    "),
        ] {
            assert_eq!(fit_to_columns(text, columns), expected);
        }
        let minute = 60_000;
        for (ms, expected) in [
            (-5, "now"),
            (1_000, "1s"),
            (59 * minute, "59m"),
            (60 * minute, "1h"),
            (47 * 60 * minute, "1d"),
            (1_440 * minute * 729, "729d"),
            (1_440 * minute * 730, "2y"),
        ] {
            assert_eq!(format_age(Timestamp(0), Timestamp(ms)), expected);
        }
        for (number, expected) in
            [(999, "999 B"), (1_000, "1.0 KB"), (999_960, "1.0 MB"), (1 << 40, "1.1 TB")]
        {
            assert_eq!(bytes_text(number), expected);
        }
        assert_eq!(
            [money_text(None), money_text(Some(0.5)), money_text(Some(1234.5))],
            ["?", "$0.5000", "$1234.50"]
        );
    }
}
