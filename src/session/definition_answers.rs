//! Workflows, roles, tools and prices for a session: everything that the catalogue has, broken ones included.

use super::TuiBackend;
use super::catalog_lines::{find_role, first_error, role_lines, tool_lines, unreadable_workflows};
use synthdev_domain::cost::TokenPrice;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::source_location::ConfigLayer;
use synthdev_language::workflow_file::StartCondition;
use synthdev_service::session::{DefinitionRequest, DefinitionResponse, ServiceAnswer, WorkflowLine};
use synthdev_settings::catalog::ConfigCatalog;
use synthdev_settings::catalog::workflow_index::WorkflowEntry;

impl TuiBackend {
    pub(crate) fn answer_definition_request(
        &self,
        request: DefinitionRequest,
    ) -> ServiceAnswer<DefinitionResponse> {
        let catalog = &*self.current_catalog();
        ServiceAnswer::now(match request {
            DefinitionRequest::Names => {
                // while a name is typed; to check what is shipped costs more than all else on that screen
                let is_own = |entry: &WorkflowEntry| entry.layer != ConfigLayer::BuiltIn;
                let workflows = workflow_lines(catalog, is_own);
                DefinitionResponse::Names { workflows, roles: role_lines(catalog) }
            }
            DefinitionRequest::Workflows => DefinitionResponse::Workflows(workflow_lines(catalog, |_| true)),
            DefinitionRequest::ChooseWorkflow(requested_name) => {
                let workflows = workflow_lines(catalog, |entry| entry.name == requested_name);
                DefinitionResponse::WorkflowChosen { requested_name, workflows }
            }
            DefinitionRequest::Roles(group) => {
                DefinitionResponse::Roles { group, roles: role_lines(catalog) }
            }
            DefinitionRequest::Role(requested_name) => {
                DefinitionResponse::Role(find_role(catalog, &requested_name))
            }
            DefinitionRequest::Tools(role) => {
                DefinitionResponse::Tools { tools: tool_lines(catalog, &role), role }
            }
            DefinitionRequest::Prices(models) => DefinitionResponse::Prices(model_prices(catalog, models)),
        })
    }
}

/// Of the models of the levels.
fn model_prices(catalog: &ConfigCatalog, models: Vec<String>) -> Vec<(String, Option<TokenPrice>)> {
    let levels = ["base", "smart", "fast"];
    let choices: Vec<ModelChoice> =
        levels.into_iter().filter_map(|level| catalog.model_for_level(level).ok()).collect();
    let price =
        |model: &str| choices.iter().find(|choice| choice.model == model).and_then(|choice| choice.price);
    models.into_iter().map(|model| (model.clone(), price(&model))).collect()
}

/// With the first error of those that are to be checked.
fn workflow_lines(catalog: &ConfigCatalog, is_checked: impl Fn(&WorkflowEntry) -> bool) -> Vec<WorkflowLine> {
    let error = |entry: &WorkflowEntry| {
        let found = is_checked(entry).then(|| catalog.program(&entry.name).err()).flatten()?;
        first_error(catalog, &found)
    };
    let line = |entry: &WorkflowEntry| WorkflowLine {
        name: entry.name.clone(),
        description: entry.description.clone(),
        input: entry.inputs.iter().map(|input| input.name.clone()).collect::<Vec<_>>().join(", "),
        waits_for_input: entry.start == StartCondition::OnUserInput,
        needs_input: entry.inputs.iter().any(|input| input.required),
        layer: entry.layer,
        error: error(entry),
    };
    // in the place of one that is not used stands the line of the file that cannot be read
    let used = catalog.workflows().iter().filter(|entry| entry.unreadable_rival.is_none());
    let mut lines: Vec<WorkflowLine> = used.map(line).chain(unreadable_workflows(catalog)).collect();
    lines.sort_by(|a, b| a.name.cmp(&b.name));
    lines
}
