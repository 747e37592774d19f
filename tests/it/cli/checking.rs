//! `check`, and broken files that must not hide good ones.

use serde_json::json;

use super::world::{World, talk_workflow};

#[test]
fn the_shipped_files_have_no_errors() {
    let world = World::new();
    let ran = world.run_program(&["check"]).code(0);
    assert!(!ran.stdout.contains("error["), "{}", ran.stdout);
    let found = world.run_program(&["check", "--json"]).code(0).json();
    let errors: Vec<_> =
        found["findings"].as_array().unwrap().iter().filter(|one| one["severity"] == "error").collect();
    assert!(errors.is_empty(), "{errors:?}");
    for shipped in ["workflows", "tests/data/seed"] {
        let folder = format!("{}/{shipped}", env!("CARGO_MANIFEST_DIR"));
        world.run_program(&["check", &folder]).code(0);
    }
}

#[test]
fn a_broken_file_is_shown_with_place_line_caret_and_hint() {
    let world = World::new();
    let mut text = serde_json::to_string_pretty(&talk_workflow()).unwrap();
    text = text.replace("\"contexts\"", "\"contxts\"");
    world.write_file("broken.json", &text);
    let line = text.lines().position(|line| line.contains("contxts")).unwrap() + 1;
    let ran = world.run_program(&["check", "broken.json"]).code(1);
    let place = format!("broken.json:{line}:3");
    for part in [place.as_str(), "\"contxts\"", "^^^^^^^", "did you mean `contexts`"] {
        assert!(ran.stdout.contains(part), "no `{part}` in\n{}", ran.stdout);
    }
    let found = world.run_program(&["check", "broken.json", "--json"]).code(1).json();
    let first = &found["findings"][0];
    let place = ["line", "column", "end_line", "end_column"].map(|key| first[key].as_u64().unwrap() as usize);
    assert_eq!(place, [line, 3, line, 12], "{found}");
    assert_eq!((first["code"].as_str(), first["severity"].as_str()), (Some("E14"), Some("error")));
    assert_eq!(first["hint"], "did you mean `contexts`?");
    assert_eq!(first["file"], "broken.json");
    let unused = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!(unused, json!([]), "checking runs nothing");
}

#[test]
fn files_that_are_no_text_are_findings_and_hide_no_other() {
    let world = World::new();
    let text = talk_workflow().to_string();
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let rows = [
        ("wide.json", wide, "it is UTF-16 text"),
        (
            "latin.json",
            b"{\"workflow_name\": \"caf\xe9\"}".to_vec(),
            "it is not UTF-8 text: see line 1 (byte 22)",
        ),
        ("huge.json", vec![b' '; 10_000_000], "it is larger than 4 MiB"),
        ("zero.json", vec![0; 10], "not valid JSON"),
        ("empty.json", Vec::new(), "the file is empty"),
    ];
    for (name, bytes, _) in &rows {
        std::fs::write(world.write_file(&format!(".synthdev/workflows/{name}"), ""), bytes).unwrap();
    }
    world.write_file(".synthdev/workflows/good.json", &text);
    let ran = world.run_program(&["check", ".synthdev/workflows"]).code(1);
    assert!(ran.stdout.contains("`talk` was read as states"), "{}", ran.stdout);
    for (name, _, part) in &rows {
        let line = ran
            .stdout
            .lines()
            .position(|line| line.contains(part))
            .unwrap_or_else(|| panic!("{part}: {}", ran.stdout));
        let place = ran.stdout.lines().nth(line + 1).unwrap();
        assert!(place.contains(name), "{place}");
        world.run_program(&["check", &format!(".synthdev/workflows/{name}")]).code(1);
    }
    let ran = world.run_program(&["check", "nothing_of_this_name"]).code(2);
    assert!(ran.stderr.contains("there is no workflow and no file `nothing_of_this_name`"), "{}", ran.stderr);
}

