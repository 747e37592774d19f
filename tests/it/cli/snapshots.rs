//! `snapshot …`: a state of the files and the way back to it, from the command line.

use super::world::World;

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
    assert!(world.run_program(&["snapshot", "delete", &id]).code(0).stdout.contains(&id));
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
