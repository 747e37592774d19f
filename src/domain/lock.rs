//! Who works in a project: what a second run is told (ERR-12).

use serde::{Deserialize, Serialize};

use super::ids::{RunId, Timestamp};

/// The run that holds a project's lock.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Holder {
    pub run: RunId,
    pub workflow: String,
    /// The process that drives it.
    pub pid: u32,
    pub since: Timestamp,
}
