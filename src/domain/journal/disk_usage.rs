//! How much room the history takes.

use serde::{Deserialize, Serialize};

use crate::ids::Timestamp;

/// What was removed from the history. Later runs use its space again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct ReclaimedSpace {
    pub runs: usize,
    /// Size of the rows, and of the texts that no other run uses.
    pub bytes: u64,
}

/// All sizes in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct HistoryStorageUsage {
    /// The database and its log on the disk.
    pub file_bytes: u64,
    /// The part of the file that later runs fill first.
    pub free_bytes: u64,
    pub runs: u64,
    pub rows: u64,
    /// Definitions and long texts, each stored once.
    pub blobs_bytes: u64,
    /// The search index.
    pub index_bytes: u64,
    /// Size of the stored previews of long runs.
    #[serde(default)]
    pub glances_bytes: u64,
    /// Size of the stored states of long runs.
    #[serde(default)]
    pub states_bytes: u64,
    /// Start of the oldest run.
    pub oldest: Option<Timestamp>,
}
