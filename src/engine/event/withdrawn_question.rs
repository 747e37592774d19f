//! A question that is closed without an answer.

use super::RunEvent;
use synthdev_domain::ids::CallId;

impl RunEvent {
    /// No branch waits for the answer any more.
    pub fn question_withdrawn(call: CallId) -> Self {
        Self::PersonAnswered { call, question: None, answer: None }
    }
}
