//! `graph`: the shipped workflows as they are drawn, a run on its drawing, files and names that are not there.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use super::shipped::names as shipped;
use super::world::{World, talk_workflow, workflow};
use crate::support::skip::require_programs;

/// Each is a picture in `tests/frames`, to be looked at when it changes.
#[test]
fn shipped_workflows_look_as_they_should_at_80_columns() {
    let world = World::new();
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../frames");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    for (format, kind) in [("list", ""), ("terminal", "_boxes")] {
        for name in shipped() {
            let drawn = world.run_program(&["graph", &name, "--format", format]).code(0);
            assert_eq!(drawn.stderr, "");
            for line in drawn.stdout.lines() {
                assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{name}: {line}");
            }
            settings.bind(|| insta::assert_snapshot!(format!("graph_{name}{kind}_80"), drawn.stdout));
        }
    }
}

#[test]
fn every_format_of_every_shipped_workflow_is_sound() {
    let world = World::new();
    for name in shipped() {
        for more in [&["--children"][..], &[]] {
            let arguments = |format| [&["graph", name.as_str(), "--format", format], more].concat();
            let list = world.run_program(&arguments("json")).code(0).json();
            let mermaid = world.run_program(&arguments("mermaid")).code(0).stdout;
            assert!(mermaid.starts_with("stateDiagram-v2\n"), "{mermaid}");
            let dot = world.run_program(&arguments("dot")).code(0).stdout;
            for graph in list.as_array().unwrap() {
                for node in graph["nodes"].as_array().unwrap() {
                    let label = node["label"].as_str().unwrap();
                    assert!(dot.contains(&format!("[label=\"{label}")), "{label} is not in\n{dot}");
                    assert!(mermaid.contains(label), "{label} is not in\n{mermaid}");
                }
            }
        }
    }
}

#[test]
#[ignore = "tool: needs dot of Graphviz"]
fn graphviz_reads_the_drawing_of_every_shipped_workflow() {
    require_programs(&["dot"], "graphviz");
    let world = World::new();
    for name in shipped() {
        for more in [&["--children"][..], &[]] {
            let arguments = [&["graph", name.as_str(), "--format", "dot"], more].concat();
            check_with_graphviz(&world.run_program(&arguments).code(0).stdout);
        }
    }
}

fn check_with_graphviz(text: &str) {
    let mut dot = Command::new("dot");
    let mut child = dot.arg("-Tcanon").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), text.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success(), "{text}");
}

/// The states of a graph as data, by name.
fn node<'g>(graph: &'g Value, name: &str) -> &'g Value {
    graph["nodes"].as_array().unwrap().iter().find(|node| node["name"] == name).unwrap()
}

#[test]
fn a_run_is_seen_with_counts_costs_and_where_it_ended() {
    let world = World::new();
    world.write_json("twice.json", &repeating_workflow());
    world.write_json(
        "replies.json",
        &json!({"replies": {"coder": [
            {"text": "again", "usage": {"prompt": 100, "completion": 20}},
            {"text": "done", "usage": {"prompt": 300, "completion": 1}}]}}),
    );
    let arguments = ["run", "--workflow-file", "twice.json", "--replies", "replies.json", "hi", "--json"];
    assert_eq!(world.run_program(&arguments).code(0).json()["output"], "done");
    let runs = world.run_program(&["runs", "list", "--json"]).code(0).json();
    let id = runs[0]["id"].as_str().unwrap();
    // what ran is drawn, whatever became of the file
    fs::remove_file(world.project().join("twice.json")).unwrap();

    let boxes = world.run_program(&["graph", "--run", id]).code(0).stdout;
    for part in ["── ×2  $0 ╮", "│ ● say ", "1st last_agent_response", "×1  $0", "│▶■ stop "]
    {
        assert!(boxes.contains(part), "{part} is missing:\n{boxes}");
    }
    let drawn = world.run_program(&["graph", "--run", id, "--format", "list"]).code(0).stdout;
    assert!(drawn.starts_with(&format!("run {id} of talk: completed, 4 visits, cost ")), "{drawn}");
    let expected = "\
 ○ start                                                                      ×1
 ▼                                                                            ×1
 ● say      agent coder                                                   ×2  $0
 ├─▸ ↺ say  1st last_agent_response === 'again'                           ×1  $0
 ▼          2nd otherwise                                                 ×1  $0
▶■ stop     end with result                                                   ×1
";
    assert!(drawn.ends_with(expected), "{drawn}");

    let list = world.run_program(&["graph", "--run", id, "talk", "--format", "json"]).code(0).json();
    let say = node(&list[0], "say");
    assert_eq!((&say["tally"]["count"], &say["tally"]["tokens"]), (&json!(2), &json!(421)));
    let ways: Vec<_> = list[0]["edges"].as_array().unwrap().iter().map(|e| &e["tally"]["tokens"]).collect();
    assert_eq!(ways, [&json!(0), &json!(120), &json!(301)]);
    assert_eq!(node(&list[0], "stop")["tally"]["standing"], "current");
    assert_eq!(say["tally"]["standing"], "done");

    let other = world.run_program(&["graph", "--run", id, "coder_reviewer"]).code(2);
    assert!(
        other.stderr.contains("did not use a workflow `coder_reviewer`")
            && other.stderr.contains("it used talk")
    );
    let other = world.run_program(&["graph", "--run", "nope"]).code(2);
    assert!(other.stderr.contains("nope"), "{}", other.stderr);
}

