//! How an agent differs between two definitions, in the words of a workflow file.

use synthdev_domain::agent::AgentSpec;
use synthdev_domain::workflow::Workflow;

/// One note for each thing that is different.
pub(super) fn agent_differences(
    old_workflow: &Workflow,
    was: &AgentSpec,
    new_workflow: &Workflow,
    now: &AgentSpec,
) -> Vec<String> {
    let id = &now.id;
    let mut notes = Vec::new();
    let context = |workflow: &Workflow, agent: &AgentSpec| {
        workflow.contexts.get(agent.context.0).map(|context| context.name.clone()).unwrap_or_default()
    };
    let (from, to) = (context(old_workflow, was), context(new_workflow, now));
    if from != to {
        notes.push(format!("agent {id} has moved to another context (`{from}` → `{to}`)"));
    }
    if was.side != now.side {
        notes.push(format!("agent {id} now has the {} seat", now.side.as_str()));
    }
    let asks = |agent: &AgentSpec| {
        (agent.choice.provider.clone(), agent.choice.base_url.clone(), agent.choice.model.clone())
    };
    if asks(was) != asks(now) {
        notes.push(format!("agent {id} now asks model {} ({})", now.choice.model, now.choice.provider));
    }
    notes.extend(tool_differences(was, now));
    let fields = [
        ("role", was.role != now.role),
        ("system prompt", was.system_prompt != now.system_prompt),
        ("examples", was.examples != now.examples),
        ("model's parameters", was.choice.parameters != now.choice.parameters),
        ("parsing tools", was.parsing_tools != now.parsing_tools),
        ("`max_tool_rounds`", was.max_tool_rounds != now.max_tool_rounds),
        ("`tool_loop`", was.tool_loop != now.tool_loop),
        ("`input_visibility`", was.input_visibility != now.input_visibility),
        ("`memory`", was.memory != now.memory),
        ("`budget`", was.budget != now.budget),
        ("reminder", was.reminder != now.reminder),
        ("`environment` or `guidance`", was.without != now.without),
    ];
    notes.extend(
        fields
            .iter()
            .filter(|(_, differs)| *differs)
            .map(|(what, _)| format!("the {what} of agent {id} changed")),
    );
    notes
}

fn tool_differences(was: &AgentSpec, now: &AgentSpec) -> Vec<String> {
    let names = |agent: &AgentSpec| agent.tools.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>();
    let (before, after) = (names(was), names(now));
    let without = |all: &[String], others: &[String]| {
        let only: Vec<&str> = all.iter().filter(|name| !others.contains(name)).map(String::as_str).collect();
        (!only.is_empty()).then(|| only.join(", "))
    };
    let gained = without(&after, &before).map(|names| format!("agent {} may now use {names}", now.id));
    let lost = without(&before, &after).map(|names| format!("agent {} may no longer use {names}", now.id));
    gained.into_iter().chain(lost).collect()
}
