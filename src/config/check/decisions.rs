//! `function.TOOL.arguments.X`: offered by an agent that can have spoken last (E09), always given (W06).

use std::ops::Range;

use super::super::script_facts::CallRead;
use super::super::source::Findings;
use super::super::suggest::did_you_mean;
use super::super::workflow_file::inside;
use super::graph::Graph;
use super::{Compiled, Unit};
use crate::domain::tool::ParsingTool;

pub(super) fn check(unit: &Unit, graph: &Graph, findings: &mut Findings<'_>) {
    let speakers = Speakers::new(unit, graph);
    // with broken transitions nobody knows who comes before whom
    let flow_known = !findings.has_errors();
    for (at, scripts) in unit.states.iter().enumerate() {
        let flow_known = flow_known && graph.reachable[at];
        if flow_known {
            for script in scripts.entering() {
                judge(unit, script, &speakers.before[at], findings);
            }
        }
        if !flow_known && unit.speaker(&unit.form.states[at]).is_none() {
            continue;
        }
        for one in &scripts.transitions {
            for script in one.condition.iter().chain(&one.before) {
                judge(unit, script, &speakers.after[at], findings);
            }
            if let Some(before) = &one.before {
                missing(unit, before, one.condition.as_ref(), &speakers.after[at], findings);
            }
        }
    }
}

/// Which agents can have spoken last when a state is entered, and when it is left.
struct Speakers {
    before: Vec<Vec<bool>>,
    after: Vec<Vec<bool>>,
}

impl Speakers {
    fn new(unit: &Unit, graph: &Graph) -> Self {
        let agents = unit.form.agents.len();
        let own: Vec<Option<usize>> = unit.form.states.iter().map(|state| unit.speaker(state)).collect();
        let only = |agent: usize| (0..agents).map(|one| one == agent).collect::<Vec<bool>>();
        let mut before = vec![vec![false; agents]; graph.next.len()];
        let mut after = before.clone();
        for (at, agent) in own.iter().enumerate() {
            if let Some(agent) = agent {
                after[at] = only(*agent);
            }
        }
        let mut open: Vec<usize> = graph.start.into_iter().collect();
        let mut visited = vec![false; graph.next.len()];
        while let Some(at) = open.pop() {
            visited[at] = true;
            if own.get(at).copied().flatten().is_none() {
                after[at] = before[at].clone();
            }
            for next in &graph.next[at] {
                let mut grown = !visited[*next];
                for agent in 0..agents {
                    if after[at][agent] && !before[*next][agent] {
                        before[*next][agent] = true;
                        grown = true;
                    }
                }
                if grown {
                    open.push(*next);
                }
            }
        }
        Self { before, after }
    }
}

fn judge(unit: &Unit, script: &Compiled, speakers: &[bool], findings: &mut Findings<'_>) {
    // an agent without a known role was reported; nothing can be said of its tools
    let mut cast = Vec::new();
    for (agent, _) in speakers.iter().enumerate().filter(|(_, spoke)| **spoke) {
        match unit.cast.get(agent) {
            Some(Some(found)) => cast.push((unit.form.agents[agent].id.value.as_str(), found)),
            _ => return,
        }
    }
    for call in &script.facts.calls {
        let offered: Vec<&ParsingTool> = cast
            .iter()
            .flat_map(|(_, cast)| &cast.role.parsing_tools)
            .filter(|tool| tool.name == call.tool)
            .collect();
        let span = span(script, call, findings);
        if offered.is_empty() {
            let who: Vec<&str> = cast.iter().map(|(id, _)| *id).collect();
            let who = if who.is_empty() { "nobody has spoken yet".to_owned() } else { who.join(", ") };
            let message =
                format!("no agent that can have spoken last ({who}) offers the tool `{}`", call.tool);
            let known = cast.iter().flat_map(|(_, cast)| &cast.role.parsing_tools);
            let hint = did_you_mean(&call.tool, known.map(|tool| tool.name.as_str())).or_else(|| {
                Some("add it to the role's `parsingTools`, or read it in another state".to_owned())
            });
            findings.error("E09", span, message, hint);
            continue;
        }
        let Some(argument) = &call.argument else { continue };
        if !offered.iter().any(|tool| takes(tool, argument)) {
            let message = format!("the tool `{}` has no argument `{argument}`", call.tool);
            let hint = did_you_mean(argument, offered.iter().flat_map(|tool| arguments(tool)));
            findings.error("E09", span, message, hint);
        }
    }
}

/// W06: a `before` takes an argument that the tool does not require and that nothing provides for.
fn missing(
    unit: &Unit,
    before: &Compiled,
    condition: Option<&Compiled>,
    speakers: &[bool],
    findings: &mut Findings<'_>,
) {
    for call in before.facts.calls.iter().filter(|call| !call.guarded) {
        let Some(argument) = &call.argument else { continue };
        let tested = condition
            .iter()
            .flat_map(|condition| &condition.facts.calls)
            .any(|other| other.tool == call.tool && other.argument == call.argument);
        let spoke = unit.cast.iter().zip(speakers).filter(|(_, spoke)| **spoke);
        let open = spoke
            .filter_map(|(cast, _)| cast.as_ref())
            .flat_map(|cast| &cast.role.parsing_tools)
            .filter(|tool| tool.name == call.tool)
            .any(|tool| takes(tool, argument) && !requires(tool, argument));
        if open && !tested {
            let message =
                format!("`{argument}` may be missing: the tool `{}` does not require it", call.tool);
            let hint = "add it to the tool's `required`, or give a value for when it is missing (`?? \"\"`)";
            findings.warning("W06", span(before, call, findings), message, Some(hint.to_owned()));
        }
    }
}

fn span(script: &Compiled, call: &CallRead, findings: &Findings<'_>) -> Range<usize> {
    let length = call.argument.as_ref().map_or("function".len(), String::len);
    let start = inside(findings.file, &script.text.span, call.offset);
    start..inside(findings.file, &script.text.span, call.offset + length)
}

fn arguments(tool: &ParsingTool) -> impl Iterator<Item = &str> {
    tool.parameters["properties"].as_object().into_iter().flat_map(|all| all.keys().map(String::as_str))
}

/// A schema without `properties`, or one that says so, takes anything.
fn takes(tool: &ParsingTool, argument: &str) -> bool {
    let open = match &tool.parameters["additionalProperties"] {
        serde_json::Value::Bool(open) => *open,
        serde_json::Value::Null => tool.parameters["properties"].as_object().is_none(),
        _ => true,
    };
    open || arguments(tool).any(|name| name == argument)
}

fn requires(tool: &ParsingTool, argument: &str) -> bool {
    tool.parameters["required"].as_array().is_some_and(|names| names.iter().any(|name| name == argument))
}