/// Repeats its input until the answer is another one.
fn repeating_workflow() -> Value {
    workflow(&json!([
        {"name": "start", "transition": [{"target": "say"}]},
        {"name": "say", "agent": "coder", "input": "common_data.task",
         "transition": [
            {"target": "say", "condition": "last_agent_response === 'again'"},
            {"target": "stop", "before": "() => { this.common_data.result = last_agent_response; }"}]},
        {"name": "stop", "input": "common_data.result"}
    ]))
}

#[test]
fn a_called_workflow_is_drawn_with_its_own_part_of_the_run() {
    let world = World::new();
    world.write_json("both.json", &json!([outer_workflow(), talk_workflow()]));
    let replies = json!([{"text": "one", "usage": {"prompt": 10, "completion": 1}},
                         {"text": "two", "usage": {"prompt": 20, "completion": 2}}]);
    world.write_json("replies.json", &json!({"replies": {"coder": replies}}));
    let ran = ["run", "--workflow-file", "both.json", "--replies", "replies.json", "hi", "--json"];
    assert_eq!(world.run_program(&ran).code(0).json()["output"], "two");
    let runs = world.run_program(&["runs", "list", "--json"]).code(0).json();
    let id = runs[0]["id"].as_str().unwrap();
    let list = world.run_program(&["graph", "--run", id, "--children", "--format", "json"]).code(0).json();
    let names: Vec<_> = list.as_array().unwrap().iter().map(|graph| &graph["workflow"]).collect();
    assert_eq!(names, ["outer", "talk"]);
    let tokens = |graph: &Value, state: &str| node(graph, state)["tally"]["tokens"].clone();
    assert_eq!((tokens(&list[0], "first"), tokens(&list[0], "second")), (json!(11), json!(22)));
    assert_eq!((tokens(&list[1], "say"), tokens(&list[1], "stop")), (json!(33), json!(0)));
    let only = world.run_program(&["graph", "--run", id, "talk"]).code(0).stdout;
    assert!(only.contains(" ● say") && only.contains("×2") && !only.contains("first"), "{only}");
}

/// Calls `talk` twice.
fn outer_workflow() -> Value {
    let call = |name: &str, next: &str| {
        json!({"name": name, "action": {"sub_workflow": "talk", "sub_workflow_input": {"task": "common_data.task"}},
               "transition": [{"target": next, "before": "() => { this.common_data.result = this.sub_workflow_result; }"}]})
    };
    json!({
        "workflow_name": "outer", "input": {"name": "task"}, "output": {"name": "result"},
        "states": [{"name": "start", "transition": [{"target": "first"}]}, call("first", "second"),
                   call("second", "stop"), {"name": "stop", "input": "common_data.result"}]
    })
}

#[test]
fn names_of_a_file_stay_names_on_every_screen() {
    let world = World::new();
    let name = "x\u{1b}[2J\"; --> y\u{202e}\n";
    let mut states = talk_workflow();
    states["states"][0]["transition"][0]["target"] = json!(name);
    states["states"][1]["name"] = json!(name);
    world.write_json("nasty.json", &states);
    for format in ["terminal", "list", "svg", "mermaid", "dot"] {
        let drawn = world.run_program(&["graph", "nasty.json", "--format", format]).code(0).stdout;
        let bad: Vec<char> = drawn.chars().filter(|c| c.is_control() && *c != '\n').collect();
        assert!(bad.is_empty() && !drawn.contains('\u{202e}'), "{drawn:?}");
    }
}

