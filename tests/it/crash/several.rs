//! Three processes on one store for some time: two that make one run after the other, each in a project of its own,
//! and one that reads. Nobody meets a lock, and nothing is lost.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use synthdev::adapters::sqlite::SqliteStore;
use synthdev::domain::ids::RunId;
use synthdev::domain::journal::{RunQuery, RunStatus, SearchQuery};
use synthdev::ports::run_store::RunStore;

use super::super::cli::world::{Ran, World, workflow};
use super::number;

/// Without `CRASH_SECONDS`.
const SECONDS: u64 = 3;
/// What each run says once, and a search looks for.
const WORD: &str = "zanzibar";

#[test]
fn two_that_run_and_one_that_reads_share_a_store() {
    let world = World::repository();
    let projects = [world.project(), second_project(&world)];
    write_scene(&world);
    let one = &runs_for(&world, &projects[0], Duration::ZERO)[0].clone();
    let store = SqliteStore::new(world.data().join("runs.sqlite"));
    let rows_of = |run: &str| store.load(&RunId::from(run)).unwrap().1.len();
    let each = rows_of(one);
    let time = Duration::from_secs(number("CRASH_SECONDS").unwrap_or(SECONDS));
    let (made, read) = thread::scope(|scope| {
        let loops = projects.each_ref().map(|project| scope.spawn(|| runs_for(&world, project, time)));
        let reader = scope.spawn(|| reads_for(&world, time));
        let made: Vec<String> = loops.into_iter().flat_map(|one| one.join().unwrap()).collect();
        (made, reader.join().unwrap())
    });
    println!("{} runs of {each} rows, {read} readings in {time:?}", made.len());

    let listed = store.list(&RunQuery::newest(0)).unwrap();
    assert_eq!(listed.len(), made.len() + 1, "every run that was reported is listed, and no other");
    assert!(listed.iter().all(|run| run.progress.status == RunStatus::Completed));
    for run in &made {
        assert_eq!(rows_of(run), each, "{run}");
    }
    let query = SearchQuery { text: WORD.to_owned(), ..SearchQuery::default() };
    // a process indexes what it has said when it ends: nothing is left to this search
    let found = store.search(&query, &|_| None).unwrap();
    assert_eq!(found.len(), listed.len(), "everything that was said is found");
}

/// Runs one after the other, at least one; their ids.
fn runs_for(world: &World, project: &Path, time: Duration) -> Vec<String> {
    let (began, mut made) = (Instant::now(), Vec::new());
    let (at, replies) = (project.to_str().unwrap(), replies(world).display().to_string());
    let definition = definition(world).display().to_string();
    while made.is_empty() || began.elapsed() < time {
        let arguments =
            ["-C", at, "run", "--workflow-file", &definition, "--replies", &replies, "go", "--yes", "--json"];
        let ran = assert_undisturbed(world.run_program(&arguments).code(0));
        let report = ran.json();
        assert_eq!(report["warnings"], json!([]), "{report:#}");
        made.push(report["run_id"].as_str().unwrap().to_owned());
    }
    made
}

/// Looks at lists, runs and words; how often.
fn reads_for(world: &World, time: Duration) -> usize {
    let (began, mut read) = (Instant::now(), 0);
    // as a screen that stays open
    let store = SqliteStore::new(world.data().join("runs.sqlite"));
    let mut before = 0;
    while began.elapsed() < time {
        let list = assert_undisturbed(world.run_program(&["runs", "list", "--json"]).code(0)).json();
        for run in list.as_array().unwrap().iter().take(3) {
            assert_undisturbed(
                world.run_program(&["runs", "show", run["id"].as_str().unwrap(), "--json"]).code(0),
            );
        }
        let there = store.list(&RunQuery::newest(0)).unwrap().len();
        assert!(there >= before, "{there} runs, and {before} before");
        before = there;
        for run in store.list(&RunQuery::newest(5)).unwrap() {
            store.load(&run.id).unwrap();
        }
        let found = assert_undisturbed(
            world.run_program(&["runs", "search", WORD, "--limit", "5", "--json"]).code(0),
        );
        assert!(found.stdout.contains(WORD), "{}", found.stdout);
        read += 1;
    }
    read
}

/// The output for users mentions nothing that only programs have to know.
fn assert_undisturbed(ran: Ran) -> Ran {
    for line in ran.stderr.lines() {
        let lower = line.to_lowercase();
        assert!(!["lock", "busy", "no longer recorded"].iter().any(|word| lower.contains(word)), "{line}");
    }
    ran
}

fn second_project(world: &World) -> PathBuf {
    let path = world.root().join("second");
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("README.md"), "# second\n").unwrap();
    let at = path.to_str().unwrap();
    world.git(&["-C", at, "init", "-q", "-b", "main"]);
    world.git(&["-C", at, "add", "."]);
    world.git(&["-C", at, "commit", "-q", "-m", "first"]);
    path
}

fn definition(world: &World) -> PathBuf {
    world.root().join("load.json")
}

fn replies(world: &World) -> PathBuf {
    world.root().join("load-replies.json")
}

/// Many small rows: scripts that count, tools that write, and words.
fn write_scene(world: &World) {
    let to = |target: &str| json!([{"target": target}]);
    let states = json!([
        {"name": "start", "action": {"script": "() => { common_data.round = (common_data.round ?? 0) + 1; }"},
         "transition": [{"target": "say"}]},
        {"name": "say", "agent": "coder", "input": {"template": "round {{common_data.round}}"},
         "transition": [{"target": "start", "condition": "common_data.round < 4"}, {"target": "last"}]},
        {"name": "last", "agent": "coder", "input": {"text": "the word"}, "transition": to("stop")},
        {"name": "stop", "input": {"text": "done"}}]);
    let round = |number: usize| {
        let call = json!({"name": "write_file",
            "arguments": {"file_path": format!("{number}.txt"), "content": "x".repeat(3_000)}});
        [json!({"tool_calls": [call]}), json!({"text": "a long answer ".repeat(200)})]
    };
    let mut said: Vec<Value> = (1..=4).flat_map(round).collect();
    said.push(json!({"text": WORD}));
    fs::write(definition(world), workflow(&states).to_string()).unwrap();
    fs::write(replies(world), json!({"replies": {"coder": said}}).to_string()).unwrap();
}
