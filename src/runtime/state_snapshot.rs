//! The state of a run, stored from time to time and when the run stops, so that resuming a long run need not replay its
//! whole journal.
//!
//! Owns what is stored; `state_schedule` says when. Refuses to be the truth: a state that is missing, damaged or of another build of the
//! program is ignored, and the journal is replayed instead.

use serde::{Deserialize, Serialize};

use super::preview::RecentEvents;
use synthdev_engine::machine::Machine;
use synthdev_engine::pending_requests::PendingRequests;

/// Inputs of a run between two stored states, at least: fewer are replayed in a few milliseconds.
pub const INPUTS: u32 = 500;
/// Bytes of a stored state, at most. A run whose state is larger is replayed.
const MOST_BYTES: usize = 128 << 20;

/// All that a driver needs of a run besides its journal.
#[derive(Clone, Debug, Deserialize)]
pub struct StateSnapshot {
    pub machine: Machine,
    pub requests: PendingRequests,
    pub recent_events: RecentEvents,
}

#[derive(Serialize)]
struct StateSnapshotRef<'a> {
    machine: &'a Machine,
    requests: &'a PendingRequests,
    recent_events: &'a RecentEvents,
}

impl StateSnapshot {
    /// The state as it is stored. `None`: it has no stored form at this moment, or is too large.
    pub fn encode(
        machine: &Machine,
        requests: &PendingRequests,
        recent_events: &RecentEvents,
    ) -> Option<String> {
        if !requests.can_be_stored(machine) {
            return None;
        }
        let state = StateSnapshotRef { machine, requests, recent_events };
        serde_json::to_string(&state).ok().filter(|text| text.len() <= MOST_BYTES)
    }

    /// As it was stored. `None`: it is damaged.
    pub fn decode(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
