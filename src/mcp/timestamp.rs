//! Times, as programs read them.

use synthdev_domain::ids::Timestamp;

/// RFC 3339, in UTC.
pub(super) fn to_rfc3339(time: Timestamp) -> String {
    jiff::Timestamp::from_millisecond(time.0).map_or_else(|_| time.0.to_string(), |time| time.to_string())
}
