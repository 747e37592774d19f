//! What agents get beside their roles, over real HTTP: the environment block from its template, AGENTS.md of the user
//! and of a trusted project; reminders after tools; and what can be inspected afterwards: the last request, and the
//! model that answered.

use serde_json::{Value, json};

use super::real_http::{KEY, world_asking};
use super::world::{World, talk_workflow};
use crate::support::model_server::{Behaviour, ModelServer, Recorded, messages};

fn system(request: &Recorded) -> String {
    let first = &request.body["messages"][0];
    assert_eq!((first["role"].as_str(), request.rejection.as_deref()), (Some("system"), None));
    first["content"].as_str().unwrap().to_owned()
}

/// The system text of one conversation's only request.
async fn system_text(prepare: impl Fn(&mut World), more: &[&str]) -> (String, World) {
    let server = ModelServer::start_server(vec![Behaviour::text("Hi.")]).await;
    let mut world = world_asking(&server);
    world.write_json("talk.json", &talk_workflow());
    prepare(&mut world);
    let run = [&["run", "--workflow-file", "talk.json", "hello", "--json"], more].concat();
    world.run_program(&run).code(0);
    (system(&server.requests()[0]), world)
}

#[tokio::test(flavor = "multi_thread")]
async fn agents_are_told_where_they_work_from_a_template() {
    let (text, world) = system_text(|_| {}, &[]).await;
    let directory = format!("- directory: {}\n", world.project().display());
    assert!(
        text.contains(&directory) && text.contains(&format!("- system: {}", std::env::consts::OS)),
        "{text}"
    );
    assert!(!text.contains("{{") && !text.contains("- files"), "{text}");
    let template = |world: &mut World| {
        world.write_user_file("environment.md", "At {{directory}}!\n{{files}}\n{{nowhere}}");
        world.write_file("src/a.rs", "");
        world.set_variable("SYNTHDEV_PROMPT_FILES", "2");
    };
    let (text, world) = system_text(template, &[]).await;
    assert!(text.contains(&format!("At {}!\n- files", world.project().display())), "{text}");
    assert!(text.ends_with("{{nowhere}}"), "{text}");
    let found = world.run_program(&["check"]).stdout;
    assert!(found.contains("`{{nowhere}}` stands for nothing here") && found.contains("C18"), "{found}");
    let (text, _) =
        system_text(|world| world.set_variable("SYNTHDEV_PROMPT_ENVIRONMENT", "false"), &[]).await;
    assert!(!text.contains("directory:"), "{text}");
}

