//! The history as a whole, from the command line: lists, search, comparison, files that travel, tidying up.

pub mod agents;
mod bundles;
mod foreign;
mod tidy;

use serde_json::{Value, json};

use super::world::{World, workflow};

/// A coder writes a file, a reviewer decides, the summary is the output; some states set data.
pub(super) fn reviewed_world() -> World {
    let world = World::repository();
    let file = format!("{}/tests/data/seed/coder_reviewer.json", env!("CARGO_MANIFEST_DIR"));
    std::fs::copy(file, world.project().join("flow.json")).unwrap();
    run_review(&world, "make tea", "The kettle is on.");
    world
}

/// One more run of it; gives its id.
pub(super) fn run_review(world: &World, task: &str, said: &str) -> String {
    let write =
        json!([{"name": "write_file", "arguments": {"file_path": "tea.txt", "content": "earl grey"}}]);
    let decide = |arguments: Value| json!({"tool_calls": [{"name": "review_work", "arguments": arguments}]});
    let replies = json!({
        "coder": [{"text": said, "tool_calls": write}, {"text": "Made `it`."}, {"text": "Said so."}],
        "reviewer": [
            decide(json!({"improvement_needed": true, "continue_message": "Say so, too."})),
            decide(json!({"improvement_needed": false, "work_summary": format!("{task}: done")}))
        ]
    });
    world.write_json("replies.json", &json!({"replies": replies}));
    let base = ["run", "--workflow-file", "flow.json", "--replies", "replies.json", "--yes", "--json"];
    let report = world.run_program(&[&base[..], &[task]].concat()).code(0).json();
    report["run_id"].as_str().unwrap().to_owned()
}

/// Adds a run that waits for an answer.
fn run_question(world: &World, message: &str) -> String {
    let ask = json!({"name": "ask", "type": "pause", "kind": "approval", "message": {"text": message},
                     "transition": [{"target": "stop"}]});
    let mut flow = workflow(&json!([{"name": "start", "transition": [{"target": "ask"}]}, ask,
        {"name": "stop", "input": {"expr": "'done'"}}]));
    flow["workflow_name"] = json!("asking");
    world.write_json("asking.json", &flow);
    world.write_file("none.json", "{\"replies\": {}}");
    let arguments = ["run", "--workflow-file", "asking.json", "--replies", "none.json", "x", "--json"];
    world.run_program(&arguments).code(3).json()["run_id"].as_str().unwrap().to_owned()
}

pub(super) fn list_runs(world: &World, more: &[&str]) -> Vec<Value> {
    let listed = world.run_program(&[&["runs", "list", "--json"], more].concat()).code(0).json();
    listed.as_array().unwrap().clone()
}

#[test]
fn lists_are_narrowed_by_every_filter() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    world.run_talk(&["--json"]).code(0);
    world.write_talk(&json!([{"error": {"kind": "auth", "message": "no"}}]));
    world.run_talk(&["--json"]).code(1);
    run_question(&world, "Shall I?");
    let elsewhere = world.root().join("tmp").display().to_string();
    let (completed, failed, paused) = (&["completed"][..], &["failed"][..], &["paused"][..]);
    let rows: [(&[&str], &[&str]); 25] = [
        (&[], &["paused", "failed", "completed"]),
        (&["--limit", "1"], paused),
        (&["--limit", "0"], &["paused", "failed", "completed"]),
        (&["--workflow", "asking"], paused),
        (&["--workflow", "nothing"], &[]),
        (&["--status", "failed"], failed),
        (&["--status", "failed", "--status", "COMPLETED"], &["failed", "completed"]),
        (&["--status", "running"], &[]),
        (&["--since", "1h"], &["paused", "failed", "completed"]),
        (&["--since", "2020-01-01"], &["paused", "failed", "completed"]),
        (&["--since", "2099-01-01T00:00"], &[]),
        (&["--until", "1h"], &[]),
        (&["--until", "2099-01-01"], &["paused", "failed", "completed"]),
        (&["--since", "2h", "--until", "0m", "--status", "paused"], paused),
        (&["--min-cost", "0"], &["paused", "failed", "completed"]),
        (&["--min-cost", "0.01"], &[]),
        (&["--max-cost", "0"], &["paused", "failed", "completed"]),
        (&["--min-cost", "0", "--max-cost", "5"], &["paused", "failed", "completed"]),
        (&["--here"], &["paused", "failed", "completed"]),
        (&["--here", "--status", "completed"], completed),
        (&["--matching", "HELLO"], &["failed", "completed"]),
        (&["--matching", "ask"], paused),
        (&["--matching", "%"], &[]),
        (&["--matching", "hello", "--status", "failed"], failed),
        (&["--tree"], &["paused", "failed", "completed"]),
    ];
    for (arguments, expected) in rows {
        let found = list_runs(&world, arguments);
        let statuses: Vec<&str> = found.iter().map(|run| run["status"].as_str().unwrap()).collect();
        assert_eq!(statuses, expected, "{arguments:?}");
    }
    let there = world.run_program(&["-C", &elsewhere, "runs", "list", "--here"]).code(0);
    assert_eq!(there.stdout, "no runs match\n");
}

