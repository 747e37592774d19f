//! apply_patch: all of it, or nothing.

use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};
use synthdev::domain::tool::{InterruptedCallStatus, ToolPreview};
use synthdev::ports::tool::ToolPort;

use super::{Project, invocation};

const FILES: [(&str, &str); 4] = [
    ("src/main.rs", "fn main() {\n    let count = 1;\n    show(count);\n}\n"),
    ("old.txt", "goes\n"),
    ("a.txt", "one\ntwo\n"),
    ("crlf.txt", "one\r\ntwo\r\n"),
];

fn patch(inside: &str) -> Value {
    json!({"patch": format!("*** Begin Patch\n{inside}*** End Patch")})
}

const MANY: &str = "*** Update File: src/main.rs\n@@ fn main() {\n     let count = 1;\n-    show(count);\n+    print(count);\n\
    *** Add File: new/deep.rs\n+pub fn print() {}\n*** Delete File: old.txt\n\
    *** Update File: a.txt\n*** Move to: b.txt\n one\n-two\n+2\n\
    *** Update File: crlf.txt\n-two\n+2\n";

fn assert_patched(project: &Project) {
    assert_eq!(project.text("src/main.rs"), "fn main() {\n    let count = 1;\n    print(count);\n}\n");
    assert_eq!(project.text("new/deep.rs"), "pub fn print() {}\n");
    assert_eq!(project.text("b.txt"), "one\n2\n");
    assert_eq!(project.text("crlf.txt"), "one\r\n2\r\n");
    assert!(!project.root().join("old.txt").exists() && !project.root().join("a.txt").exists());
}

#[tokio::test]
async fn a_patch_changes_makes_moves_and_deletes() {
    let project = Project::new(&FILES);
    let preview = project.preview_tool("apply_patch", patch(MANY)).await;
    let Some(ToolPreview::Diff { path, diff }) = preview else { panic!("{preview:?}") };
    assert_eq!(path, "src/main.rs, new/deep.rs, b.txt, crlf.txt, old.txt, a.txt");
    for part in [
        "-    show(count);\n+    print(count);",
        "+++ b/new/deep.rs",
        "old.txt is deleted (5 bytes)",
        "a.txt moves to b.txt",
    ] {
        assert!(diff.contains(part), "{part} in\n{diff}");
    }
    let outcome = project.expect_success("apply_patch", patch(MANY), "moved a.txt to b.txt").await;
    assert_eq!(
        outcome.summary,
        "5 files: updated src/main.rs, created new/deep.rs, moved a.txt to b.txt, updated crlf.txt, deleted old.txt"
    );
    assert_eq!(outcome.changed, ["src/main.rs", "new/deep.rs", "b.txt", "crlf.txt", "old.txt", "a.txt"]);
    assert_patched(&project);
}

#[tokio::test]
async fn a_unified_diff_is_understood() {
    let project = Project::new(&[("a", "x\ny\nz\n"), ("gone", "1\n")]);
    let diff = "diff --git a/a b/a\nindex 1..2 100644\n--- a/a\n+++ b/a\n@@ -1,3 +1,3 @@\n x\n-y\n+Y\n z\n\
        diff --git a/gone b/gone\ndeleted file mode 100644\n--- a/gone\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n\
        --- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n";
    project.expect_success("apply_patch", json!({"patch": diff}), "deleted gone").await;
    assert_eq!((project.text("a"), project.text("new")), ("x\nY\nz\n".to_owned(), "n\n".to_owned()));
    assert!(!project.root().join("gone").exists());
}

