//! Lengths of time as people write them: seconds, or ISO 8601 (`PT30M`). Never a bare number of milliseconds.

/// The longest length that is accepted: a year. Longer ones are slips.
pub const LONGEST_MS: u64 = 366 * 24 * 3_600_000;

/// Milliseconds of a number of seconds.
///
/// # Errors
/// What a length of time must be.
pub fn from_seconds(seconds: f64) -> Result<u64, String> {
    let most = LONGEST_MS / 1_000;
    if !seconds.is_finite() || seconds <= 0.0 {
        return Err("must be more than 0 seconds".to_owned());
    }
    #[expect(clippy::cast_precision_loss, reason = "a year in seconds is exact")]
    if seconds > most as f64 {
        return Err(format!("must be at most {most} seconds, a year"));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "positive and at most a year in milliseconds"
    )]
    let milliseconds = (seconds * 1_000.0).round() as u64;
    Ok(milliseconds.max(1))
}

/// Milliseconds of an ISO 8601 duration of weeks, days, hours, minutes and seconds: `PT1H30M`, `P2D`, `PT0.5S`.
/// Months and years have no fixed length and are refused.
///
/// # Errors
/// What is wrong with the text.
pub fn from_iso(text: &str) -> Result<u64, String> {
    let bad = || format!("`{text}` is no ISO 8601 duration, such as PT30S, PT5M, PT1H30M or P2D");
    let rest = text.trim().strip_prefix('P').ok_or_else(bad)?;
    let (days, time) = match rest.split_once('T') {
        Some((_, "")) => return Err(bad()),
        Some((days, time)) => (days, time),
        None => (rest, ""),
    };
    if days.contains(['Y', 'M']) {
        return Err("months and years have no fixed length: write days".to_owned());
    }
    let mut seconds = 0.0;
    let mut parts = 0;
    for (text, units) in
        [(days, &[('W', 604_800.0), ('D', 86_400.0)][..]), (time, &[('H', 3_600.0), ('M', 60.0), ('S', 1.0)])]
    {
        let mut rest = text;
        let mut units = units.iter();
        while !rest.is_empty() {
            let end = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(bad)?;
            let number: f64 = plain_number(&rest[..end]).ok_or_else(bad)?;
            let unit = rest[end..].chars().next().ok_or_else(bad)?;
            // each unit once, larger ones first
            let (_, length) = units.find(|(name, _)| *name == unit).ok_or_else(bad)?;
            seconds += number * length;
            parts += 1;
            rest = &rest[end + 1..];
        }
    }
    if parts == 0 {
        return Err(bad());
    }
    from_seconds(seconds)
}

/// Digits with at most one point or comma.
fn plain_number(text: &str) -> Option<f64> {
    let digits = text.chars().all(|c| c.is_ascii_digit() || c == '.' || c == ',');
    if !digits || !text.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    text.replace(',', ".").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_durations_are_lengths_of_weeks_to_seconds() {
        for (text, expected) in [
            ("PT30M", 1_800_000),
            ("PT1H30M", 5_400_000),
            ("P2D", 172_800_000),
            ("P1W", 604_800_000),
            ("P1DT1S", 86_401_000),
            ("PT0.5S", 500),
            ("PT0,25S", 250),
            (" PT5S ", 5_000),
            ("PT90M", 5_400_000),
        ] {
            assert_eq!(from_iso(text), Ok(expected), "{text}");
        }
        for text in [
            "", "P", "PT", "P1", "PT1", "30M", "P1M", "P1Y", "PT5S1M", "PT1M1M", "PT-1S", "PTS", "PT1.2.3S",
            "P1H", "PT1D", "PT0S", "P400D", "pt5s", "PT5X", "P1DT",
        ] {
            assert!(from_iso(text).is_err(), "{text}");
        }
    }

    #[test]
    fn seconds_are_positive_and_at_most_a_year() {
        assert_eq!(from_seconds(1.5), Ok(1_500));
        assert_eq!(from_seconds(0.0001), Ok(1));
        for seconds in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
            assert!(from_seconds(seconds).is_err(), "{seconds}");
        }
    }
}
