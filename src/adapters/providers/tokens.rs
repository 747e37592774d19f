//! Token counts: read from a report, or estimated where there is none.

use serde_json::Value;

use crate::domain::cost::Usage;

/// Bytes of a usual text per token.
const BYTES_PER_TOKEN: usize = 4;

/// What so many bytes probably cost.
pub fn estimate(bytes: usize) -> u64 {
    u64::try_from(bytes.div_ceil(BYTES_PER_TOKEN)).unwrap_or(u64::MAX)
}

/// What was reported, with estimates in the place of what was not; whether there are any. A report of nothing is none.
pub fn complete(reported: Usage, completion: Option<u64>, bytes: (usize, usize)) -> (Usage, bool) {
    let completion = completion.filter(|count| *count > 0 || bytes.1 == 0);
    let usage = Usage {
        prompt: if reported.prompt > 0 { reported.prompt } else { estimate(bytes.0) },
        completion: completion.unwrap_or_else(|| estimate(bytes.1)),
        ..reported
    };
    (usage, reported.prompt == 0 || completion.is_none())
}

/// A count as servers write it: some with a decimal point.
pub fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| saturating(value.as_f64()?))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "`as` saturates here")]
fn saturating(number: f64) -> Option<u64> {
    (number >= 0.0).then_some(number as u64)
}
