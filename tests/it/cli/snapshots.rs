//! `snapshot …`: a state of the files and the way back to it, from the command line.

use serde_json::json;

use super::world::{World, workflow};

fn world() -> World {
    let world = World::repository();
    world.write_file("kept.txt", "kept");
    world.write_file("edited.txt", "before\n");
    world.write_file("gone.txt", "gone");
    world
}

fn change_files(world: &World) {
    world.write_file("edited.txt", "after\n");
    std::fs::remove_file(world.project().join("gone.txt")).unwrap();
    world.write_file("fresh.txt", "fresh");
}

fn snapshot_ids(world: &World) -> Vec<String> {
    let list = world.run_program(&["snapshot", "list", "--json"]).code(0).json();
    list.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn create_list_show_diff_restore_and_delete() {
    let world = world();
    let created = world.run_program(&["snapshot", "create", "before", "the", "change"]).code(0).stdout;
    let id = snapshot_ids(&world).pop().unwrap();
    assert!(created.contains(&id) && created.contains("4 files"), "{created}");
    let listed = world.run_program(&["snapshot", "list"]).code(0).stdout;
    assert!(listed.contains(&id) && listed.contains("before the change"), "{listed}");
    assert!(world.run_program(&["snapshot", "show", &id]).code(0).stdout.contains("nothing has changed"));
    assert_eq!(
        world.run_program(&["snapshot", "restore", &id]).code(0).stdout.lines().count(),
        1,
        "nothing to do or to ask"
    );

    change_files(&world);
    let shown = world.run_program(&["snapshot", "show", &id]).code(0).stdout;
    for line in ["revert       edited.txt", "restore      gone.txt", "delete       fresh.txt"] {
        assert!(shown.contains(line), "no `{line}` in\n{shown}");
    }
    assert!(!shown.contains("kept.txt"), "{shown}");
    let diff = world.run_program(&["snapshot", "diff", &id]).code(0).stdout;
    for line in ["-before", "+after", "+fresh", "-gone"] {
        assert!(diff.lines().any(|found| found == line), "no `{line}` in\n{diff}");
    }
    world.run_program(&["snapshot", "create", "after"]).code(0);
    let all = snapshot_ids(&world);
    let after = all.iter().find(|other| **other != id).unwrap();
    let between = world.run_program(&["snapshot", "diff", &id, after]).code(0).stdout;
    assert_eq!(between, diff, "the second one holds what the files are now");
    let back = world.run_program(&["snapshot", "diff", after, &id]).code(0).stdout;
    assert!(
        back.lines().any(|line| line == "-after") && back.lines().any(|line| line == "+before"),
        "{back}"
    );
    world.run_program(&["snapshot", "diff", &id, "zz"]).code(2);
    let restored = world.run_program(&["snapshot", "restore", &id[..10], "--yes"]).code(0).stdout;
    assert!(restored.contains("3 files restored") && restored.contains("undo this"), "{restored}");
    assert_eq!(
        (world.read_file("edited.txt").as_str(), world.read_file("gone.txt").as_str()),
        ("before\n", "gone")
    );
    assert!(!world.project().join("fresh.txt").exists());

    let undo = restored.lines().find_map(|line| line.strip_prefix("undo this: synthdev ")).unwrap();
    let undo: Vec<&str> = undo.split(' ').chain(["--yes"]).collect();
    world.run_program(&undo).code(0);
    assert_eq!(
        (world.read_file("edited.txt").as_str(), world.read_file("fresh.txt").as_str()),
        ("after\n", "fresh")
    );
    assert!(!world.project().join("gone.txt").exists());

    let before = snapshot_ids(&world);
    assert!(world.run_program(&["snapshot", "delete", &id, "--yes"]).code(0).stdout.contains(&id));
    assert_eq!(snapshot_ids(&world).len(), before.len() - 1);
    world.run_program(&["snapshot", "show", &id]).code(2);
}

#[test]
fn a_restore_asks_and_without_anybody_to_ask_it_refuses() {
    let world = world();
    world.run_program(&["snapshot", "create"]).code(0);
    let id = snapshot_ids(&world).pop().unwrap();
    change_files(&world);
    for input in ["", "y\n"] {
        let refused = world.run_with(&["snapshot", "restore", &id], input).code(2);
        for part in ["revert       edited.txt", "no terminal is attached", "--yes"] {
            assert!(refused.stderr.contains(part), "no `{part}` in\n{}", refused.stderr);
        }
        assert_eq!((refused.stdout.as_str(), world.read_file("edited.txt").as_str()), ("", "after\n"));
    }
    assert_eq!(snapshot_ids(&world).len(), 1, "no safety snapshot for what was not done");
}

#[test]
fn a_deletion_asks_and_where_no_question_can_be_answered_it_refuses() {
    let world = world();
    world.run_program(&["snapshot", "create", "keep me"]).code(0);
    let ids = snapshot_ids(&world);
    for input in ["", "y\n"] {
        let refused = world.run_with(&["snapshot", "delete", &ids[0]], input).code(2);
        for part in [ids[0].as_str(), "keep me", "no terminal is attached", "--yes"] {
            assert!(refused.stderr.contains(part), "no `{part}` in\n{}", refused.stderr);
        }
        assert_eq!((refused.stdout.as_str(), snapshot_ids(&world)), ("", ids.clone()));
    }
    let done = world.run_program(&["snapshot", "delete", &ids[0][..10], "--yes"]).code(0);
    assert_eq!(done.stdout, format!("snapshot {} was deleted\n", ids[0]));
    assert_eq!(snapshot_ids(&world), Vec::<String>::new());
}

#[test]
fn unknown_and_ambiguous_ids_are_said_and_change_nothing() {
    let world = world();
    for label in ["one", "two"] {
        world.run_program(&["snapshot", "create", label]).code(0);
    }
    let ids = snapshot_ids(&world);
    let common: String =
        ids[0].chars().zip(ids[1].chars()).take_while(|(a, b)| a == b).map(|(a, _)| a).collect();
    assert!(!common.is_empty(), "ids made in one second begin alike: {ids:?}");
    for command in ["show", "diff", "restore", "delete"] {
        let unknown = world.run_program(&["snapshot", command, "zzzz"]).code(2);
        assert!(unknown.stderr.contains("zzzz") && unknown.stderr.contains("hint"), "{}", unknown.stderr);
        let ambiguous = world.run_program(&["snapshot", command, &common]).code(2);
        assert!(ids.iter().all(|id| ambiguous.stderr.contains(id.as_str())), "{}", ambiguous.stderr);
        assert_eq!((unknown.stdout, ambiguous.stdout), (String::new(), String::new()));
    }
    assert_eq!(self::snapshot_ids(&world), ids);
}

#[test]
fn the_home_directory_is_refused_and_a_plain_one_is_not() {
    let world = World::new();
    world.write_file("a.txt", "a");
    world.run_program(&["snapshot", "create"]).code(0);
    assert_eq!(snapshot_ids(&world).len(), 1);
    let home = world.root().join("home");
    let refused = world.run_program(&["-C", &home.display().to_string(), "snapshot", "create"]).code(2);
    assert!(refused.stderr.contains("home"), "{}", refused.stderr);
}

#[test]
fn what_there_is_is_counted() {
    let world = world();
    let none = world.run_program(&["snapshot", "stats"]).code(0).stdout;
    assert_eq!(none, "snapshots  0, 0 of 0 runs\n");
    for label in ["one", "two"] {
        world.run_program(&["snapshot", "create", label]).code(0);
        world.write_file("more.txt", "more");
    }
    let ids = snapshot_ids(&world);
    let all = world.run_program(&["snapshot", "stats", "--json"]).code(0).json();
    assert_eq!(
        (&all["count"], &all["of_runs"], &all["most_files"]),
        (&json!(2), &json!(0), &json!(5)),
        "{all}"
    );
    assert_eq!((&all["newest"]["id"], &all["oldest"]["id"]), (&json!(ids[0]), &json!(ids[1])), "{all}");
    let text = world.run_program(&["snapshot", "stats"]).code(0).stdout;
    assert!(text.contains("newest") && text.contains(&ids[1]) && text.contains("5 in the largest"), "{text}");
}

/// Keep, how many are taken by hand, labels that are left.
#[test]
fn the_snapshot_beyond_the_limit_removes_the_oldest() {
    let rows: [(&str, &str, &[&str]); 3] = [
        ("3", "0", &["s4", "s3", "s2"]),
        ("0", "0", &["s4", "s3", "s2", "s1", "s0"]),
        ("0", "1", &["s4", "s3", "s2", "s1", "s0"]),
    ];
    for (keep, days, left) in rows {
        for repository in [true, false] {
            let mut world = if repository { World::repository() } else { World::new() };
            world.set_variable("SYNTHDEV_SNAPSHOT_KEEP", keep);
            world.set_variable("SYNTHDEV_SNAPSHOT_KEEP_DAYS", days);
            for number in 0..5 {
                world.write_file("a.txt", &format!("{number}"));
                let made = world.run_program(&["snapshot", "create", &format!("s{number}")]).code(0).stdout;
                let says = made.contains("1 old snapshot deleted");
                assert_eq!(says, keep == "3" && number >= 3, "{made}");
            }
            let list = world.run_program(&["snapshot", "list", "--json"]).code(0).json();
            let labels: Vec<&str> =
                list.as_array().unwrap().iter().map(|one| one["label"].as_str().unwrap()).collect();
            assert_eq!(labels, left, "{keep} {days}");
        }
    }
}

/// What a run took stays as a whole, and what an open run took stays in any case.
#[test]
fn a_run_keeps_its_snapshots_together_and_an_open_run_keeps_them_all() {
    let mut world = World::repository();
    for (name, value) in [
        ("SYNTHDEV_SNAPSHOT_KEEP", "2"),
        ("SYNTHDEV_BASE_URL", "http://127.0.0.1:1/v1"),
        ("SYNTHDEV_BASE_MODEL", "unasked"),
    ] {
        world.set_variable(name, value);
    }
    let change = |name: &str, next: &str| {
        json!({"name": name, "type": "shell", "command": format!("echo {name} >> log.txt"),
            "transition": [{"target": next}]})
    };
    let stop = json!({"name": "stop", "input": {"text": "done"}});
    let wait = json!({"name": "wait", "type": "pause", "message": {"text": "go?"}, "transition": [{"target": "stop"}]});
    world.write_json(
        "long.json",
        &workflow(&json!([change("start", "b"), change("b", "c"), change("c", "stop"), stop])),
    );
    world.write_json("open.json", &workflow(&json!([change("start", "wait"), wait, stop])));
    let run = |file: &str, code: i32| {
        let flags = ["run", "--workflow-file", file, "--yes", "--no-sandbox", "--json", "x"];
        world.run_program(&flags).code(code).json()["run_id"].as_str().unwrap().to_owned()
    };
    let of_run = |run: &str| {
        let list = world.run_program(&["snapshot", "list", "--json"]).code(0).json();
        list.as_array().unwrap().iter().filter(|one| one["run"] == *run).count()
    };
    let open = run("open.json", 3);
    let taken = of_run(&open);
    assert!(taken >= 1);
    let long = run("long.json", 0);
    assert!(of_run(&long) > 2, "more than the limit, and none of it is gone");
    for label in ["a", "b", "c"] {
        world.write_file("a.txt", label);
        world.run_program(&["snapshot", "create", label]).code(0);
    }
    assert_eq!((of_run(&open), of_run(&long)), (taken, 0));
    world.run_program(&["runs", "cancel", &open]).code(0);
    world.run_program(&["snapshot", "create", "d"]).code(0);
    assert_eq!(of_run(&open), 0);
}
