//! Builds the checked workflow: names become indices. Everything that can be wrong has been found before.

use std::collections::HashMap;

use super::super::check::{CompilationUnit, ResolvedAgent, ScriptFile};
use super::super::source::SourceFile;
use super::super::workflow_file::{AgentForm, NoMatchForm, ParameterForm, SpannedText, WorkflowForm};
use super::states::{StateIndex, WorkflowStateBuilder, on_error};
use synthdev_domain::agent::{AgentSpec, DEFAULT_TOOL_ROUNDS};
use synthdev_domain::context::ContextSpec;
use synthdev_domain::ids::{ContextIx, StateIx};
use synthdev_domain::script::{ScriptForm, ScriptKind, WorkflowScript};
use synthdev_domain::source_location::SourceLocation;
use synthdev_domain::workflow::{NoMatch, StateSpec, Workflow};

/// `index` finds another workflow of the program by name.
pub(super) fn build_workflow(
    unit: &CompilationUnit,
    file: &SourceFile,
    index: &dyn Fn(&str) -> Option<usize>,
) -> Workflow {
    let form = &unit.form;
    let names = StateIndex::from_form(form);
    let mut builder = WorkflowStateBuilder::new(unit, file, &names, index);
    let mut states: Vec<StateSpec> = form
        .states
        .iter()
        .zip(&unit.states)
        .map(|(state, scripts)| builder.build_state(state, scripts))
        .collect();
    let place = builder.location_at(form.name.span.start);
    let stop = match names.get("stop") {
        Some(at) => at,
        None => {
            states.push(stop_state(&place));
            states.len() - 1
        }
    };
    let target = |name: &SpannedText| names.index_of(&name.value);
    builder.scripts.extend(unit.library.as_ref().map(lower_library));
    Workflow {
        inputs: form.inputs.iter().map(ParameterForm::parameter).collect(),
        output: form.output.as_ref().map(ParameterForm::parameter),
        variables: form.variable_values(),
        contexts: form
            .contexts
            .iter()
            .zip(&unit.summaries)
            .map(|(context, summary)| ContextSpec {
                summary: summary.clone().map(Box::new),
                ..context.spec.clone()
            })
            .collect(),
        agents: build_agents(unit),
        states,
        scripts: builder.scripts.into(),
        start: StateIx(names.get("start").unwrap_or(stop)),
        stop: StateIx(stop),
        limits: form.limits.workflow_limits(unit.counted_rounds()),
        on_error: on_error(form.on_error.as_ref(), &target).unwrap_or_default(),
        on_limit: form.on_limit.as_ref().map(&target),
        no_match: match &form.no_match {
            NoMatchForm::Error => NoMatch::Error,
            NoMatchForm::Stop => NoMatch::Go(StateIx(stop)),
            NoMatchForm::Go(name) => NoMatch::Go(target(name)),
        },
        resume: names.get("resume").map(StateIx),
        layer: file.layer,
        place,
        ..form.spec.clone()
    }
}

/// The agents whose context and role are known.
fn build_agents(unit: &CompilationUnit) -> Vec<AgentSpec> {
    let form = &unit.form;
    let contexts: HashMap<&str, usize> =
        form.contexts.iter().enumerate().rev().map(|(at, one)| (one.name.value.as_str(), at)).collect();
    let agents = form.agents.iter().zip(&unit.resolved_agents);
    agents
        .filter_map(|(agent, cast)| {
            agent_spec(form, *contexts.get(agent.context.value.as_str())?, agent, cast.as_ref()?)
        })
        .collect()
}

/// The script file as it is compiled. It has a place of its own.
fn lower_library(found: &ScriptFile) -> WorkflowScript {
    WorkflowScript {
        kind: ScriptKind::Library,
        form: ScriptForm::Statements,
        source: found.file.text.to_string(),
        prepared: found.library.prepared.clone(),
        offers: found.library.exports.iter().map(|offer| offer.name.clone()).collect(),
        place: SourceLocation { file: found.file.name.clone(), line: 1, column: 1 },
    }
}

/// The implicit `stop`.
fn stop_state(place: &synthdev_domain::source_location::SourceLocation) -> StateSpec {
    StateSpec { name: "stop".to_owned(), terminal: true, place: place.clone(), ..StateSpec::default() }
}

/// The role's prompt, the agent's own words, then the context's `system` messages, which belong to every agent's
/// system text.
fn agent_spec(form: &WorkflowForm, at: usize, agent: &AgentForm, cast: &ResolvedAgent) -> Option<AgentSpec> {
    let parts = std::iter::once(cast.role.system_message.as_str())
        .chain(agent.system_append.as_deref())
        .chain(form.contexts[at].system_messages.iter().map(String::as_str));
    let system_prompt = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    Some(AgentSpec {
        role: cast.role.name.clone(),
        context: ContextIx(at),
        system_prompt,
        examples: cast.role.examples.clone(),
        choice: cast.choice.clone(),
        tools: cast.tools.clone().into(),
        parsing_tools: cast.role.parsing_tools.clone(),
        max_tool_rounds: agent.max_tool_rounds.or(form.limits.max_tool_rounds).unwrap_or(DEFAULT_TOOL_ROUNDS),
        reminder: cast.role.reminder.clone(),
        without: cast.role.without,
        network: cast.role.network,
        ..agent.spec.clone()
    })
}
