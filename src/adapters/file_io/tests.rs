use std::process::Command;

use super::*;

fn names(read: &[FileReadResult]) -> Vec<&str> {
    read.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn a_tree_is_read_in_order_and_a_broken_file_hides_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("b/deep")).unwrap();
    fs::write(dir.path().join("b/deep/two.json"), "2").unwrap();
    fs::write(dir.path().join("a.json"), "1").unwrap();
    fs::write(dir.path().join("bad.json"), b"1\n\xff\xfe").unwrap();
    fs::write(dir.path().join("note.txt"), "x").unwrap();
    fs::write(dir.path().join(".a.json"), "an editor's copy").unwrap();
    let read = read_tree(dir.path());
    assert_eq!(names(&read), ["a.json", "b/deep/two.json", "bad.json"]);
    assert_eq!(read[1].text.as_deref().unwrap(), "2");
    assert_eq!(read[2].text.as_ref().unwrap_err().to_string(), "it is not UTF-8 text: see line 2 (byte 2)");
    assert!(read_tree(&dir.path().join("missing")).is_empty());
}

#[test]
fn what_is_no_directory_is_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("roles"), "a file").unwrap();
    let read = read_tree(&dir.path().join("roles"));
    assert_eq!(names(&read), ["."]);
    assert!(read[0].text.is_err());
}

#[test]
fn size_is_limited_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    let most = usize::try_from(LARGEST).unwrap();
    fs::write(&path, " ".repeat(most)).unwrap();
    assert_eq!(read_text_file(&path).unwrap().len(), most);
    fs::write(&path, " ".repeat(most + 1)).unwrap();
    assert_eq!(read_text_file(&path).unwrap_err().to_string(), "it is larger than 4 MiB");
}

#[cfg(unix)]
#[test]
fn links_in_circles_and_pipes_do_not_hold_a_start_up() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.json"), "1").unwrap();
    std::os::unix::fs::symlink(dir.path(), dir.path().join("again")).unwrap();
    std::os::unix::fs::symlink(dir.path().join("a.json"), dir.path().join("link.json")).unwrap();
    std::os::unix::fs::symlink("nowhere", dir.path().join("lost.json")).unwrap();
    assert!(Command::new("mkfifo").arg(dir.path().join("pipe.json")).status().unwrap().success());
    let read = read_tree(dir.path());
    assert_eq!(names(&read), ["a.json", "link.json", "lost.json", "pipe.json"]);
    let good: Vec<bool> = read.iter().map(|file| file.text.is_ok()).collect();
    assert_eq!(good, [true, true, false, false]);
}

#[test]
fn endless_depth_is_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("d/".repeat(DEEPEST + 1))).unwrap();
    fs::write(dir.path().join("d/".repeat(DEEPEST)).join("last.json"), "1").unwrap();
    let read = read_tree(dir.path());
    assert_eq!(read.len(), 2);
    assert_eq!(read.iter().filter(|file| file.text.is_ok()).count(), 1);
}

#[test]
fn a_private_file_is_replaced_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("new/x.json");
    write_private(&path, "one").unwrap();
    write_private(&path, "two").unwrap();
    assert_eq!(read_text_file(&path).unwrap(), "two");
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    assert_eq!(read_file_if_exists(&dir.path().join("none")).unwrap(), None);
}

#[test]
fn writers_at_once_leave_one_whole_text() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.json");
    std::thread::scope(|scope| {
        for letter in ["a", "b", "c", "d"] {
            let path = &path;
            scope.spawn(move || (0..10).for_each(|_| write_private(path, &letter.repeat(10_000)).unwrap()));
        }
    });
    let text = read_text_file(&path).unwrap();
    assert!(text.len() == 10_000 && text == text[..1].repeat(10_000));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "no temporary file stays");
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("taken");
    fs::create_dir_all(path.join("full")).unwrap();
    assert!(write_private(&path, "x").is_err());
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn modes_are_closed_and_links_stay_links() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (real, link) = (dir.path().join("made/real.json"), dir.path().join("link.json"));
    write_private(&real, "one").unwrap();
    std::os::unix::fs::symlink(&real, &link).unwrap();
    write_private(&link, "two").unwrap();
    assert!(link.is_symlink());
    assert_eq!(read_text_file(&real).unwrap(), "two");
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&real), mode(real.parent().unwrap())), (0o600, 0o700));
}

#[test]
fn texts_beside_configuration_are_read_and_links_are_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let flows = dir.path().join("flows");
    fs::create_dir_all(flows.join("w")).unwrap();
    for (name, text) in [("w.json", "{}"), ("w/script.js", "1"), ("w/prompt.md", "2"), ("w/x.toml", "3")] {
        fs::write(flows.join(name), text).unwrap();
    }
    fs::write(dir.path().join("secret.md"), "key").unwrap();
    std::os::unix::fs::symlink(dir.path().join("secret.md"), flows.join("w/linked.md")).unwrap();
    let read = read_text_tree(&flows);
    assert_eq!(names(&read), ["w/linked.md", "w/prompt.md", "w/script.js"]);
    assert_eq!(read[0].text.as_ref().unwrap_err().to_string(), "it is a link");
    assert_eq!(read_file_below(&flows, "w/script.js").unwrap().as_deref(), Some("1"));
    assert_eq!(read_file_below(&flows, "w/none.js").unwrap(), None);
    let refused = read_file_below(&flows, "w/linked.md").unwrap_err().to_string();
    assert!(refused.contains("leads out"), "{refused}");
    assert!(read_file_below(&flows, "../secret.md").is_err());
}

