//! Every error of a run says where it happened: workflow, state, agent, and the place in a file.

use serde_json::{Value, json};

use super::world::World;

/// A workflow file written over several lines; the state `work` begins in line 5.
fn workflow_text(work: &str, more: &str) -> String {
    let lines = [
        "{".to_owned(),
        "\"workflow_name\": \"talk\", \"input\": {\"name\": \"task\"}, \"output\": {\"name\": \"result\"},".to_owned(),
        "\"contexts\": [{\"name\": \"main\"}], \"agents\": [{\"agent_role\": \"coder\", \"context\": \"main\", \"role\": \"assistant\"}],"
            .to_owned(),
        format!("{more}\"states\": [{{\"name\": \"start\", \"transition\": [{{\"target\": \"work\"}}]}},"),
        format!("{{\"name\": \"work\", {work}}},"),
        "{\"name\": \"stop\", \"input\": \"common_data.task\"}]}".to_owned(),
    ];
    lines.join("\n")
}

struct Row {
    code: &'static str,
    /// Keys of the state.
    work: String,
    /// Keys of the workflow, each with its comma.
    more: &'static str,
    yes: bool,
    replies: Value,
    /// The agent that the error names.
    agent: Option<&'static str>,
}

fn row(code: &'static str, work: String) -> Row {
    Row { code, work, more: "", yes: true, replies: json!([]), agent: None }
}

fn check_place(row: &Row) {
    let Row { code, agent, .. } = row;
    let world = World::new();
    world.write_file("talk.json", &workflow_text(&row.work, row.more));
    world.write_json("replies.json", &json!({"replies": {"coder": row.replies}}));
    let mut run = vec!["run", "--workflow-file", "talk.json", "--replies", "replies.json", "--json", "hello"];
    run.extend(["--no-sandbox"].iter().chain(["--yes"].iter().filter(|_| row.yes)));
    let ran = world.run_program(&run);
    let report: Value =
        serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{code}: {}", ran.stderr));
    let error = &report["error"];
    assert_eq!(error["code"], *code, "{report}");
    assert_eq!((&error["workflow"], &error["state"]), (&json!("talk"), &json!("work")), "{error}");
    assert_eq!(error["agent"], json!(agent), "{error}");
    let place = &error["place"];
    assert_eq!((&place["file"], &place["line"]), (&json!("talk.json"), &json!(5)), "{error}");
    // what to do about an error of the workflow's own is for its author to say
    let is_declared = row.work.contains("\"fail\"");
    for part in ["title", "detail", "hint"].into_iter().take(if is_declared { 2 } else { 3 }) {
        assert!(error[part].as_str().is_some_and(|text| !text.is_empty()), "{code}: {part}: {error}");
    }
}

#[test]
fn an_error_names_the_place_where_its_state_is_defined() {
    let go = "\"transition\": [{\"target\": \"stop\"}]";
    let never = "\"transition\": [{\"target\": \"stop\", \"condition\": \"false\"}]";
    let shell = |keys: &str| format!("\"type\": \"shell\", {keys}, {go}");
    let agent = |input: &str| format!("\"agent\": \"coder\", \"input\": \"{input}\", {go}");
    let fail = "\"type\": \"fail\", \"error\": \"ours\", \"cause\": {\"text\": \"no\"}";
    let pause = format!("\"type\": \"pause\", \"message\": {{\"text\": \"go?\"}}, {go}");
    let rows = [
        row("tool.failed", shell("\"command\": \"exit 3\"")),
        Row { yes: false, ..row("tool.denied", shell("\"command\": \"true\"")) },
        row("timeout", shell("\"command\": \"sleep 30\", \"timeout\": 1")),
        Row { more: "\"timeout\": 1, ", ..row("timeout", shell("\"command\": \"sleep 30\"")) },
        row("no_transition", never.to_owned()),
        Row {
            replies: json!([{"error": {"kind": "auth", "message": "no"}}]),
            agent: Some("coder"),
            ..row("model.auth", agent("common_data.task"))
        },
        row("input_undefined", agent("common_data.unknown")),
        row("ours", fail.to_owned()),
        row("input_required", pause),
    ];
    rows.iter().for_each(check_place);
}
