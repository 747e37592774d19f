//! `new`: what is written can be checked, drawn and run as it is, and nothing is replaced unasked.

use serde_json::{Value, json};

use super::world::World;

/// Template, input and replies that lead to its end, output.
fn templates() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let decide = |arguments: Value| json!({"tool_calls": [{"name": "review_work", "arguments": arguments}]});
    vec![
        ("minimal", "do it", json!({"coder": [{"text": "Done."}]}), "Done."),
        (
            "chain",
            "do it",
            json!({"architect": [{"text": "First a, then b."}],
                   "coder": [{"match": "First a, then b.", "reply": {"text": "Both done."}}]}),
            "Both done.",
        ),
        (
            "review",
            "do it",
            json!({"coder": [{"text": "Half."}, {"text": "All."}],
                   "reviewer": [decide(json!({"improvement_needed": true, "continue_message": "more"})),
                                decide(json!({"improvement_needed": false, "work_summary": "It is all there."}))]}),
            "It is all there.",
        ),
        ("gated", "do it", json!({"coder": [{"text": "Not yet."}, {"text": "Now."}]}), "Now."),
        (
            "parallel",
            "how?",
            json!({"architect": [{"text": "Layers."}], "test_writer": [{"text": "Rows."}],
                   "general": [{"match": "Layers.", "reply": {"text": "Both."}}]}),
            "Both.",
        ),
        (
            "approval",
            "do it",
            json!({"architect": [{"text": "A plan."}],
                   "coder": [{"match": "A plan.", "reply": {"text": "Built."}}]}),
            "Built.",
        ),
        (
            "steps",
            "make test",
            json!({"general": [{"match": "fails", "reply": {"text": "It fails."}}]}),
            "It fails.",
        ),
    ]
}

#[test]
fn every_template_is_listed_here() {
    let help = World::new().run_program(&["new", "workflow", "--help"]).code(0).stdout;
    let listed: Vec<&str> =
        help.lines().filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next()).collect();
    let known: Vec<&str> = templates().iter().map(|template| template.0).collect();
    assert_eq!(listed, known, "{help}");
}

#[test]
fn every_template_is_checked_drawn_and_run_as_it_is() {
    for (template, input, replies, output) in templates() {
        let world = World::new();
        world.write_json("replies.json", &json!({"replies": replies}));
        let made = world.run_program(&["new", "workflow", "mine", "--template", template]).code(0);
        let path = world.root().join("config/synthdev/workflows/mine.json").display().to_string();
        assert!(made.stdout.starts_with(&format!("wrote {path}\n")), "{}", made.stdout);
        let checked = world.run_program(&["check", &path]).code(0);
        assert!(checked.stdout.starts_with("no problems"), "{template}: {}", checked.stdout);
        // the commands that it names do what it says
        for line in made.stdout.lines().filter(|line| line.starts_with("  synthdev ")) {
            let words: Vec<&str> = line.split_whitespace().skip(1).collect();
            if words[0] != "run" {
                world.run_program(&words).code(0);
            }
        }
        world.write_file("Makefile", "test:\n\t@test -f .tried || { touch .tried; echo fails; exit 1; }\n");
        let task = if template == "gated" { format!("{{\"task\": \"{input}\"}}") } else { input.to_owned() };
        let ran = ["run", "mine", &task, "--replies", "replies.json", "--json", "--yes"];
        let ran = world.run_program(&ran);
        let ran = if template == "approval" {
            // somebody has to agree
            let run = ran.json()["run_id"].as_str().unwrap().to_owned();
            let on = ["resume", &run, "--results", "true", "--replies", "replies.json", "--json", "--yes"];
            world.run_program(&on).code(0)
        } else {
            ran.code(0)
        };
        assert_eq!(ran.json()["output"], output, "{template}");
        assert_eq!(ran.json()["warnings"].as_array().map_or(0, Vec::len), 0, "{}", ran.stdout);
    }
}

