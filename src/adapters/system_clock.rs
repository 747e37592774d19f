//! The clock and the source of ids. The only place that asks the system for time or random numbers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use synthdev_domain::ids::{RunId, Timestamp};
use synthdev_ports::clock::{ClockPort, IdSource};

#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl ClockPort for SystemClock {
    /// A clock set before 1970 counts as 1970.
    fn now(&self) -> Timestamp {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }
}

/// Generates run ids such as `6s1c9rk2m4tz`: twelve characters that sort by start time.
///
/// Eight characters are the milliseconds since 2020 (good until 2054), four are random, so that ids of several
/// processes do not collide. The letters are Crockford's: lower case without i, l, o and u, so nothing is mistaken when
/// read aloud. The first five characters already differ for runs that began half a minute apart, so a prefix is quick
/// to type.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemIds;

/// The last id of this process as a number: the next one is larger even within a millisecond or when the clock is set
/// back.
static LAST: AtomicU64 = AtomicU64::new(0);

const LETTERS: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
/// 2020-01-01 UTC.
const EPOCH_MS: i64 = 1_577_836_800_000;
const LUCK_BITS: u32 = 20;
const ID_LENGTH: usize = 12;
const LARGEST: u64 = (1 << (5 * ID_LENGTH)) - 1;

impl IdSource for SystemIds {
    fn run_id(&self) -> RunId {
        let elapsed = u64::try_from(SystemClock.now().0 - EPOCH_MS).unwrap_or(0);
        let luck = Uuid::new_v4().as_u64_pair().1 & ((1 << LUCK_BITS) - 1);
        RunId(encode_id(next_distinct(&LAST, (elapsed << LUCK_BITS) | luck)))
    }

    fn seed(&self) -> u64 {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        // the six fixed bits of a v4 uuid are in different places of the two halves
        high ^ low.rotate_left(32)
    }
}

/// The drawn number, or the one after the last if that is larger; keeps it.
fn next_distinct(last: &AtomicU64, drawn: u64) -> u64 {
    let next = |last: u64| drawn.max(last + 1).min(LARGEST);
    let before = last.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
    next(before.unwrap_or_default())
}

/// Twelve letters, most significant first, so that text sorts as the number does.
fn encode_id(number: u64) -> String {
    let letter = |at: usize| LETTERS[(number >> (5 * (ID_LENGTH - 1 - at)) & 31) as usize];
    (0..ID_LENGTH).map(|at| char::from(letter(at))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_sort_in_the_order_drawn_even_within_a_millisecond() {
        let drawn: Vec<String> = (0..10_000).map(|_| SystemIds.run_id().0).collect();
        assert!(drawn.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(drawn.iter().all(|id| id.len() == ID_LENGTH && id.bytes().all(|c| LETTERS.contains(&c))));
    }

    #[test]
    fn a_clock_that_goes_back_does_not_turn_the_order() {
        let last = AtomicU64::new(0);
        assert_eq!(next_distinct(&last, 100), 100);
        assert_eq!(next_distinct(&last, 40), 101);
        assert_eq!(next_distinct(&last, 101), 102);
        assert_eq!(next_distinct(&last, 500), 500);
    }

    #[test]
    fn spelling_keeps_the_order() {
        assert_eq!(encode_id(0), "000000000000");
        assert_eq!(encode_id(31), "00000000000z");
        assert_eq!(encode_id(32), "000000000010");
        assert_eq!(encode_id(LARGEST), "zzzzzzzzzzzz");
    }

    #[test]
    fn seeds_differ() {
        assert_ne!(SystemIds.seed(), SystemIds.seed());
    }
}
