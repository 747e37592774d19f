//! `parallel` and `foreach`: bodies become states of one list, with ends of their own.

use serde_json::{Value, json};
use synthdev::domain::workflow::{
    BranchErrors, JoinPolicy, MergeRule, StateBody, StateSpec, ValueSource, WorkflowProgram,
};

use super::lowering::{lower_with, source};
use super::surroundings::World;
use super::{file, finding_codes, lower_single};

/// Each state as `name -> targets`, with `!` after terminal ones.
fn shape(program: &WorkflowProgram) -> Vec<String> {
    let states = &program.workflows[0].states;
    let name = |at: usize| states[at].name.as_str();
    let told = |state: &StateSpec| {
        let mut targets: Vec<&str> = state.transitions.iter().map(|one| name(one.target.0)).collect();
        targets.extend(state.recovery.catch.iter().map(|one| name(one.target.0)));
        targets.extend(state.on_limit.map(|at| name(at.0)));
        let end = if state.terminal { "!" } else { "" };
        format!("{}{end} -> {}", state.name, targets.join(" ")).trim_end_matches(" -> ").to_owned()
    };
    states.iter().map(told).collect()
}

fn parallel(more: &Value) -> Value {
    let mut start = json!({"name": "start", "type": "parallel", "branches": [
        {"name": "left", "states": [
            {"name": "start", "agent": "coder", "transition": [{"target": "end"}],
             "catch": [{"target": "end"}], "on_limit": "stop"},
            {"name": "end", "type": "final", "input": "'left'"}]},
        {"name": "right", "agent": "coder", "input": "common_data.task"}],
        "transition": [{"target": "end"}]});
    for (key, value) in more.as_object().unwrap() {
        start[key] = value.clone();
    }
    json!({"states": [start, {"name": "end"}]})
}

#[test]
fn branches_are_states_of_the_same_list() {
    let program = lower_with(parallel(&json!({})));
    assert_eq!(
        shape(&program),
        [
            "start -> end",
            "start.left/start -> start.left/end start.left/end start.left/stop",
            "start.left/end!",
            "start.left/stop!",
            "start.right/start -> start.right/stop",
            "start.right/stop!",
            "end -> stop",
            "stop!"
        ]
    );
    let workflow = &program.workflows[0];
    let StateBody::Parallel(parallel) = &workflow.states[0].work else { panic!() };
    let branches: Vec<(&str, &str)> = parallel
        .branches
        .iter()
        .map(|branch| (branch.name.as_str(), workflow.states[branch.start.0].name.as_str()))
        .collect();
    assert_eq!(branches, [("left", "start.left/start"), ("right", "start.right/start")]);
    assert_eq!(
        (parallel.join, parallel.on_error, parallel.max_concurrency),
        (JoinPolicy::All, BranchErrors::FailFast, None)
    );
    assert_eq!((workflow.start.0, workflow.stop.0), (0, 7));
    assert_eq!(source(&program, &workflow.states[2].output), "'left'");
}

#[test]
fn a_join_says_how_many_and_how_keys_are_merged() {
    let more = json!({"join": 1, "on_error": "collect", "max_concurrency": 2,
        "merge": {"a": "first", "b": "last", "c": "append", "d": "sum", "e": "object"}});
    let program = lower_with(parallel(&more));
    let StateBody::Parallel(found) = &program.workflows[0].states[0].work else { panic!() };
    assert_eq!(
        (found.join, found.on_error, found.max_concurrency),
        (JoinPolicy::Count(1), BranchErrors::Collect, Some(2))
    );
    let merge: Vec<(&str, MergeRule)> = found.merge.iter().map(|(key, way)| (key.as_str(), *way)).collect();
    let ways = [
        ("a", MergeRule::First),
        ("b", MergeRule::Last),
        ("c", MergeRule::Append),
        ("d", MergeRule::Sum),
        ("e", MergeRule::Object),
    ];
    assert_eq!(merge, ways);
    let program = lower_with(parallel(&json!({"join": "any", "on_error": "end"})));
    let state = &program.workflows[0].states[0];
    let StateBody::Parallel(found) = &state.work else { panic!() };
    assert_eq!((found.join, found.on_error), (JoinPolicy::Any, BranchErrors::FailFast));
    assert!(state.recovery.on_error.is_some());
}