#[test]
fn nothing_is_replaced_unless_asked() {
    let world = World::new();
    for what in ["workflow", "role"] {
        let path = world.root().join(format!("config/synthdev/{what}s/mine.json"));
        world.run_program(&["new", what, "mine"]).code(0);
        let first = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, "{}").unwrap();
        let refused = world.run_program(&["new", what, "mine"]).code(2);
        assert!(refused.stderr.contains("--force"), "{}", refused.stderr);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "{}");
        world.run_program(&["new", what, "mine", "--force"]).code(0);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), first);
    }
}

#[test]
fn a_role_can_be_used_at_once() {
    let world = World::new();
    world.run_program(&["new", "role", "gardener"]).code(0);
    let roles = world.run_program(&["roles"]).code(0).stdout;
    let line = roles.lines().find(|line| line.starts_with("gardener ")).unwrap();
    assert!(line.contains("read_files") && line.contains("decides decide"), "{line}");
    let checked = world.run_program(&["check", "--json"]).code(0).stdout;
    assert!(!checked.contains("gardener.json"), "{checked}");
}

#[test]
fn a_project_with_a_folder_of_its_own_gets_the_file_and_stays_trusted() {
    let world = World::new();
    std::fs::create_dir(world.project().join(".synthdev")).unwrap();
    let made = world.run_program(&["new", "workflow", "mine"]).code(0);
    assert!(made.stdout.starts_with("wrote .synthdev/workflows/mine.json\n"), "{}", made.stdout);
    let listed = || world.run_program(&["workflows"]).code(0);
    let has =
        |name: &str| listed().stdout.lines().any(|line| line.starts_with(name) && line.contains("project"));
    assert!(has("mine "), "its own file needs no question");
    world.run_program(&["new", "role", "gardener"]).code(0);
    assert!(has("mine "));

    // what somebody else changed meanwhile is not waved through
    world.write_file(".synthdev/settings.json", "{\"verbosity\": 3}");
    assert!(has("mine "), "what was trusted stays in use");
    let made = world.run_program(&["new", "workflow", "second"]).code(0);
    assert!(
        made.stderr.contains("--trust") && made.stdout.contains("synthdev --trust run second"),
        "{}",
        made.stderr
    );
    assert!(!has("second "));
    world.run_program(&["--trust", "workflows"]).code(0);
    assert!(has("second "));
}

#[test]
fn bad_names_and_clashes_are_refused_with_a_reason() {
    let world = World::new();
    for name in ["../up", "a b", "", "-x", "ä", "a/b", "a.b"] {
        for what in ["workflow", "role"] {
            let refused = world.run_program(&["new", what, "--", name]).code(2);
            assert!(refused.stderr.contains("letters, digits"), "{name}: {}", refused.stderr);
        }
    }
    world.write_user_file("workflows/deep/other.json", &super::world::talk_workflow().to_string());
    let refused = world.run_program(&["new", "workflow", "talk"]).code(2);
    assert!(
        refused.stderr.contains("already a workflow `talk`") && refused.stderr.contains("deep/other.json")
    );
    let hides = world.run_program(&["new", "workflow", "coder_reviewer"]).code(0);
    assert!(
        hides.stderr.contains("takes precedence") && hides.stderr.contains("built-in:"),
        "{}",
        hides.stderr
    );
}

#[test]
fn the_schema_is_named_where_there_is_one() {
    let world = World::new();
    world.run_program(&["schema", "--write", "here/schema"]).code(0);
    for (what, folder) in [("workflow", "here/workflows"), ("role", "here/roles")] {
        world.run_program(&["new", what, "mine", "--dir", folder]).code(0);
        let text = world.read_file(&format!("{folder}/mine.json"));
        assert!(text.contains(&format!("\"$schema\": \"../schema/{what}.json\"")), "{text}");
    }
    world.run_program(&["check", "here/workflows/mine.json"]).code(0);
    let made = world.run_program(&["new", "workflow", "mine", "--dir", "there"]).code(0);
    assert!(!world.read_file("there/mine.json").contains("$schema"));
    assert!(made.stdout.contains("run --workflow-file there/mine.json"), "{}", made.stdout);
}
