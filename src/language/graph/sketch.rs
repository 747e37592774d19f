//! A workflow as its file has it, where an error is in the way of the checked program: the states that have a name, and
//! the transitions between them.
//!
//! Owns what of a broken file is certain. Refuses to guess: what cannot be read is left out, and so are the bodies of
//! branches and loops.

use serde_json::Value;

use super::model::{EdgeKind, GraphEdge, GraphNode, GraphNodeDetails, NodeKind, WorkflowGraph};
use synthdev_domain::terminal_safe::escape_name;

impl WorkflowGraph {
    /// `None`: the text is no JSON, or has no state with a name.
    pub fn from_broken_text(text: &str) -> Option<Self> {
        let file = parse_text(text)?;
        let states: Vec<(&str, &Value)> = file
            .get("states")?
            .as_array()?
            .iter()
            .filter_map(|state| Some((name_of(state)?, state)))
            .collect();
        let place = |name: &str| states.iter().position(|(known, _)| *known == name);
        let edges: Vec<GraphEdge> = states
            .iter()
            .enumerate()
            .flat_map(|(from, (_, state))| read_edges(from, state, &place))
            .collect();
        let nodes: Vec<GraphNode> = states.iter().map(|(name, state)| read_node(name, state)).collect();
        let start = place("start").unwrap_or(0);
        let text_of = |key: &str| escape_name(file.get(key).and_then(Value::as_str).unwrap_or_default());
        let mut graph = Self {
            workflow: text_of("workflow_name").into_owned(),
            description: text_of("description").into_owned(),
            start,
            nodes,
            edges,
            groups: Vec::new(),
            handlers: Vec::new(),
        };
        let mut open = vec![start];
        while let Some(at) = open.pop() {
            let Some(node) = graph.nodes.get_mut(at) else { continue };
            if !std::mem::replace(&mut node.reachable, true) {
                open.extend(graph.outgoing_edges(at).map(|edge| edge.to));
            }
        }
        (!graph.nodes.is_empty()).then_some(graph)
    }
}

/// JSON with comments and trailing commas, as files have it.
fn parse_text(text: &str) -> Option<Value> {
    let options = jsonc_parser::ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: true,
        allow_single_quoted_strings: false,
        ..jsonc_parser::ParseOptions::default()
    };
    jsonc_parser::parse_to_serde_value::<Option<Value>>(text, &options).ok().flatten()
}

fn name_of(state: &Value) -> Option<&str> {
    state.get("name")?.as_str().filter(|name| !name.is_empty())
}

fn read_node(name: &str, state: &Value) -> GraphNode {
    let agent = state.get("agent").and_then(Value::as_str);
    let kind = match state.get("type").and_then(Value::as_str) {
        Some("final") => NodeKind::End,
        None if name == "stop" => NodeKind::End,
        Some("pause") => NodeKind::Pause,
        Some("wait") => NodeKind::Wait,
        Some("fail") => NodeKind::Fail,
        Some("parallel") => NodeKind::Parallel,
        Some("foreach") => NodeKind::ForEach,
        _ if agent.is_some() => NodeKind::Agent,
        Some(_) => NodeKind::Step,
        None => NodeKind::Route,
    };
    let about = match (agent, state.get("type").and_then(Value::as_str)) {
        (Some(agent), _) => format!("agent {}", escape_name(agent)),
        (None, Some(type_name)) => escape_name(type_name).into_owned(),
        (None, None) => String::new(),
    };
    let name = escape_name(name).into_owned();
    GraphNode {
        label: name.clone(),
        name,
        kind,
        about,
        group: None,
        calls: None,
        reachable: false,
        hidden: false,
        tally: None,
        details: GraphNodeDetails::default(),
    }
}

/// Transitions to states that are there.
fn read_edges(from: usize, state: &Value, place: &dyn Fn(&str) -> Option<usize>) -> Vec<GraphEdge> {
    let written = state.get("transition").or_else(|| state.get("transitions"));
    let all: &[Value] = match written {
        Some(Value::Array(list)) => list,
        Some(one) => std::slice::from_ref(one),
        None => &[],
    };
    let edge = |(at, one): (usize, &Value)| {
        let to = place(one.get("target")?.as_str()?)?;
        let condition = one.get("condition").and_then(Value::as_str);
        let label = match condition {
            Some(condition) => escape_name(condition).into_owned(),
            None if all.len() > 1 => "otherwise".to_owned(),
            None => String::new(),
        };
        Some(GraphEdge { from, to, kind: EdgeKind::Transition, order: at + 1, label, tally: None })
    };
    all.iter().enumerate().filter_map(edge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_certain_of_a_broken_file_is_drawn() {
        let text = r#"{
            // a comment
            "workflow_name": "mine", "agents": "nonsense",
            "states": [
                {"name": "start", "agent": "coder", "transition": [{"target": "revew"}, {"target": "check"}]},
                {"name": "check", "type": "pause", "transition": {"target": "stop", "condition": "ok === true"}},
                {"agent": "nameless"}, 7,
                {"name": "stop"},
            ]}"#;
        let graph = WorkflowGraph::from_broken_text(text).unwrap();
        let names: Vec<(&str, NodeKind, bool)> =
            graph.nodes.iter().map(|node| (node.name.as_str(), node.kind, node.reachable)).collect();
        assert_eq!(
            names,
            [
                ("start", NodeKind::Agent, true),
                ("check", NodeKind::Pause, true),
                ("stop", NodeKind::End, true)
            ]
        );
        let edges: Vec<(usize, usize, &str)> =
            graph.edges.iter().map(|edge| (edge.from, edge.to, edge.label.as_str())).collect();
        assert_eq!(edges, [(0, 1, "otherwise"), (1, 2, "ok === true")]);
        for text in ["", "{", "[]", "{}", r#"{"states": 1}"#, r#"{"states": [{"agent": "x"}]}"#] {
            assert_eq!(WorkflowGraph::from_broken_text(text), None, "{text}");
        }
    }
}
