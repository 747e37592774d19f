//! The time limit of a visit: it runs, or it is suspended while its branch is stopped.

use serde::{Deserialize, Serialize};
use synthdev_domain::ids::{CallId, Timestamp};

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct TimeLimit {
    call: Option<CallId>,
    ends: Timestamp,
    remaining_ms: Option<u64>,
}

impl TimeLimit {
    pub fn running_until(call: CallId, ends: Timestamp) -> Self {
        Self { call: Some(call), ends, remaining_ms: None }
    }

    /// The timer that fires.
    pub fn pending_call(&self) -> Option<CallId> {
        self.call
    }

    /// There is none at all.
    pub fn is_unset(&self) -> bool {
        self.call.is_none() && self.remaining_ms.is_none()
    }

    /// It is over; the timer to stop, if one runs.
    pub fn cancel(&mut self) -> Option<CallId> {
        std::mem::take(self).call
    }

    /// The timer to stop, if it ran.
    pub fn suspend(&mut self, now: Timestamp) -> Option<CallId> {
        let call = self.call.take()?;
        self.remaining_ms = Some(u64::try_from(self.ends.0.saturating_sub(now.0)).unwrap_or(0));
        Some(call)
    }

    /// The remaining time, if it was suspended.
    pub fn resume(&mut self) -> Option<u64> {
        self.remaining_ms.take()
    }

    /// So many milliseconds do not count.
    pub fn exclude_time(&mut self, gap: i64) {
        self.ends.0 = self.ends.0.saturating_add(gap);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_does_not_pass_while_it_rests() {
        let mut limit = TimeLimit::running_until(CallId(1), Timestamp(10_000));
        assert_eq!((limit.resume(), limit.suspend(Timestamp(4_000))), (None, Some(CallId(1))));
        assert_eq!(
            (limit.pending_call(), limit.is_unset(), limit.suspend(Timestamp(5_000))),
            (None, false, None)
        );
        assert_eq!((limit.resume(), limit.is_unset()), (Some(6_000), true));
        // time without a driver does not count
        let mut limit = TimeLimit::running_until(CallId(1), Timestamp(10_000));
        limit.exclude_time(90_000);
        limit.suspend(Timestamp(94_000));
        assert_eq!((limit.cancel(), limit.is_unset()), (None, true), "what rests is over, too");
    }
}
