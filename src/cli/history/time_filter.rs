//! Points in time as they are typed: a date, a date with a time, or an age. Times without a zone are UTC, as
//! everything that is shown.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;

use synthdev_domain::ids::Timestamp;

/// Which end of a day a date means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DayBoundary {
    Begin,
    End,
}

const MS_OF_DAY: i64 = 86_400_000;

/// # Errors
/// It is none of them; the text says what is.
pub fn parse_time(typed: &str, now: Timestamp, day: DayBoundary) -> Result<Timestamp, String> {
    let text = typed.trim();
    let found = parse_age(text).and_then(|ms| now.0.checked_sub(ms)).or_else(|| parse_date(text, day));
    found.or_else(|| parse_moment(text)).map(Timestamp).ok_or_else(|| {
        format!(
            "`{typed}` is not a time: write a date (2026-01-31), a date with a time \
            (2026-01-31T10:00) or an age (7d, 12h, 30m)"
        )
    })
}

/// Milliseconds.
fn parse_age(text: &str) -> Option<i64> {
    let unit = match text.chars().last()? {
        's' => 1_000,
        'm' => 60_000,
        'h' => 3_600_000,
        'd' => MS_OF_DAY,
        'w' => 7 * MS_OF_DAY,
        _ => return None,
    };
    let digits = &text[..text.len() - 1];
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    digits.parse::<i64>().ok()?.checked_mul(unit)
}

fn parse_date(text: &str, day: DayBoundary) -> Option<i64> {
    // of a longer text it would take the date alone
    if text.len() > "2026-01-31".len() {
        return None;
    }
    let begin = text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond();
    Some(if day == DayBoundary::Begin { begin } else { begin + MS_OF_DAY - 1 })
}

fn parse_moment(text: &str) -> Option<i64> {
    if let Ok(at) = text.parse::<jiff::Timestamp>() {
        return Some(at.as_millisecond());
    }
    let at = text.parse::<DateTime>().ok()?;
    Some(at.to_zoned(TimeZone::UTC).ok()?.timestamp().as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_dates_moments_and_ages() {
        let now = Timestamp(1_000 * MS_OF_DAY);
        let day = 20_484 * MS_OF_DAY; // 2026-01-31
        for (typed, expected) in [
            ("2026-01-31", Some((day, day + MS_OF_DAY - 1))),
            ("2026-01-31T10:00", Some((day + 36_000_000, day + 36_000_000))),
            ("2026-01-31 10:00:01", Some((day + 36_001_000, day + 36_001_000))),
            ("2026-01-31T10:00:00Z", Some((day + 36_000_000, day + 36_000_000))),
            ("2026-01-31T10:00:00+02:00", Some((day + 28_800_000, day + 28_800_000))),
            ("7d", Some((993 * MS_OF_DAY, 993 * MS_OF_DAY))),
            (" 12h ", Some((now.0 - 43_200_000, now.0 - 43_200_000))),
            ("30m", Some((now.0 - 1_800_000, now.0 - 1_800_000))),
            ("0d", Some((now.0, now.0))),
            ("", None),
            ("d", None),
            ("-7d", None),
            ("7 d", None),
            ("7x", None),
            ("99999999999999999999d", None),
            ("9223372036854775807w", None),
            ("2026-02-30", None),
            ("2026-13-01", None),
            ("31.01.2026", None),
            ("yesterday", None),
            ("7d\u{1b}[2J", None),
            ("ä", None),
        ] {
            let found = [DayBoundary::Begin, DayBoundary::End]
                .map(|day| parse_time(typed, now, day).ok().map(|at| at.0));
            assert_eq!(found, [expected.map(|both| both.0), expected.map(|both| both.1)], "{typed:?}");
        }
    }
}
