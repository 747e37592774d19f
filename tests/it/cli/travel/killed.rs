//! The program is killed while it brings files back: the run knows it, and does not go on over a part of them.

use std::fs;
use std::process::Stdio;

use serde_json::json;

use super::super::world::{World, wait_for};
use crate::support::skip::skip_row;

/// So many that a kill comes before the last of them.
const FILES: usize = 600;

/// Counts which content how many files have, then changes all of them.
const CHANGE: &str =
    "cat data/* | sort | uniq -c | tr -s ' ' > seen.log; for f in data/*; do echo new > $f; done";

struct Scene {
    world: World,
    run: String,
}

impl Scene {
    /// A run that has changed all files and waits for the user.
    fn new() -> Self {
        let world = World::repository();
        world.write_file(".gitignore", "*.log\n");
        (0..FILES).for_each(|at| drop(world.write_file(&format!("data/{at:04}"), "old\n")));
        let shell = |name: &str, target: &str| json!({"name": name, "type": "shell", "command": CHANGE, "transition": [{"target": target}]});
        let states = json!([
            shell("start", "ask"),
            {"name": "ask", "type": "pause", "kind": "text", "message": {"text": "Well?"},
                "transition": [{"target": "again"}]},
            shell("again", "stop"),
            {"name": "stop"}]);
        world.write_json("w.json", &json!({"workflow_name": "w", "states": states}));
        let ran = world.run_program(&["run", "--workflow-file", "w.json", "--yes", "--json"]).code(3).json();
        let run = ran["run_id"].as_str().unwrap().to_owned();
        Self { world, run }
    }

    /// Kills the command as soon as the first file is back; whether any was not.
    fn kill_midway(&self, arguments: &[&str]) -> bool {
        // the list of files is longer than a pipe holds
        let mut command = self.world.command(arguments);
        let mut command = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let first = self.world.project().join("data/0000");
        wait_for("a file is back", || (fs::read(&first).ok()? == b"old\n").then_some(()));
        command.kill().unwrap();
        command.wait().unwrap();
        let files = World::files(&self.world.project().join("data"));
        let midway = files.iter().any(|(_, bytes)| bytes == b"new\n");
        if !midway {
            skip_row("all files were back before the program could be killed");
        }
        midway
    }

    fn status(&self) -> String {
        let list = self.world.run_program(&["runs", "list", "--json"]).code(0).json();
        list[0]["status"].as_str().unwrap().to_owned()
    }

    /// Everything was back before the run went on.
    fn assert_continues(&self, midway: bool, arguments: &[&str]) {
        let shown = self.world.run_program(&["runs", "show", &self.run]).code(0).stdout;
        assert_eq!(shown.contains("a restore of the files to snapshot"), midway, "{shown}");
        let resume = [&["resume", &self.run, "--yes"], arguments].concat();
        let told = self.world.run_program(&resume);
        assert_eq!(
            told.stderr.contains("back to snapshot") && told.stderr.contains("had been cut off"),
            midway,
            "{}",
            told.stderr
        );
        let stays = "never stored, so it stays as it is: seen.log (ignored by git)";
        assert_eq!(told.stderr.contains(stays), midway, "{}", told.stderr);
        assert_eq!(self.world.read_file("seen.log").trim(), format!("{FILES} old"), "{}", told.stderr);
        assert!(
            !self.world.run_program(&["runs", "show", &self.run]).stdout.contains("a restore of the files")
        );
    }
}

#[test]
fn a_rewind_that_was_killed() {
    let scene = Scene::new();
    let rewind = ["runs", "rewind", &scene.run, "--to", "1", "--yes"];
    let midway = scene.kill_midway(&rewind);
    assert_eq!(scene.status(), "paused");
    if midway {
        let fork = scene.world.run_program(&["runs", "fork", &scene.run, "--at", "1"]).code(2);
        assert!(fork.stderr.contains("of two moments"), "{}", fork.stderr);
    }
    scene.assert_continues(midway, &[]);
    // one that has ended is not taken for one that was interrupted
    scene.world.run_program(&["resume", &scene.run, "--yes", "--results", "yes"]).code(0);
    assert_eq!(scene.status(), "completed");
    scene.kill_midway(&rewind);
    assert_eq!(scene.status(), "paused");
    // going back once more finishes it, too
    scene.world.run_program(&rewind).code(0);
    scene.assert_continues(false, &[]);
}

#[test]
fn an_undo_that_was_killed() {
    let scene = Scene::new();
    let midway = scene.kill_midway(&["runs", "undo", &scene.run, "--yes"]);
    assert_eq!(scene.status(), "paused");
    scene.assert_continues(midway, &["--results", "yes"]);
    assert_eq!(scene.status(), "completed");
    scene.kill_midway(&["runs", "undo", &scene.run, "--yes"]);
    assert_eq!(scene.status(), "completed");
    let over = scene.world.run_program(&["resume", &scene.run]).code(2);
    assert!(over.stderr.contains("is completed"), "{}", over.stderr);
    scene.world.run_program(&["runs", "undo", &scene.run, "--yes"]).code(0);
    assert!(World::files(&scene.world.project().join("data")).iter().all(|(_, bytes)| bytes == b"old\n"));
}

#[test]
fn files_that_are_kept_are_those_of_one_moment_again() {
    let scene = Scene::new();
    let rewind = ["runs", "rewind", &scene.run, "--to", "1", "--yes"];
    if !scene.kill_midway(&rewind) {
        return;
    }
    scene.world.run_program(&[&rewind[..], &["--keep-files"]].concat()).code(0);
    assert!(!scene.world.run_program(&["snapshot", "list"]).code(0).stderr.contains("of two moments"));
    scene.world.run_program(&["resume", &scene.run, "--yes"]).code(3);
}
