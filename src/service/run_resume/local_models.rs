//! Runs that came from a file: what was allowed there is not allowed here, and servers there are not ours.

use std::sync::Arc;

use super::error::RunResumeError;
use synthdev_domain::sandbox::RoleNetwork;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_settings::catalog::ConfigCatalog;

/// Every agent asks the model that its level means here: keys go only where they belong. The network that its role had
/// there, and the ports that the workflow opened there, are not allowed here.
pub(super) fn with_local_models(
    catalog: &ConfigCatalog,
    mut program: WorkflowProgram,
) -> Result<WorkflowProgram, RunResumeError> {
    for workflow in program.workflows.iter_mut().map(Arc::make_mut) {
        workflow.loopback_ports.clear();
        for agent in &mut workflow.agents {
            agent.network = agent.network.map(RoleNetwork::without_loosening);
        }
        let agents = workflow.agents.iter_mut().map(|agent| &mut agent.choice);
        let summaries = workflow.contexts.iter_mut().filter_map(|context| context.summary.as_deref_mut());
        for choice in agents.chain(summaries) {
            *choice = catalog.model_for_level(&choice.level).map_err(|missing| RunResumeError::NoModel {
                message: missing.message.clone(),
                hint: missing.hint.clone(),
            })?;
        }
    }
    Ok(program)
}
