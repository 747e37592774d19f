//! What several tests share: strict fakes of the world outside, and a stage on which runs are played.

#[allow(dead_code, reason = "each test uses its part")]
pub mod list_server;
#[allow(dead_code, reason = "each test uses its part")]
pub mod model_server;
pub mod requests;
pub mod skip;
pub mod stage;
pub mod temporary;
pub mod tools;
pub mod watched_store;
pub mod wire;

use synthdev::engine::machine::Machine;
use synthdev::runtime::machine_state::{decode_machine, encode_machine};

/// The same machine, from its stored state.
pub fn restored_machine(machine: &Machine) -> Machine {
    let state = encode_machine(machine).expect("every machine can be written");
    decode_machine(&state).expect("a state of this version can be read")
}
