//! A fingerprint of the events that an input led to: a replay that gives others is found out.

use std::io;

use synthdev_engine::event::RunEvent;

/// FNV-1a over the events as JSON: the same in every build, and cheap enough for every input.
pub(super) fn digest_events(events: &[RunEvent]) -> u64 {
    let mut hash = Fnv1aHasher(0xcbf2_9ce4_8422_2325);
    for event in events {
        // a value that cannot be written cannot be recorded either
        let _ = serde_json::to_writer(&mut hash, event);
    }
    hash.0
}

struct Fnv1aHasher(u64);

impl io::Write for Fnv1aHasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
