//! What is shipped: workflows and roles without a finding, and tests beside each workflow that hold and go everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::{Value, json};

use super::world::World;

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/workflows");

/// Workflow names of the files that are shipped.
pub fn names() -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(FOLDER)
        .unwrap()
        .filter_map(|entry| entry.unwrap().file_name().into_string().ok())
        .filter_map(|file| file.strip_suffix(".json").map(str::to_owned))
        .filter(|name| !name.contains('.'))
        .collect();
    names.sort();
    names
}

#[test]
fn nothing_is_found_in_what_is_shipped() {
    let world = World::new();
    for of in [&["check", "--json"][..], &["check", FOLDER, "--json"]] {
        let report = world.run_program(of).code(0).json();
        assert_eq!(report["findings"], json!([]), "not a warning, not even a note");
        let mut read: Vec<&str> = report["workflows"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["workflow"].as_str().unwrap())
            .collect();
        read.sort_unstable();
        assert_eq!(read, names());
    }
}

#[test]
fn the_tests_of_shipped_workflows_hold_and_visit_every_state_by_every_way() {
    let world = World::new();
    let report = world.run_program(&["test", "--json"]).code(0).json();
    let mut went: BTreeMap<&str, Went> = BTreeMap::new();
    for test in report["tests"].as_array().unwrap() {
        assert_eq!((&test["passed"], &test["problems"]), (&json!(true), &json!([])), "{test}");
        went.entry(test["workflow"].as_str().unwrap()).or_default().follow_path(&test["path"]);
    }
    for name in names() {
        let went = &went[name.as_str()];
        assert!(went.tests >= 3, "{name}: a straight path, another one, a failure");
        let graphs = world.run_program(&["graph", &name, "--format", "json"]).code(0).json();
        let state = |index: &Value| {
            let node = &graphs[0]["nodes"][usize::try_from(index.as_u64().unwrap()).unwrap()];
            node["name"].as_str().unwrap().to_owned()
        };
        for node in graphs[0]["nodes"].as_array().unwrap() {
            let node = node["name"].as_str().unwrap();
            assert!(went.states.contains(node), "{name}: no test visits `{node}`");
        }
        // a limit or an error can leave any state, which a path does not show
        let ways = graphs[0]["edges"].as_array().unwrap().iter().filter(|edge| edge["kind"] == "transition");
        for edge in ways {
            let way = (state(&edge["from"]), state(&edge["to"]));
            assert!(went.exits.contains(&way), "{name}: no test goes {way:?}");
        }
    }
}

/// Where the tests of one workflow have been.
#[derive(Default)]
struct Went {
    tests: usize,
    states: BTreeSet<String>,
    exits: BTreeSet<(String, String)>,
}

impl Went {
    fn follow_path(&mut self, path: &Value) {
        self.tests += 1;
        // the last state of the workflow itself, and of each branch, item and child
        let mut last: BTreeMap<&str, String> = BTreeMap::new();
        for state in path.as_array().unwrap().iter().filter_map(Value::as_str) {
            let lane = state.rsplit_once('/').map_or("", |(lane, _)| lane);
            let name = without_items(state);
            if let Some(from) = last.insert(lane, name.clone()) {
                self.exits.insert((from, name.clone()));
            }
            self.states.insert(name);
        }
    }
}

/// `each[3]/work` as drawings call it: `each/work`.
fn without_items(state: &str) -> String {
    let mut parts = state.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |name, part| name + part.split_once(']').map_or(part, |(_, rest)| rest))
}
