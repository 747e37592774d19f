//! Step lists: errors name the step, and every part that loading adds keeps its position.

use synthdev::domain::script::WorkflowScript;

use super::{finding_codes, lower_single};

/// A workflow of one step a line, beginning with line 3.
fn steps_workflow(steps: &[&str]) -> String {
    format!("{{\"workflow_name\": \"w\",\n\"steps\": [\n{}\n]}}", steps.join(",\n"))
}

#[test]
fn findings_point_into_the_step() {
    for (step, code, column) in [
        (r#"{"type": "condition", "if": "state.x && nope", "then": []}"#, "E07", 41),
        (r#"{"type": "condition", "if": "{{ nope }}", "then": []}"#, "E07", 33),
        (r#"{"type": "while", "condition": "state.x <", "steps": []}"#, "E06", 42),
        (r#"{"type": "script", "script": "state.a = inputs.b; inputs.c = 1"}"#, "E13", 51),
        (r#"{"type": "script", "script": "1", "when": "  {{missing}} "}"#, "E07", 48),
        (r#"{"type": "agent", "agent": "nobody", "input": "hi"}"#, "E05", 28),
        (r#"{"type": "sub_workflow", "sub_workflow": "none"}"#, "E08", 42),
        (
            r#"{"type": "shell", "command": "ls", "catch": [{"errors": ["tool.failed"], "target": "gone"}]}"#,
            "E02",
            84,
        ),
        (r#"{"type": "set_state", "updates": [{"path": "a", "operation": "add", "value": 1}]}"#, "E10", 62),
        (r#"{"type": "set_state", "updates": {"a b": 1}}"#, "E10", 35),
        (r#"{"type": "set_state", "updates": {"a": {"expr": "1 +"}}}"#, "E06", 53),
        (r#"{"type": "return", "value": {"expr": "wrong.x"}}"#, "E07", 39),
    ] {
        let text = steps_workflow(&[r#"{"type": "script", "script": "1"}"#, step]);
        let found = lower_single(&text).unwrap_err();
        let first = found.iter().find(|one| one.code == code);
        let first = first.unwrap_or_else(|| panic!("{step}: {:?}", finding_codes(&found)));
        assert_eq!((first.place.line, first.place.column), (4, column), "{step}: {}", first.message);
    }
}

#[test]
fn scripts_that_loading_writes_keep_the_place_of_their_step() {
    let text = [
        r#"{"workflow_name": "w","#,
        r#""steps": ["#,
        r#"{"id": "init", "type": "set_state", "updates": {"i": 0, "list": []}},"#,
        r#"{"id": "loop_1", "type": "while", "condition": "state.i < 3", "steps": ["#,
        r#"{"id": "add", "type": "set_state", "updates": [{"path": "i", "operation": "increment"}]}"#,
        "]}]}",
    ]
    .join("\n");
    let (program, found) = lower_single(&text).unwrap_or_else(|found| panic!("{text}\n{found:#?}"));
    assert_eq!(finding_codes(&found), Vec::<&str>::new());
    let scripts = &program.workflows[0].scripts;
    let line = |of: &str| -> Vec<usize> {
        let made = scripts.iter().filter(|script: &&WorkflowScript| script.source.contains(of));
        made.map(|script| script.place.line).collect()
    };
    assert_eq!(line("set i: 0; set list: []"), [3]);
    assert_eq!(line("increment i: 1"), [5]);
    assert_eq!(line("__flow.begin"), [4]);
    assert!(
        line("__flow.").iter().all(|line| *line == 4) && line("state.i < 3").iter().all(|line| *line == 4)
    );
    let names: Vec<&str> = program.workflows[0].states.iter().map(|state| state.name.as_str()).collect();
    assert_eq!(
        names,
        ["start", "init", "loop_1", "add", "loop_1.again", "loop_1.limit", "loop_1.exceeded", "stop"]
    );
}

#[test]
fn an_output_that_a_return_gives_is_not_missed() {
    for (steps, expected) in [
        (r#"{"type": "return", "value": "inputs.a"}"#, vec![]),
        (r#"{"type": "set_state", "updates": {"out": 1}}"#, vec![]),
        (r#"{"type": "shell", "command": "ls", "output_to": "out"}"#, vec![]),
        (r#"{"type": "script", "script": "state.other = 1"}"#, vec!["W08"]),
    ] {
        let text = format!(
            r#"{{"workflow_name": "w", "input": {{"name": "a"}}, "output": {{"name": "out"}}, "steps": [{steps}]}}"#
        );
        let (_, found) = lower_single(&text).unwrap_or_else(|found| panic!("{text}\n{found:#?}"));
        assert_eq!(finding_codes(&found), expected, "{steps}");
    }
}