#[test]
fn filters_that_mean_nothing_are_refused() {
    let world = World::new();
    for (arguments, part) in [
        (&["--status", "done"][..], "one of running, paused, completed"),
        (&["--status", "x\u{1b}[2J"], "␛[2J"),
        (&["--since", "yesterday"], "--since: `yesterday` is not a time"),
        (&["--until", "7x"], "an age (7d, 12h, 30m)"),
        (&["--since", "1h", "--until", "2h"], "later than --until"),
        (&["--min-cost=-1"], "--min-cost"),
        (&["--min-cost", "NaN"], "--min-cost"),
        (&["--max-cost", "inf"], "--max-cost"),
        (&["--min-cost", "2", "--max-cost", "1"], "above --max-cost"),
        (&["--min-cost", "-1"], "an amount of dollars"),
        (&["--max-cost", "-0.5"], "an amount of dollars"),
        (&["--limit=-1"], "--limit"),
        (&["--limit", "-1"], "expected a number of runs"),
        (&["--limit", "many"], "--limit"),
    ] {
        let refused = world.run_program(&[&["runs", "list"], arguments].concat()).code(2);
        assert!(
            refused.stderr.contains(part) && !refused.stderr.contains('\u{1b}'),
            "{arguments:?}: {}",
            refused.stderr
        );
        assert_eq!(refused.stdout, "");
    }
}

#[test]
fn a_list_stays_in_eighty_columns_and_says_what_is_waited_for() {
    let world = World::new();
    world.write_json("talk.json", &super::world::talk_workflow());
    world.write_json("replies.json", &json!({"replies": {"coder": [{"text": "Hi."}]}}));
    let base = ["run", "--workflow-file", "talk.json", "--replies", "replies.json"];
    for input in ["日本語の長い入力".repeat(9), "\u{1b}[2Jx\u{202e}y ".repeat(9), "short".to_owned()]
    {
        world.run_program(&[&base[..], &[&input]].concat()).code(0);
    }
    run_question(&world, &"Shall all of this be done today? ".repeat(9));
    for arguments in [&["runs", "list"][..], &["runs", "list", "--tree"]] {
        let listed = world.run_program(arguments).code(0).stdout;
        assert_eq!(listed.lines().count(), 5, "{listed}");
        for line in listed.lines() {
            assert!(unicode_width::UnicodeWidthStr::width(line) <= 80, "{line}");
            assert!(!line.chars().any(|c| c.is_control() || c == '\u{202e}'), "{line}");
        }
        for part in
            ["waits for approval in ask: Shall all", "paused", "completed", "$0.0000", "talk", "short"]
        {
            assert!(listed.contains(part), "no `{part}` in\n{listed}");
        }
    }
    let paused = &list_runs(&world, &[])[0];
    assert_eq!((&paused["pauses"][0]["state"], &paused["path"]), (&json!("ask"), &json!(["start", "ask"])));
}

