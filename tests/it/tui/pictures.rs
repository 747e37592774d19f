//! The pictures of the documentation: screens as they are drawn, dark and light, at the size that shows them best.
//! `UPDATE_PICTURES=1` writes them; without it, one that is not what the screen shows is an error.

use std::fs;
use std::path::Path;

use synthdev::tui::theme::TerminalEnvironment;

use super::archive::{in_run, opened_browser};
use super::charts::differing_rows;
use super::editor::{answer_check, open_in_layer};
use super::panes::{tool, tool_done};
use super::*;
use crate::support::screen_picture::{DARK_PALETTE, LIGHT_PALETTE, TerminalPalette, draw_picture};

const SIZE: (u16, u16) = (120, 36);

/// Name of the files, what the picture shows, and how the screen comes to show it.
type Scene = (&'static str, &'static str, fn() -> TuiHarness);

const SCENES: [Scene; 8] = [
    ("conversation", "A conversation with two agents of a workflow", conversation),
    ("question", "A question above the input line, with the change that it is about", question),
    ("graph", "The graph of a running workflow", || pane('2')),
    ("timeline", "The timeline of a running workflow", || team_pane('6')),
    ("costs", "What a running workflow has used of its budget", || team_pane('7')),
    ("history", "Earlier runs", || opened_browser(differing_rows(), true)),
    ("run", "An earlier run and its steps", in_run),
    ("editor", "A workflow in the editor", editor),
];

const ANSWER: &str = "The flag is parsed in `src/main.rs`. I change three places:\n\n\
    | file | lines | what |\n|:--|--:|:--|\n| src/main.rs | 12 | parse `--json` |\n| src/print.rs | 40 | print as JSON |\n\n\
    ```rust\nfn print_json(report: &Report) -> io::Result<()> {\n    // one object a line\n    writeln!(io::stdout(), \"{}\", report.to_json())\n}\n```";

fn conversation() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.workflow()
        .run_event("r1", model_called(5, "coder", ConversationSide::Assistant))
        .advance_clock(2_400)
        .run_event("r1", model_replied(5, "coder", ConversationSide::Assistant, ANSWER, ""))
        .run_event("r1", tool(6, "read_files", json!({"file_paths": ["src/main.rs"]})))
        .run_event("r1", tool_done(6, "read_files", true, "fn main() {}"))
        .run_event("r1", tool(7, "execute_terminal", json!({"command": "cargo test"})))
        .advance_clock(3_100)
        .run_event("r1", tool_done(7, "execute_terminal", true, "test result: ok. 41 passed"))
        .run_event("r1", transition("code", "review"))
        .run_event("r1", state_entered("review"))
        .run_event("r1", model_called(9, "reviewer", ConversationSide::User))
        .run_event("r1", delta_event(9, DeltaKind::Text, "The change is sound. One thing is missing: "));
    desk
}

fn question() -> TuiHarness {
    let diff = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,4 +1,5 @@\n fn main() {\n-    let options = parse(1);\n\
        +    let options = parse(2, \"--json\");\n+    check(&options);\n     run(options);\n }";
    let mut desk = conversation();
    let preview = ToolPreview::Diff { path: "src/main.rs".into(), diff: diff.into() };
    desk.run_event("r1", approval_event(20, "edit_file", preview)).settle_question();
    desk
}

/// The pane of a digit, beside a run at work.
fn pane(digit: char) -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.show_working_run().press_alt(digit);
    desk
}

/// The same beside a run whose agents work at once.
fn team_pane(digit: char) -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.show_team().press_alt(digit);
    desk
}

fn editor() -> TuiHarness {
    let text = include_str!("../../../workflows/coder_reviewer.json");
    let mut desk = open_in_layer(ConfigLayer::Project, text);
    answer_check(&mut desk);
    desk
}

fn check(name: &str, title: &str, desk: &mut TuiHarness, theme: &str, palette: &TerminalPalette) {
    let terminal = TerminalEnvironment { term: Some("xterm-256color".into()), ..Default::default() };
    desk.model.theme = ColorTheme::find_theme(theme, &terminal).unwrap();
    let drawn = draw_picture(&desk.draw_cells(SIZE.0, SIZE.1), palette, title);
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/pictures/{name}-{theme}.svg"));
    if std::env::var_os("UPDATE_PICTURES").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &drawn).unwrap();
    }
    let stored = fs::read_to_string(&file).unwrap_or_default();
    assert!(stored == drawn, "{} is not what the screen shows: run `just pictures`", file.display());
}

#[test]
fn the_pictures_show_the_screen() {
    for (name, title, play) in SCENES {
        check(name, title, &mut play(), "dark", &DARK_PALETTE);
        check(name, title, &mut play(), "light", &LIGHT_PALETTE);
    }
}
