//! Commands that agents have left running in the background: what a user sees of them, and that one is stopped.
//!
//! The tools of a run know them, and end them with it. Refuses to reach those of a run that this process does not drive:
//! of such a run, there are none.

use super::handle::RuntimeHandle;
use synthdev_domain::ids::RunId;
use synthdev_domain::tool::RunningCommand;

impl RuntimeHandle {
    /// Those of a run, the one that began first in front.
    pub fn running_commands(&self, run: &RunId) -> Vec<RunningCommand> {
        self.context.runs.tools_for(run).map(|tools| tools.running_commands(run)).unwrap_or_default()
    }

    /// Until one of them has ended; at once where none runs.
    pub async fn wait_command_end(&self, run: &RunId) {
        if let Some(tools) = self.context.runs.tools_for(run) {
            tools.wait_command_end(run).await;
        }
    }

    /// Stops one of them, with all of its processes. `false`: the run has none with this id.
    pub fn stop_running_command(&self, run: &RunId, id: &str) -> bool {
        self.context.runs.tools_for(run).is_some_and(|tools| tools.stop_running_command(run, id))
    }
}