#[test]
fn a_file_of_another_program_is_said_to_be_no_workflow() {
    let world = World::new();
    world.write_file("package.json", "{\"name\": \"x\", \"version\": \"1\", \"scripts\": {\"test\": \"x\"}}");
    let report = world.run_program(&["check", "package.json", "--json"]).code(1).json();
    let found = report["findings"].as_array().unwrap();
    assert_eq!(found.len(), 1, "{report}");
    let message = "this file is not a workflow: it has neither `workflow_name` nor `states` nor `steps`";
    assert_eq!(found[0]["message"], message);
    assert!(found[0]["hint"].as_str().unwrap().contains("`synthdev new`"), "{report}");
    for arguments in [&["run", "--workflow-file", "package.json"][..], &["graph", "package.json"]] {
        let ran = world.run_program(arguments).code(2);
        assert!(
            ran.stderr.contains(message) && ran.stderr.contains("`synthdev new`"),
            "{arguments:?}: {}",
            ran.stderr
        );
    }
    // a workflow that forgot a key is judged as one
    world.write_file("flow.json", "{\"states\": [{\"name\": \"start\"}]}");
    let ran = world.run_program(&["check", "flow.json"]).code(1);
    assert!(
        ran.stdout.contains("`workflow_name`") && !ran.stdout.contains("is not a workflow"),
        "{}",
        ran.stdout
    );
}

#[test]
fn a_project_is_checked_for_what_is_ours() {
    let world = World::new();
    world.write_file("flow.json", &talk_workflow().to_string());
    world.write_file("team.json", "{\"cook\": {\"systemMessage\": \"You cook.\", \"includedTools\": []}}");
    world.write_file(".synthdev/settings.json", "{\"verbosity\": 1}");
    world.write_file("package.json", "{\"name\": \"x\", \"scripts\": {\"test\": \"x\"}}");
    world.write_file("tsconfig.json", "{ // why\n \"compilerOptions\": {\"strict\": true,}, }");
    world.write_file("node_modules/x/package.json", "{");
    std::fs::write(world.write_file("data.json", ""), vec![b' '; 10_000_000]).unwrap();
    let ran = world.run_program(&["check", "."]).code(0);
    assert!(!ran.stdout.contains("error["), "{}", ran.stdout);
    for part in [
        "`talk` was read as states",
        "skipped 3 JSON files that are no workflow, role, settings, models or test file",
    ] {
        assert!(ran.stdout.contains(part), "no `{part}` in\n{}", ran.stdout);
    }
    assert_eq!(world.run_program(&["check", ".", "--json"]).code(0).json()["skipped"], 3);
    // each kind is judged as what it is
    world.write_file("team.json", "{\"cook\": {\"systemMesage\": \"x\", \"includedTools\": []}}");
    world.write_file(".synthdev/settings.json", "{\"verbosity\": 9}");
    let ran = world.run_program(&["check", "."]).code(1);
    for part in ["team.json:1:11", "did you mean `systemMessage`", "settings.json:1:15"] {
        assert!(ran.stdout.contains(part), "no `{part}` in\n{}", ran.stdout);
    }
    world.run_program(&["check", "team.json"]).code(1);
}

#[test]
fn a_configured_file_that_cannot_be_read_is_an_error() {
    let world = World::new();
    world.run_program(&["check"]).code(0);
    std::fs::write(world.write_user_file("workflows/huge.json", ""), vec![b' '; 10_000_000]).unwrap();
    let ran = world.run_program(&["check"]).code(1);
    assert!(
        ran.stdout.contains("it is larger than 4 MiB") && ran.stdout.contains("huge.json"),
        "{}",
        ran.stdout
    );
}

