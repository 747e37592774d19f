//! Nothing outside the project is read, listed, searched or written (ERR-6).

use std::os::unix::fs::symlink;

use serde_json::json;

use super::Project;

#[tokio::test]
async fn no_way_out() {
    let outside = tempfile::tempdir().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "SECRET").unwrap();
    let project = Project::with(&[("in/a", "a"), (".git/config", "[core]"), ("data/db", "x")], |settings| {
        settings.hidden_paths = vec!["data".into()];
    });
    let link = |target: &std::path::Path, name: &str| symlink(target, project.root().join(name)).unwrap();
    link(outside.path(), "away");
    link(&secret, "file");
    link(&outside.path().join("new"), "dangling");
    link(std::path::Path::new("in"), "inner");
    link(std::path::Path::new(".git"), "meta");
    link(std::path::Path::new("loop"), "loop");
    let up = format!("../{}/secret", outside.path().file_name().unwrap().to_string_lossy());
    let absolute = secret.to_string_lossy().into_owned();
    let edit = |path: &str| json!({"file_path": path, "old_text": "SECRET", "new_text": "x"});
    for (path, why) in [
        (absolute.as_str(), "is outside the project"),
        (up.as_str(), "is outside the project"),
        ("../../../../../../etc/passwd", "is outside the project"),
        ("in/../../x", "is outside the project"),
        ("away/secret", "is outside the project"),
        ("away/not/yet/there", "is outside the project"),
        ("inner/../../x", "is outside the project"),
        ("file", "is outside the project"),
        ("dangling", "leads nowhere"),
        ("data/db", "is not open to tools"),
        ("loop", "cannot be reached"),
        ("a\0b", "NUL"),
    ] {
        project.bad("read_files", json!({"file_paths": [path]}), why).await;
        project.bad("write_file", json!({"file_path": path, "content": "x"}), why).await;
        project.bad("edit_file", edit(path), why).await;
        project.bad("list_directory", json!({"directory_path": path}), why).await;
        project.bad("exact_search", json!({"search_string": "SECRET", "directory_path": path}), why).await;
    }
    for path in [".git/config", ".git/hooks/pre-commit", "meta/config", ".GIT/x", "in/.git/x"] {
        project.bad("write_file", json!({"file_path": path, "content": "x"}), "git's own directory").await;
    }
    assert_eq!(std::fs::read_to_string(&secret).unwrap(), "SECRET");
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1, "nothing was made outside");
    let search = project.run("exact_search", json!({"search_string": "SECRET"})).await;
    assert!(search.content.contains("\"matches\":0"), "links are not followed: {}", search.content);
}

#[tokio::test]
async fn paths_that_stay_inside_work_however_they_are_written() {
    let project = Project::new(&[("in/a", "a")]);
    symlink("in", project.root().join("inner")).unwrap();
    let absolute = project.root().join("in/a").to_string_lossy().into_owned();
    for path in ["in/a", "./in//a", "inner/a", "in/../in/a", "inner/../in/a", &absolute] {
        project.good("read_files", json!({"file_paths": [path]}), "==> in/a (").await;
    }
    let outcome = project.good("write_file", json!({"file_path": "inner/b", "content": "b"}), "in/b").await;
    assert_eq!(outcome.changed, ["in/b"], "the real place is reported");
    symlink("in/a", project.root().join("alias")).unwrap();
    project.good("write_file", json!({"file_path": "alias", "content": "new"}), "in/a").await;
    assert_eq!(project.text("in/a"), "new");
    assert!(project.root().join("alias").is_symlink(), "the link itself stays");
}

#[tokio::test]
async fn in_gits_own_directory_nothing_is_written_even_where_it_was_given_as_the_project() {
    let project = Project::with(&[(".git/inner/a", "a")], |settings| settings.root.push(".git/inner"));
    project.good("read_files", json!({"file_paths": ["a"]}), "==> a (").await;
    project.bad("write_file", json!({"file_path": "a", "content": "x"}), "git's own directory").await;
    assert_eq!(project.text(".git/inner/a"), "a");
}

#[tokio::test]
async fn what_steers_agents_is_not_written_on_the_way() {
    let project =
        Project::new(&[(".synthdev/roles/a.json", "{}"), ("CLAUDE.md", "old"), ("sub/AGENTS.md", "old")]);
    symlink(".synthdev", project.root().join("innocent")).unwrap();
    symlink("CLAUDE.md", project.root().join("AGENTS.md")).unwrap();
    symlink("sub/AGENTS.md", project.root().join("notes.md")).unwrap();
    for path in
        [".synthdev/roles/a.json", ".SynthDev/x.json", "innocent/roles/a.json", "sub/.synthdev/new.json"]
    {
        let edit = json!({"file_path": path, "old_text": "{}", "new_text": "x"});
        project
            .bad("write_file", json!({"file_path": path, "content": "x"}), "the project's definitions")
            .await;
        project.bad("edit_file", edit, "the project's definitions").await;
    }
    for path in ["CLAUDE.md", "notes.md"] {
        project.bad("write_file", json!({"file_path": path, "content": "x"}), "write it by that name").await;
    }
    // who names the file was asked
    project
        .good("write_file", json!({"file_path": "sub/AGENTS.md", "content": "new"}), "sub/AGENTS.md")
        .await;
    project.good("read_files", json!({"file_paths": [".synthdev/roles/a.json"]}), "==> .synthdev").await;
}
