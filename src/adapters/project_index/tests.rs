use std::fs;

use super::*;

fn project(files: &[(&str, &str)]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = directory.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    directory
}

fn open_index(directory: &tempfile::TempDir) -> ProjectIndex {
    ProjectIndex::new(directory.path(), vec!["private.*".to_owned()], vec![directory.path().join("data")])
}

fn entry(path: &str) -> ProjectIndexEntry {
    ProjectIndexEntry {
        path: path.to_owned(),
        directory: false,
        sum: "s".to_owned(),
        summary: "it is".to_owned(),
    }
}

#[test]
fn only_what_may_be_sent_is_seen() {
    let large = "x".repeat(50 * 1024 + 1);
    let directory = project(&[
        (".gitignore", "target\n"),
        (".ignore", "!.env\n!.git\n"),
        (".env", "KEY=1"),
        (".git/config", "[core]"),
        (".hidden/a", "a"),
        (".synthdev/settings.json", "{}"),
        ("a.txt", "a"),
        ("data/runs.txt", "a"),
        ("deep/private.txt", "a"),
        ("deep/id_rsa", "a"),
        ("deep/note.md", "-----BEGIN OPENSSH PRIVATE KEY-----\nabc"),
        ("large.txt", &large),
        ("most.txt", &large[1..]),
        ("pic.png", "\u{89}PNG\0"),
        ("target/out.txt", "a"),
    ]);
    fs::write(directory.path().join("latin.txt"), b"gr\xfc\xdfe").unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc/passwd", directory.path().join("link.txt")).unwrap();
    let seen = open_index(&directory).scan(SizeLimit::default()).unwrap();
    let files: Vec<&str> = seen.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(files, ["a.txt", "most.txt"]);
    assert_eq!(seen.left_out.secret, [".env", "deep/id_rsa", "deep/note.md", "deep/private.txt"]);
    assert_eq!(seen.left_out.too_large, ["large.txt"]);
    assert_eq!(seen.left_out.binary, ["latin.txt", "pic.png"]);
    assert_eq!(seen.left_out.unreadable, [""; 0]);
    let all = open_index(&directory).scan(SizeLimit::None).unwrap();
    assert_eq!(all.left_out.too_large, [""; 0]);
    assert!(
        open_index(&directory).read_file("deep/note.md", SizeLimit::None).is_err(),
        "it may have come in since"
    );
    #[cfg(unix)]
    assert!(open_index(&directory).read_file("link.txt", SizeLimit::None).is_err());
}

#[test]
fn the_checksum_of_a_directory_is_that_of_all_in_it() {
    let directory = project(&[("a/b/c.txt", "1"), ("a/d.txt", "2"), ("e.txt", "3")]);
    let sums = || {
        let seen = open_index(&directory).scan(SizeLimit::default()).unwrap();
        let of =
            |path: &str| seen.directories.iter().find(|one| one.path == path).map(|one| one.checksum.clone());
        [".", "a", "a/b"].map(of)
    };
    let before = sums();
    let seen = open_index(&directory).scan(SizeLimit::default()).unwrap();
    let children: Vec<_> =
        seen.directories.iter().map(|one| (one.path.as_str(), one.children.join(" "))).collect();
    let expected = [(".", "a e.txt"), ("a", "a/b a/d.txt"), ("a/b", "a/b/c.txt")];
    assert_eq!(children, expected.map(|(path, children)| (path, children.to_owned())));
    let changes = |path: &str, text: &str| {
        fs::write(directory.path().join(path), text).unwrap();
        let after = sums();
        let changed = [0, 1, 2].map(|at| before[at] != after[at]);
        (after, changed)
    };
    assert_eq!(changes("e.txt", "4").1, [true, false, false]);
    assert_eq!(changes("e.txt", "3").1, [false, false, false]);
    assert_eq!(changes("a/b/c.txt", "4").1, [true, true, true]);
    assert_eq!(changes("a/b/c.txt", "1").0, before);
    // the same texts under other names
    fs::rename(directory.path().join("a/d.txt"), directory.path().join("a/f.txt")).unwrap();
    assert_ne!(sums()[1], before[1]);
}

#[test]
fn what_was_added_is_there_after_a_crash() {
    let directory = project(&[]);
    let port = open_index(&directory);
    assert_eq!(port.load().unwrap(), ProjectIndexEntries::default());
    assert!(!directory.path().join(PLACE).exists(), "reading makes nothing");
    let mut writer = port.writer().unwrap();
    assert!(port.writer().err().unwrap().contains("another program is making the index"));
    writer.add(&entry("a")).unwrap();
    writer.add(&ProjectIndexEntry { summary: "once more".to_owned(), ..entry("a") }).unwrap();
    writer.add(&entry("b")).unwrap();
    drop(writer);
    let file = directory.path().join(PLACE).join(FILE);
    fs::write(&file, fs::read_to_string(&file).unwrap() + "{\"path\": \"torn").unwrap();
    assert_eq!(port.load().unwrap().entries.len(), 2);
    assert_eq!(port.load().unwrap().entries["a"].summary, "once more");
    // what comes behind a torn line is whole
    let mut writer = port.writer().unwrap();
    writer.add(&entry("c")).unwrap();
    let known = port.load().unwrap();
    assert_eq!(known.entries.keys().collect::<Vec<_>>(), ["a", "b", "c"]);
    writer.replace_index(&known).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap().lines().count(), 3);
    assert_eq!(port.load().unwrap(), known);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    }
}

#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_project() {
    let elsewhere = project(&[]);
    for link in [".synthdev", ".synthdev/index", ".synthdev/index/index.jsonl"] {
        let directory = project(&[]);
        let place = directory.path().join(link);
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), &place).unwrap();
        for error in [open_index(&directory).load().err(), open_index(&directory).writer().err()] {
            assert!(error.as_ref().is_some_and(|error| error.contains("is a link")), "{link}: {error:?}");
        }
    }
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
}
