//! `demo --headless`: one command, a whole run, and back again.

use std::path::{Path, PathBuf};

use super::world::World;

fn field<'a>(out: &'a str, name: &str) -> &'a str {
    let line = out.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in\n{out}")).trim()
}

fn original(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/demo/project").join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_demo_ends_well_and_can_be_undone_and_redone() {
    let world = World::new();
    let ran = world.run(&["demo", "--headless"]).code(0);
    assert_eq!(field(&ran.out, "path "), "start > code > review > code > review > stop");
    assert!(field(&ran.out, "summary ").contains("slug.sh"), "{}", ran.out);
    assert!(field(&ran.out, "cost ").starts_with("$0.0000"), "{}", ran.out);
    assert!(ran.err.contains("scripted") && ran.err.contains("SYNTHDEV_BASE_URL"), "{}", ran.err);
    let snapshot = field(&ran.out, "snapshot ");
    let undo: Vec<&str> = field(&ran.out, "undo ").split(' ').collect();
    let ["synthdev", "-C", project, "snapshot", "restore", id] = undo[..] else { panic!("{undo:?}") };
    assert_eq!(id, snapshot);
    let project = PathBuf::from(project);
    assert!(project.starts_with(world.root().canonicalize().unwrap()), "{}", project.display());
    let read = |name: &str| std::fs::read_to_string(project.join(name)).unwrap();
    let repaired = ["slug.sh", "test.sh"].map(read);
    assert!(
        repaired[0] != original("slug.sh") && repaired[1] != original("test.sh"),
        "the tools really wrote"
    );

    world.run(&[&undo[1..], &["--yes"]].concat()).code(0);
    for name in ["README.md", "slug.sh", "test.sh"] {
        assert_eq!(read(name), original(name), "{name}");
    }
    let status =
        std::process::Command::new("git").current_dir(&project).args(["status", "--porcelain"]).output();
    assert_eq!(String::from_utf8(status.unwrap().stdout).unwrap(), "");

    let list =
        world.run(&["-C", &project.display().to_string(), "snapshot", "list", "--json"]).code(0).json();
    let safety = list[0]["id"].as_str().unwrap();
    assert_ne!(safety, snapshot);
    world.run(&["-C", &project.display().to_string(), "snapshot", "restore", safety, "--yes"]).code(0);
    assert_eq!(["slug.sh", "test.sh"].map(read), repaired);

    let list = world.run(&["runs", "list", "--json"]).code(0).json();
    assert_eq!((&list[0]["workflow"], &list[0]["status"]), (&"coder_reviewer".into(), &"completed".into()));
}
