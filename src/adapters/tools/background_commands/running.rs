//! The commands that run now, for the user: which ones, until one of them ends.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;

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

    /// Until one of those has ended.
    pub(in super::super) async fn wait_end(&self, run: &RunId) {
        let running = self.running(run);
        let ends = running.iter().map(|command| command.wait_until(Duration::MAX, |now| now.end.is_some()));
        let mut ends: FuturesUnordered<_> = ends.collect();
        ends.next().await;
    }
}

impl BackgroundCommand {
    /// As a user sees it.
    pub(in super::super) fn to_running(&self) -> RunningCommand {
        let elapsed_ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        RunningCommand { id: self.id(), command: self.record.command.clone(), elapsed_ms }
    }
}