/// The index is told of only where the template asks for it, and says who wrote it.
#[tokio::test(flavor = "multi_thread")]
async fn agents_are_told_of_the_index_where_the_template_names_it() {
    let entry = |path: &str, directory: bool, summary: &str| {
        json!({"path": path, "directory": directory, "sum": "s", "summary": summary}).to_string()
    };
    let entries = [
        entry("src/deep/a.rs", false, "Deep."),
        entry("notes.md", false, "Notes."),
        entry(".", true, "A shop."),
        entry("src", true, "Its code."),
    ];
    let index =
        |world: &mut World| drop(world.write_file(".synthdev/index/index.jsonl", &entries.join("\n")));
    let (text, _) = system_text(index, &[]).await;
    assert!(!text.contains("A shop."), "{text}");
    let template = |world: &mut World| {
        index(world);
        world.write_user_file("environment.md", "At {{directory}}\n{{index}}");
    };
    let (text, world) = system_text(template, &[]).await;
    let told = "(no instructions):\n  .: A shop.\n  src/: Its code.\n  notes.md: Notes.";
    assert!(text.ends_with(told), "{text}");
    assert_eq!(world.run_program(&["check", "--json"]).code(0).json()["findings"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn guidance_is_given_when_the_project_is_trusted() {
    let ours = |world: &mut World| {
        world.write_user_file("AGENTS.md", "Answer in French.");
        world.write_file("AGENTS.md", "Use tabs.\n");
    };
    let (text, world) = system_text(ours, &[]).await;
    assert!(text.contains("Guidance of the user (AGENTS.md):\n\nAnswer in French."), "{text}");
    assert!(!text.contains("Use tabs."), "{text}");
    let checked = world.run_program(&["check"]);
    assert!(checked.stderr.contains("AGENTS.md") && checked.stderr.contains("--trust"), "{}", checked.stderr);

    let (text, world) = system_text(ours, &["--trust"]).await;
    let both = "Answer in French.\n\nGuidance of this project (AGENTS.md):\n\nUse tabs.";
    assert!(text.contains(both), "{text}");
    world.write_file("AGENTS.md", &"Use spaces.\n".repeat(20));
    let checked = world.run_program(&["check"]).code(0);
    assert!(checked.stderr.contains("changed AGENTS.md"), "an edit asks again: {}", checked.stderr);
    let checked = world.run_program(&["check", "--trust"]).code(0);
    assert!(checked.stderr.contains("agents are given AGENTS.md (240 characters)"), "{}", checked.stderr);

    let cut = |world: &mut World| {
        world.write_file("AGENTS.md", &"Use spaces.\n".repeat(20));
        world.set_variable("SYNTHDEV_PROMPT_AGENTS_MD_LIMIT", "100");
    };
    let (text, world) = system_text(cut, &["--trust"]).await;
    assert_eq!(text.matches("Use spaces.").count(), 8, "{text}");
    assert!(text.contains("[144 more characters of AGENTS.md are left out here]"), "{text}");
    let shown = world.run_program(&["config", "show"]).code(0);
    assert!(
        shown.stdout.contains("agents are given 96 of the 240 characters of AGENTS.md"),
        "{}",
        shown.stdout
    );

    for (file, value, env, gone) in [
        ("roles/quiet.json", "{\"coder\": {\"guidance\": false}}", "true", true),
        ("roles/quiet.json", "{\"coder\": {\"environment\": false}}", "true", false),
        ("roles/quiet.json", "{}", "false", true),
    ] {
        let quiet = |world: &mut World| {
            ours(world);
            world.write_user_file(file, value);
            world.set_variable("SYNTHDEV_PROMPT_AGENTS_MD", env);
        };
        let (text, _) = system_text(quiet, &["--trust"]).await;
        assert_eq!(!text.contains("Use tabs."), gone, "{value} {env}: {text}");
        assert_eq!(text.contains("directory:"), !value.contains("environment"), "{value}: {text}");
    }
}

/// A role with everything that is put beside its words, on the strict server of each protocol.
#[tokio::test(flavor = "multi_thread")]
async fn examples_and_reminders_are_valid_for_strict_servers() {
    let role = json!({"coder": {"reminder": "Mind the tests.", "includedTools": ["read_files"], "examples": [
        {"role": "user", "content": "What is in a?"},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "e1", "type": "function",
            "function": {"name": "read_files", "arguments": "{\"file_paths\": [\"a\"]}"}}]},
        {"role": "tool", "tool_call_id": "e1", "content": "one"},
        {"role": "assistant", "content": "One."},
        {"role": "user", "content": "And in b?"},
        {"role": "function", "name": "read_files", "content": "two"},
        {"role": "assistant", "content": "Two."},
    ]}});
    let read = json!({"file_paths": ["talk.json"]}).to_string();
    for anthropic in [false, true] {
        let server = if anthropic {
            let call = |id: &str| messages::calls(&[(id, "read_files", &read)]);
            ModelServer::start_messages(vec![call("1"), call("2"), messages::text("Done.")]).await
        } else {
            let call = |id: &str| Behaviour::calls(&[(id, "read_files", &read)]);
            ModelServer::start_server(vec![call("1"), call("2"), Behaviour::text("Done.")]).await
        };
        let mut world = world_asking(&server);
        if anthropic {
            world.set_variable("SYNTHDEV_PROVIDER", "anthropic");
        }
        world.write_json("talk.json", &talk_workflow());
        world.write_user_file("roles/coder.json", &role.to_string());
        let report =
            world.run_program(&["run", "--workflow-file", "talk.json", "hello", "--json"]).code(0).json();
        assert_eq!((&report["output"], &report["warnings"]), (&json!("Done."), &json!([])));
        let requests = server.requests();
        let said: Vec<String> = requests.iter().map(|one| one.body["messages"].to_string()).collect();
        for (round, text) in said.iter().enumerate() {
            assert_eq!(requests[round].rejection, None, "anthropic: {anthropic}");
            assert_eq!(text.matches("Mind the tests.").count(), round, "once a round: {text}");
            assert!(text.contains("What is in a?") && text.contains("two"), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_last_request_can_be_looked_at() {
    let read = json!({"file_paths": ["secret.txt"]}).to_string();
    let script = vec![Behaviour::calls(&[("1", "read_files", &read)]), Behaviour::text("It is a key.")];
    let server = ModelServer::start_server(script).await;
    let world = world_asking(&server);
    world.write_json("talk.json", &talk_workflow());
    world.write_file("secret.txt", &format!("key={KEY}\n"));
    let report = world
        .run_program(&["run", "--workflow-file", "talk.json", "hello", "--json", "--verbosity", "0"])
        .code(0)
        .json();
    let run = report["run_id"].as_str().unwrap();
    let show = |more: &[&str]| world.run_program(&[&["runs", "show", run, "--request"], more].concat());
    let text = show(&["last"]).code(0).stdout;
    for part in [
        "── system",
        "── user\n",
        "hello",
        "calls read_files 1",
        "key=[redacted:key]",
        "It is a key.",
        "`coder` asked at",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    assert!(!text.contains(KEY), "{text}");
    let data = show(&["last", "--agent", "coder", "--json"]).code(0).json();
    assert_eq!(data["request"], server.requests()[1].body, "as it was sent");
    assert_eq!((&data["answer"]["text"], &data["model"]), (&json!("It is a key."), &json!("base-model")));
    assert_eq!(show(&[&data["step"].to_string(), "--json"]).code(0).json(), data);
    let nobody = show(&["last", "--agent", "codr"]).code(2);
    assert!(
        nobody.stderr.contains("no request of `codr`") && nobody.stderr.contains("asked were: coder"),
        "{}",
        nobody.stderr
    );
    assert!(show(&["99"]).code(2).stderr.contains("in step 99"));
    let unknown = show(&["first"]).code(2).stderr;
    assert!(unknown.contains("no step in a state `first`: it has entered start, say, stop"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn another_model_than_was_asked_for_is_told_once() {
    for (served, told) in
        [("base-model-2024-08-06", false), ("base-model:latest", false), ("cheap-model", true)]
    {
        let answer = |text: &str| {
            let message = json!({"role": "assistant", "content": text});
            let choices = json!([{"index": 0, "message": message, "finish_reason": "stop"}]);
            Behaviour::from_body(
                &json!({"id": "1", "object": "chat.completion", "created": 1, "model": served,
                "choices": choices, "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}),
            )
        };
        let server = ModelServer::start_server(vec![answer("One."), answer("Two.")]).await;
        let world = world_asking(&server);
        let mut flow = talk_workflow();
        let mut again = flow["states"][1].clone();
        again["name"] = json!("again");
        again["input"] = json!({"text": "More."});
        flow["states"].as_array_mut().unwrap().insert(2, again);
        flow["states"][1]["transition"] = json!([{"target": "again"}]);
        world.write_json("talk.json", &flow);
        let report =
            world.run_program(&["run", "--workflow-file", "talk.json", "hello", "--json"]).code(0).json();
        let warnings: Vec<String> =
            report["warnings"].as_array().unwrap().iter().map(Value::to_string).collect();
        let substituted =
            warnings.iter().filter(|text| text.contains(&format!("`{served}` answered"))).count();
        assert_eq!(substituted, usize::from(told), "{served}: {warnings:?}");
        let shown = world.run_program(&["runs", "show", report["run_id"].as_str().unwrap()]).code(0).stdout;
        assert_eq!(shown.matches(&format!("answered ({served}, ")).count(), 2, "{shown}");
    }
}