#[test]
fn what_cannot_be_drawn_is_told() {
    let world = World::new();
    let unknown = world.run_program(&["graph", "coder_reviewr"]).code(2);
    assert!(unknown.stderr.contains("did you mean `coder_reviewer`"), "{}", unknown.stderr);
    world.write_file(
        "broken.json",
        &talk_workflow().to_string().replace("\"target\":\"say\"", "\"target\":\"sya\""),
    );
    let broken = world.run_program(&["graph", "broken.json"]).code(2);
    assert!(
        broken.stderr.contains("E02") && broken.stderr.contains("did you mean `say`"),
        "{}",
        broken.stderr
    );
    assert_eq!(broken.stdout, "");
    assert!(world.run_program(&["graph"]).code(2).stderr.contains("NAME|FILE"));
    world.write_json("both.json", &json!([outer_workflow(), talk_workflow()]));
    let first = world.run_program(&["graph", "both.json"]).code(0);
    assert!(
        first.stdout.starts_with("outer\n") && first.stderr.contains("the file also holds talk"),
        "{}",
        first.stderr
    );
}

#[test]
fn the_width_can_be_said() {
    let world = World::new();
    let widest = |drawn: &str| drawn.lines().map(unicode_width::UnicodeWidthStr::width).max().unwrap();
    for width in [30, 50, 100] {
        let arguments = ["graph", "coder_reviewer", "--width", &width.to_string()];
        let list = world.run_program(&[&arguments[..], &["--format", "list"]].concat()).code(0).stdout;
        assert!(widest(&list) <= width && widest(&list) > width - 30, "{width}\n{list}");
        let boxes = world.run_program(&arguments).code(0).stdout;
        assert!(widest(&boxes) <= width, "{width}\n{boxes}");
        // where there is no room for boxes, the list is drawn
        assert_eq!(boxes.contains('╭'), width > 30, "{width}\n{boxes}");
    }
    let names = world.run_program(&["graph", "coder_reviewer", "--names"]).code(0).stdout;
    assert!(names.contains("│ ● code ") && !names.contains("improvement"), "{names}");
}

#[test]
fn an_image_of_every_shipped_workflow_is_sound() {
    let world = World::new();
    for name in shipped() {
        let arguments = ["graph", name.as_str(), "--children", "--format"];
        let image = world.run_program(&[&arguments[..], &["svg"]].concat()).code(0).stdout;
        assert!(image.starts_with("<svg xmlns=") && image.contains("prefers-color-scheme: dark"), "{image}");
        check_elements(&image);
        let list = world.run_program(&[&arguments[..], &["json"]].concat()).code(0).json();
        for graph in list.as_array().unwrap() {
            for node in graph["nodes"].as_array().unwrap() {
                let label = node["label"].as_str().unwrap();
                // the end of a branch of one state is not drawn
                assert!(label == "stop" || image.contains(label), "{label} is not in\n{image}");
            }
            // a short word that a condition begins with is not broken by a narrow column
            let is_short = |word: &&str| word.len() <= 12 && word.chars().all(char::is_alphanumeric);
            for edge in graph["edges"].as_array().unwrap() {
                let first = edge["label"].as_str().unwrap_or_default().split_whitespace().next();
                let word = first.filter(is_short).unwrap_or_default();
                assert!(image.contains(word), "the condition {word} is not in\n{image}");
            }
        }
    }
}

/// Elements are closed in their order, and no text is syntax.
fn check_elements(image: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = image;
    while let Some(start) = rest.find('<') {
        assert!(!rest[..start].contains('>') || open.last() == Some(&"style"), "{}", &rest[..start]);
        let end = start + rest[start..].find('>').unwrap();
        let element = &rest[start + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = element.strip_prefix('/') {
            assert_eq!(open.pop(), Some(name));
        } else if !element.ends_with('/') {
            open.push(element.split_whitespace().next().unwrap());
        }
        assert_eq!(element.matches('"').count() % 2, 0, "{element}");
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
}
