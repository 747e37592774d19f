//! Context windows that neither settings nor the catalogue know: which of a program's models lack one, and how windows
//! that the models' servers report are filled in.

use std::sync::Arc;

use super::programs::conversation_length;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::workflow::{Workflow, WorkflowProgram};

/// The models of unknown windows that a program may ask, each once.
pub fn choices_with_unknown_window(program: &WorkflowProgram) -> Vec<ModelChoice> {
    let mut found: Vec<ModelChoice> = Vec::new();
    for choice in all_model_choices(program).filter(|choice| choice.context_size.is_none()) {
        if !found.iter().any(|one| one.is_same_endpoint(choice)) {
            found.push(choice.clone());
        }
    }
    found
}

fn all_model_choices(program: &WorkflowProgram) -> impl Iterator<Item = &ModelChoice> {
    program.workflows.iter().flat_map(|workflow| workflow_model_choices(workflow))
}

/// Includes fallbacks.
fn workflow_model_choices(workflow: &Workflow) -> impl Iterator<Item = &ModelChoice> {
    let agents = workflow.agents.iter().map(|agent| &agent.choice);
    let summaries = workflow.contexts.iter().filter_map(|context| context.summary.as_deref());
    agents.chain(summaries).flat_map(|first| std::iter::once(first).chain(&first.fallback))
}

/// Models without a known window take it from the same models of the same servers in another program.
pub fn copy_known_windows(program: &mut WorkflowProgram, other: &WorkflowProgram) {
    let known: Vec<&ModelChoice> =
        all_model_choices(other).filter(|choice| choice.context_size.is_some()).collect();
    set_windows(program, &|choice| known.iter().find(|one| one.is_same_endpoint(choice))?.context_size);
}

/// Gives each of these models the window that `told` returns, as if it were set. The hash does not change: it covers
/// the written definition.
pub fn set_windows(program: &mut WorkflowProgram, told: &dyn Fn(&ModelChoice) -> Option<u64>) {
    for workflow in &mut program.workflows {
        if workflow_model_choices(workflow)
            .any(|choice| choice.context_size.is_none() && told(choice).is_some())
        {
            set_workflow_windows(Arc::make_mut(workflow), told);
        }
    }
}

fn set_workflow_windows(workflow: &mut Workflow, told: &dyn Fn(&ModelChoice) -> Option<u64>) {
    let agents = workflow.agents.iter_mut().map(|agent| &mut agent.choice);
    let summaries = workflow.contexts.iter_mut().filter_map(|context| context.summary.as_deref_mut());
    for choice in agents.chain(summaries) {
        choice.context_size = choice.context_size.or_else(|| told(choice));
        for other in &mut choice.fallback {
            other.context_size = other.context_size.or_else(|| told(other));
        }
    }
    if workflow.conversational {
        // it may fill the window of its one model
        for (context, agent) in workflow.contexts.iter_mut().zip(&workflow.agents) {
            context.max_length = conversation_length(&agent.choice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthdev_domain::context::{ContextSpec, DEFAULT_MAX_LENGTH};
    use synthdev_domain::role::Role;
    use synthdev_language::lower::chat_program;

    fn choice(model: &str, window: Option<u64>) -> ModelChoice {
        ModelChoice { model: model.to_owned(), context_size: window, ..ModelChoice::default() }
    }

    fn program(conversational: bool) -> WorkflowProgram {
        let first = ModelChoice { fallback: vec![choice("other", None)], ..choice("known", Some(9)) };
        let agent = |choice: ModelChoice| {
            chat_program(Role::default(), choice, Vec::new()).workflows[0].agents[0].clone()
        };
        let context = |summary: Option<ModelChoice>| ContextSpec {
            summary: summary.map(Box::new),
            max_length: DEFAULT_MAX_LENGTH,
            ..ContextSpec::default()
        };
        let workflow = Workflow {
            agents: vec![agent(choice("small", None)), agent(first)],
            contexts: vec![context(Some(choice("sums", None))), context(Some(choice("small", None)))],
            conversational,
            ..Workflow::default()
        };
        WorkflowProgram {
            workflows: vec![Arc::new(workflow)],
            hash: "as written".to_owned(),
            start_warnings: Vec::new(),
        }
    }

    #[test]
    fn every_model_that_may_be_asked_gets_the_window_that_was_told() {
        let told = |choice: &ModelChoice| (choice.model != "sums").then_some(2_048);
        for conversational in [false, true] {
            let mut program = program(conversational);
            let unknown = choices_with_unknown_window(&program);
            let names: Vec<&str> = unknown.iter().map(|choice| choice.model.as_str()).collect();
            assert_eq!(names, ["small", "other", "sums"]);
            set_windows(&mut program, &told);
            let workflow = &program.workflows[0];
            let [small, known] = &workflow.agents[..] else { unreachable!() };
            let summary = |at: usize| workflow.contexts[at].summary.as_ref().unwrap().context_size;
            assert_eq!(small.choice.context_size, Some(2_048));
            assert_eq!(
                (known.choice.context_size, known.choice.fallback[0].context_size),
                (Some(9), Some(2_048))
            );
            assert_eq!((summary(0), summary(1)), (None, Some(2_048)));
            let length = if conversational { 4_096 } else { DEFAULT_MAX_LENGTH };
            assert_eq!(workflow.contexts[0].max_length, length, "{conversational}");
            assert_eq!(program.hash, "as written");
        }
    }

    #[test]
    fn another_program_lends_the_windows_of_the_models_that_it_asks_too() {
        let mut known = program(false);
        set_windows(&mut known, &|choice| (choice.model == "small").then_some(512));
        let mut program = program(false);
        copy_known_windows(&mut program, &known);
        assert_eq!(program, known);
        assert_eq!(choices_with_unknown_window(&program).len(), 2);
    }
}