#[test]
fn loops_have_one_body() {
    let rows = [
        (json!({"agent": "coder", "input": "common_data.item + common_data.file"}), vec!["item"], "Script"),
        (json!({"agent": "coder", "input": {"expr": "JSON.stringify(common_data)"}}), vec!["*"], "Script"),
        (
            json!({"states": [{"name": "start", "agent": "coder"}], "needs_state": ["common_data.a.b", "c"]}),
            vec!["a.b", "c"],
            "Absent",
        ),
        (json!({"states": [{"name": "start"}]}), vec![], ""),
    ];
    for (body, needs, input) in rows {
        let mut start = json!({"name": "start", "type": "foreach", "in": "common_data.files", "each": "file", "at": "n",
            "max_concurrency": 3, "tolerated_failures": 1, "tolerated_percent": 12.5});
        for (key, value) in body.as_object().unwrap() {
            start[key] = value.clone();
        }
        let program = lower_with(json!({"states": [start]}));
        assert_eq!(shape(&program), ["start -> stop", "start/start -> start/stop", "start/stop!", "stop!"]);
        let workflow = &program.workflows[0];
        let StateBody::ForEach(found) = &workflow.states[0].work else { panic!() };
        assert_eq!((found.each.as_str(), found.at.as_str(), found.start.0), ("file", "n", 1));
        assert_eq!(
            (found.max_concurrency, found.tolerated_failures, found.tolerated_percent),
            (Some(3), 1, 12.5)
        );
        assert_eq!(source(&program, &found.items), "common_data.files");
        assert_eq!(found.needs, needs);
        if let StateBody::Agent { input: found, .. } = &workflow.states[1].work {
            assert!(format!("{found:?}").starts_with(input), "{found:?}");
        }
    }
}

#[test]
fn a_body_may_be_a_child_workflow() {
    let child =
        r#"{"workflow_name": "c", "input": {"name": "x", "type": "string"}, "states": [{"name": "start"}]}"#;
    let load = |start: &str| {
        let parent = format!(r#"{{"workflow_name": "w", "states": [{{"name": "start", {start}}}]}}"#);
        World::new(vec![file("c.json", child), file("w.json", &parent)]).lower_workflow("w")
    };
    for start in [
        r#""type": "foreach", "in": [1], "sub_workflow": "c", "sub_workflow_input": {"x": "common_data.item"}"#,
        r#""type": "parallel", "branches": [{"name": "b", "sub_workflow": "c", "sub_workflow_input": {"x": "common_data.y"}}]"#,
    ] {
        let program = load(start).unwrap_or_else(|found| panic!("{found:#?}")).0;
        let StateBody::Child { inputs, .. } = &program.workflows[0].states[1].work else { panic!() };
        assert!(matches!(inputs.as_slice(), [(name, ValueSource::Script(_))] if name == "x"));
        assert_eq!(program.workflows.len(), 2);
    }
    let found = load(r#""type": "foreach", "in": [1], "sub_workflow": "c""#).unwrap_err();
    assert_eq!(finding_codes(&found), ["E08"]);
}

#[test]
fn bodies_may_hold_bodies() {
    let inner = json!({"name": "start", "type": "foreach", "in": "common_data.item", "agent": "coder"});
    let outer = json!({"name": "start", "type": "parallel", "branches": [{"name": "a", "states": [inner]}]});
    let program = lower_with(json!({"states": [outer]}));
    assert_eq!(
        shape(&program),
        [
            "start -> stop",
            "start.a/start -> start.a/stop",
            "start.a/start/start -> start.a/start/stop",
            "start.a/start/stop!",
            "start.a/stop!",
            "stop!"
        ]
    );
}

#[test]
fn a_body_that_finds_no_transition_stops_itself() {
    let states = json!([{"name": "start", "type": "foreach", "in": [1], "states": [
        {"name": "start", "transition": [{"target": "stop", "condition": "common_data.x"}]}]}]);
    let program = lower_with(json!({"states": states, "on_no_match": "stop"}));
    assert_eq!(shape(&program)[1], "start/start -> start/stop start/stop");
}

#[test]
fn bodies_errors_and_limits_are_ways_that_the_checker_knows() {
    let found = |states: &str, more: &str| {
        let text = format!(
            r#"{{"workflow_name": "w", {more} "contexts": [{{"name": "talk"}}],
            "agents": [{{"agent_role": "reviewer", "context": "talk", "role": "user"}}], "states": [{states}]}}"#
        );
        let found = match lower_single(&text) {
            Ok((_, found)) | Err(found) => found,
        };
        found.iter().map(|one| format!("{} {}", one.code, &text[one.span.clone()])).collect::<Vec<_>>()
    };
    let body = r#""type": "parallel", "branches": [{"name": "a", "states": [
        {"name": "start", "agent": "reviewer", "catch": {"target": "b"}, "transition": [{"target": "stop"}]}, {"name": "b"}]}]"#;
    let start = format!(
        r#"{{"name": "start", {body}, "transition": [
        {{"target": "stop", "condition": "function.review_work.arguments.improvement_needed"}}, {{"target": "lost"}}]}}"#
    );
    for (states, more, expected) in [
        (format!(r#"{start}, {{"name": "lost", "type": "fail", "error": "x"}}"#), "", vec![]),
        (format!(r#"{{"name": "start"}}, {{"name": "never", {body}}}"#), "", vec!["W01 \"never\""]),
        (
            r#"{"name": "start"}, {"name": "resume"}, {"name": "late"}"#.to_owned(),
            r#""on_limit": "late","#,
            vec![],
        ),
        (
            r#"{"name": "start", "type": "foreach", "in": [1], "states": [
                {"name": "start", "transition": [{"target": "start"}]}]}"#
                .to_owned(),
            "",
            vec!["W05 \"start\""],
        ),
    ] {
        assert_eq!(found(&states, more), expected, "{states}");
    }
}
