//! Token counts: read from a report, or estimated where there is none.

use serde_json::Value;

/// Bytes of a usual text per token.
const BYTES_PER_TOKEN: usize = 4;

/// What so many bytes probably cost.
pub fn estimate_tokens(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

/// A count as servers write it: some with a decimal point.
pub fn parse_count(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| saturate_to_u64(value.as_f64()?))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates here")]
fn saturate_to_u64(number: f64) -> Option<u64> {
    (number >= 0.0).then_some(number as u64)
}
