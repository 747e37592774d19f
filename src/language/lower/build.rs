//! Builds the checked workflow: names become indices. Everything that can be wrong has been found before.

use std::collections::HashMap;

use super::super::check::{CompilationUnit, ResolvedAgent, ScriptFile};
use super::super::source::SourceFile;
use super::super::workflow_file::{
    AgentForm, ContextForm, NoMatchForm, ParameterForm, SpannedText, WorkflowForm,
};
use super::states::{StateIndex, WorkflowStateBuilder, on_error};
use synthdev_domain::agent::{AgentSpec, DEFAULT_TOOL_ROUNDS};
use synthdev_domain::context::{ContextEntry, ContextSpec, MessageAuthor};
use synthdev_domain::ids::{ContextIx, StateIx};
use synthdev_domain::message::ChatRole;
use synthdev_domain::model::ModelChoice;
use synthdev_domain::script::{ScriptForm, ScriptKind, WorkflowScript};
use synthdev_domain::source_location::SourceLocation;
use synthdev_domain::workflow::{DeclaredLimits, NoMatch, StateSpec, SubAgents, Workflow, WorkflowLimits};

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
        name: form.name.value.clone(),
        description: form.description.clone(),
        inputs: form.inputs.iter().map(ParameterForm::parameter).collect(),
        output: form.output.as_ref().map(ParameterForm::parameter),
        variables: form.variable_values(),
        contexts: form
            .contexts
            .iter()
            .zip(&unit.summaries)
            .map(|(form, summary)| build_context(form, summary))
            .collect(),
        agents: build_agents(unit),
        states,
        scripts: builder.scripts.into(),
        start: StateIx(names.get("start").unwrap_or(stop)),
        stop: StateIx(stop),
        limits: build_limits(unit),
        budget: form.budget,
        timeout_ms: form.timeout_ms,
        on_error: on_error(form.on_error.as_ref(), &target).unwrap_or_default(),
        on_limit: form.on_limit.as_ref().map(&target),
        no_match: match &form.no_match {
            NoMatchForm::Error => NoMatch::Error,
            NoMatchForm::Stop => NoMatch::Go(StateIx(stop)),
            NoMatchForm::Go(name) => NoMatch::Go(target(name)),
        },
        condition_errors_are_false: form.condition_errors_are_false,
        lenient: form.lenient,
        resume: names.get("resume").map(StateIx),
        snapshot: form.snapshot,
        isolated: form.isolated,
        loopback_ports: form.loopback_ports.clone(),
        sub_agents: SubAgents::None,
        ack_steps: false,
        conversational: false,
        layer: file.layer,
        place,
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

fn build_limits(unit: &CompilationUnit) -> WorkflowLimits {
    let (form, default) = (unit.form.limits, WorkflowLimits::default());
    let max_visits = form.max_visits.or_else(|| unit.counted_rounds());
    WorkflowLimits {
        declared: DeclaredLimits { steps: form.max_steps.is_some(), visits: max_visits.is_some() },
        max_steps: form.max_steps.unwrap_or(default.max_steps),
        max_visits: max_visits.unwrap_or(default.max_visits),
        max_depth: form.max_depth.unwrap_or(default.max_depth),
        max_model_calls: form.max_model_calls,
        max_concurrency: form.max_concurrency.unwrap_or(default.max_concurrency),
    }
}

fn build_context(form: &ContextForm, summary: &Option<ModelChoice>) -> ContextSpec {
    let shared = form.messages.iter().filter(|(role, _)| *role != ChatRole::System);
    let starting_messages = shared
        .map(|(role, text)| ContextEntry {
            pinned: true,
            ..ContextEntry::text(MessageAuthor::Start, *role, text.as_str())
        })
        .collect();
    ContextSpec {
        name: form.name.value.clone(),
        starting_messages,
        max_length: form.max_length,
        max_tokens: form.max_tokens,
        trim: form.trim,
        summary: summary.clone().map(Box::new),
        pin_first: form.pin_first,
        tool_visibility: form.tool_visibility,
    }
}

/// The role's prompt, the agent's own words, then the context's `system` messages, which belong to every agent's
/// system text.
fn agent_spec(form: &WorkflowForm, at: usize, agent: &AgentForm, cast: &ResolvedAgent) -> Option<AgentSpec> {
    let system = form.contexts[at].messages.iter().filter(|(role, _)| *role == ChatRole::System);
    let parts = std::iter::once(cast.role.system_message.as_str())
        .chain(agent.system_append.as_deref())
        .chain(system.map(|(_, text)| text.as_str()));
    let system_prompt = parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    Some(AgentSpec {
        id: agent.id.value.clone(),
        role: cast.role.name.clone(),
        side: agent.side,
        context: ContextIx(at),
        system_prompt,
        examples: cast.role.examples.clone(),
        choice: cast.choice.clone(),
        tools: cast.tools.clone(),
        parsing_tools: cast.role.parsing_tools.clone(),
        max_tool_rounds: agent.max_tool_rounds.or(form.limits.max_tool_rounds).unwrap_or(DEFAULT_TOOL_ROUNDS),
        tool_loop: agent.tool_loop,
        input_visibility: agent.input_visibility,
        memory: agent.memory,
        budget: agent.budget,
        reminder: cast.role.reminder.clone(),
        without: cast.role.without,
        network: cast.role.network,
    })
}