#[test]
fn what_a_run_does_differently_is_told_when_it_starts() {
    let world = World::new();
    let flow = |limits: &str| {
        let text = r#"{"workflow_name": "w", "input": {"name": "task", "type": "string"}, LIMITS
            "contexts": [{"name": "c"}], "agents": [{"agent_role": "coder", "context": "c", "role": "assistant"}],
            "states": [
              {"name": "start", "type": "foreach", "in": "[1]", "max_concurrency": 200, "agent": "coder",
               "input": "look at {{common_data.item}}", "transition": [{"target": "stop"}]},
              {"name": "stop"}]}"#;
        world.write_file("w.json", &text.replace("LIMITS", limits));
    };
    world.write_file("replies.json", r#"{"replies": {"coder": [{"text": "Hi."}]}}"#);
    let run = ["run", "--workflow-file", "w.json", "x", "--replies", "replies.json", "--json"];
    let rows = [
        ("", Some("asks for 200 at once and gets 10: `w` sets no `limits.max_concurrency`")),
        (r#""limits": {"max_concurrency": 4},"#, Some("gets 4: `limits.max_concurrency` of `w` is 4")),
        (r#""limits": {"max_concurrency": 200},"#, None),
    ];
    for (limits, held) in rows {
        flow(limits);
        let (checked, ran) =
            (world.run_program(&["check", "w.json"]).code(0), world.run_program(&run).code(0));
        let warnings = ran.json()["warnings"].to_string();
        for told in [&checked.stdout, &ran.stderr, &warnings] {
            assert!(told.contains("sent as literal text"), "{told}");
            assert_eq!(held.is_some_and(|held| told.contains(held)), held.is_some(), "{limits}: {told}");
            assert_eq!(told.contains("at once and gets"), held.is_some(), "{limits}: {told}");
        }
    }
}

/// A walk through all names for each name would take many minutes: the test's own patience ends it.
#[test]
fn files_of_many_thousand_parts_are_checked_in_one_pass() {
    let world = World::new();
    let next =
        |at: usize, count: usize| if at + 1 == count { "stop".to_owned() } else { format!("s{}", at + 1) };
    let name = |at: usize| if at == 0 { "start".to_owned() } else { format!("s{at}") };
    let chain = |count: usize, state: &dyn Fn(usize) -> serde_json::Value| {
        let states: Vec<_> = (0..count)
            .map(|at| {
                let mut one = state(at);
                one["name"] = json!(name(at));
                one["transition"] = json!([{"target": next(at, count)}]);
                one
            })
            .collect();
        json!({"workflow_name": "w", "contexts": [], "agents": [], "states": states})
    };
    let mut backward = chain(4_000, &|_| json!({"action": {"script": "common_data.n = 1"}}));
    backward["states"].as_array_mut().unwrap().reverse();
    let body = json!([{"name": "start", "transition": [{"target": "stop"}]}]);
    let loops = chain(2_000, &|_| json!({"type": "foreach", "in": "[1]", "states": body}));
    let shells = chain(4_000, &|_| json!({"type": "shell", "command": {"expr": "common_data.n"}}));
    let mut choices = chain(2, &|_| json!({}));
    choices["states"][0]["transition"] = (0..2_000)
        .map(|at| json!({"target": "s1", "condition": format!("common_data.k{at} === 'a{at}' && common_data.z === {at}")}))
        .collect();
    let calls: Vec<_> = (0..60)
        .map(|at| {
            let mut one = chain(1, &|_| json!({}));
            one["workflow_name"] = json!(format!("w{at}x"));
            if at < 59 {
                one["states"][0]["action"] = json!({"sub_workflow": format!("w{}x", at + 1)});
            }
            one
        })
        .collect();
    let rows = [
        ("backward", backward, 0),
        ("loops", loops, 0),
        ("shells", shells, 0),
        ("choices", choices, 0),
        ("calls", json!(calls), 0),
    ];
    for (name, flow, code) in rows {
        let file = format!("{name}.json");
        world.write_json(&file, &flow);
        let ran = world.run_program(&["check", &file]);
        assert_eq!(ran.code, Some(code), "{name}: {}", ran.stdout.chars().take(2_000).collect::<String>());
    }
}

const BOTH_UNSET: &str = "the level `smart`, which has no model, the level `base`, which has no model";

#[test]
fn what_a_run_can_cost_is_told_for_one_workflow() {
    let mut world = World::new();
    let checked = |world: &World| world.run_program(&["check", "hierarchical_development"]).code(0).stdout;
    let unpriced = |names: &str| format!("no price is known for {names}\n");
    let without = checked(&world);
    assert!(without.contains(&unpriced(BOTH_UNSET)), "{without}");
    world.set_variable("SYNTHDEV_SMART_BASE_URL", "http://127.0.0.1:1/v1");
    world.set_variable("SYNTHDEV_SMART_MODEL", "clever");
    let half = checked(&world);
    assert!(half.contains(&unpriced("clever, the level `base`, which has no model")), "{half}");
    world.set_variable("SYNTHDEV_BASE_URL", "http://127.0.0.1:1/v1");
    world.set_variable("SYNTHDEV_BASE_MODEL", "m");
    world.set_variable("SYNTHDEV_MAX_OUTPUT_TOKENS", "500");
    let ran = world.run_program(&["check", "coder_reviewer"]).code(0);
    for part in ["`coder_reviewer` was read as states", "model calls    560", "no price is known for m"] {
        assert!(ran.stdout.contains(part), "no `{part}` in\n{}", ran.stdout);
    }
    let silent = world.run_program(&["check"]).code(0).stdout;
    assert!(!silent.contains("model calls"), "{silent}");
    let all = world.run_program(&["check", "--cost"]).code(0).stdout;
    assert!(all.matches("model calls").count() >= 4, "{all}");
    let shown = world.run_program(&["check", "coder_reviewer", "--json"]).code(0).json();
    let envelope = &shown["envelope"][0];
    assert_eq!(envelope["calls"], json!({"declared": 560, "default": 560}));
    assert_eq!(
        (&envelope["cost_usd"], envelope["answer_tokens"]["declared"].as_u64()),
        (&json!(null), Some(280_000))
    );
    assert_eq!(envelope["states"][1]["state"], "review");
    let expected = json!([{"workflow": "coder_reviewer", "file": "built-in:workflows/coder_reviewer.json", "dialect": "states"}]);
    assert_eq!(shown["workflows"], expected);

    // every call gets the user's guidance, too
    let prompts =
        |shown: &serde_json::Value| shown["envelope"][0]["prompt_tokens"]["declared"].as_u64().unwrap();
    world.write_user_file("AGENTS.md", &"Write tests. ".repeat(300));
    let more = world.run_program(&["check", "coder_reviewer", "--json"]).code(0).json();
    assert!(prompts(&more) - prompts(&shown) > 500 * 900, "{} {}", prompts(&more), prompts(&shown));
}

#[test]
fn broken_and_duplicate_files_of_the_user_hide_nothing() {
    let world = World::new();
    let named = |name: &str| {
        talk_workflow()
            .to_string()
            .replace("\"workflow_name\":\"talk\"", &format!("\"workflow_name\":\"{name}\""))
    };
    world.write_user_file("workflows/good.json", &named("good"));
    world.write_user_file("workflows/syntax.json", "{\"workflow_name\": \"lost\",,}");
    world.write_user_file("workflows/missing.json", "{\"workflow_name\": \"hollow\"}");
    world.write_user_file("workflows/deep/one.json", &named("twice"));
    world.write_user_file("workflows/two.json", &named("twice"));
    world.write_user_file("roles/syntax.json", "{\"gardener\": {");
    world.write_user_file(
        "roles/good.json",
        "{\"cook\": {\"systemMessage\": \"You cook.\", \"includedTools\": []}}",
    );
    world.write_file("replies.json", "{\"replies\": {\"coder\": [{\"text\": \"Hi.\"}]}}");

    let ran = world.run_program(&["check"]).code(1);
    for file in ["syntax.json:1:", "missing.json:1:", "two.json:1:", "roles/syntax.json:1:"] {
        assert!(ran.stdout.contains(file), "no `{file}` in\n{}", ran.stdout);
    }
    let listed = world.run_program(&["workflows", "--json"]).code(0).json();
    let names: Vec<&str> = listed.as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert!(names.contains(&"good") && names.contains(&"coder_reviewer"), "{names:?}");
    let listed = world.run_program(&["workflows"]).code(0).stdout;
    assert!(listed.contains("broken: ") && listed.contains("syntax.json"), "{listed}");
    // one that has a name, and cannot be started, is not listed as sound
    let lost = named("astray").replace("\"target\":\"stop\"", "\"target\":\"nowhere\"");
    world.write_user_file("workflows/astray.json", &lost);
    let listed = world.run_program(&["workflows"]).code(0).stdout;
    let line = |name: &str| listed.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert!(line("astray ").contains("broken: ") && line("astray ").contains("nowhere"), "{listed}");
    assert!(!line("good ").contains("broken") && !line("coder_reviewer ").contains("broken"), "{listed}");
    let listed = world.run_program(&["workflows", "--json"]).code(0).json();
    let error = |name: &str| {
        listed.as_array().unwrap().iter().find(|one| one["name"] == name).unwrap()["error"].clone()
    };
    assert!(error("astray").as_str().is_some_and(|error| error.contains("nowhere")), "{listed}");
    assert_eq!((error("good"), error("coder_reviewer")), (json!(null), json!(null)));
    let roles = world.run_program(&["roles"]).code(0).stdout;
    assert!(roles.contains("cook") && roles.contains("coder"), "{roles}");
    let report = world.run_program(&["run", "good", "hi", "--replies", "replies.json", "--json"]).code(0);
    assert_eq!(report.json()["output"], "Hi.");
    assert!(report.stderr.contains("roles/syntax.json"), "what was not used is told: {}", report.stderr);
    // its name is not known: the name of its file says what is meant
    for command in [&["check", "syntax"][..], &["run", "syntax", "hi"]] {
        let told = world.run_program(command).stderr;
        assert!(told.contains("user:workflows/syntax.json:1:26: error[C01]: not valid JSON"), "{told}");
    }
    // a copy that cannot be started hides the shipped one, and is told once
    world.write_user_file("workflows/coder_reviewer.json", "{\"workflow_name\": \"coder_reviewer\", ");
    let hidden = world.run_program(&["workflows"]).code(0).stdout;
    let row = hidden.lines().find(|line| line.starts_with("coder_reviewer ")).unwrap_or_default();
    assert!(row.contains(" user ") && row.contains("()  broken: "), "{hidden}");
    assert!(!hidden.contains("\nbroken: user:workflows/coder_reviewer.json"), "{hidden}");
}

#[test]
fn broken_settings_are_all_told_and_stop_a_run() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    world
        .write_user_file("settings.json", "{\n\"verbosity\": 9,\n\"max_tool_calls\": 0,\n\"tmeouts\": {}\n}");
    let ran = world.run_talk(&["--json"]).code(2);
    assert_eq!(ran.json()["error"]["code"], "definition");
    for part in ["settings.json:2:14", "settings.json:3:19", "settings.json:4:1", "did you mean `timeouts`"] {
        assert!(ran.stderr.contains(part), "no `{part}` in\n{}", ran.stderr);
    }
    let shown = world.run_program(&["config", "show"]).code(2);
    assert!(
        shown.stdout.contains("verbosity") && shown.stderr.contains("settings.json:2:14"),
        "{}",
        shown.stderr
    );
}

#[test]
fn lists_of_roles_and_tools_say_what_is_there() {
    let world = World::new();
    let tools = world.run_program(&["tools", "--json"]).code(0).json();
    let names: Vec<&str> =
        tools.as_array().unwrap().iter().filter_map(|one| one["tool"]["name"].as_str()).collect();
    let all = [
        "read_files",
        "list_directory",
        "exact_search",
        "explain_codebase",
        "write_file",
        "edit_file",
        "execute_terminal",
    ];
    for name in all {
        assert!(names.contains(&name), "{names:?}");
    }
    let text = world.run_program(&["tools"]).code(0).stdout;
    let line = text.lines().find(|line| line.starts_with("execute_terminal")).unwrap();
    assert!(line.contains("execute") && line.contains("ask"), "{line}");
    let roles = world.run_program(&["roles"]).code(0).stdout;
    let reviewer = roles.lines().find(|line| line.contains("reviewer")).unwrap();
    assert!(reviewer.contains("review_work") && !reviewer.contains("write_file"), "{reviewer}");
    assert!(world.run_program(&["roles", "--json"]).code(0).json().as_array().unwrap().len() >= 5);
}

#[test]
fn a_name_means_the_workflow_and_a_path_the_file() {
    let world = World::new();
    world.write_file(".synthdev/workflows/talk.json", &talk_workflow().to_string());
    world.write_file("talk", "{");
    for (command, code) in [("check", 0), ("graph", 0)] {
        world.run_program(&["--trust", command, "talk"]).code(code);
    }
    let broken = world.run_program(&["--trust", "check", "./talk"]).code(1);
    assert!(broken.stdout.contains("talk:1"), "{}", broken.stdout);
}
