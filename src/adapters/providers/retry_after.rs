//! When a server wants to be asked again.

use std::time::{SystemTime, UNIX_EPOCH};

use reqwest::header::HeaderMap;

/// Numbers above this are points in time, not spans: seconds of the year 2001, or milliseconds of 1970.
const EPOCH_SECONDS: f64 = 1e9;
const EPOCH_MILLISECONDS: f64 = 1e12;

/// Milliseconds to wait, from the first header that says so: `retry-after-ms`, `retry-after` (seconds or
/// a date), `x-ratelimit-reset` (seconds, a span such as `6m0s`, or a point in time), and the longer one
/// of OpenAI's resets for requests and tokens.
pub fn retry_after_ms(headers: &HeaderMap, now: SystemTime) -> Option<u64> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let now_ms = now.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64() * 1000.0);
    let found = text("retry-after-ms")
        .and_then(parse_number)
        .or_else(|| text("retry-after").and_then(|value| parse_wait(value, now_ms)))
        .or_else(|| text("x-ratelimit-reset").and_then(|value| parse_wait(value, now_ms)))
        .or_else(|| {
            let resets = ["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"];
            resets.iter().filter_map(|name| parse_wait(text(name)?, now_ms)).reduce(f64::max)
        })?;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates here")]
    let whole = found.max(0.0).ceil() as u64;
    Some(whole)
}

/// Milliseconds from now.
fn parse_wait(text: &str, now_ms: f64) -> Option<f64> {
    if let Some(seconds) = parse_number(text) {
        return Some(match seconds {
            at if at > EPOCH_MILLISECONDS => at - now_ms,
            at if at > EPOCH_SECONDS => at * 1000.0 - now_ms,
            span => span * 1000.0,
        });
    }
    parse_span(text).or_else(|| parse_http_date(text).map(|at| at - now_ms))
}

fn parse_number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|value: &f64| value.is_finite())
}

/// `1m30s`, `20ms`, `6h1m0.5s`.
fn parse_span(text: &str) -> Option<f64> {
    let mut total = 0.0;
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let amount = parse_number(&rest[..digits])?;
        rest = &rest[digits..];
        let letters = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let unit = match &rest[..letters] {
            "ms" => 1.0,
            "s" => 1000.0,
            "m" => 60_000.0,
            "h" => 3_600_000.0,
            "d" => 86_400_000.0,
            _ => return None,
        };
        total += amount * unit;
        rest = &rest[letters..];
    }
    (!text.is_empty()).then_some(total)
}

/// A date of HTTP, as milliseconds since 1970.
#[expect(clippy::cast_precision_loss, reason = "milliseconds of today stay far below 2^52")]
fn parse_http_date(text: &str) -> Option<f64> {
    let at = jiff::fmt::rfc2822::parse(text).ok()?;
    Some(at.timestamp().as_millisecond() as f64)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    type HeaderRows<'a> = &'a [(&'a str, &'a str)];

    #[test]
    fn every_way_to_say_when() {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let rows: [(HeaderRows<'_>, Option<u64>); 12] = [
            (&[("retry-after", "7")], Some(7_000)),
            (&[("retry-after", "0.25")], Some(250)),
            (&[("retry-after", "Tue, 14 Nov 2023 22:13:50 GMT")], Some(30_000)),
            (&[("retry-after", "Tue, 14 Nov 2000 22:13:50 GMT")], Some(0)),
            (&[("retry-after-ms", "1500"), ("retry-after", "9")], Some(1_500)),
            (&[("x-ratelimit-reset", "1700000012")], Some(12_000)),
            (&[("x-ratelimit-reset", "1700000003000")], Some(3_000)),
            (&[("x-ratelimit-reset", "6m0.5s")], Some(360_500)),
            (&[("x-ratelimit-reset-requests", "20ms"), ("x-ratelimit-reset-tokens", "1m2s")], Some(62_000)),
            (&[("retry-after", "soon")], None),
            (&[("retry-after", "-3")], Some(0)),
            (&[], None),
        ];
        for (headers, expected) in rows {
            let mut map = HeaderMap::new();
            for (name, value) in headers {
                map.insert(*name, value.parse().unwrap());
            }
            assert_eq!(retry_after_ms(&map, now), expected, "{headers:?}");
        }
    }
}
