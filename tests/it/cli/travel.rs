//! Going back from the command line: steps, forks, rewinding, undo, replay, cancel.

mod killed;
mod refusals;
mod shared;
mod undo;

use serde_json::{Value, json};

use super::world::{Ran, World, workflow};

/// `start`, then three states in which the coder writes a file each and counts, then `stop`: five steps.
struct Past {
    world: World,
    run: String,
}

const REPLIES: [&str; 2] = ["--replies", "replies.json"];

impl Past {
    fn new() -> Self {
        let world = World::repository();
        world.write_file(".gitignore", "*.log\n");
        world.write_file("old.txt", "old\n");
        world.write_json("talk.json", &written("third"));
        world.write_json("replies.json", &json!({"replies": {"coder": replies()}}));
        let base = ["run", "--workflow-file", "talk.json", "go", "--yes", "--json"];
        let ran = world.run_program(&[&base[..], &REPLIES].concat()).code(0).json();
        assert_eq!(ran["path"], json!(["start", "first", "second", "third", "stop"]));
        let run = ran["run_id"].as_str().unwrap().to_owned();
        Self { world, run }
    }

    fn run_program(&self, arguments: &[&str]) -> Ran {
        self.world.run_program(arguments)
    }

    fn steps(&self, run: &str) -> Vec<Value> {
        self.run_program(&["runs", "steps", run, "--json"]).code(0).json().as_array().unwrap().clone()
    }

    /// Everything in the project but git's own directory.
    fn tree(&self) -> Vec<(String, Vec<u8>)> {
        let all = World::files(&self.world.project());
        all.into_iter().filter(|(path, _)| !path.starts_with(".git/")).collect()
    }

    fn names(&self) -> Vec<String> {
        let made = |(path, _): (String, _)| path.strip_suffix(".made").map(str::to_owned);
        self.tree().into_iter().filter_map(made).collect()
    }

    fn status(&self, run: &str) -> String {
        let all = self.run_program(&["runs", "list", "--json", "--limit", "0"]).code(0).json();
        let found = all.as_array().unwrap().iter().find(|one| one["id"] == run).cloned();
        found.unwrap()["status"].as_str().unwrap().to_owned()
    }

    fn resume_run(&self, run: &str) -> Ran {
        self.run_program(&[&["resume", run, "--yes", "--json"][..], &REPLIES].concat())
    }

    fn assert_same(&self, run: &str) {
        let told = self.run_program(&["runs", "replay", run]).code(0).stdout;
        assert!(told.contains("the same "), "{told}");
    }
}

fn written(last: &str) -> Value {
    let step = |name: &str, target: &str| {
        json!({"name": name, "agent": "coder", "input": format!("write {name}"),
            "action": {"function": "sendUserMessage"},
            "transition": [{"target": target, "condition": "true",
                "before": "() => { this.common_data.count = (this.common_data.count || 0) + 1; \
                           this.common_data.result = 'count ' + this.common_data.count; }"}]})
    };
    let mut workflow = workflow(&json!([
        {"name": "start", "transition": [{"target": "first"}]},
        step("first", "second"), step("second", last), step(last, "stop"), {"name": "stop"}
    ]));
    workflow["workflow_name"] = "written".into();
    workflow
}

fn replies() -> Value {
    let write = |name: &str| {
        let arguments = json!({"file_path": format!("{name}.made"), "content": format!("by {name}\n")});
        [
            json!({"tool_calls": [{"name": "write_file", "arguments": arguments}]}),
            json!({"text": format!("{name} is done.")}),
        ]
    };
    ["first", "second", "third"].iter().flat_map(|name| write(name)).collect()
}

