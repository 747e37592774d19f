//! The context windows of the models that a program calls, for what shows how full one is.

use std::collections::BTreeMap;

use synthdev_domain::model::ModelChoice;
use synthdev_domain::workflow::WorkflowProgram;

/// Tokens by the name of the model. A model whose window is not known is missing.
pub type ModelWindows = BTreeMap<String, u64>;

/// The windows of all agents' models, with those that answer in their place. Of two models of one name the smaller
/// window counts.
pub fn model_windows(program: &WorkflowProgram) -> ModelWindows {
    let mut windows = ModelWindows::new();
    let agents = program.workflows.iter().flat_map(|workflow| &workflow.agents);
    for choice in agents.flat_map(|agent| std::iter::once(&agent.choice).chain(&agent.choice.fallback)) {
        let ModelChoice { model, context_size: Some(tokens), .. } = choice else { continue };
        let known = windows.entry(model.clone()).or_insert(*tokens);
        *known = (*known).min(*tokens);
    }
    windows
}
