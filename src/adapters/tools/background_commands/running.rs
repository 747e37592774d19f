//! The commands that run now, for the user: which ones, until one of them ends.
//!
//! Refuses what has ended: that only the model can still read.

use std::sync::Arc;

use super::{BackgroundCommand, BackgroundCommands};
use synthdev_domain::ids::RunId;
use synthdev_domain::tool::RunningCommand;

impl BackgroundCommands {
    /// Those of a run; nothing is read from the disk.
    pub(in super::super) fn running(&self, run: &RunId) -> Vec<Arc<BackgroundCommand>> {
        let runs = self.lock_runs();
        let all = runs.get(run).into_iter().flat_map(|of_run| of_run.commands.values());
        all.filter(|command| command.progress().end.is_none()).cloned().collect()
    }

    /// Until one of those has ended, or one that starts meanwhile.
    pub(in super::super) async fn wait_end(&self, run: &RunId) {
        let Some(ends) = self.lock_runs().get(run).map(|of_run| Arc::clone(&of_run.ends)) else { return };
        // it hears of every end from here on, also before it is first polled
        let next = ends.notified();
        if !self.running(run).is_empty() {
            next.await;
        }
    }
}

impl BackgroundCommand {
    /// As a user sees it.
    pub(in super::super) fn to_running(&self) -> RunningCommand {
        let elapsed_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        RunningCommand { id: self.id(), command: self.record.command.clone(), elapsed_ms }
    }
}
