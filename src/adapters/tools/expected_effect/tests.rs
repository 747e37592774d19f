//! The result of the crash rule's check, for every state in which a killed write can leave a file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::atomic_replace;
use super::super::{ProjectTools, ToolSettings};
use synthdev_domain::tool::{InterruptedCallStatus, PlannedFileEdit, ToolInvocation, ToolOutcome};
use synthdev_ports::tool::ToolPort;

struct ExpectedEffectFixture {
    directory: TempDir,
    tools: ProjectTools,
}

fn call(tool: &str, arguments: Value) -> ToolInvocation {
    ToolInvocation {
        agent: "coder".to_owned(),
        tool: tool.to_owned(),
        arguments,
        network: None,
        loopback_ports: std::collections::BTreeSet::new(),
        reads_files: false,
        original: None,
        run: None,
    }
}

fn write(path: &str, text: &str) -> ToolInvocation {
    call("write_file", json!({"file_path": path, "content": text}))
}

fn edit(path: &str, old: &str, new: &str) -> ToolInvocation {
    call("edit_file", json!({"file_path": path, "old_text": old, "new_text": new}))
}

/// What a process that is killed while it writes `target` leaves beside it.
fn leave_half(target: &Path) -> PathBuf {
    let half = atomic_replace::temporary_places(target).next().unwrap();
    fs::write(&half, "half a te").unwrap();
    half
}

/// Without the time, which is different every time.
fn without_times(mut outcome: ToolOutcome) -> ToolOutcome {
    let (head, body) = outcome.content.split_once('\n').unwrap_or((&outcome.content, ""));
    let mut head: Value = serde_json::from_str(head).unwrap();
    head["time_ms"] = 0.into();
    outcome.content = format!("{head}\n{body}");
    outcome.duration_ms = 0;
    outcome
}

