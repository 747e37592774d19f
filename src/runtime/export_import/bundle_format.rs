//! The lines of a bundle as they are written and read.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use synthdev_domain::ids::{CallId, RunId, Timestamp};
use synthdev_domain::journal::{JournalRowKind, RunOrigin, RunProgress};

/// The first line of every version of the format begins with it.
pub(super) const FORMAT: &str = "synthdev-run";
pub(super) const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct BundleFormatLine {
    pub(super) format: String,
    pub(super) version: u32,
    /// Version of the program that wrote it.
    #[serde(default)]
    pub(super) program: String,
    #[serde(default)]
    pub(super) machine_version: u32,
    #[serde(default)]
    pub(super) exported: Option<Timestamp>,
    /// An explanation for a reader who opens the file.
    #[serde(default)]
    pub(super) note: String,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BundleLine {
    Head(BundleRunHeader),
    Progress(Box<RunProgress>),
    Row(BundleRow),
    End(BundleTrailer),
}

#[derive(Serialize, Deserialize)]
pub(super) struct BundleRunHeader {
    pub(super) id: RunId,
    pub(super) workflow: String,
    pub(super) definition_hash: String,
    pub(super) started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) origin: Option<RunOrigin>,
    /// It worked in a worktree, which does not travel.
    #[serde(default)]
    pub(super) isolated: bool,
    /// Definition, roles, prompts and inputs.
    pub(super) spec: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct BundleRow {
    pub(super) kind: JournalRowKind,
    pub(super) at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) call: Option<CallId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) digest: Option<u64>,
    pub(super) body: Box<RawValue>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct BundleTrailer {
    pub(super) rows: usize,
    /// Of all bytes before this line, in lower-case hex.
    pub(super) sha256: String,
}

/// Bytes in lower-case hex.
pub(super) fn to_hex(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from_digit(u32::from(half), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