#[test]
fn words_are_found_wherever_they_were_said() {
    let world = reviewed_world();
    let run = list_runs(&world, &[])[0]["id"].as_str().unwrap().to_owned();
    let other = run_review(&world, "make coffee", "The pot is on.");
    let search = |arguments: &[&str]| {
        let found = world.run_program(&[&["runs", "search", "--json"], arguments].concat()).code(0).json();
        found.as_array().unwrap().clone()
    };
    let rows: [(&[&str], &str, &str, usize); 12] = [
        (&["kettle"], "message", "kettle is on", 1),
        (&["KETT"], "message", "kettle", 1),
        (&["earl"], "tool_call", "write_file", 2),
        (&["\"earl grey\"", "--run", &run], "tool_call", "earl grey", 1),
        (&["coffee", "--limit", "1"], "variable", "coffee", 1),
        (&["perform", "following", "tea"], "variable", "Perform following task: make tea", 1),
        (&["tea.txt", "--run", &other, "--limit", "1"], "tool_result", "tea.txt", 1),
        (&["improvement_needed", "coffee"], "tool_call", "make coffee:", 1),
        (&["make", "tea"], "variable", "", 0),
        (&["kettle", "--workflow", "coder_reviewer"], "message", "kettle", 1),
        (&["kettle", "--workflow", "talk"], "", "", 0),
        (&["samovar"], "", "", 0),
    ];
    for (arguments, kind, part, count) in rows {
        let found = search(arguments);
        if part.is_empty() && !kind.is_empty() {
            assert!(found.iter().any(|hit| hit["kind"] == "input" && hit["row"] == 0), "{found:?}");
            continue;
        }
        assert_eq!(found.len(), count, "{arguments:?}: {found:?}");
        for hit in &found {
            assert_eq!(hit["kind"], kind, "{arguments:?}");
            let snippet = hit["snippet"].as_str().unwrap();
            assert!(snippet.contains(part) && snippet.chars().count() <= 76, "{arguments:?}: {snippet}");
            let chars: Vec<char> = snippet.chars().collect();
            let mark = |at: usize| usize::try_from(hit["marks"][0][at].as_u64().unwrap()).unwrap();
            let first: String = chars[mark(0)..mark(1)].iter().collect();
            let wanted = arguments.iter().any(|word| {
                word.to_lowercase().contains(&first.to_lowercase())
                    || first.to_lowercase().starts_with(&word.to_lowercase())
            });
            assert!(wanted, "{arguments:?}: `{first}` is marked in {snippet}");
        }
    }
    let shown = world.run_program(&["runs", "search", "kettle"]).code(0).stdout;
    assert!(shown.contains(&run) && shown.contains("coder_reviewer") && shown.contains("message"), "{shown}");
    assert!(!shown.contains('\u{1b}'), "no colours where nobody looks: {shown}");
    assert_eq!(world.run_program(&["runs", "search", "samovar"]).code(0).stdout, "nothing found\n");
    for (arguments, part) in [
        (&["\"\" --"][..], "name a word"),
        (&[], "name a word"),
        (&["x", "--run", "nowhere"], "there is no run `nowhere`"),
        (&["x", "--limit=-1"], "--limit"),
    ] {
        let refused = world.run_program(&[&["runs", "search"], arguments].concat()).code(2);
        assert!(refused.stderr.contains(part), "{arguments:?}: {}", refused.stderr);
    }
}

#[test]
fn calls_that_a_state_makes_itself_are_found() {
    let world = World::new();
    let step = |name: &str, next: &str, mut step: Value| {
        step["name"] = name.into();
        step["transition"] = json!([{"target": next}]);
        step["catch"] = json!([{"errors": ["*"], "target": next}]);
        step
    };
    let states = json!([
        step("start", "fetch", json!({"type": "shell", "command": "echo samovar\nzebu=1; echo 昨日は東京タワーへ"})),
        step("fetch", "look", json!({"type": "http", "method": "GET", "url": "http://127.0.0.1:9/teapot"})),
        step("look", "stop", json!({"type": "tool", "tool": "exact_search", "arguments": {"search_string": "saucer"}})),
        {"name": "stop", "input": {"text": "done"}}
    ]);
    let flow = json!({"workflow_name": "calls", "snapshot": "off", "states": states});
    world.write_json("calls.json", &flow);
    let run = world.run_program(&["run", "--workflow-file", "calls.json", "--yes", "--json"]).code(0).json();
    let run = run["run_id"].as_str().unwrap();
    let found = |word: &str| world.run_program(&["runs", "search", word, "--json"]).code(0).json();
    for (word, tool) in [
        ("samovar", "shell"),
        ("zebu", "shell"),
        ("タワー", "shell"),
        ("teapot", "http_request"),
        ("saucer", "exact_search"),
    ] {
        let found = found(word);
        let call = found.as_array().unwrap().iter().find(|hit| hit["kind"] == "tool_call");
        let call = call.unwrap_or_else(|| panic!("{word}: {found}"));
        assert_eq!((&call["name"], &call["run"]), (&json!(tool), &json!(run)), "{word}");
        assert!(call["snippet"].as_str().unwrap().contains(word), "{call}");
    }
    // what travels is found where it arrives
    world.run_program(&["runs", "export", run, "--to", "calls.run.json"]).code(0);
    let there = World::new();
    let file = world.project().join("calls.run.json").display().to_string();
    there.run_program(&["runs", "import", &file]).code(0);
    let shown = there.run_program(&["runs", "search", "samovar"]).code(0).stdout;
    assert!(shown.contains("call of shell"), "{shown}");
}

#[test]
fn who_said_something_is_named_as_people_name_it() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    let run = world.run_talk(&["--json"]).code(0).json();
    let run = run["run_id"].as_str().unwrap();
    let shown = world.run_program(&["runs", "show", run]).code(0).stdout;
    assert!(shown.lines().any(|line| line.contains("coder in ") && line.ends_with("Hi.")), "{shown}");
    let read = world.run_program(&["runs", "export", run, "--format", "markdown"]).code(0).stdout;
    let why = world.run_program(&["why", run, "1"]).stdout;
    for text in [shown, read, why] {
        assert!(!text.contains("Agent(") && !text.contains("Workflow(") && !text.contains("Some("), "{text}");
    }
}

