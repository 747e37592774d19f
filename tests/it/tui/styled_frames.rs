//! Frames with their styles: what a colour, a weight or a reversed row says, written below the text. Each situation is
//! drawn with colours and without (`NO_COLOR`): the words are the same, and the styles without colours are in the file, too.

use ratatui::buffer::{Buffer, Cell};
use ratatui::style::{Color, Modifier};
use synthdev::domain::workflow::PauseKind;

use super::archive::{opened_browser, run_row};
use super::editor::{answer_check, open_in_layer};
use super::panes::tool;
use super::question_frames::pause;
use super::shots::Row;
use super::*;

/// Cells side by side that look the same, in rows that follow each other.
#[derive(Debug)]
struct StyledRun {
    rows: (usize, usize),
    columns: (usize, usize),
    look: String,
    text: String,
}

/// How a cell looks. Of a space only what can be seen counts.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct CellLook {
    color: Color,
    background: Color,
    modifiers: Modifier,
}

impl CellLook {
    fn of_cell(cell: &Cell) -> Self {
        let look = Self { color: cell.fg, background: cell.bg, modifiers: cell.modifier };
        if cell.symbol() == " " { look.on_space() } else { look }
    }

    fn on_space(self) -> Self {
        let seen = Modifier::REVERSED | Modifier::UNDERLINED | Modifier::CROSSED_OUT;
        Self { color: Color::Reset, modifiers: self.modifiers & seen, ..self }
    }

    /// Empty: as plain text.
    fn words(self) -> String {
        let mut words = Vec::new();
        if self.color != Color::Reset {
            words.push(self.color.to_string().to_lowercase());
        }
        if self.background != Color::Reset {
            words.push(format!("on {}", self.background.to_string().to_lowercase()));
        }
        words.extend(self.modifiers.iter_names().map(|(name, _)| name.to_lowercase()));
        words.join(" ")
    }
}

/// What looks other than plain text, from the first row to the last. Words of one look are one run; the same columns with the
/// same look in the next row, as of a border, too.
fn styled_runs(cells: &Buffer) -> Vec<StyledRun> {
    let (width, height) = (usize::from(cells.area.width), usize::from(cells.area.height));
    let mut runs: Vec<StyledRun> = Vec::new();
    for y in 0..height {
        let row = &cells.content[y * width..(y + 1) * width];
        let looks: Vec<CellLook> = row.iter().map(CellLook::of_cell).collect();
        let is_space = |at: usize| row.get(at).is_some_and(|cell| cell.symbol() == " ");
        let mut x = 0;
        while x < width {
            let look = looks[x];
            let between = look.on_space();
            // one space parts words, more of them part what stands in columns
            let is_single = |at: usize| between != CellLook::default() || !is_space(at + 1);
            let goes_on =
                |at: &usize| looks[*at] == look || is_space(*at) && looks[*at] == between && is_single(*at);
            let after = (x..width).find(|at| !goes_on(at)).unwrap_or(width);
            let is_blank = |at: &usize| is_space(*at) && looks[*at] == CellLook::default();
            let last = (x..after).rev().find(|at| !is_blank(at)).unwrap_or(x);
            if look != CellLook::default() {
                let text = row[x..=last].iter().map(Cell::symbol).collect();
                let (rows, columns) = ((y + 1, y + 1), (x + 1, last + 1));
                add_run(&mut runs, StyledRun { rows, columns, look: look.words(), text });
            }
            x = last + 1;
        }
    }
    runs
}

fn add_run(runs: &mut Vec<StyledRun>, run: StyledRun) {
    let same = |earlier: &&mut StyledRun| {
        earlier.rows.1 + 1 == run.rows.0 && (earlier.columns, &earlier.look) == (run.columns, &run.look)
    };
    match runs.iter_mut().rev().find(same) {
        Some(earlier) => earlier.rows.1 = run.rows.0,
        None => runs.push(run),
    }
}

/// `3:1-12 cyan "┏━ graph"`; `4-9:80 dim` for the same place in several rows.
fn run_line(run: &StyledRun) -> String {
    let range = |(first, last): (usize, usize)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    };
    let place = format!("{}:{} {}", range(run.rows), range(run.columns), run.look);
    let short: String = run.text.trim_end().chars().take(32).collect();
    match run.rows.0 == run.rows.1 && !short.is_empty() {
        true => format!("{place} {short:?}\n"),
        false => format!("{place}\n"),
    }
}

impl TuiHarness {
    /// The screen with numbered rows, and below it what looks other than plain text: `row:first-last look "text"`.
    fn styled_frame(&mut self, theme: ColorTheme, (width, height): (u16, u16)) -> (String, String) {
        self.model.theme = theme;
        let text = self.draw_screen(width, height);
        let rows =
            text.lines().enumerate().map(|(at, row)| format!("{:>2} {row}", at + 1).trim_end().to_owned());
        let cells = self.draw_cells(width, height);
        if theme == ColorTheme::plain() {
            let colored =
                cells.content.iter().find(|cell| (cell.fg, cell.bg) != (Color::Reset, Color::Reset));
            assert_eq!(colored, None, "a colour without colours\n{text}");
        }
        let styles = styled_runs(&cells).iter().map(run_line).collect();
        (rows.map(|row| row + "\n").collect(), styles)
    }

