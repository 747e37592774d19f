//! Calls that a replay need not make, because their answers are known.

use synthdev_domain::ids::CallId;

/// What answers a call. An answer of the wrong kind counts as none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SkippedCallKind {
    Script = 1,
    Model = 2,
}

/// The kinds of answers by the number of the call.
#[derive(Clone, Debug, Default)]
pub struct ReplaySkips {
    calls: Vec<u8>,
    /// Requests are never built.
    skip_all: bool,
}

/// Most call numbers, ten million: a higher one is damage, and would cost memory.
const MOST: u64 = 10_000_000;

impl ReplaySkips {
    /// For callers that never perform effects: skips every call, whatever answers it.
    pub fn skip_all() -> Self {
        Self { calls: Vec::new(), skip_all: true }
    }

    pub fn add_call(&mut self, call: CallId, asks: SkippedCallKind) {
        let Some(at) = usize::try_from(call.0).ok().filter(|_| call.0 < MOST) else { return };
        if self.calls.len() <= at {
            self.calls.resize(at + 1, 0);
        }
        self.calls[at] |= asks as u8;
    }

    /// Builds the request of this call after all.
    pub fn unskip(&mut self, call: CallId) {
        if let Some(who) = usize::try_from(call.0).ok().and_then(|at| self.calls.get_mut(at)) {
            *who = 0;
        }
    }

    pub fn skips_call(&self, call: CallId, asks: SkippedCallKind) -> bool {
        let at = usize::try_from(call.0).ok();
        self.skip_all || at.and_then(|at| self.calls.get(at)).is_some_and(|who| who & asks as u8 != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_spared_by_an_answer_of_its_own_kind() {
        let mut spared = ReplaySkips::default();
        spared.add_call(CallId(3), SkippedCallKind::Script);
        spared.add_call(CallId(u64::MAX), SkippedCallKind::Model);
        let rows = [
            (3, SkippedCallKind::Script, true),
            (3, SkippedCallKind::Model, false),
            (2, SkippedCallKind::Script, false),
            (u64::MAX, SkippedCallKind::Model, false),
        ];
        for (call, asks, expected) in rows {
            assert_eq!(spared.skips_call(CallId(call), asks), expected, "{call} {asks:?}");
            assert!(ReplaySkips::skip_all().skips_call(CallId(call), asks), "{call} {asks:?}");
        }
        spared.unskip(CallId(3));
        spared.unskip(CallId(9));
        assert!(!spared.skips_call(CallId(3), SkippedCallKind::Script));
    }
}