#[cfg(unix)]
#[test]
fn a_shared_file_keeps_who_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (path, link) = (dir.path().join("new/x.json"), dir.path().join("link.json"));
    write_atomic(&path, "one").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
    std::os::unix::fs::symlink(&path, &link).unwrap();
    write_atomic(&link, "two").unwrap();
    assert_eq!((read_text_file(&path).unwrap().as_str(), mode(&path)), ("two", 0o664));
    assert!(link.is_symlink());
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

#[test]
fn stamps_tell_changed_new_and_missing_files() {
    let dir = tempfile::tempdir().unwrap();
    let paths = [dir.path().join("roles"), dir.path().join("x.json")];
    let nothing = file_stamps(&paths);
    assert_eq!(nothing, []);
    fs::create_dir_all(dir.path().join("roles/deep")).unwrap();
    fs::write(dir.path().join("roles/deep/a.json"), "1").unwrap();
    let one = file_stamps(&paths);
    assert_eq!((one.len(), file_stamps(&paths) == one), (1, true));
    fs::write(dir.path().join("roles/deep/a.json"), "12").unwrap();
    let longer = file_stamps(&paths);
    assert_ne!(longer, one);
    fs::write(dir.path().join("x.json"), "").unwrap();
    assert_eq!(file_stamps(&paths).len(), 2);
}

#[cfg(unix)]
#[test]
fn a_project_is_read_within_its_bounds() {
    use std::os::unix::fs::symlink;
    let dir = tempfile::tempdir().unwrap();
    let (project, outside) = (dir.path().join("project"), dir.path().join("outside"));
    for path in [project.join("w/deep"), project.join(".git"), outside.clone()] {
        fs::create_dir_all(path).unwrap();
    }
    fs::write(outside.join("secret.json"), "secret").unwrap();
    fs::write(project.join(".git/config"), "git").unwrap();
    fs::write(project.join("w/deep/a.json"), "a").unwrap();
    fs::write(project.join("w/note.bin"), "no").unwrap();
    let link = |to: &Path, name: &str| symlink(to, project.join(name)).unwrap();
    link(&outside.join("secret.json"), "w/out.json");
    link(&outside, "w/outside");
    link(Path::new("deep"), "w/inner");
    link(Path::new("deep/a.json"), "w/alias.json");
    link(Path::new("nowhere"), "w/lost.json");
    link(Path::new("../.git/config"), "w/git.json");
    link(&outside, "linked");
    let mut reader = ProjectReader::new(&project);
    let found = reader.read_tree_files("w", &["json"]);
    let told: Vec<(&str, String)> = found
        .iter()
        .map(|one| (one.name.as_str(), one.text.as_ref().map_or_else(ToString::to_string, Clone::clone)))
        .collect();
    let expected = [
        ("w/alias.json", "a"),
        ("w/deep/a.json", "a"),
        ("w/git.json", "it is a link into git's own directory"),
        ("w/inner", "linked directories are not followed"),
        ("w/lost.json", "leads nowhere"),
        ("w/out.json", "leads out of the project"),
        ("w/outside", "linked directories are not followed"),
    ];
    assert_eq!(told.len(), expected.len(), "{told:?}");
    for ((name, text), (wanted, part)) in told.iter().zip(expected) {
        assert!(*name == wanted && text.contains(part), "{name}: {text}");
    }
    assert_eq!(found[0].link_target.as_deref(), Some("w/deep/a.json"));
    assert!(reader.read_file("linked/secret.json").unwrap().text.is_err());
    assert_eq!(reader.read_tree_files("linked", &["json"]).len(), 1);
    assert!(reader.read_tree_files("missing", &["json"]).is_empty() && reader.read_file("missing").is_none());
    assert!(
        project_stamps(&project, &["w", "linked", "linked/secret.json"])
            .iter()
            .all(|one| one != &file_stamps(&[outside.join("secret.json")])[0])
    );
    let most = vec![b'x'; usize::try_from(LARGEST).unwrap()];
    for name in ["w/1.json", "w/2.json", "w/3.json"] {
        fs::write(project.join(name), &most).unwrap();
    }
    let read = ProjectReader::new(&project).read_tree_files("w", &["json"]);
    let large = read.iter().filter(|one| one.name.as_str() < "w/4");
    assert_eq!(large.map(|one| one.text.is_ok()).collect::<Vec<_>>(), [true, true, false]);
}

#[cfg(unix)]
#[test]
fn what_is_new_takes_no_name_that_somebody_has_taken() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let (prey, link, hole) = (dir.path().join("prey"), dir.path().join("link"), dir.path().join("hole"));
    fs::write(&prey, "prey").unwrap();
    std::os::unix::fs::symlink(&prey, &link).unwrap();
    std::os::unix::fs::symlink(dir.path().join("nowhere"), &hole).unwrap();
    let taken = |done: io::Result<()>| assert_eq!(done.unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    for path in [&prey, &link, &hole] {
        taken(write_new_private(path, "ours"));
        taken(create_private_directory(path));
        taken(create_private(path).map(drop));
    }
    assert_eq!(fs::read_to_string(&prey).unwrap(), "prey");
    assert!(!dir.path().join("nowhere").exists());
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let (one, other) = (
        create_random_directory(dir.path(), "a-").unwrap(),
        create_random_directory(dir.path(), "a-").unwrap(),
    );
    assert_ne!(one, other);
    write_new_private(&one.join("x"), "ours").unwrap();
    assert_eq!((mode(&one), mode(&one.join("x"))), (0o700, 0o600));
    assert!(
        create_random_directory(&dir.path().join("none"), "a-").is_err(),
        "no directory is made around it"
    );
}
