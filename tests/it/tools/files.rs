//! read_files, write_file, edit_file.

use std::os::unix::fs::PermissionsExt;

use serde_json::json;
use synthdev::adapters::image_store::ImageStore;
use synthdev::domain::image_reference::find_images;
use synthdev::domain::tool::ToolPreview;

use super::Project;

const LINES: &str = "one\ntwo\nthree\nfour\n";

#[tokio::test]
async fn reading() {
    let project = Project::new(&[("a.txt", LINES), ("empty", ""), ("ünï/日本.txt", "grüß"), ("dir/x", "x")]);
    std::fs::write(project.root().join("bin"), b"a\0b\xff").unwrap();
    std::fs::write(project.root().join("latin"), b"caf\xe9").unwrap();
    std::fs::write(project.root().join("bom"), "\u{feff}text").unwrap();
    let read = |path: &str| json!({"file_paths": [path]});
    project
        .expect_success("read_files", read("a.txt"), "\n==> a.txt (lines 1-4 of 4)\none\ntwo\nthree\nfour\n")
        .await;
    project.expect_success("read_files", read("./dir/../a.txt"), "==> a.txt").await;
    project.expect_success("read_files", read("empty"), "==> empty (empty)\n").await;
    project
        .expect_success("read_files", read("ünï/日本.txt"), "==> ünï/日本.txt (lines 1-1 of 1)\ngrüß\n")
        .await;
    project.expect_success("read_files", read("bom"), "\ntext\n").await;
    let range = |start, end| json!({"file_paths": ["a.txt"], "start_line": start, "end_line": end});
    project.expect_success("read_files", range(2, 3), "(lines 2-3 of 4)\ntwo\nthree\n").await;
    project.expect_success("read_files", range(4, 99), "(lines 4-4 of 4)\nfour\n").await;
    project.expect_failure("read_files", range(5, 9), "`start_line` is 5 and the file has 4 lines").await;
    project.expect_failure("read_files", range(3, 2), "is after `end_line`").await;
    project.expect_failure("read_files", range(0, 2), "at least 1").await;
    let encoded = |path: &str, form: &str| json!({"file_paths": [path], "encoding": form});
    project.expect_success("read_files", encoded("bin", "base64"), "==> bin (4 bytes)\nYQBi/w==\n").await;
    project.expect_success("read_files", encoded("bin", "hex"), "\n610062ff\n").await;
    project.expect_success("read_files", encoded("latin", "latin1"), "\ncafé\n").await;
    project.expect_failure("read_files", encoded("latin", "ascii"), "not ASCII (byte 3)").await;
    project.expect_failure("read_files", read("latin"), "not valid UTF-8 (byte 3)").await;
    project.expect_failure("read_files", read("bin"), "binary file").await;
    project.expect_failure("read_files", read("dir"), "it is a directory").await;
    project.expect_failure("read_files", read("missing"), "`missing` was not read: it does not exist").await;
    project.expect_failure("read_files", read("a.txt/b"), "a part of the path is a file").await;
}

#[tokio::test]
async fn parts_of_long_lines() {
    let line = "0123456789".repeat(300);
    let project =
        Project::with_files(&[("long", &format!("first\n{line}\nlast\n")), ("ü", "aüb")], |settings| {
            settings.output_cap_bytes = 1500;
        });
    std::fs::write(project.root().join("bin"), b"a\0b\xff").unwrap();
    let read = |path: &str, range: [Option<u64>; 4]| {
        let [start_line, end_line, start_byte, end_byte] = range;
        json!({"file_paths": [path], "start_line": start_line, "end_line": end_line, "start_byte": start_byte,
            "end_byte": end_byte})
    };
    for (path, range, expected) in [
        ("long", [Some(2), Some(2), Some(3), Some(5)], "==> long (lines 2-2 of 3, bytes 3-5 of 3001)\n234\n"),
        ("long", [None, None, Some(1), Some(5)], "==> long (lines 1-3 of 3, bytes 1-5 of 3012)\nfirst\n"),
        ("long", [Some(3), None, None, Some(99)], "==> long (lines 3-3 of 3, bytes 1-5 of 5)\nlast\n"),
        ("ü", [None, None, Some(1), Some(2)], "bytes 1-1 of 4)\na\n"),
        ("ü", [None, None, Some(3), None], "bytes 2-4 of 4)\nüb\n"),
    ] {
        project.expect_success("read_files", read(path, range), expected).await;
    }
    let bytes = json!({"file_paths": ["bin"], "encoding": "hex", "start_byte": 2, "end_byte": 3});
    project.expect_success("read_files", bytes, "==> bin (bytes 2-3 of 4)\n0062\n").await;
    for (range, why) in [
        ([None, None, Some(0), None], "at least 1"),
        ([None, None, Some(9), Some(8)], "`start_byte` (9) is after `end_byte` (8)"),
        ([Some(3), None, Some(6), None], "`start_byte` is 6 and there are 5 bytes"),
    ] {
        project.expect_failure("read_files", read("long", range), why).await;
    }
    // the notices lead through all of it
    let mut whole = String::new();
    let (mut start_line, mut start_byte) = (1, 1);
    for _ in 0..20 {
        let answer = project
            .run_tool("read_files", read("long", [Some(start_line), None, Some(start_byte), None]))
            .await;
        let text = answer.content.splitn(3, '\n').nth(2).unwrap().to_owned();
        let Some((part, notice)) = text.split_once("\n[… ") else {
            whole.push_str(&text);
            break;
        };
        whole.push_str(part);
        let after = |key: &str| {
            let (_, rest) = notice.split_once(key)?;
            rest.split(' ').next()?.parse::<u64>().ok()
        };
        start_line = after("start_line ").unwrap_or(start_line);
        start_byte = after("start_byte ").unwrap_or(1);
    }
    assert_eq!(whole, format!("first\n{line}\nlast\n"));
    let plain = project.run_tool("read_files", json!({"file_paths": ["long"], "start_line": 2})).await;
    assert!(plain.content.contains("read on with start_line 2 and start_byte "), "{}", plain.content);
}