#[tokio::test]
async fn what_cannot_be_applied_changes_nothing_and_names_every_conflict() {
    let check = async |inside: &str, expected: &[&str]| {
        let project = Project::new(&FILES);
        for expected in expected {
            project.expect_failure("apply_patch", patch(inside), expected).await;
        }
        for (path, text) in FILES {
            assert_eq!(project.text(path), text, "{inside}");
        }
    };
    let good = "*** Update File: a.txt\n-one\n+1\n";
    check(
        &format!("{good}*** Update File: src/main.rs\n-    show(count)\n+    x\n@@\n-nowhere\n+x\n*** Delete File: none\n"),
        &[
            "nothing was changed: `src/main.rs`: line 6 of the patch: its lines are not in the file; the nearest are at line 3, where line 3 is `    show(count);` and the patch has `    show(count)`",
            "`src/main.rs`: line 8 of the patch",
            "`none`: it does not exist",
        ],
    )
    .await;
    check(
        &format!("{good}*** Add File: old.txt\n+x\n"),
        &["`old.txt`: it exists already; use `*** Update File: `"],
    )
    .await;
    check(
        &format!("{good}*** Update File: old.txt\n*** Move to: crlf.txt\n"),
        &["`crlf.txt` exists already"],
    )
    .await;
    check("*** Frobnicate: x\n", &["line 2 of the patch (`*** Frobnicate: x`): expected"]).await;
    let project = Project::new(&FILES);
    project.expect_failure("apply_patch", json!({"patch": "what?"}), "line 1 of the patch").await;
    project.expect_failure("apply_patch", json!({}), "`patch` is missing").await;
    project.expect_failure("apply_patch", json!({"patch": 3}), "`patch` must be a string").await;
}

/// A file in a directory that cannot be written: known only when it is tried.
#[tokio::test]
async fn a_write_that_fails_takes_back_those_before_it() {
    let project = Project::new(&[("a", "old\n"), ("gone", "old\n"), ("locked/b", "old\n")]);
    let locked = project.root().join("locked");
    let mode = |mode| std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(mode)).unwrap();
    mode(0o555);
    if std::fs::write(locked.join("probe"), "").is_ok() {
        // root may write everywhere: a directory that came in the way of the new file fails for everybody
        std::fs::remove_file(locked.join("probe")).unwrap();
        mode(0o755);
        std::fs::write(project.root().join("locked/c"), "a file").unwrap();
        let inside = "*** Update File: a\n-old\n+new\n*** Add File: made\n+x\n*** Add File: locked/c/d\n+x\n*** Delete File: gone\n";
        let outcome = project.run_tool("apply_patch", patch(inside)).await;
        assert!(!outcome.ok && outcome.content.contains("nothing was changed"), "{}", outcome.content);
    } else {
        let inside = "*** Update File: a\n-old\n+new\n*** Add File: made\n+x\n*** Update File: locked/b\n-old\n+new\n*** Delete File: gone\n";
        let outcome = project.run_tool("apply_patch", patch(inside)).await;
        assert!(!outcome.ok && outcome.content.contains("nothing was changed"), "{}", outcome.content);
        mode(0o755);
    }
    assert_eq!(
        (project.text("a"), project.text("gone"), project.text("locked/b")),
        ("old\n".into(), "old\n".into(), "old\n".into())
    );
    assert!(!project.root().join("made").exists());
}

/// What recovery finds of a patch that a crash cut off.
#[tokio::test]
async fn a_patch_that_was_cut_off_is_done_not_begun_or_the_users_to_judge() {
    let check = async |done: &[&str], expected: &str| {
        let project = Project::new(&FILES);
        let call = invocation("apply_patch", patch(MANY));
        let planned = project.tools.plan_file_edit(&call).await.unwrap();
        let finished = Project::new(&FILES);
        finished.expect_success("apply_patch", patch(MANY), "created new/deep.rs").await;
        for path in done {
            match std::fs::read(finished.root().join(path)) {
                Ok(bytes) => {
                    std::fs::create_dir_all(project.root().join(path).parent().unwrap()).unwrap();
                    std::fs::write(project.root().join(path), bytes).unwrap();
                }
                Err(_) => std::fs::remove_file(project.root().join(path)).unwrap(),
            }
        }
        let told = match project.tools.check_interrupted_call(&call, &planned).await {
            InterruptedCallStatus::NotBegun => "not begun".to_owned(),
            InterruptedCallStatus::Done(outcome) => outcome.summary,
            InterruptedCallStatus::Unclear { reason } => reason,
        };
        assert!(told.contains(expected), "wanted {expected}\ngot {told}");
        let stored = serde_json::to_string(&planned).unwrap();
        assert_eq!(
            serde_json::from_str::<synthdev::domain::tool::PlannedFileEdit>(&stored).unwrap(),
            planned
        );
    };
    check(&[], "not begun").await;
    check(
        &["src/main.rs", "new/deep.rs", "b.txt", "crlf.txt", "old.txt", "a.txt"],
        "found done after a restart",
    )
    .await;
    check(
        &["src/main.rs", "b.txt"],
        "cut off: `src/main.rs`, `b.txt` changed already, `new/deep.rs`, `crlf.txt`",
    )
    .await;
}
