//! A budget in dollars that cannot count an agent's calls, because no price is known for its model (W14).

use std::collections::HashSet;

use super::super::check::ResolvedAgent;
use super::super::source::FileDiagnostics;
use super::super::workflow_file::WorkflowForm;
use synthdev_domain::workflow::{Budget, BudgetCap};

/// `whole`: the run has a budget in dollars, which covers all agents.
pub(super) fn check_missing_prices(
    form: &WorkflowForm,
    cast: &[Option<ResolvedAgent>],
    whole: bool,
    findings: &mut FileDiagnostics<'_>,
) {
    let counted = form.states.iter().filter(|state| has_dollar_limit(&state.spec.budget));
    let counted: HashSet<&str> =
        counted.filter_map(|state| state.agent.as_ref().map(|name| name.value.as_str())).collect();
    for (agent, cast) in form.agents.iter().zip(cast) {
        let choices = cast.iter().flat_map(|cast| std::iter::once(&cast.choice).chain(&cast.choice.fallback));
        let Some(choice) = choices.into_iter().find(|choice| choice.price.is_none()) else { continue };
        if whole || has_dollar_limit(&agent.spec.budget) || counted.contains(agent.id.value.as_str()) {
            let message = format!(
                "no price is known for the model `{}` of `{}`: a budget in dollars does not count its calls",
                choice.model, agent.id.value
            );
            let hint = "add its \"prices\" to models.json, or set a budget of tokens";
            findings.add_warning("W14", agent.role.span.clone(), message, Some(hint.to_owned()));
        }
    }
}

pub(super) fn has_dollar_limit(budget: &Budget) -> bool {
    budget.cost_usd != BudgetCap::default()
}
