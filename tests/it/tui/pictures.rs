//! The pictures of the documentation: screens as they are drawn, dark and light, at the size that shows them best.
//! `UPDATE_PICTURES=1` writes them; without it, one that is not what the screen shows is an error.

use std::fs;
use std::path::Path;

use synthdev::service::session::EditFile;
use synthdev::tui::theme::TerminalEnvironment;

use super::archive::opened_browser;
use super::editor::{answer_check_of, file, open_file};
use super::graph::{CODER_REVIEWER, shipped_catalog};
use super::picture_runs::{earlier_runs, failed_run};
use super::*;
use crate::support::screen_picture::{DARK_PALETTE, LIGHT_PALETTE, TerminalPalette, draw_picture};

const SIZE: (u16, u16) = (120, 36);

/// Name of the files, what the picture shows, and how the screen comes to show it.
type Scene = (&'static str, &'static str, fn() -> TuiHarness);

const SCENES: [Scene; 8] = [
    ("conversation", "A conversation with two agents of a workflow", conversation),
    ("question", "A question above the input line, with the change that it is about", question),
    ("graph", "The graph of a running workflow", || pane('2')),
    ("timeline", "The timeline of a running workflow", || pane('6')),
    ("costs", "What a running workflow has used of its budget", || pane('7')),
    ("history", "Earlier runs", || opened_browser(earlier_runs(), false)),
    ("run", "An earlier run and its steps", failed_run),
    ("editor", "A workflow in the editor", editor),
];

fn conversation() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.show_reviewed_run();
    desk
}

fn question() -> TuiHarness {
    let mut desk = TuiHarness::new();
    desk.show_asking_run().settle_question();
    desk
}

/// The pane of a digit, beside the run of the conversation.
fn pane(digit: char) -> TuiHarness {
    let mut desk = conversation();
    desk.press_alt(digit);
    desk
}

fn editor() -> TuiHarness {
    let shipped = EditFile {
        name: ".synthdev/workflows/coder_reviewer.json".into(),
        definition_names: vec!["coder_reviewer".into()],
        ..file(ConfigLayer::Project)
    };
    let mut desk = open_file(shipped, CODER_REVIEWER);
    answer_check_of(&mut desk, &shipped_catalog());
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
