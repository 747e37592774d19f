//! What a workflow requires, looked up on this machine before it starts.

use std::sync::Arc;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use crate::unlisted_servers::reload_program;
use synthdev_bootstrap::mcp_servers::is_variable_set;
use synthdev_bootstrap::start_context::StartContext;
use synthdev_bootstrap::wiring;
use synthdev_domain::workflow::WorkflowProgram;
use synthdev_ports::mcp::McpServerListing;
use synthdev_service::workflow_requirements::{
    RequiredServerAnswer, RequirementPorts, UnmetRequirements, check_requirements, program_requirements,
};
use synthdev_settings::catalog::ConfigCatalog;

/// The check of one start.
pub struct RequirementGate {
    context: StartContext,
    catalog: Arc<ConfigCatalog>,
}

impl RequirementGate {
    /// `None`: the program requires nothing, so there is nothing to wait for.
    pub fn for_program(
        context: &StartContext,
        catalog: &Arc<ConfigCatalog>,
        program: &WorkflowProgram,
    ) -> Option<Self> {
        let requires = !program_requirements(program).is_empty();
        requires.then(|| Self { context: context.clone(), catalog: Arc::clone(catalog) })
    }

    /// The program with the tools that the servers have just listed.
    ///
    /// # Errors
    /// All that is missing.
    pub async fn check(self, program: WorkflowProgram) -> Result<WorkflowProgram, UnmetRequirements> {
        check_requirements(&program, &self).await?;
        Ok(reload_program(self.context, self.catalog, program).await)
    }
}

impl RequirementPorts for RequirementGate {
    fn configured_servers(&self) -> Vec<String> {
        self.catalog.mcp_servers().keys().cloned().collect()
    }

    fn known_tools(&self) -> Vec<String> {
        self.catalog.tools().iter().map(|tool| tool.name.clone()).collect()
    }

    fn list_tools<'a>(&'a self, servers: &'a [String]) -> BoxFuture<'a, Vec<RequiredServerAnswer>> {
        async move {
            let listings = wiring::list_mcp_servers(&self.context, &self.catalog, servers).await;
            let answer = |listing: McpServerListing| {
                let config = self.catalog.mcp_servers().get(&listing.server);
                let names = |tools: Vec<_>| {
                    let specs = tools.iter().filter_map(|tool| Some(config?.tool_spec(tool).name));
                    specs.collect()
                };
                RequiredServerAnswer { tools: listing.tools.map(names), server: listing.server }
            };
            listings.into_iter().map(answer).collect()
        }
        .boxed()
    }

    fn is_variable_set(&self, name: &str) -> bool {
        is_variable_set(name)
    }
}