impl ExpectedEffectFixture {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = directory.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Self { tools: ProjectTools::new(ToolSettings::new(directory.path())), directory }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().canonicalize().unwrap().join(name)
    }

    fn names(&self) -> Vec<String> {
        let names = fs::read_dir(self.directory.path()).unwrap().flatten();
        let mut names: Vec<String> = names.map(|e| e.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    async fn plan_call(&self, call: &ToolInvocation) -> PlannedFileEdit {
        self.tools.plan_file_edit(call).await.unwrap()
    }

    async fn run_planned(&self, call: &ToolInvocation, planned: &PlannedFileEdit) -> ToolOutcome {
        match self.tools.check_interrupted_call(call, planned).await {
            InterruptedCallStatus::Done(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    }

    /// `expected`: how the message for the user begins.
    async fn assert_unclear(&self, call: &ToolInvocation, planned: &PlannedFileEdit, expected: &str) {
        match self.tools.check_interrupted_call(call, planned).await {
            InterruptedCallStatus::Unclear { reason } => {
                assert!(reason.starts_with(expected), "wanted {expected}\ngot {reason}");
            }
            other => panic!("wanted {expected}, got {other:?}"),
        }
    }
}

#[tokio::test]
async fn every_step_of_a_killed_write_is_told_and_cleared_away() {
    let rows = [
        (write("a", "new text"), "a"),
        (edit("a", "old", "new"), "a"),
        (write("deep/er/b", "made"), "deep/er/b"),
        (write("c", ""), "c"),
    ];
    for (call, path) in rows {
        for step in ["nothing", "directories", "empty", "half", "full", "moved", "moved and half of a second"]
        {
            let place = ExpectedEffectFixture::new(&[("a", "some old text"), ("c", "goes")]);
            let planned = place.plan_call(&call).await;
            let target = place.path(path);
            let full = if call.tool == "edit_file" {
                "some new text"
            } else {
                call.arguments["content"].as_str().unwrap()
            };
            if step != "nothing" {
                fs::create_dir_all(target.parent().unwrap()).unwrap();
            }
            let half = atomic_replace::temporary_places(&target).next().unwrap();
            match step {
                "empty" => fs::write(&half, "").unwrap(),
                "half" => fs::write(&half, "so").unwrap(),
                "full" => fs::write(&half, full).unwrap(),
                "moved" => fs::write(&target, full).unwrap(),
                "moved and half of a second" => {
                    fs::write(&target, full).unwrap();
                    leave_half(&target);
                }
                _ => {}
            }
            let standing = place.tools.check_interrupted_call(&call, &planned).await;
            assert!(!half.exists(), "{path} {step}: left {:?}", place.names());
            let expected = ExpectedEffectFixture::new(&[("a", "some old text"), ("c", "goes")]);
            let expected = without_times(expected.tools.run(&call).await);
            if step.starts_with("moved") {
                let InterruptedCallStatus::Done(outcome) = standing else {
                    panic!("{path} {step}: {standing:?}")
                };
                assert_eq!(outcome.summary, format!("{}, found done after a restart", expected.summary));
                let summary = expected.summary.clone();
                assert_eq!(without_times(ToolOutcome { summary, ..outcome }), expected, "{path} {step}");
            } else {
                assert_eq!(standing, InterruptedCallStatus::NotBegun, "{path} {step}");
                let again = place.tools.run(&call).await;
                assert!(again.ok && again.summary == expected.summary, "{path} {step}: {again:?}");
            }
            assert_eq!(fs::read_to_string(&target).unwrap(), full, "{path} {step}");
        }
    }
}

#[tokio::test]
async fn what_would_fail_or_changes_no_file_is_not_planned() {
    let place = ExpectedEffectFixture::new(&[("a", "x x"), ("ro", "x"), ("dir/b", "b"), (".git/config", "")]);
    fs::set_permissions(place.path("ro"), fs::Permissions::from_mode(0o444)).unwrap();
    for none in [
        edit("a", "x", "y"),
        edit("a", "z", "y"),
        edit("a", "x x", "x x"),
        edit("gone", "x", "y"),
        edit("ro", "x", "y"),
        write("ro", "y"),
        write("dir", "y"),
        write("a/b", "y"),
        write("../a", "y"),
        write(".git/config", "y"),
        call("write_file", json!({"file_path": "a"})),
        call("write_file", json!({"file_path": "a", "content": "y", "overwrite": false})),
        call("write_file", json!({"file_path": "n/m", "content": "y", "create_directories": false})),
        call("read_files", json!({"file_paths": ["a"]})),
        call("execute_terminal", json!({"command": "rm a"})),
        call("unheard_of", json!({"file_path": "a", "content": "y"})),
    ] {
        assert_eq!(place.tools.plan_file_edit(&none).await, None, "{none:?}");
    }
    let same = write("ro", "x");
    let planned = place.plan_call(&same).await;
    assert_eq!(planned.before, planned.after);
    assert_eq!(place.run_planned(&same, &planned).await.changed, Vec::<String>::new());
}

#[tokio::test]
async fn what_is_written_down_is_small_and_names_the_real_file() {
    let place = ExpectedEffectFixture::new(&[("real/a", "abc")]);
    symlink("real", place.path("alias")).unwrap();
    let planned = place.plan_call(&edit("./alias/../real/a", "b", "B")).await;
    let json = serde_json::to_value(&planned).unwrap();
    assert_eq!(serde_json::from_value::<PlannedFileEdit>(json.clone()).unwrap(), planned);
    assert_eq!(json["path"], "real/a");
    // sha256sum of `abc`
    assert_eq!(json["before"], "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    assert_eq!(json["outcome"]["summary"], "edited real/a at line 1 (-1 +1 lines)");
    assert_eq!(json["outcome"]["changed"], json!(["real/a"]));
    let large = place.plan_call(&write("new", &"x".repeat(100_000))).await;
    assert_eq!(large.before, None);
    assert!(serde_json::to_string(&large).unwrap().len() < 600);
}

const CHANGED: &str =
    "`dir/a` is neither as the call found it nor as it leaves it: another program has changed it since";
const GONE: &str =
    "`dir/a` was there when the call began and is gone now: another program has removed it since";
const LINKED: &str = "`dir/a` leads to `other` now and led to `dir/a` when the call began: another program has changed \
    the links";
const CANNOT: &str = "`dir/a` cannot be compared with what the call was to do: ";

fn link_to(target: &str, file: &Path) {
    fs::remove_file(file).unwrap();
    symlink(target, file).unwrap();
}

type InterferenceCase = (fn(&Path), &'static str, &'static str);

/// What another program did meanwhile to the file `dir/a`, and how the message for the user begins.
const MEDDLING: [InterferenceCase; 11] = [
    (|file| fs::write(file, "some other text").unwrap(), CHANGED, ""),
    (|file| fs::write(file, "").unwrap(), CHANGED, ""),
    (|file| fs::remove_file(file).unwrap(), GONE, ""),
    (|file| fs::remove_dir_all(file.parent().unwrap()).unwrap(), GONE, ""),
    (|file| link_to("../other", file), LINKED, ""),
    (|file| link_to("/etc/hostname", file), "`dir/a` is outside the project", ""),
    (|file| link_to("nowhere", file), "`dir/a` passes through a link that leads nowhere", ""),
    (
        |file| {
            fs::remove_file(file).unwrap();
            fs::create_dir(file).unwrap();
        },
        CANNOT,
        "it is a directory",
    ),
    (
        |file| {
            fs::remove_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file.parent().unwrap(), "x").unwrap();
        },
        CANNOT,
        "a part of the path is a file, not a directory",
    ),
    (
        |file| {
            fs::remove_file(file).unwrap();
            std::os::unix::net::UnixListener::bind(file).unwrap();
        },
        CANNOT,
        "it is not a regular file",
    ),
    (
        |file| fs::File::create(file).unwrap().set_len(10 * 1024 * 1024 + 1).unwrap(),
        CANNOT,
        "it has 10485761 bytes and the limit is 10485760",
    ),
];

#[tokio::test]
async fn what_somebody_else_did_is_left_to_a_person() {
    for (meddle, beginning, why) in MEDDLING {
        for call in [edit("dir/a", "old", "new"), write("dir/a", "text")] {
            let place = ExpectedEffectFixture::new(&[("dir/a", "old"), ("other", "old")]);
            let planned = place.plan_call(&call).await;
            meddle(&place.path("dir/a"));
            place.assert_unclear(&call, &planned, &format!("{beginning}{why}")).await;
        }
    }
}

#[tokio::test]
async fn what_cannot_be_read_is_left_to_a_person() {
    let place = ExpectedEffectFixture::new(&[("a", "old")]);
    let call = write("a", "new");
    let planned = place.plan_call(&call).await;
    fs::set_permissions(place.path("a"), fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(place.path("a")).is_ok() {
        // this user may read everything: nothing is hidden from it
        assert_eq!(
            place.tools.check_interrupted_call(&call, &planned).await,
            InterruptedCallStatus::NotBegun
        );
        return;
    }
    let why = "`a` cannot be compared with what the call was to do: permission denied";
    place.assert_unclear(&call, &planned, why).await;
}

/// A journal can come from elsewhere: what it plans is not believed.
#[tokio::test]
async fn a_planned_path_cannot_lead_out_of_the_project() {
    let place = ExpectedEffectFixture::new(&[("a", "old")]);
    let honest = place.plan_call(&write("a", "new")).await;
    for path in ["../a", "/etc/hostname", "b", ""] {
        let forged = PlannedFileEdit { path: path.to_owned(), ..honest.clone() };
        let standing = place.tools.check_interrupted_call(&write("a", "new"), &forged).await;
        assert!(matches!(&standing, InterruptedCallStatus::Unclear { .. }), "{path}: {standing:?}");
    }
    for asked in ["../a", "/etc/hostname"] {
        let forged = PlannedFileEdit { path: asked.to_owned(), ..honest.clone() };
        let why = format!("`{asked}` is outside the project; use a path relative to the project's directory");
        place.assert_unclear(&write(asked, "new"), &forged, &why).await;
    }
    place.assert_unclear(&call("shell", json!({})), &honest, "a path must not be empty or contain NUL").await;
}
