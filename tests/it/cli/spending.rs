//! `runs cost`: what lists and ledgers say agrees, however it is taken apart.

use serde_json::{Value, json};

use super::archive::{list_runs, reviewed_world, run_review};
use super::real_http::{script, world_asking};
use super::world::World;
use crate::support::model_server::{Behaviour, Dialect, ModelServer};

/// Two runs of coder and reviewer, at a price.
fn spent_world() -> World {
    let world = reviewed_world();
    let prices = json!({"providers": {"scripted": {"prices": {"input": 2, "output": 10, "cached": 0.5, "written": 2.5}}}});
    world.write_user_file("models.json", &prices.to_string());
    run_review(&world, "make coffee", "The beans are ground.");
    world.write_talk(&json!([{"text": "Hi.", "usage":
        {"prompt": 1_000_000, "completion": 100_000, "cached": 400_000, "written": 200_000, "reasoning": 60_000}}]));
    world.run_talk(&["--json"]).code(0);
    world
}

fn cost(world: &World, more: &[&str]) -> Value {
    world.run_program(&[&["runs", "cost", "--json"], more].concat()).code(0).json()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key}: {value}"))
}

#[test]
fn the_last_run_by_hand() {
    let world = spent_world();
    let answer = cost(&world, &[]);
    let total = &answer["total"];
    // 0.4 M fresh at 2, 0.4 M cached at 0.5, 0.2 M written at 2.5, 0.1 M of answer at 10
    assert!((number(total, "cost_usd") - (0.8 + 0.2 + 0.5 + 1.0)).abs() < 1e-9, "{total}");
    assert_eq!((total["calls"].as_u64(), total["written"].as_u64()), (Some(1), Some(200_000)), "{total}");
    assert_eq!(answer["by"]["role"][0]["name"], "coder");
    assert_eq!(answer["by"]["state"][0]["name"], "say");
    let text = world.run_program(&["runs", "cost"]).code(0).stdout;
    for words in [
        "by model",
        "by role",
        "by agent",
        "by state",
        "1000000   400000   200000   100000   60000",
        "$2.5000",
    ] {
        assert!(text.contains(words), "no `{words}` in\n{text}");
    }
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn parts_add_up_to_what_lists_say() {
    let world = spent_world();
    let runs = list_runs(&world, &[]);
    assert_eq!(runs.len(), 3);
    let all = cost(&world, &["--all"]);
    assert_eq!(all["runs"], 3);
    let usage = |key: &str| runs.iter().map(|run| number(&run["usage"], key)).sum::<f64>();
    let usd: f64 = runs.iter().map(|run| number(run, "cost_usd")).sum();
    for key in ["prompt", "completion", "cached", "reasoning"] {
        assert!((number(&all["total"], key) - usage(key)).abs() < 0.5, "{key}: {all}");
    }
    assert!((number(&all["total"], "cost_usd") - usd).abs() < 1e-9, "{all}");
    let each =
        runs.iter().map(|run| number(&cost(&world, &[run["id"].as_str().unwrap()])["total"], "cost_usd"));
    assert!((each.sum::<f64>() - usd).abs() < 1e-9, "one by one");
    for by in ["model", "role", "agent", "state", "day"] {
        let parts = cost(&world, &["--all", "--by", by]);
        let rows = parts["by"][by].as_array().unwrap();
        for key in ["calls", "tokens", "prompt", "cached", "written", "completion", "reasoning", "cost_usd"] {
            let sum: f64 = rows.iter().map(|row| number(row, key)).sum();
            assert!((sum - number(&all["total"], key)).abs() < 1e-9, "{by} {key}: {parts}");
        }
        assert!(parts["by"].as_object().unwrap().len() == 1, "{parts}");
    }
    let names = |by: &str| -> Vec<String> {
        let rows = cost(&world, &["--all"])["by"][by].as_array().unwrap().clone();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names("agent").iter().any(|name| name == "reviewer"), "{:?}", names("agent"));
}

#[test]
fn filters_choose_the_runs() {
    let world = spent_world();
    let talk = number(&cost(&world, &[])["total"], "cost_usd");
    let rows: [(&[&str], u64); 6] = [
        (&["--workflow", "talk"], 1),
        (&["--limit", "2"], 2),
        (&["--since", "1h"], 3),
        (&["--until", "2020-01-01"], 0),
        (&["--by", "day"], 3),
        (&["--matching", "coffee"], 1),
    ];
    for (more, runs) in rows {
        assert_eq!(cost(&world, more)["runs"], runs, "{more:?}");
    }
    assert!((number(&cost(&world, &["--workflow", "talk"])["total"], "cost_usd") - talk).abs() < 1e-12);
    let text = world.run_program(&["runs", "cost", "--until", "2020-01-01"]).code(0).stdout;
    assert_eq!(text, "0 runs\nno model was called\n");
    let id = list_runs(&world, &[])[0]["id"].as_str().unwrap().to_owned();
    for more in [&[id.as_str(), "--all"][..], &[&id, "--workflow", "talk"], &["--by", "colour"]] {
        world.run_program(&[&["runs", "cost"], more].concat()).code(2);
    }
    let none = World::new().run_program(&["runs", "cost"]);
    assert!(none.stderr.contains("no runs yet"), "{}", none.stderr);
}

/// Nobody is given more money unasked.
#[test]
fn more_of_a_budget_is_given_by_amount() {
    let world = World::new();
    let mut flow = super::world::talk_workflow();
    flow["budget"] = json!({"tokens": 100});
    world.write_json("talk.json", &flow);
    world.write_json("replies.json", &json!({"replies": {"coder": [{"text": "Hi."}]}}));
    let paused = |world: &World| {
        let ran = world.run_talk(&["--json"]).code(4);
        let report = ran.json();
        let pause = &report["pauses"][0];
        assert_eq!((&pause["reason"], &pause["kind"]), (&json!("budget"), &json!("tokens")), "{report}");
        report["run_id"].as_str().unwrap().to_owned()
    };
    let resume = |run: &str, more: &[&str]| {
        world.run_program(&[&["resume", run, "--replies", "replies.json"], more].concat())
    };
    let run = paused(&world);
    let said = world.run_talk(&[]).code(4).stderr;
    assert!(said.contains("--budget +100000"), "{said}");
    let refused = resume(&run, &[]).code(4).stderr;
    assert!(refused.contains(&format!("synthdev resume {run} --budget +100000")), "{refused}");
    assert!(refused.contains("the original budget"), "{refused}");
    let json = resume(&run, &["--json"]).code(4).json();
    assert_eq!(json["pauses"][0]["reason"], "budget", "{json}");
    for (wrong, code) in [("0", 2), ("-1", 2), ("much", 2), ("nan", 2)] {
        resume(&run, &["--budget", wrong]).code(code);
    }
    resume(&run, &["--results", "{\"budget\": -5}"]).code(2);
    // too little is asked about once more, and nothing is called
    resume(&run, &["--budget", "+1"]).code(4);
    let done = resume(&run, &["--budget", "+100_000"]).code(0);
    assert!(done.stderr.contains("budget of run raised to 100"), "{}", done.stderr);
    assert!(resume(&run, &["--budget", "1"]).code(2).stderr.contains("completed"));
    for answer in ["{\"budget\": 100000}", "\"continue\""] {
        let run = paused(&world);
        resume(&run, &["--results", answer]).code(0);
    }
    let report = world.run_talk(&["--json"]).code(4).json();
    let token = report["pauses"][0]["resume_token"].as_str().unwrap();
    let unsaid = resume(token, &[]).code(2).stderr;
    assert!(unsaid.contains("how much more"), "{unsaid}");
    resume(token, &["--budget", "100000"]).code(0);
}

/// What is not about a limit is answered otherwise.
#[test]
fn more_of_a_limit_is_no_answer_to_a_question() {
    let world = World::new();
    world.write_json("replies.json", &json!({"replies": {"coder": [{"text": "Hi."}]}}));
    let resume = |run: &str, more: &[&str]| {
        world.run_program(&[&["resume", run, "--replies", "replies.json"], more].concat())
    };
    world.write_json(
        "ask.json",
        &super::world::workflow(&json!([
        {"name": "start", "type": "pause", "kind": "text", "message": {"text": "What?"},
         "transition": [{"target": "stop"}]},
        {"name": "stop"}])),
    );
    let asking = ["run", "--workflow-file", "ask.json", "--replies", "replies.json", "x", "--json"];
    let report = world.run_program(&asking).code(3).json();
    let refused = resume(report["run_id"].as_str().unwrap(), &["--budget", "1"]).code(2).stderr;
    assert!(refused.contains("waits for no budget"), "{refused}");
    // nor by a token: the word that passes a limit would be the answer to its question
    let token = report["pauses"][0]["resume_token"].as_str().unwrap();
    for (more, why) in [
        (&["--past-limits"][..], "has reached no limit there"),
        (&["--budget", "1"], "waits for no budget there"),
        (&["--past-limits", "--budget", "1"], "waits for no budget there"),
    ] {
        let refused = resume(token, more).code(2).stderr;
        assert!(refused.contains(why) && refused.contains("hint: synthdev runs show"), "{more:?}: {refused}");
    }
    // no try was counted, and the question is still open
    let unfit = resume(token, &["--results", "[1]"]).code(2).stderr;
    assert!(unfit.contains("4 tries are left"), "{unfit}");
    resume(token, &["--results", "words"]).code(0);
}

/// So many tokens are not as many dollars.
#[test]
fn an_amount_is_for_one_kind_of_budget() {
    let world = World::new();
    let prices = json!({"providers": {"scripted": {"prices": {"input": 2, "output": 10}}}});
    world.write_user_file("models.json", &prices.to_string());
    let branch = |name: &str, budget: serde_json::Value| {
        let say = json!({"name": "say", "agent": "coder", "input": "common_data.task", "budget": budget,
            "action": {"function": "sendUserMessage"}, "transition": [{"target": "stop"}]});
        let start = json!({"name": "start", "transition": [{"target": "say"}]});
        json!({"name": name, "states": [start, say, {"name": "stop"}]})
    };
    let branches = [branch("one", json!({"tokens": 100})), branch("two", json!({"cost_usd": 0.000_001}))];
    let fork = json!({"name": "start", "type": "parallel", "transition": [{"target": "stop"}], "branches": branches});
    world.write_json("fork.json", &super::world::workflow(&json!([fork, {"name": "stop"}])));
    let hi = json!({"text": "Hi.", "usage": {"prompt": 10, "completion": 2}});
    world.write_json("replies.json", &json!({"replies": {"coder": [hi, hi]}}));
    let run = ["run", "--workflow-file", "fork.json", "--replies", "replies.json", "x", "--json"];
    let report = world.run_program(&run).code(4).json();
    assert_eq!(report["pauses"].as_array().unwrap().len(), 2, "{report}");
    let id = report["run_id"].as_str().unwrap();
    let resume = |more: &[&str]| {
        world.run_program(
            &[&["resume", id, "--replies", "replies.json", "--budget", "+100000"], more].concat(),
        )
    };
    let refused = resume(&[]).code(2).stderr;
    for part in ["several kinds of budget: dollars in `start.two/say`; tokens in `start.one/say`", "--state"]
    {
        assert!(refused.contains(part), "{refused}");
    }
    let one = resume(&["--state", "start.one/say"]).code(4).stderr;
    assert!(one.contains("raised to 100") && !one.contains("$100"), "{one}");
    resume(&["--state", "start.two/say"]).code(0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_had_no_price_then_is_told_of_then() {
    let server = ModelServer::start_server(vec![Behaviour::text("Hi.")]).await;
    let mut world = World::new();
    world.write_json("talk.json", &super::world::talk_workflow());
    world.set_variable("SYNTHDEV_BASE_URL", &server.base_url);
    world.set_variable("SYNTHDEV_API_KEY", "sk-spending-01");
    world.set_variable("SYNTHDEV_BASE_MODEL", "mock-1");
    world.run_program(&["run", "--workflow-file", "talk.json", "hello"]).code(0);
    let prices = json!({"providers": {"custom": {"prices": {"input": 2, "output": 10}}}});
    world.write_user_file("models.json", &prices.to_string());
    let text = world.run_program(&["runs", "cost"]).code(0).stdout;
    assert!(text.contains("1 call of mock-1 not counted in dollars: no price was known then"), "{text}");
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    // a script without counts gives none
    world.write_talk(&json!([{"text": "Hi."}]));
    world.run_talk(&[]).code(0);
    let text = world.run_program(&["runs", "cost"]).code(0).stdout;
    assert!(text.contains("1 call estimated") && text.contains("~$0.0000"), "{text}");
    let total = &cost(&world, &["--all"])["total"];
    assert_eq!((&total["calls_estimated"], &total["calls_without_price"]), (&json!(1), &json!(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replayed_run_has_spent_nothing() {
    let server =
        ModelServer::start_per_model_in_dialect(Dialect::Completions, script(Dialect::Completions)).await;
    let world = world_asking(&server);
    let prices = json!({"input": 2, "output": 10});
    let models = json!({"providers": {"custom": {"prices": prices}, "openai": {"prices": prices}}});
    world.write_user_file("models.json", &models.to_string());
    let run = ["run", "coder_reviewer", "count to three", "--yes"];
    world.run_program(&[&run[..], &["--record", "it.jsonl"]].concat()).code(0);
    let paid = cost(&world, &["--all"]);
    std::fs::remove_file(world.project().join("new.txt")).unwrap();
    world.run_program(&[&run[..], &["--replay", "it.jsonl"]].concat()).code(0);
    let text = world.run_program(&["runs", "cost"]).code(0).stdout;
    assert!(text.contains("replayed: $0 spent"), "{text}");
    let last = cost(&world, &[]);
    assert_eq!((&last["replayed_runs"], &last["total"]["cost_usd"]), (&json!(1), &json!(0.0)), "{last}");
    let all = cost(&world, &["--all"]);
    assert_eq!((&all["replayed_runs"], &all["total"]), (&json!(1), &paid["total"]), "{all}");
    let id = last["run"].as_str().unwrap();
    let shown = world.run_program(&["runs", "show", id]).code(0).stdout;
    assert!(shown.contains("replay     replies come from a recording"), "{shown}");
}