#[tokio::test]
async fn images_are_shown_by_a_reference() {
    let images = crate::support::temporary::temp_directory();
    let project = Project::with_files(&[("note.txt", "GIF89a is a format")], |settings| {
        settings.image_store = Some(ImageStore::new(images.path()));
    });
    let content = crate::providers::images::png(7);
    let write = |name: &str, content: &[u8]| std::fs::write(project.root().join(name), content).unwrap();
    write("shot.png", &content);
    write("same.dat", &content);
    write("fake.png", b"a\0b");
    write("large.png", &[&content[..], &vec![0; 5 * 1024 * 1024]].concat());
    let read = |path: &str| json!({"file_paths": [path]});
    let shown = project.run_tool("read_files", read("shot.png")).await;
    let found = find_images(&shown.content);
    assert_eq!(found.len(), 1, "{}", shown.content);
    let image = &found[0].1;
    assert_eq!((image.path.as_str(), image.width, image.height, image.bytes), ("shot.png", 7, 9, 45));
    assert!(
        shown.body().starts_with("==> shot.png (image)\n[image: shot.png · png · 7x9"),
        "{}",
        shown.content
    );
    assert_eq!(ImageStore::new(images.path()).load_image(image), Some(content));
    // the content decides, not the name
    let again = project.run_tool("read_files", read("same.dat")).await;
    assert_eq!(find_images(&again.content)[0].1.hash, image.hash);
    assert_eq!(std::fs::read_dir(images.path()).unwrap().count(), 1, "it is kept once");
    project.expect_success("read_files", read("note.txt"), "GIF89a is a format").await;
    project.expect_failure("read_files", read("fake.png"), "binary file").await;
    project.expect_failure("read_files", read("large.png"), "the limit is 5242880 (5 MiB)").await;
    let bytes = json!({"file_paths": ["shot.png"], "encoding": "hex", "end_byte": 4});
    project.expect_success("read_files", bytes, "\n89504e47\n").await;
    // where nothing can be kept it is a file as any other
    let plain = Project::new(&[]);
    std::fs::write(plain.root().join("shot.png"), crate::providers::images::png(7)).unwrap();
    plain.expect_failure("read_files", read("shot.png"), "binary file").await;
}

#[tokio::test]
async fn one_bad_path_does_not_hide_the_good_ones() {
    let project = Project::new(&[("a", "A"), ("b", "B")]);
    let outcome = project
        .expect_success("read_files", json!({"file_paths": ["a", "no", "b"]}), "\"total_read\":2")
        .await;
    assert!(outcome.content.contains("`no` was not read"), "{}", outcome.content);
    assert!(outcome.content.ends_with("==> a (lines 1-1 of 1)\nA\n==> b (lines 1-1 of 1)\nB\n"));
}

