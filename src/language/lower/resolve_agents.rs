//! The cast: each agent's role with its model and its tools, as the role and the agent's own options say.

use std::ops::Range;

use super::super::check::{CompilationUnit, ResolvedAgent};
use super::super::source::FileDiagnostics;
use super::super::tool_patterns::{ToolPattern, is_excluded, unknown_tool};
use super::super::workflow_file::{AgentForm, ContextForm, SpannedText};
use super::link_context::{LinkContext, LookupFailure, StatedModelLookup};
use crate::model_selector::{LEVELS, ModelSelector};
use synthdev_domain::model::ModelChoice;
use synthdev_domain::role::Role;
use synthdev_domain::tool::ToolSpec;

/// `None` where the role or its model is missing, which is a finding (E05).
pub(super) fn resolve_agent(
    agent: &AgentForm,
    surroundings: &LinkContext<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ResolvedAgent> {
    let mut missing = |span: &Range<usize>, (message, hint): LookupFailure| {
        findings.add_error("E05", span.clone(), message, hint);
    };
    let role = (surroundings.role)(&agent.role.value);
    let role = role.map_err(|why| missing(&agent.role.span, why)).ok()?;
    let wish = model_selector(agent, &role);
    let choice = (surroundings.choice)(&wish).map_err(|why| missing(model_span(agent), why)).ok()?;
    let tools = resolve_tools(agent, &role, surroundings, findings);
    Some(ResolvedAgent { role, choice, tools })
}

/// The model of a context's `summary_level`; a finding where it cannot be had.
pub(super) fn summary_model(
    context: &ContextForm,
    surroundings: &LinkContext<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Option<ModelChoice> {
    let level = context.summary_level.as_ref()?;
    let choice = (surroundings.choice)(&ModelSelector::for_level(&level.value));
    choice.map_err(|(message, hint)| findings.add_error("E05", level.span.clone(), message, hint)).ok()
}

/// Puts the stated models of one workflow in the place of those that it was judged by.
pub(super) fn state_models(unit: &mut CompilationUnit, stated: &StatedModelLookup<'_>) {
    for (agent, resolved) in unit.form.agents.iter().zip(&mut unit.resolved_agents) {
        if let Some(resolved) = resolved {
            resolved.choice = stated(&model_selector(agent, &resolved.role), &resolved.choice);
        }
    }
    for (context, summary) in unit.form.contexts.iter().zip(&mut unit.summaries) {
        if let (Some(level), Some(choice)) = (&context.summary_level, summary) {
            *choice = stated(&ModelSelector::for_level(&level.value), choice);
        }
    }
}

fn model_selector(agent: &AgentForm, role: &Role) -> ModelSelector {
    let value = |text: &Option<SpannedText>| text.as_ref().map(|text| text.value.clone());
    // an agent that chooses its model chooses among all
    let chooses = agent.level.is_some() || agent.model.is_some();
    let of_role = role.provider.clone().filter(|_| !chooses);
    ModelSelector {
        level: value(&agent.level).unwrap_or_else(|| role.level.clone()),
        provider: value(&agent.provider).or(of_role),
        model: value(&agent.model),
        temperature: agent.temperature,
        max_output_tokens: agent.max_output_tokens,
    }
}

/// The position of the name that cannot be resolved.
fn model_span(agent: &AgentForm) -> &Range<usize> {
    let bad_level = agent.level.as_ref().filter(|level| !LEVELS.contains(&level.value.as_str()));
    let said = [bad_level, agent.provider.as_ref(), agent.model.as_ref(), agent.level.as_ref()];
    &said.into_iter().flatten().next().unwrap_or(&agent.role).span
}

/// The role's tools, or those that the agent includes; without those that it excludes.
fn resolve_tools(
    agent: &AgentForm,
    role: &Role,
    surroundings: &LinkContext<'_>,
    findings: &mut FileDiagnostics<'_>,
) -> Vec<ToolSpec> {
    let all = surroundings.tools;
    let (of_role, unmatched) = (surroundings.resolve_role_tools)(role, all);
    for pattern in unmatched {
        let message = format!("the role `{}` names the tool `{pattern}`, which does not exist", role.name);
        let hint = role.places.last().map(|place| format!("correct it in {}", place.file));
        findings.add_warning("W09", agent.role.span.clone(), message, hint);
    }
    let included = agent.included_tools.as_ref().map(|texts| resolve_patterns(texts, all, findings));
    let excluded = resolve_patterns(&agent.excluded_tools, all, findings);
    let given = match included {
        Some(included) => {
            let fits = |tool: &&ToolSpec| included.iter().any(|pattern| pattern.matches_name(&tool.name));
            all.iter().filter(fits).cloned().collect()
        }
        None => of_role,
    };
    given.into_iter().filter(|tool| !is_excluded(&excluded, &tool.name)).collect()
}

/// Patterns that were readable once; W09 at each that fits no tool.
fn resolve_patterns(
    texts: &[SpannedText],
    tools: &[ToolSpec],
    findings: &mut FileDiagnostics<'_>,
) -> Vec<ToolPattern> {
    let mut all = Vec::with_capacity(texts.len());
    for text in texts {
        let Ok(pattern) = ToolPattern::parse(&text.value) else { continue };
        if let Some((message, hint)) = unknown_tool(&text.value, &pattern, tools) {
            findings.add_warning("W09", text.span.clone(), message, hint);
        }
        all.push(pattern);
    }
    all
}
