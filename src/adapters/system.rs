//! The clock and the source of ids.

use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::domain::ids::{RunId, Timestamp};
use crate::ports::clock::{Clock, IdSource};

/// The machine's clock, UTC.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Ids from the operating system's luck.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

/// Crockford's alphabet: no letter that is mistaken for a digit.
const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";

impl IdSource for SystemIds {
    /// Ten letters of time (milliseconds) and seven of luck: sorts by time, and a few letters are enough to type.
    fn run_id(&self) -> RunId {
        let id = Uuid::now_v7().as_u128();
        let time = id >> 80;
        let luck = id & ((1 << 35) - 1);
        let mut text = String::with_capacity(17);
        letters(time, 10, &mut text);
        letters(luck, 7, &mut text);
        RunId(text)
    }

    fn seed(&self) -> u64 {
        Uuid::new_v4().as_u64_pair().0
    }
}

fn letters(number: u128, count: u32, text: &mut String) {
    for at in (0..count).rev() {
        let digit = usize::try_from((number >> (5 * at)) & 31).unwrap_or(0);
        text.push(char::from(ALPHABET[digit]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_by_time_and_differ() {
        let first = SystemIds.run_id();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = SystemIds.run_id();
        assert!(first < second, "{first} {second}");
        assert_eq!(first.0.len(), 17);
        assert_ne!(SystemIds.seed(), SystemIds.seed());
    }
}