#[tokio::test]
async fn the_limit_is_ten_mebibytes_and_long_files_are_cut_at_a_line() {
    let project =
        Project::with_files(&[("long", &"0123456789\n".repeat(1000))], |s| s.output_cap_bytes = 2000);
    let file = std::fs::File::create(project.root().join("big")).unwrap();
    file.set_len(10 * 1024 * 1024 + 1).unwrap();
    project
        .expect_failure("read_files", json!({"file_paths": ["big"]}), "the limit is 10485760 (10 MiB)")
        .await;
    file.set_len(10 * 1024 * 1024).unwrap();
    project.expect_failure("read_files", json!({"file_paths": ["big"]}), "binary file").await;
    let cut = project
        .expect_success("read_files", json!({"file_paths": ["long"]}), "bytes left out; read on with")
        .await;
    assert!(cut.content.len() < 2000);
    let next: usize =
        cut.content.rsplit_once("start_line ").unwrap().1.split(' ').next().unwrap().parse().unwrap();
    assert_eq!(cut.content.matches("0123456789\n").count(), next - 1);
}

#[tokio::test]
async fn writing() {
    let project = Project::new(&[("a.txt", "old"), ("dir/x", "x"), ("ro", "ro"), ("run.sh", "old")]);
    let mode = |path: &str, mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(project.root().join(path), permissions).unwrap();
    };
    mode("ro", 0o444);
    mode("run.sh", 0o751);
    let before = project.list_paths();
    let write = |path: &str, text: &str| json!({"file_path": path, "content": text});
    let outcome =
        project.expect_success("write_file", write("a.txt", "grüß\n"), "\"result\":\"overwritten\"").await;
    assert_eq!((outcome.changed, project.text("a.txt")), (vec!["a.txt".to_owned()], "grüß\n".to_owned()));
    let same =
        project.expect_success("write_file", write("a.txt", "grüß\n"), "\"result\":\"unchanged\"").await;
    assert_eq!(same.changed, Vec::<String>::new());
    project.expect_success("write_file", write("run.sh", "new"), "overwritten").await;
    let kept = std::fs::metadata(project.root().join("run.sh")).unwrap().permissions().mode();
    assert_eq!(kept & 0o777, 0o751, "the mode is kept");
    assert_eq!(project.list_paths(), before, "no temporary files");
    project
        .expect_success("write_file", write("p/q/r.txt", ""), r#""created_directories":["p","p/q"]"#)
        .await;
    assert_eq!(project.bytes("p/q/r.txt"), b"");
    let encoded = |text: &str, form: &str| json!({"file_path": "e", "content": text, "encoding": form});
    for (text, form, bytes) in
        [("YQD/", "base64", b"a\0\xff".as_slice()), ("61 00", "hex", b"a\0"), ("é", "latin1", b"\xe9")]
    {
        project.expect_success("write_file", encoded(text, form), "\"file_path\":\"e\"").await;
        assert_eq!(project.bytes("e"), bytes);
    }
    project.expect_failure("write_file", encoded("YQ=", "base64"), "not valid base64").await;
    project.expect_failure("write_file", encoded("é", "ascii"), "does not exist in ASCII").await;
    project.expect_failure("write_file", write("dir", "x"), "it is a directory").await;
    project.expect_failure("write_file", write("a.txt/b/c", "x"), "a part of the path is a file").await;
    project.expect_failure("write_file", write("ro", "x"), "it is read-only").await;
    let keep = json!({"file_path": "a.txt", "content": "x", "overwrite": false});
    project.expect_failure("write_file", keep, "exists already").await;
    let no_directory = json!({"file_path": "n/m", "content": "x", "create_directories": false});
    project
        .expect_failure("write_file", no_directory, "does not exist and `create_directories` is false")
        .await;
    project.expect_failure("write_file", write("huge", &"x".repeat(10 * 1024 * 1024 + 1)), "10 MiB").await;
    assert_eq!((project.text("a.txt"), project.text("ro")), ("grüß\n".to_owned(), "ro".to_owned()));
}

