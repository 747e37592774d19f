//! The demo, whose words are scripted.

use super::TuiBackend;
use super::error_text::HOW_TO_SET;
use synthdev_domain::workflow::WorkflowProgram;

impl TuiBackend {
    /// The demo's script plays one workflow, again and again.
    pub(crate) fn prepare_demo(&self, name: &str, program: &WorkflowProgram) -> Result<(), String> {
        let wired = self.current_runtime();
        let (Some(script), Some(played)) = (wired.providers.scripted_model(), &self.demo) else {
            return Ok(());
        };
        let agents = program.workflows.iter().flat_map(|workflow| &workflow.agents);
        if let Some(unknown) = agents.map(|agent| &agent.id).find(|id| !script.has_replies_for(id)) {
            return Err(format!(
                "the demo has no scripted replies for {unknown} of {name}: it plays {played}\n{HOW_TO_SET}"
            ));
        }
        // the replies of the one that goes on stay in their place
        if let Some(run) = wired.handle.running_runs().first() {
            return Err(format!(
                "run {run} of {played} is still going on, and the demo's script plays one at a time\nhint: go on with it, \
                 or end it with /stop first"
            ));
        }
        script.rewind_replies();
        Ok(())
    }
}
