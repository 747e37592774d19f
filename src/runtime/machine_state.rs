//! The state of a machine as bytes: a cache beside the journal, so that a long run opens without all of its inputs.
//!
//! The journal stays the truth. A state that another version of the program wrote, or that is damaged, is not read.

use serde::{Deserialize, Serialize};

use synthdev_engine::machine::Machine;

/// Grows with every change of a stored type. The version of the program is compared, too.
const STATE_VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct StateVersions<'a> {
    state: u32,
    program: &'a str,
}

impl StateVersions<'static> {
    fn current() -> Self {
        Self { state: STATE_VERSION, program: env!("CARGO_PKG_VERSION") }
    }
}

/// The machine as bytes. `None`: it holds what cannot be written, and the journal has to do.
pub fn encode_machine(machine: &Machine) -> Option<Vec<u8>> {
    let mut bytes = rmp_serde::to_vec_named(&StateVersions::current()).ok()?;
    let state = rmp_serde::to_vec_named(machine).ok()?;
    bytes.extend(state);
    Some(bytes)
}

/// The machine that was encoded. `None`: another version wrote it, or it is damaged.
pub fn decode_machine(bytes: &[u8]) -> Option<Machine> {
    let mut reader = rmp_serde::decode::Deserializer::from_read_ref(bytes);
    let versions = StateVersions::deserialize(&mut reader).ok()?;
    let current = StateVersions::current();
    if (versions.state, versions.program) != (current.state, current.program) {
        return None;
    }
    Machine::deserialize(&mut reader).ok()
}