#[test]
fn an_export_says_what_is_in_its_file() {
    let world = World::new();
    world.write_talk(&json!([{"text": "Hi."}]));
    let run = world.run_talk(&["--json"]).code(0).json();
    let run = run["run_id"].as_str().unwrap();
    let told = world.run_program(&["runs", "export", run, "--to", "run.json"]).code(0);
    let told = format!("{}{}", told.stdout, told.stderr);
    assert!(told.contains("a JSON value in each line, for `synthdev runs import`"), "{told}");
    let file = world.read_file("run.json");
    assert!(file.lines().count() > 3);
    for line in file.lines() {
        serde_json::from_str::<serde_json::Value>(line).unwrap();
    }
}

#[test]
fn two_runs_are_compared() {
    let world = reviewed_world();
    let first = list_runs(&world, &[])[0]["id"].as_str().unwrap().to_owned();
    let same = run_review(&world, "make tea", "The kettle is on.");
    let flow = world.read_file("flow.json").replace("provide continue_message", "say kindly");
    world.write_file("flow.json", &flow);
    let write = json!({"replies": {"coder": [{"text": "Done."}], "reviewer": [{"tool_calls":
        [{"name": "review_work", "arguments": {"improvement_needed": false, "work_summary": "fine"}}]}]}});
    world.write_json("replies.json", &write);
    let base =
        ["run", "--workflow-file", "flow.json", "--replies", "replies.json", "--yes", "--json", "make cake"];
    let other = world.run_program(&base).code(0).json()["run_id"].as_str().unwrap().to_owned();

    let equal = world.run_program(&["runs", "diff", &first, &same]).code(0).stdout;
    for part in [
        "definition   the same",
        "inputs       the same",
        "path         the same (6)",
        "decisions    the same (2)",
        "output       the same",
    ] {
        assert!(equal.contains(part), "no `{part}` in\n{equal}");
    }
    let shown = world.run_program(&["runs", "diff", &first, &other]).code(0).stdout;
    for part in [
        "`action.script` of state `start` changed",
        "input task_to_do",
        "- \"make tea\"",
        "+ \"make cake\"",
        "- code\n- review\n",
        "+ \"fine\"",
        "steps      ≠ 6",
    ] {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
    let both = world.run_program(&["runs", "diff", &first, &other, "--json"]).code(0).json();
    assert_eq!((&both["definition"]["same"], &both["same_output"]), (&json!(false), &json!(false)));
    assert_eq!((&both["first"]["steps"], &both["second"]["steps"]), (&json!(6), &json!(4)));
    let only: Vec<&Value> =
        both["path"].as_array().unwrap().iter().filter(|step| step["of"] != "both").collect();
    assert_eq!(only.len(), 2, "{both}");
    assert_eq!(both["inputs"], json!([{"name": "task_to_do", "first": "make tea", "second": "make cake"}]));
    let refused = world.run_program(&["runs", "diff", &first, "nowhere"]).code(2);
    assert!(refused.stderr.contains("nowhere"), "{}", refused.stderr);
}

#[test]
fn a_long_list_has_every_run_once() {
    use synthdev::adapters::sqlite::SqliteStore;
    use synthdev::domain::ids::{RunId, Timestamp};
    use synthdev::domain::journal::RunHeader;
    use synthdev::ports::run_store::RunStore;

    let world = World::new();
    let store = SqliteStore::new(world.data().join("runs.sqlite"));
    for at in 0..1_234 {
        let header = RunHeader {
            id: RunId(format!("run{at:09}")),
            workflow: "w".to_owned(),
            definition_hash: String::new(),
            spec: "{}".to_owned(),
            input: "x".to_owned(),
            project: world.project().display().to_string(),
            started: Timestamp(1_000 + at),
            pid: std::process::id(),
            origin: None,
            worktree: None,
        };
        store.create(&header).unwrap();
    }
    for (limit, count) in [("0", 1_234), ("1000", 1_000), ("501", 501), ("2000", 1_234), ("1", 1)] {
        let ids: Vec<String> = (0..count).map(|at| format!("run{:09}", 1_233 - at)).collect();
        let rows = list_runs(&world, &["--limit", limit]);
        let found: Vec<&str> = rows.iter().map(|run| run["id"].as_str().unwrap()).collect();
        assert_eq!(found, ids, "{limit}");
        let lines = world.run_program(&["runs", "list", "--limit", limit]).code(0).stdout;
        let found: Vec<&str> = lines.lines().map(|line| &line[..12]).collect();
        assert_eq!(found, ids, "{limit}");
    }
}