    fn check_styled_frame(&mut self, name: &str, size: (u16, u16)) {
        self.settle_question();
        let (text, colored) = self.styled_frame(ColorTheme::default(), size);
        let (plain_text, plain) = self.styled_frame(ColorTheme::plain(), size);
        assert_eq!(text, plain_text, "{name}: the words depend on colours");
        let (width, height) = size;
        let shown = format!("{width}×{height}\n{text}\ncolours\n{colored}\nwithout colours\n{plain}");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../frames/styled");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, shown));
    }
}

const DIFF: &str = "--- a/src/main.rs\n+++ b/src/main.rs\n@@ -1,4 +1,5 @@\n fn main() {\n-    let name = old(1);\n\
    +    let name = new(1, \"x\");\n+    print(name);\n     done();\n }";

/// At 80×20.
const SMALL: &[Row] = &[
    ("selected_row", |desk| {
        desk.show_working_run().press_alt('5').draw_screen(80, 20);
        desk.key(KeyCode::Home);
    }),
    ("marks_of_calls", |desk| {
        desk.show_failing_run().run_event("r1", tool(90, "read_files", json!({"file_paths": ["b.rs"]})));
        desk.press_alt('5');
    }),
    ("marks_of_states", |desk| {
        desk.show_working_run().press_alt('2');
    }),
    ("search_hit", |desk| {
        desk.show_working_run().press_alt('4').draw_screen(80, 20);
        desk.press_control('f').type_text("parts").key(KeyCode::Enter);
    }),
    ("question_answer_chosen", |desk| {
        desk.workflow()
            .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")))
            .settle_question()
            .key(KeyCode::Down);
    }),
    ("question_risky", |desk| {
        let mut preview = command_preview("git push --force");
        if let ToolPreview::Command { warning, .. } = &mut preview {
            *warning = Some("This command overwrites what others have pushed.".into());
        }
        desk.workflow().run_event("r1", approval_event(9, "execute_terminal", preview));
    }),
    ("question_unread", |desk| {
        let command = "echo\n".repeat(40) + "rm -rf build";
        desk.workflow().run_event("r1", approval_event(9, "execute_terminal", command_preview(&command)));
    }),
    ("question_without_the_keys", |desk| {
        desk.workflow()
            .run_event("r1", approval_event(9, "execute_terminal", command_preview("cargo test")))
            .settle_question()
            .type_text("/cost");
    }),
    ("choice", |desk| {
        let mut question = pause(PauseKind::Choice, "Which **way**?");
        if let UserQuestion::Pause { choices, .. } = &mut question {
            *choices = ["ship it now", "test more"].map(str::to_owned).to_vec();
        }
        desk.workflow().run_event("r1", user_question(20, question)).settle_question().key(KeyCode::Down);
    }),
    ("diff", |desk| {
        let preview = ToolPreview::Diff { path: "src/main.rs".into(), diff: DIFF.into() };
        desk.workflow().run_event("r1", approval_event(20, "edit_file", preview));
    }),
    ("failure", |desk| {
        let failure = RunError::new("model.auth", "The provider refused the key", "401: invalid key")
            .with_hint("set OPENAI_API_KEY, or /configure");
        desk.workflow()
            .run_event(
                "r1",
                RunEvent::Warning { code: "x".into(), text: "the budget is nearly used up".into() },
            )
            .run_event("r1", run_finished(RunStatus::Failed, None, Some(failure)));
    }),
    ("unavailable_command", |desk| {
        desk.workflow().type_text("/r");
    }),
    ("history_statuses", |desk| {
        use RunStatus::{Cancelled, Completed, Failed, Interrupted, Paused, Running};
        let statuses = [Running, Completed, Failed, Paused, Cancelled, Interrupted];
        let rows = statuses.into_iter().enumerate().map(|(at, status)| run_row(at, "coder_reviewer", status));
        *desk = opened_browser(rows.collect(), false);
        desk.key(KeyCode::Down);
    }),
    ("editor_finding", |desk| {
        let text = "{\n  \"workflow_name\": \"mine\",\n  \"states\": [\n    { \"name\": \"start\", \"transition\": [{ \"target\": \"nowhere\" }] }\n  ]\n}\n";
        *desk = open_in_layer(ConfigLayer::Project, text);
        answer_check(desk);
        desk.key(KeyCode::F(4));
    }),
];

/// Every agent, call and step from state to state, with the panes that draw them.
const TALL: &[Row] = &[
    ("conversation", |desk| {
        desk.play_review();
    }),
    ("agents", |desk| {
        desk.play_review().press_alt('3');
    }),
    ("timeline", |desk| {
        desk.play_review().press_alt('6');
    }),
    ("costs", |desk| {
        desk.play_review().press_alt('7');
    }),
];

/// With room for two panes, of which one has the keys.
const WIDE: &[Row] = &[("focused_pane", |desk| {
    desk.show_working_run().press_alt('5').press_alt('2');
})];

#[test]
fn what_a_style_says_is_there_with_and_without_colours() {
    for (rows, size) in [(SMALL, (80, 20)), (TALL, (120, 40)), (WIDE, (200, 24))] {
        for (name, play) in rows {
            let mut desk = TuiHarness::new();
            desk.draw_screen(80, 24);
            play(&mut desk);
            desk.check_styled_frame(name, size);
        }
    }
}