#[test]
fn steps_are_numbered_and_shown_alike() {
    let past = Past::new();
    let told = past.run_program(&["runs", "steps", &past.run]).code(0).stdout;
    assert_eq!(told.lines().count(), 5, "{told}");
    let steps = past.steps(&past.run);
    let states: Vec<&str> = steps.iter().map(|step| step["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["start", "first", "second", "third", "stop"]);
    assert_eq!(steps[2]["step"], 3);
    assert!(steps.iter().all(|step| step["exact"] == true && step["files"].is_string()), "{steps:#?}");
    // the first two begin with the same files
    assert_eq!(steps[0]["files"], steps[1]["files"]);
    assert!(steps[1]["files"] != steps[2]["files"] && steps[2]["files"] != steps[3]["files"]);
    let shown = past.run_program(&["runs", "show", &past.run]).code(0).stdout;
    for line in ["● 1 start", "● 3 second (coder)", "undo: synthdev runs undo"] {
        assert!(shown.contains(line), "no `{line}` in\n{shown}");
    }
    let why = past.run_program(&["why", &past.run, "3"]).code(0).stdout;
    assert!(why.starts_with("step 3: second, after first"), "{why}");
    assert_eq!(past.run_program(&["why", &past.run, "3", "--json"]).code(0).json()["state"], "second");
    past.assert_same(&past.run);
}

/// The preview marks files that the run did not change.
fn assert_foreign_marked(preview: &str) {
    for (file, foreign) in
        [("old.txt", true), ("stray.txt", true), ("second.made", false), ("third.made", false)]
    {
        let line = preview.lines().find(|line| line.contains(file)).unwrap();
        assert_eq!(line.ends_with("  (not changed by this run)"), foreign, "{line}");
    }
}

#[test]
fn a_run_goes_back_with_its_files_and_on_again() {
    let past = Past::new();
    let before = past.tree();
    past.world.write_file("old.txt", "edited by hand\n");
    past.world.write_file("stray.txt", "stray");
    past.world.write_file("kept.log", "ignored");
    let index = std::fs::read(past.world.project().join(".git/index")).unwrap();
    let dirty = past.tree();

    let asked = past.run_program(&["runs", "rewind", &past.run, "--to", "3"]).code(2);
    for part in ["revert       old.txt", "delete       stray.txt", "delete       third.made", "--yes"] {
        assert!(asked.stderr.contains(part), "no `{part}` in\n{}", asked.stderr);
    }
    assert_foreign_marked(&asked.stderr);
    assert_eq!((past.tree(), past.status(&past.run)), (dirty.clone(), "completed".to_owned()));

    let back = past.run_program(&["runs", "rewind", &past.run, "--to", "3", "--yes"]).code(0);
    let once = format!("{}{}", back.stderr, back.stdout);
    assert_eq!(once.matches("stray.txt").count(), 1, "{once}");
    let back = back.stdout;
    assert!(
        back.contains("4 files restored") && back.contains(&format!("synthdev resume {}", past.run)),
        "{back}"
    );
    assert_eq!(past.names(), ["first"]);
    assert_eq!(
        (past.world.read_file("old.txt").as_str(), past.world.read_file("kept.log").as_str()),
        ("old\n", "ignored")
    );
    assert_eq!(std::fs::read(past.world.project().join(".git/index")).unwrap(), index);
    assert_eq!(past.status(&past.run), "paused");
    let steps = past.steps(&past.run);
    assert_eq!((steps.len(), &steps[2]["mark"], &steps[2]["visit"]), (3, &json!("next"), &json!(0)));
    let shown = past.run_program(&["runs", "show", &past.run]).code(0).stdout;
    for line in
        ["↩ rewound to before step 3 (second): files as in snapshot", "waits for", "go on: synthdev resume"]
    {
        assert!(shown.contains(line), "no `{line}` in\n{shown}");
    }
    past.assert_same(&past.run);

    // the restore can be undone, and repeated from the run's new position
    let undo = back.lines().find_map(|line| line.strip_prefix("undo this: synthdev ")).unwrap();
    past.run_program(&undo.split(' ').chain(["--yes"]).collect::<Vec<_>>()).code(0);
    assert_eq!(past.tree(), dirty);
    past.run_program(&["runs", "rewind", &past.run, "--to", "3", "--yes"]).code(0);
    assert_eq!(past.names(), ["first"]);

    let ended = past.resume_run(&past.run).code(0).json();
    assert_eq!(
        (&ended["output"], &ended["path"]),
        (&json!("count 3"), &json!(["start", "first", "second", "third", "stop"]))
    );
    std::fs::remove_file(past.world.project().join("kept.log")).unwrap();
    assert_eq!(past.tree(), before);
    past.assert_same(&past.run);
    let shown = past.run_program(&["runs", "show", &past.run]).code(0).stdout;
    assert!(shown.contains("▶ resumed") && shown.contains("● 3 second (coder)"), "{shown}");

    // and once more, further back
    past.run_program(&["runs", "rewind", &past.run, "--to", "1", "--yes"]).code(0);
    assert_eq!(past.names(), [""; 0]);
    assert_eq!(past.resume_run(&past.run).code(0).json()["output"], "count 3");
    assert_eq!(past.tree(), before);
    past.assert_same(&past.run);
    past.run_program(&["runs", "undo", &past.run, "--yes"]).code(0);
    assert_eq!(past.names(), [""; 0]);
}

#[test]
fn kept_files_stay_and_count_as_those_of_the_step() {
    let past = Past::new();
    let told = past.run_program(&["runs", "rewind", &past.run, "--to", "3", "--keep-files"]).code(2);
    assert!(told.stderr.contains("--yes"), "{}", told.stderr);
    past.run_program(&["runs", "rewind", &past.run, "--to", "3", "--keep-files", "--yes"]).code(0);
    assert_eq!(past.names(), ["first", "second", "third"]);
    past.world.write_file("old.txt", "edited while it stood\n");
    past.resume_run(&past.run).code(0);
    past.world.write_file("old.txt", "edited later\n");
    // step 3 began again with the files that were there then
    past.run_program(&["runs", "rewind", &past.run, "--to", "3", "--yes"]).code(0);
    assert_eq!(past.world.read_file("old.txt"), "edited while it stood\n");
    assert_eq!(past.names(), ["first", "second", "third"]);
    // and before the run is still before the run
    past.run_program(&["runs", "undo", &past.run, "--yes"]).code(0);
    assert_eq!((past.names(), past.world.read_file("old.txt")), (vec![], "old\n".to_owned()));
}

/// Also where only a later state writes the name that was meant.
#[test]
fn a_fork_refuses_a_slip_of_a_name_before_and_after_it_was_written() {
    let past = Past::new();
    for at in ["2", "4"] {
        let fork = ["runs", "fork", &past.run, "--at", at, "--set"];
        let told = past.run_program(&[&fork[..], &["common_data.reslut=1"]].concat()).code(2).stderr;
        assert!(told.contains("common_data has no `reslut`"), "{told}");
        assert!(told.contains("did you mean `result`? If `reslut` is new, write +reslut"), "{told}");
        past.run_program(&[&fork[..], &["common_data.+reslut=1"]].concat()).code(0);
        past.run_program(&[&fork[..], &["common_data.result=1"]].concat()).code(0);
    }
}

/// A state is its last step, wherever a step is taken.
fn check_named_states(past: &Past, new: &str) {
    let by_state = past.run_program(&["why", &past.run, "third"]).code(0).stdout;
    assert_eq!(by_state, past.run_program(&["why", &past.run, "4"]).code(0).stdout);
    let by_state = past.run_program(&["runs", "fork", &past.run, "--at", "third", "--json"]).code(0).json();
    assert_eq!(by_state["step"], 4);
    past.run_program(&["runs", "rewind", new, "--to", "third", "--yes"]).code(0);
    past.resume_run(new).code(0);
    for named in
        [&["why", &past.run, "fourth"][..], &["runs", "rewind", &past.run, "--to", "fourth", "--yes"]]
    {
        let refused = past.run_program(named).code(2).stderr;
        assert!(
            refused.contains("no step in a state `fourth`: it has entered start, first, second, third"),
            "{refused}"
        );
    }
}

/// What a fork has set stands where it is compared with its run.
fn check_compared(past: &Past, new: &str) {
    let compared = past.run_program(&["runs", "diff", &past.run, new]).code(0).stdout;
    let (extra, odd) =
        ("common_data.extra.deep\n- no value\n+ \"plain text\"\n", "common_data.cuont\n- no value\n+ 1\n");
    for part in [&format!("  {} at step 4\n", past.run), "common_data.count\n- 2\n+ 40\n", extra, odd] {
        assert!(compared.contains(part), "no `{part}` in\n{compared}");
    }
    let compared = past.run_program(&["runs", "diff", new, &past.run, "--json"]).code(0).json();
    let fork_of = json!({"run": past.run, "step": 4});
    assert_eq!((&compared["first"]["fork_of"], compared["second"].get("fork_of")), (&fork_of, None));
    assert_eq!(compared["data"][0], json!({"name": "count", "first": 40, "second": 2}));
}

#[test]
fn a_fork_is_another_run_with_other_data() {
    let past = Past::new();
    let old = past.run_program(&["runs", "show", &past.run, "--json"]).code(0).stdout;
    // a name that is nearly another is new because the sign says so
    let (known, odd) = ("common_data.count=40", "common_data.+cuont=1");
    let set = ["--set", known, "--set", "common_data.extra.deep=plain text", "--set", odd];
    let fork = ["runs", "fork", &past.run, "--at", "4", "--json"];
    let forked = past.run_program(&[&fork[..], &set].concat()).code(0).json();
    let new = forked["run_id"].as_str().unwrap().to_owned();
    assert_eq!((&forked["step"], &forked["state"]), (&json!(4), &json!("third")));
    let notes = forked["notes"].to_string();
    assert!(notes.contains("`extra`") && notes.contains("no `cuont` at that step: it is new\""), "{notes}");
    assert!(notes.contains("not as at step 4"), "{notes}");
    assert_eq!(past.status(&new), "paused");
    assert_eq!(past.names(), ["first", "second", "third"], "the files stay");
    let ended = past.resume_run(&new).code(0).json();
    assert_eq!(ended["output"], "count 41");
    assert_eq!(
        past.run_program(&["runs", "show", &past.run, "--json"]).code(0).stdout,
        old,
        "the old run stays"
    );
    let shown = past.run_program(&["runs", "show", &new]).code(0).stdout;
    for part in [
        format!("from       fork of run {} before step 4", past.run),
        format!("↩ forked from run {}", past.run),
    ] {
        assert!(shown.contains(&part), "no `{part}` in\n{shown}");
    }
    past.assert_same(&new);
    check_named_states(&past, &new);
    check_compared(&past, &new);

    // a fork of the fork, with the files of that step, from its current position; undoing a fork leads back to its
    // start
    let again = ["runs", "fork", &new, "--at", "3", "--restore-files"];
    past.run_program(&again).code(2);
    assert_eq!(past.names(), ["first", "second", "third"]);
    let told = past.run_program(&[&again[..], &["--yes"]].concat()).code(0).stdout;
    assert!(told.contains("2 files restored") && told.contains("undo this"), "{told}");
    assert_eq!(past.names(), ["first"]);
    let second =
        told.lines().find_map(|line| line.strip_prefix("go on: synthdev resume ")).unwrap().to_owned();
    let third =
        past.run_program(&["runs", "fork", &second, "--at", "3", "--set", "common_data.count=7", "--json"]);
    let third = third.code(0).json()["run_id"].as_str().unwrap().to_owned();
    assert_eq!(past.resume_run(&second).code(0).json()["output"], "count 3");
    assert_eq!(past.names(), ["first", "second", "third"]);
    past.run_program(&["runs", "undo", &second, "--yes"]).code(0);
    assert_eq!(past.names(), ["first"]);
    assert_eq!(past.resume_run(&third).code(0).json()["output"], "count 9");
    past.assert_same(&second);
    past.assert_same(&third);
}

#[test]
fn a_fork_goes_on_under_another_definition() {
    let past = Past::new();
    past.world.write_json("other.json", &written("last"));
    let fork = |at: &str, file: &str| {
        past.run_program(&["runs", "fork", &past.run, "--at", at, "--definition", file])
    };
    let runs = || past.run_program(&["runs", "list", "--json"]).code(0).json().as_array().unwrap().len();
    // the state is not there any more
    let gone = fork("4", "other.json").code(2);
    assert!(gone.stderr.contains("third") && gone.stderr.contains("nothing was changed"), "{}", gone.stderr);
    past.world.write_file("broken.json", "{\"workflow_name\": \"written\", \"states\": []}");
    let broken = fork("3", "broken.json").code(2);
    assert!(broken.stderr.contains("broken.json"), "{}", broken.stderr);
    fork("3", "missing.json").code(2);
    assert_eq!(runs(), 1);
    let told = fork("3", "other.json").code(0).stdout;
    let new = told.lines().find_map(|line| line.strip_prefix("go on: synthdev resume ")).unwrap();
    let ended = past.resume_run(new).code(0).json();
    assert_eq!(ended["path"], json!(["start", "first", "second", "last", "stop"]));
    past.assert_same(new);
}

#[test]
fn completed_failed_and_cancelled_runs_go_back_and_are_forked() {
    let past = Past::new();
    // one that fails: its second state gets no reply
    let two = json!({"replies": {"coder": replies().as_array().unwrap()[..2].to_vec()}});
    past.world.write_json("short.json", &two);
    let failing = ["run", "--workflow-file", "talk.json", "go", "--yes", "--json", "--replies", "short.json"];
    let failed = past.run_program(&failing).code(1).json()["run_id"].as_str().unwrap().to_owned();
    let steps = past.steps(&failed);
    assert_eq!((steps.len(), &steps[2]["mark"]), (3, &json!("failed")));
    let shown = past.run_program(&["runs", "show", &failed]).code(0).stdout;
    assert!(shown.contains("try the state again: synthdev runs retry"), "{shown}");
    // and one that was given up where it stood
    let cancelled = past.run_program(&failing).code(1).json()["run_id"].as_str().unwrap().to_owned();
    past.run_program(&["runs", "cancel", &cancelled]).code(0);
    let twice = past.run_program(&["runs", "cancel", &cancelled]).code(2);
    assert!(twice.stderr.contains("cancelled already"), "{}", twice.stderr);
    past.resume_run(&cancelled).code(2);

    for (run, status) in [(&past.run, "completed"), (&failed, "failed"), (&cancelled, "cancelled")] {
        assert_eq!(past.status(run), status);
        let told = past.run_program(&["runs", "fork", run, "--at", "2"]).code(0).stdout;
        let fork =
            told.lines().find_map(|line| line.strip_prefix("go on: synthdev resume ")).unwrap().to_owned();
        past.run_program(&["runs", "rewind", run, "--to", "2", "--yes"]).code(0);
        assert_eq!(past.status(run), "paused");
        for one in [run, &fork] {
            assert_eq!(past.resume_run(one).code(0).json()["output"], "count 3", "{status}");
            past.assert_same(one);
        }
    }
    // what went back can be given up, and go back again
    past.run_program(&["runs", "rewind", &failed, "--to", "3", "--yes"]).code(0);
    past.run_program(&["runs", "cancel", &failed]).code(0);
    assert_eq!(past.status(&failed), "cancelled");
    past.assert_same(&failed);
    past.run_program(&["runs", "rewind", &failed, "--to", "3", "--yes"]).code(0);
    assert_eq!(past.resume_run(&failed).code(0).json()["output"], "count 3");
    past.assert_same(&failed);
}

#[test]
fn undo_lists_asks_and_can_be_undone() {
    let past = Past::new();
    let after = past.tree();
    let asked = past.run_program(&["runs", "undo", &past.run]).code(2);
    assert!(
        asked.stderr.contains("delete       first.made") && asked.stderr.contains("--yes"),
        "{}",
        asked.stderr
    );
    assert_eq!(past.tree(), after);
    let done = past.run_program(&["runs", "undo", &past.run[..12], "--yes"]).code(0).stdout;
    assert!(done.contains("3 files restored"), "{done}");
    assert_eq!(past.names(), [""; 0]);
    assert!(past.run_program(&["runs", "undo", &past.run]).code(0).stdout.contains("nothing to undo"));
    let undo = done.lines().find_map(|line| line.strip_prefix("undo this: synthdev ")).unwrap();
    past.run_program(&undo.split(' ').chain(["--yes"]).collect::<Vec<_>>()).code(0);
    assert_eq!(past.tree(), after);
}

#[test]
fn a_pause_is_told_with_its_answer() {
    let world = World::new();
    world.write_json(
        "w.json",
        &json!({"workflow_name": "w", "snapshot": "off", "states": [
            {"name": "start", "type": "pause", "kind": "text", "message": {"text": "Which colour?"},
                "transition": [{"target": "stop"}]},
            {"name": "stop"}]}),
    );
    let run =
        world.run_program(&["run", "--workflow-file", "w.json", "--json"]).code(3).json()["run_id"].clone();
    let run = run.as_str().unwrap();
    let waits = world.run_program(&["runs", "show", run]).code(0).stdout;
    assert!(!waits.contains("answered"), "{waits}");
    for line in ["start: input (text): Which colour?", "go on: synthdev resume"] {
        assert!(waits.contains(line), "no `{line}` in\n{waits}");
    }
    assert!(world.run_program(&["runs", "steps", run]).code(0).stdout.starts_with("→    1"));
    assert_eq!(world.run_program(&["runs", "steps", run, "--json"]).code(0).json()[0]["mark"], "paused");
    world.run_program(&["resume", run, "--results", "green"]).code(0);
    let told = world.run_program(&["runs", "show", run]).code(0).stdout;
    for line in ["▶ resumed", "answered (start asks: Which colour?): green", "● 2 stop"] {
        assert!(told.contains(line), "no `{line}` in\n{told}");
    }
    // back to the question: it is asked again
    world.run_program(&["runs", "rewind", run, "--to", "1", "--keep-files", "--yes"]).code(0);
    world.run_program(&["resume", run]).code(3);
    assert!(world.run_program(&["runs", "replay", run]).code(0).stdout.contains("the same "));
}

#[test]
fn an_isolated_run_goes_back_in_its_worktree() {
    let past = Past::new();
    past.run_program(&["runs", "undo", &past.run, "--yes"]).code(0);
    let base = ["run", "--workflow-file", "talk.json", "go", "--yes", "--json", "--isolate"];
    let ran = past.run_program(&[&base[..], &REPLIES].concat()).code(0).json();
    let run = ran["run_id"].as_str().unwrap();
    let list = past.run_program(&["runs", "list", "--json"]).code(0).json();
    let tree = std::path::PathBuf::from(list[0]["worktree"]["path"].as_str().unwrap());
    assert!(
        past.run_program(&["runs", "show", run])
            .code(0)
            .stdout
            .contains(&format!("worktree   {}", tree.display()))
    );
    assert!(
        past.run_program(&["runs", "undo", run, "--yes"])
            .code(2)
            .stderr
            .contains(&format!("runs discard {run}"))
    );
    let made = || ["first", "second", "third"].map(|name| tree.join(format!("{name}.made")).exists());
    assert_eq!((made(), past.names()), ([true; 3], vec![]));
    past.run_program(&["runs", "rewind", run, "--to", "3", "--yes"]).code(0);
    assert_eq!(made(), [true, false, false]);
    assert_eq!(past.resume_run(run).code(0).json()["output"], "count 3");
    assert_eq!((made(), past.names()), ([true; 3], vec![]));
    let other = past.run_program(&["runs", "fork", run, "--at", "3", "--restore-files", "--yes"]).code(2);
    assert!(other.stderr.contains("worktree of its own"), "{}", other.stderr);
    let fork = past.run_program(&["runs", "fork", run, "--at", "3"]).code(0).stdout;
    assert!(fork.contains("note: the run worked in a worktree"), "{fork}");
    past.run_program(&["runs", "discard", run, "--force"]).code(0);
    let gone = past.run_program(&["runs", "rewind", run, "--to", "3", "--yes"]).code(2);
    assert!(gone.stderr.contains("worktree") && gone.stderr.contains("gone"), "{}", gone.stderr);
}

#[test]
fn inside_of_branches_the_files_go_back_to_before_them() {
    let world = World::repository();
    let shell = |name: &str, command: &str, target: &str| json!({"name": name, "type": "shell", "command": command, "transition": [{"target": target}]});
    let branch = |name: &str| {
        json!({"name": name, "states": [shell("start", &format!("echo > {name}.made"), "more"),
            shell("more", &format!("echo more > {name}.made"), "end"), {"name": "end", "type": "final", "input": "'x'"}]})
    };
    world.write_json(
        "w.json",
        &json!({"workflow_name": "w", "states": [
            shell("start", "echo > begun.made", "both"),
            {"name": "both", "type": "parallel", "branches": [branch("left"), branch("right")],
                "transition": [{"target": "stop"}]},
            {"name": "stop"}]}),
    );
    let ran = world.run_program(&["run", "--workflow-file", "w.json", "--yes", "--json"]).code(0).json();
    let run = ran["run_id"].as_str().unwrap();
    let steps = world.run_program(&["runs", "steps", run, "--json"]).code(0).json();
    let steps = steps.as_array().unwrap();
    let inside = steps.iter().find(|step| step["state"] == "both.left/more").unwrap();
    assert_eq!((&inside["within"], &inside["exact"]), (&json!("both"), &json!(false)));
    assert_eq!(inside["files"], steps[1]["files"]);
    let step = inside["step"].to_string();
    let told = world.run_program(&["runs", "rewind", run, "--to", &step, "--yes"]).code(0);
    assert!(
        told.stderr.contains("in a branch of `both`") && told.stderr.contains("step 2 (both)"),
        "{}",
        told.stderr
    );
    assert!(told.stdout.contains("is back before step 2 (both)"), "{}", told.stdout);
    let exists = |name: &str| world.project().join(format!("{name}.made")).exists();
    assert_eq!((exists("begun"), exists("left"), exists("right")), (true, false, false));
    world.run_program(&["resume", run, "--yes"]).code(0);
    assert!(exists("left"));
    let fork = ["runs", "fork", run, "--at", &step, "--restore-files", "--yes", "--json"];
    let forked = world.run_program(&fork).code(0).json();
    assert_eq!((&forked["step"], &forked["state"]), (&json!(2), &json!("both")));
    assert!(forked["notes"].to_string().contains("in a branch of `both`"), "{forked}");
    assert!(!exists("left"));
}

#[test]
fn without_files_other_branches_keep_what_they_had_begun() {
    let world = World::repository();
    world.write_file(".gitignore", "*.log\n");
    let shell = |name: &str, command: &str, target: &str| json!({"name": name, "type": "shell", "command": command, "transition": [{"target": target}]});
    let end = || json!({"name": "end", "type": "final", "input": "'x'"});
    let left = json!({"name": "left", "states": [
        shell("start", "until [ -s side.log ]; do sleep 0.01; done", "more"),
        shell("more", "echo >> go.log", "end"), end()]});
    let right = json!({"name": "right", "states": [
        shell("start", "echo push >> side.log; until [ -e go.log ]; do sleep 0.01; done", "later"),
        shell("later", "echo later >> later.log", "end"), end()]});
    let states = json!([
        {"name": "start", "type": "parallel", "branches": [left, right], "transition": [{"target": "stop"}]},
        {"name": "stop"}]);
    world.write_json("w.json", &json!({"workflow_name": "w", "states": states}));
    let ran = world.run_program(&["run", "--workflow-file", "w.json", "--yes", "--json"]).code(0).json();
    let run = ran["run_id"].as_str().unwrap();
    let steps = world.run_program(&["runs", "steps", run, "--json"]).code(0).json();
    let more = steps.as_array().unwrap().iter().find(|step| step["state"] == "start.left/more").unwrap();
    let step = more["step"].to_string();
    let told = world.run_program(&["runs", "rewind", run, "--to", &step, "--keep-files", "--yes"]).code(0);
    // the output names the work that had not begun by then
    assert!(told.stderr.contains("is done again: start.right/later"), "{}", told.stderr);
    world.run_program(&["resume", run, "--yes"]).code(0);
    assert_eq!(world.read_file("side.log"), "push\n");
    assert_eq!(world.read_file("later.log"), "later\nlater\n");
    assert!(world.run_program(&["runs", "replay", run]).code(0).stdout.contains("the same "));
}
