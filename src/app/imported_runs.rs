//! Runs that came from a file: what was allowed there is not allowed here, and servers there are not ours.

use std::sync::Arc;

use anyhow::{Result, anyhow};

use synthdev_domain::journal::{RunOrigin, RunSummary};
use synthdev_domain::sandbox::RoleNetwork;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_runtime::resume::ResumeRequest;
use synthdev_settings::catalog::ConfigCatalog;

/// Prepares a run to continue under the approvals and with the models of this place. `stored` is the definition that
/// the run has now; one that was given with `going` stays. `windows` asks the servers of this place for the windows of
/// their models.
///
/// # Errors
/// No model is set here for a level that an agent of the run uses.
pub(super) fn adapt_imported_run(
    catalog: &ConfigCatalog,
    summary: &RunSummary,
    stored: impl FnOnce() -> Result<WorkflowProgram>,
    windows: impl FnOnce(&mut WorkflowProgram) -> Result<()>,
    mut going: ResumeRequest,
) -> Result<ResumeRequest> {
    if !summary.origin.as_ref().is_some_and(RunOrigin::is_imported) {
        return Ok(going);
    }
    going.approvals.get_or_insert_with(|| catalog.settings().approval_policy());
    if going.program.is_none() {
        let stored = stored()?;
        let mut ours = with_local_models(catalog, stored.clone())?;
        windows(&mut ours)?;
        going.program = Some(ours).filter(|ours| *ours != stored);
    }
    Ok(going)
}

/// Every agent asks the model that its level means here: keys go only where they belong. The network that its role had
/// there, and the ports that the workflow opened there, are not allowed here.
fn with_local_models(catalog: &ConfigCatalog, mut program: WorkflowProgram) -> Result<WorkflowProgram> {
    for workflow in program.workflows.iter_mut().map(Arc::make_mut) {
        workflow.loopback_ports.clear();
        for agent in &mut workflow.agents {
            agent.network = agent.network.map(RoleNetwork::without_loosening);
        }
        let agents = workflow.agents.iter_mut().map(|agent| &mut agent.choice);
        let summaries = workflow.contexts.iter_mut().filter_map(|context| context.summary.as_deref_mut());
        for choice in agents.chain(summaries) {
            *choice = catalog.model_for_level(&choice.level).map_err(|missing| {
                let hint = missing.hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
                anyhow!(
                    "this imported run calls models configured on this machine: {}{hint}",
                    missing.message
                )
            })?;
        }
    }
    Ok(program)
}
