//! What several tests share: strict fakes of the world outside, and a stage on which runs are played.

#[cfg(feature = "restate")]
pub mod journal_rows;
#[allow(dead_code, reason = "each test uses its part")]
pub mod list_server;
#[allow(dead_code, reason = "each test uses its part")]
pub mod model_server;
pub mod requests;
#[cfg(feature = "restate")]
pub mod restate_server;
pub mod screen_picture;
pub mod skip;
pub mod stage;
pub mod temporary;
pub mod tools;
pub mod watched_store;
pub mod wire;

use synthdev::engine::machine::Machine;

/// The same machine, written and read again.
pub fn restored_machine(machine: &Machine) -> Machine {
    let state = serde_json::to_string(machine).expect("every machine can be written");
    serde_json::from_str(&state).expect("a written machine can be read")
}
