//! `runs cost`: what lists and ledgers say agrees, however it is taken apart (MODEL-9 to MODEL-11).

use serde_json::{Value, json};

use super::archive::{list, review, reviewed};
use super::world::World;

/// Two runs of coder and reviewer, at a price.
fn spent() -> World {
    let world = reviewed();
    let prices = json!({"providers": {"scripted": {"prices": {"input": 2, "output": 10, "cached": 0.5, "written": 2.5}}}});
    world.configure("models.json", &prices.to_string());
    review(&world, "make coffee", "The beans are ground.");
    world.talk(&json!([{"text": "Hi.", "usage":
        {"prompt": 1_000_000, "completion": 100_000, "cached": 400_000, "written": 200_000, "reasoning": 60_000}}]));
    world.run_talk(&["--json"]).code(0);
    world
}

fn cost(world: &World, more: &[&str]) -> Value {
    world.run(&[&["runs", "cost", "--json"], more].concat()).code(0).json()
}

fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_else(|| panic!("{key}: {value}"))
}

#[test]
fn the_last_run_by_hand() {
    let world = spent();
    let answer = cost(&world, &[]);
    let total = &answer["total"];
    // 0.4 M fresh at 2, 0.4 M cached at 0.5, 0.2 M written at 2.5, 0.1 M of answer at 10
    assert!((number(total, "cost_usd") - (0.8 + 0.2 + 0.5 + 1.0)).abs() < 1e-9, "{total}");
    assert_eq!((total["calls"].as_u64(), total["written"].as_u64()), (Some(1), Some(200_000)), "{total}");
    assert_eq!(answer["by"]["role"][0]["name"], "coder");
    assert_eq!(answer["by"]["state"][0]["name"], "say");
    let text = world.run(&["runs", "cost"]).code(0).out;
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
    let world = spent();
    let runs = list(&world, &[]);
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
    let world = spent();
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
    let text = world.run(&["runs", "cost", "--until", "2020-01-01"]).code(0).out;
    assert_eq!(text, "0 runs\nno model was called\n");
    let id = list(&world, &[])[0]["id"].as_str().unwrap().to_owned();
    for more in [&[id.as_str(), "--all"][..], &[&id, "--workflow", "talk"], &["--by", "colour"]] {
        world.run(&[&["runs", "cost"], more].concat()).code(2);
    }
    let none = World::new().run(&["runs", "cost"]);
    assert!(none.err.contains("no runs yet"), "{}", none.err);
}
