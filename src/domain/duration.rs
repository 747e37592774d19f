//! Lengths and points of time as workflow files and their expressions give them.
//!
//! Owns: reading seconds, ISO 8601 durations and ISO 8601 times. Refuses: calendars (a month has no length) and
//! times without an offset (they mean something else on every machine).

use jiff::{Span, SpanRelativeTo, Unit};
use serde_json::Value;

/// Milliseconds of a length: seconds as a number, or an ISO 8601 duration (`"PT30M"`, `"P1DT2H"`).
///
/// # Errors
/// What is wrong with it.
pub fn duration_ms(value: &Value) -> Result<u64, String> {
    match value {
        Value::Number(seconds) => {
            round_ms(seconds.as_f64().map(|seconds| seconds * 1000.0)).ok_or_else(|| not_a_length(value))
        }
        Value::String(text) => duration_text_ms(text),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(not_a_length(value)),
    }
}

/// As `duration_ms`, of a text.
///
/// # Errors
/// What is wrong with it.
pub fn duration_text_ms(text: &str) -> Result<u64, String> {
    let text = text.trim();
    if let Ok(seconds) = text.parse::<f64>() {
        return round_ms(Some(seconds * 1000.0)).ok_or_else(|| not_a_length(&Value::from(text)));
    }
    if !text.starts_with(['P', 'p', '-', '+']) {
        return Err(not_a_length(&Value::from(text)));
    }
    let span: Span = text.parse().map_err(|_| not_a_length(&Value::from(text)))?;
    let total = span
        .total((Unit::Millisecond, SpanRelativeTo::days_are_24_hours()))
        .map_err(|_| format!("`{text}` has months or years in it, which have no fixed length: use days"))?;
    round_ms(Some(total)).ok_or_else(|| not_a_length(&Value::from(text)))
}

/// Milliseconds since 1970 of a time: that number itself, or an ISO 8601 time with an offset.
///
/// # Errors
/// What is wrong with it.
pub fn instant_ms(value: &Value) -> Result<i64, String> {
    let wrong = || {
        format!(
            "`{value}` is no time: write it like \"2027-01-31T08:00:00Z\" or \"2027-01-31T10:00:00+02:00\", or give \
             milliseconds since 1970"
        )
    };
    match value {
        Value::Number(ms) => {
            #[expect(clippy::cast_possible_truncation, reason = "parts of milliseconds do not count")]
            let whole = || ms.as_f64().map(|ms| ms as i64);
            ms.as_i64().or_else(whole).ok_or_else(wrong)
        }
        Value::String(text) => {
            let parsed: Result<jiff::Timestamp, _> = text.trim().parse();
            parsed.map(jiff::Timestamp::as_millisecond).map_err(|_| wrong())
        }
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => Err(wrong()),
    }
}

fn not_a_length(value: &Value) -> String {
    format!("`{value}` is no length of time: give seconds (90), or an ISO 8601 duration (\"PT1M30S\")")
}

/// The longest length: a hundred years. Whatever is longer is a mistake.
const LONGEST_MS: f64 = 100.0 * 365.25 * 86_400_000.0;

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked to be in range")]
fn round_ms(ms: Option<f64>) -> Option<u64> {
    ms.filter(|ms| (0.0..=LONGEST_MS).contains(ms)).map(|ms| ms.round() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lengths_are_seconds_or_iso() {
        let rows = [
            (json!(90), Ok(90_000)),
            (json!(0.25), Ok(250)),
            (json!(0), Ok(0)),
            (json!("PT30M"), Ok(1_800_000)),
            (json!("P1DT2H"), Ok(93_600_000)),
            (json!("PT0.5S"), Ok(500)),
            (json!(" 1.5 "), Ok(1_500)),
            (json!(-1), Err("no length")),
            (json!("-PT1S"), Err("no length")),
            (json!("P1M"), Err("no fixed length")),
            (json!("soon"), Err("no length")),
            (json!("NaN"), Err("no length")),
            (json!("inf"), Err("no length")),
            (json!(1e300), Err("no length")),
            (json!(""), Err("no length")),
            (json!(null), Err("no length")),
            (json!([1]), Err("no length")),
        ];
        for (value, expected) in rows {
            match (duration_ms(&value), expected) {
                (Ok(got), Ok(wanted)) => assert_eq!(got, wanted, "{value}"),
                (Err(got), Err(part)) => assert!(got.contains(part), "{value}: {got}"),
                (got, wanted) => panic!("{value}: {got:?}, not {wanted:?}"),
            }
        }
    }

    #[test]
    fn times_have_an_offset() {
        let rows = [
            (json!(1_500), Some(1_500)),
            (json!(1_500.9), Some(1_500)),
            (json!("1970-01-01T00:00:02Z"), Some(2_000)),
            (json!("1970-01-01T02:00:00+02:00"), Some(0)),
            (json!("1970-01-01T02:00:00"), None),
            (json!("tomorrow"), None),
            (json!({}), None),
        ];
        for (value, expected) in rows {
            assert_eq!(instant_ms(&value).ok(), expected, "{value}");
        }
    }
}
