//! `demo --headless`: one command, a whole run, and back again.

use std::path::{Path, PathBuf};

use super::world::World;

fn field<'a>(out: &'a str, name: &str) -> &'a str {
    let line = out.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap_or_else(|| panic!("no {name} in\n{out}")).trim()
}

fn original_text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("config/demo/project").join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn the_demo_ends_well_and_can_be_undone_and_redone() {
    let world = World::new();
    let ran = world.run_program(&["demo", "--headless"]).code(0);
    assert_eq!(field(&ran.stdout, "path "), "start > code > review > code > review > stop");
    assert!(field(&ran.stdout, "summary ").contains("slug.sh"), "{}", ran.stdout);
    assert!(field(&ran.stdout, "cost ").starts_with("$0.0000"), "{}", ran.stdout);
    assert!(ran.stderr.contains("scripted") && ran.stderr.contains("SYNTHDEV_BASE_URL"), "{}", ran.stderr);
    assert!(field(&ran.stdout, "project ").ends_with("(it stays: remove it when you have seen it)"));
    let snapshot = field(&ran.stdout, "snapshot ");
    let undo: Vec<&str> = field(&ran.stdout, "undo ").split(' ').collect();
    let ["synthdev", "-C", project, "snapshot", "restore", id] = undo[..] else { panic!("{undo:?}") };
    assert_eq!(id, snapshot);
    let project = PathBuf::from(project);
    assert!(project.starts_with(world.root().canonicalize().unwrap()), "{}", project.display());
    let read = |name: &str| std::fs::read_to_string(project.join(name)).unwrap();
    let repaired = ["slug.sh", "test.sh"].map(read);
    assert!(
        repaired[0] != original_text("slug.sh") && repaired[1] != original_text("test.sh"),
        "the tools really wrote"
    );

    world.run_program(&[&undo[1..], &["--yes"]].concat()).code(0);
    for name in ["README.md", "slug.sh", "test.sh"] {
        assert_eq!(read(name), original_text(name), "{name}");
    }
    let status =
        std::process::Command::new("git").current_dir(&project).args(["status", "--porcelain"]).output();
    assert_eq!(String::from_utf8(status.unwrap().stdout).unwrap(), "");

    let list = world
        .run_program(&["-C", &project.display().to_string(), "snapshot", "list", "--json"])
        .code(0)
        .json();
    let safety = list[0]["id"].as_str().unwrap();
    assert_ne!(safety, snapshot);
    world
        .run_program(&["-C", &project.display().to_string(), "snapshot", "restore", safety, "--yes"])
        .code(0);
    assert_eq!(["slug.sh", "test.sh"].map(read), repaired);

    let list = world.run_program(&["runs", "list", "--json"]).code(0).json();
    assert_eq!((&list[0]["workflow"], &list[0]["status"]), (&"coder_reviewer".into(), &"completed".into()));
}
