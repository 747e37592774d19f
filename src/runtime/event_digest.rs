//! A fingerprint of the events that an input led to: a replay that gives others is found out.

use std::hash::Hasher;

use fnv::FnvHasher;
use synthdev_engine::event::StepEvent;

/// FNV-1a over the events as JSON, without their steps: the same in every build, and cheap enough for every input.
pub(super) fn digest_events(events: &[StepEvent]) -> u64 {
    let mut hasher = FnvHasher::default();
    let mut json = Vec::new();
    for event in events {
        json.clear();
        // a value that cannot be written cannot be recorded either
        let _ = serde_json::to_writer(&mut json, &event.event);
        hasher.write(&json);
    }
    hasher.finish()
}
