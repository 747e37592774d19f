//! Resume tokens as they are kept: never the token, only its hash.

use serde::{Deserialize, Serialize};

use crate::ids::{CallId, RunId, Timestamp};

/// One token of one pause.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct TokenRecord {
    /// Of the token, which is stored nowhere.
    pub hash: String,
    pub run: RunId,
    /// The pause.
    pub call: CallId,
    /// The definition that the run had when it paused.
    pub definition_hash: String,
    pub created: Timestamp,
    /// From this time on it is refused.
    pub expires: Timestamp,
    /// Answers that were not accepted.
    pub tries: u32,
    pub used: Option<Timestamp>,
    /// Of the results that it was used with.
    pub results_hash: Option<String>,
    /// What was answered to them.
    pub answer: Option<String>,
}

/// The result of using a token.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum TokenRedeemOutcome {
    /// It is used up, and the rows are in the journal.
    Accepted,
    /// It was used with the same results before; this was answered then. Nothing was written.
    Duplicate { answer: String },
    /// It was used with other results before: the first ones count. Nothing was written.
    Conflict,
}
