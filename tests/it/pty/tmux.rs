//! Inside tmux: it draws, hears of sizes, goes on while nobody looks, and nothing is left when tmux goes away.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::terminal_features::{mouse_button, text_place};
use crate::support::skip::require_programs;

/// Only there to end a failing test.
const BOUND: Duration = Duration::from_secs(10);

/// Stands in the last row while a question is open.
const QUESTION_END: &str = "Esc denies";

/// A tmux server of its own, with one window of 100×30 in it.
struct Tmux {
    home: TempDir,
}

impl Tmux {
    /// The product, in an empty project.
    fn start_product(arguments: &str) -> Self {
        require_programs(&["tmux"], "tmux");
        let tmux = Self { home: crate::support::temporary::temp_directory() };
        let project = tmux.home.path().join("project");
        fs::create_dir_all(&project).unwrap();
        let command = format!("'{}' {arguments}; echo exit=$?; exec cat", env!("CARGO_BIN_EXE_synthdev"));
        let project = project.display().to_string();
        tmux.run_to_end(&[
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            "100",
            "-y",
            "30",
            "-c",
            &project,
            &command,
        ]);
        tmux
    }

    fn run_command(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new("tmux");
        command.env_clear().env("HOME", self.home.path()).env("TMUX_TMPDIR", self.home.path());
        command.env("LANG", "C.UTF-8").env("TERM", "xterm-256color").env("SHELL", "/bin/sh");
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        command.arg("-u").args(arguments).output().unwrap()
    }

