//! Which risky commands the user was asked about, so that they are not warned of again when they run.
//!
//! Only of this process: a run that is resumed right behind an answer warns although the question was asked.

use std::sync::{Mutex, PoisonError};

use synthdev_domain::ids::RunId;
use synthdev_domain::tool::ToolInvocation;

/// Risky calls that the user was asked about and that have not begun yet.
#[derive(Default)]
pub(super) struct AskedCommands(Mutex<Vec<(RunId, ToolInvocation)>>);

impl AskedCommands {
    pub(super) fn remember(&self, run: &RunId, invocation: &ToolInvocation) {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // a denied call that is made again is asked about again
        if !asked.iter().any(|(of, kept)| of == run && kept == invocation) {
            asked.push((run.clone(), invocation.clone()));
        }
    }

    /// Whether there was a question: it counts for one call.
    pub(super) fn consume(&self, run: &RunId, invocation: &ToolInvocation) -> bool {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = asked.iter().position(|(of, kept)| of == run && kept == invocation);
        at.map(|at| asked.swap_remove(at)).is_some()
    }
}
