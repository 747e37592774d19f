//! What the crash rule is told, from every state in which a killed write can leave a file.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::super::atomic;
use super::super::{ProjectTools, ToolSettings};
use crate::domain::tool::{Foreseen, Standing, ToolInvocation, ToolOutcome};
use crate::ports::tool::ToolPort;

struct Place {
    directory: TempDir,
    tools: ProjectTools,
}

fn call(tool: &str, arguments: Value) -> ToolInvocation {
    ToolInvocation { agent: "coder".to_owned(), tool: tool.to_owned(), arguments }
}

fn write(path: &str, text: &str) -> ToolInvocation {
    call("write_file", json!({"file_path": path, "content": text}))
}

fn edit(path: &str, old: &str, new: &str) -> ToolInvocation {
    call("edit_file", json!({"file_path": path, "old_text": old, "new_text": new}))
}

/// What a process that is killed while it writes `target` leaves beside it.
fn leave_half(target: &Path) -> PathBuf {
    let half = atomic::places(target).next().unwrap();
    fs::write(&half, "half a te").unwrap();
    half
}

/// Without the time, which is different every time.
fn timeless(mut outcome: ToolOutcome) -> ToolOutcome {
    let (head, body) = outcome.content.split_once('\n').unwrap_or((&outcome.content, ""));
    let mut head: Value = serde_json::from_str(head).unwrap();
    head["time_ms"] = 0.into();
    outcome.content = format!("{head}\n{body}");
    outcome.duration_ms = 0;
    outcome
}

impl Place {
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

    async fn foresee(&self, call: &ToolInvocation) -> Foreseen {
        self.tools.foresee(call).await.unwrap()
    }

    async fn done(&self, call: &ToolInvocation, foreseen: &Foreseen) -> ToolOutcome {
        match self.tools.examine(call, foreseen).await {
            Standing::Done(outcome) => outcome,
            other => panic!("{other:?}"),
        }
    }

    async fn unclear(&self, call: &ToolInvocation, foreseen: &Foreseen, expected: &str) {
        match self.tools.examine(call, foreseen).await {
            Standing::Unclear { reason } => assert_eq!(reason, expected),
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
            let place = Place::new(&[("a", "some old text"), ("c", "goes")]);
            let foreseen = place.foresee(&call).await;
            let target = place.path(path);
            let full = if call.tool == "edit_file" {
                "some new text"
            } else {
                call.arguments["content"].as_str().unwrap()
            };
            if step != "nothing" {
                fs::create_dir_all(target.parent().unwrap()).unwrap();
            }
            let half = atomic::places(&target).next().unwrap();
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
            let standing = place.tools.examine(&call, &foreseen).await;
            assert!(!half.exists(), "{path} {step}: left {:?}", place.names());
            let expected = Place::new(&[("a", "some old text"), ("c", "goes")]);
            let expected = timeless(expected.tools.run(&call).await);
            if step.starts_with("moved") {
                let Standing::Done(outcome) = standing else { panic!("{path} {step}: {standing:?}") };
                assert_eq!(outcome.summary, format!("{}, found done after a restart", expected.summary));
                let summary = expected.summary.clone();
                assert_eq!(timeless(ToolOutcome { summary, ..outcome }), expected, "{path} {step}");
            } else {
                assert_eq!(standing, Standing::NotBegun, "{path} {step}");
                let again = place.tools.run(&call).await;
                assert!(again.ok && again.summary == expected.summary, "{path} {step}: {again:?}");
            }
            assert_eq!(fs::read_to_string(&target).unwrap(), full, "{path} {step}");
        }
    }
}