    fn run_to_end(&self, arguments: &[&str]) -> String {
        let output = self.run_command(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn press_keys(&self, keys: &[&str]) {
        self.run_to_end(&[&["send-keys"], keys].concat());
    }

    /// The question takes keys and is on screen to its last row.
    fn wait_question(&self) -> String {
        self.wait_until("a question that takes keys", |screen| {
            screen.contains(QUESTION_END) && !screen.contains("keys count in a moment")
        })
    }

    /// Reads the question to its end, then presses the keys.
    fn answer_question(&self, keys: &[&str]) {
        let screen = self.wait_question();
        if screen.contains(" more line") {
            self.press_keys(&["End"]);
            self.wait_until("the end of the question", |screen| !screen.contains(" more line"));
        }
        self.press_keys(keys);
    }

    fn screen_text(&self) -> String {
        self.run_to_end(&["capture-pane", "-p"])
    }

    fn wait_for(&self, text: &str) -> String {
        self.wait_until(text, |screen| screen.contains(text))
    }

    fn wait_until(&self, what: &str, wanted: impl Fn(&str) -> bool) -> String {
        let started = Instant::now();
        loop {
            let screen = self.screen_text();
            if wanted(&screen) {
                return screen;
            }
            assert!(started.elapsed() < BOUND, "waited for {what:?}, the screen shows:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Processes that were started in it: their home is here.
    fn processes(&self) -> Vec<PathBuf> {
        let ours = format!("HOME={}", self.home.path().display());
        let lives_here = |process: &Path| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|one| one == ours.as_bytes())
        };
        let all = fs::read_dir("/proc").into_iter().flatten().flatten().map(|entry| entry.path());
        all.filter(|process| lives_here(process)).collect()
    }

    fn assert_nothing_left(&self) {
        let started = Instant::now();
        while !self.processes().is_empty() {
            let left = self
                .processes()
                .iter()
                .map(|one| fs::read_to_string(one.join("cmdline")).unwrap_or_default())
                .collect::<Vec<_>>();
            assert!(started.elapsed() < BOUND, "left: {left:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.run_command(&["kill-server"]);
    }
}

#[test]
#[ignore = "tool: needs tmux"]
fn a_workflow_in_a_window_of_tmux() {
    let tmux = Tmux::start_product("demo");
    tmux.wait_for("coder to change files: write_file?");
    tmux.answer_question(&["y", "Enter"]);
    tmux.wait_for("coder to execute: execute_terminal?");
    // narrower, wider: the panel beside the conversation comes and goes
    for (columns, rows) in [(60, 12), (150, 40), (80, 24)] {
        tmux.run_to_end(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
        tmux.wait_until(&format!("{columns} columns"), |screen| {
            let framed = screen.lines().any(|line| line.starts_with('┌') && line.chars().count() == columns);
            screen.contains("y allow once")
                && if columns < 100 { framed } else { screen.contains("│ path") }
        });
    }
    tmux.answer_question(&["Down", "Down", "Enter"]);
    tmux.wait_for("edit_file?");
    tmux.answer_question(&["Down", "Down", "Enter"]);
    tmux.wait_for("✓ coder_reviewer completed");
    tmux.press_keys(&["M-2"]);
    tmux.wait_for("▶■ stop");
    tmux.press_keys(&["Escape"]);
    tmux.wait_for("undo: /undo");
    tmux.press_keys(&["-l", "ünï 世界"]);
    tmux.wait_for("❯ ünï 世界");
    tmux.press_keys(&["C-u"]);
    tmux.press_keys(&["-l", "/exit"]);
    tmux.press_keys(&["Enter"]);
    let end = tmux.wait_for("exit=0");
    assert!(!end.contains("undo: /undo"), "the screen from before is back: {end}");
    let modes = tmux.run_to_end(&[
        "display-message",
        "-p",
        "#{alternate_on} #{mouse_any_flag} #{cursor_flag} #{keypad_flag}",
    ]);
    assert_eq!(modes.trim(), "0 0 1 0");
}

#[test]
#[ignore = "tool: needs tmux"]
fn a_large_buffer_is_pasted() {
    let tmux = Tmux::start_product("");
    tmux.wait_for("Set up a model");
    tmux.press_keys(&["Escape"]);
    tmux.wait_for("nothing was changed");
    let file = tmux.home.path().join("buffer");
    fs::write(&file, "zeile é 世界\n".repeat(20_000)).unwrap();
    tmux.run_to_end(&["load-buffer", file.to_str().unwrap()]);
    tmux.run_to_end(&["paste-buffer", "-p"]);
    tmux.wait_for("[pasted 20,000 lines #1]");
    tmux.run_to_end(&["paste-buffer", "-p"]);
    tmux.wait_for("[pasted 20,000 lines #2]");
}

#[test]
#[ignore = "tool: needs tmux"]
fn nothing_is_left_when_tmux_goes_away() {
    for (prepare, wait) in [(&["y", "Enter"][..], "execute_terminal?"), (&[][..], "write_file?")] {
        let tmux = Tmux::start_product("demo");
        tmux.wait_for("write_file?");
        if !prepare.is_empty() {
            tmux.answer_question(prepare);
        }
        tmux.wait_for(wait);
        assert!(tmux.processes().len() > 1);
        tmux.run_to_end(&["kill-server"]);
        tmux.assert_nothing_left();
    }
    // with a command of its own at work
    let tmux = Tmux::start_product("");
    tmux.wait_for("Set up a model");
    tmux.press_keys(&["Escape"]);
    tmux.wait_for("nothing was changed");
    tmux.press_keys(&["-l", "/cmd sleep 1234"]);
    tmux.press_keys(&["Enter"]);
    tmux.wait_for("$ sleep 1234");
    tmux.run_to_end(&["kill-server"]);
    tmux.assert_nothing_left();
}

/// The client is detached for a while; after it attaches again, the screen shows what happened meanwhile.
#[test]
#[ignore = "tool: needs tmux"]
fn it_goes_on_while_nobody_looks() {
    let tmux = Tmux::start_product("demo");
    tmux.wait_for("write_file?");
    let directory = tmux.home.path().display().to_string();
    let attach = |home: &str| {
        let environment = [("TMUX_TMPDIR", home)];
        super::Terminal::start_program(Path::new("tmux"), &["-u", "attach"], &environment)
    };
    // a client draws row by row: it is asked once its last row is there
    tmux.wait_question();
    let mut looking = attach(&directory);
    looking.wait_for(QUESTION_END);
    looking.answer_question("y\r");
    looking.wait_for("execute_terminal?");
    tmux.run_to_end(&["detach-client"]);
    assert!(looking.wait_end().contains("detached"));
    tmux.answer_question(&["Down", "Down", "Enter"]);
    tmux.wait_for("edit_file?");
    tmux.wait_question();
    let mut again = attach(&directory);
    again.wait_for(QUESTION_END);
    again.answer_question(super::FOR_SESSION);
    again.wait_for("✓ coder_reviewer completed");
    tmux.run_to_end(&["detach-client"]);
    again.wait_end();
}

/// Whether tmux itself has the mouse or not: what is dragged over is in the buffer of tmux.
#[test]
#[ignore = "tool: needs tmux"]
fn what_is_dragged_over_is_copied() {
    for mouse in ["on", "off"] {
        let tmux = Tmux::start_product("demo");
        tmux.wait_for("write_file?");
        tmux.run_to_end(&["set-option", "-g", "mouse", mouse]);
        tmux.run_to_end(&["set-option", "-s", "set-clipboard", "on"]);
        tmux.wait_question();
        let directory = tmux.home.path().display().to_string();
        let environment = [("TMUX_TMPDIR", directory.as_str())];
        let mut client = super::Terminal::start_program(Path::new("tmux"), &["-u", "attach"], &environment);
        client.wait_for(QUESTION_END);
        let (column, row) = text_place(&client, "allow once");
        client.press_keys(&mouse_button(0, column, row, 'M'));
        client.press_keys(&mouse_button(32, column + 4, row, 'M'));
        client.press_keys(&mouse_button(0, column + 4, row, 'm'));
        client.wait_for("copied 1 line");
        assert_eq!(tmux.run_to_end(&["show-buffer"]), "allow", "mouse {mouse}");
        tmux.run_to_end(&["detach-client"]);
        client.wait_end();
    }
}