#[tokio::test]
async fn editing_by_exact_text() {
    let project =
        Project::new(&[("a", "fn a() {\n    x();\n}\nfn b() {\n    x();\n}\n"), ("crlf", "a\r\nb\r\nc\r\n")]);
    let edit =
        |path: &str, old: &str, new: &str| json!({"file_path": path, "old_text": old, "new_text": new});
    let original = project.text("a");
    project
        .expect_failure("edit_file", edit("a", "    x();", "y"), "`old_text` matches 2 times, on lines 2, 5;")
        .await;
    project
        .expect_failure(
            "edit_file",
            edit("a", "fn c()", "y"),
            "`old_text` was not found in the file (0 matches)",
        )
        .await;
    project
        .expect_failure(
            "edit_file",
            edit("a", "fn a() {\n  x();", "y"),
            "line 1 differs from it only in white space",
        )
        .await;
    project.expect_failure("edit_file", edit("a", "", "y"), "must not be empty").await;
    project.expect_failure("edit_file", edit("a", "fn a", "fn a"), "the same as the old").await;
    project.expect_failure("edit_file", edit("none", "a", "b"), "it does not exist").await;
    project.expect_failure("edit_file", json!({"file_path": "a", "old_text": "x"}), "not a mixture").await;
    assert_eq!(project.text("a"), original, "a refused edit leaves the file untouched");
    let outcome =
        project.expect_success("edit_file", edit("a", "fn a() {\n    x();", "fn a() {"), "\"line\":1").await;
    assert_eq!(
        (outcome.changed.as_slice(), outcome.summary.as_str()),
        (["a".to_owned()].as_slice(), "edited a at line 1 (-2 +1 lines)")
    );
    assert_eq!(project.text("a"), "fn a() {\n}\nfn b() {\n    x();\n}\n");
    project.expect_success("edit_file", edit("crlf", "a\nb\n", "a\nB\nb2\n"), "success").await;
    assert_eq!(project.text("crlf"), "a\r\nB\r\nb2\r\nc\r\n", "line ends follow the file");
    assert_eq!(project.list_paths(), ["", "a", "crlf"]);
}

#[tokio::test]
async fn editing_between_boundaries() {
    let project = Project::new(&[("a", "<1>\nmid\n<2>\nend\nend\n")]);
    let edit = |operation: &str, start: &str, end: &str, new: Option<&str>| json!({"file_path": "a", "operation": operation, "boundary_start": start, "boundary_end": end, "new_content": new});
    project
        .expect_failure(
            "edit_file",
            edit("replace", "<1>", "end", Some("")),
            "`boundary_end` matches 2 times, on lines 4, 5",
        )
        .await;
    project
        .expect_failure(
            "edit_file",
            edit("replace", "<9>", "end", Some("")),
            "`boundary_start` was not found in the file (0",
        )
        .await;
    project
        .expect_failure(
            "edit_file",
            edit("replace", "<2>", "<1>", Some("")),
            "`boundary_start` (line 3) must end before",
        )
        .await;
    project
        .expect_failure("edit_file", edit("replace", "<1>", "<2>", None), "`new_content` is missing")
        .await;
    project
        .expect_failure("edit_file", edit("delete", "<1>", "<2>", Some("x")), "delete takes no `new_content`")
        .await;
    project.expect_failure("edit_file", edit("move", "<1>", "<2>", None), "must be one of").await;
    project
        .expect_failure(
            "edit_file",
            json!({"file_path": "a", "operation": "delete", "old_text": "x", "new_text": ""}),
            "mixture",
        )
        .await;
    project
        .expect_success("edit_file", edit("replace", "<1>", "<2>", Some("<1>\nnew\n<2>")), "success")
        .await;
    assert_eq!(project.text("a"), "<1>\nnew\n<2>\nend\nend\n");
    project.expect_success("edit_file", edit("delete", "<1>\n", "<2>\n", None), "success").await;
    assert_eq!(project.text("a"), "end\nend\n");
}

#[tokio::test]
async fn previews_show_the_change_and_make_none() {
    let project = Project::new(&[("a", "one\ntwo\n")]);
    let write = json!({"file_path": "a", "content": "one\n2\n"});
    let Some(ToolPreview::Diff { path, diff }) = project.preview_tool("write_file", write).await else {
        panic!("no diff");
    };
    assert_eq!((path.as_str(), diff.as_str()), ("a", "--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n one\n-two\n+2\n"));
    let edit = json!({"file_path": "a", "old_text": "two", "new_text": "2"});
    assert!(
        matches!(project.preview_tool("edit_file", edit).await, Some(ToolPreview::Diff { diff, .. }) if diff.contains("\n-two\n+2\n"))
    );
    let new = json!({"file_path": "n", "content": "x\n"});
    assert!(
        matches!(project.preview_tool("write_file", new).await, Some(ToolPreview::Diff { diff, .. }) if diff.starts_with("--- /dev/null\n+++ b/n\n"))
    );
    let impossible = json!({"file_path": "a", "old_text": "nine", "new_text": "2"});
    let shown = project.preview_tool("edit_file", impossible).await;
    assert!(matches!(shown, Some(ToolPreview::Text { text }) if text.contains("was not found")));
    assert_eq!(project.preview_tool("read_files", json!({"file_paths": ["a"]})).await, None);
    assert_eq!(
        (project.list_paths(), project.text("a")),
        (vec![String::new(), "a".to_owned()], "one\ntwo\n".to_owned())
    );
}
