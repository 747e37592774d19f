//! The dialog that sets up a model: what is asked, the list, what is typed, the keys. A key is drawn as dots.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

use super::draw_helpers::{draw_box, put_line, select_row};
use crate::model::UiModel;
use crate::setup::{SetupChoice, SetupDialog, SetupStep};
use crate::text::{display_width, fit_to_columns, wrap_line};
use synthdev_domain::terminal_safe;

/// Dots that hide a key, however long it is.
const DOTS: usize = 24;

/// The most rows of the dialog, and the fewest in which it can be used.
const MOST_ROWS: u16 = 22;
const LEAST_ROWS: u16 = 8;
/// The fewest columns.
const LEAST_COLUMNS: u16 = 20;

/// The rows of the dialog, of `free` rows above the input line, `most` of which a question takes. None where none is open.
pub fn setup_height(model: &UiModel, most: u16, free: u16) -> u16 {
    if model.setup.is_none() {
        return 0;
    }
    most.clamp(LEAST_ROWS, MOST_ROWS).min(free)
}

/// Whether there is room for it: else it takes no text.
pub fn has_room(area: Rect) -> bool {
    area.width >= LEAST_COLUMNS && area.height >= LEAST_ROWS
}

/// Where the cursor is while something is typed.
pub fn draw_setup(model: &UiModel, area: Rect, frame: &mut Frame<'_>) -> Option<Position> {
    let setup = model.setup.as_ref()?;
    frame.render_widget(Clear, area.intersection(frame.area()));
    if !has_room(area) {
        let lines = wrap_text("enlarge the window, or Esc leaves the setup", usize::from(area.width));
        for (y, line) in (area.y..area.bottom()).zip(lines) {
            put_line(frame, area.x, y, &Line::styled(line, model.theme.warning_style()), area.width);
        }
        return None;
    }
    let theme = model.theme;
    let at = setup.steps().iter().position(|step| *step == setup.step).unwrap_or(0) + 1;
    let level = if setup.level == "base" { String::new() } else { format!(" for {}", setup.level) };
    let title = format!(" Set up a model{level} · {at} of {} ", setup.steps().len());
    let inside = draw_box(frame, area, &title, theme.accent_style().patch(theme.bold_style()));
    let text = usize::from(inside.width.saturating_sub(2));
    let mut lines = wrap_text(&step_question(setup), text);
    lines.push(String::new());
    let mut cursor = None;
    if let Some(entry) = step_entry(setup) {
        let line = format!("❯ {}", fit_to_columns(&entry, text.saturating_sub(2)));
        let before = display_width(&shown_text(setup, setup.text_before_cursor())) + 2;
        let x = inside.x + 1 + u16::try_from(before).unwrap_or(u16::MAX).min(inside.width);
        let y = inside.y + u16::try_from(lines.len()).unwrap_or(0);
        cursor = Some(Position { x: x.min(inside.right() - 1), y: y.min(inside.bottom() - 1) });
        lines.extend([line, String::new()]);
    }
    for (y, line) in (inside.y..inside.bottom()).zip(&lines) {
        put_line(frame, inside.x + 1, y, &Line::raw(line.as_str()), inside.width - 1);
    }
    let y = inside.y + u16::try_from(lines.len()).unwrap_or(0);
    let foot = footer_lines(model, setup, text);
    let bottom = inside.bottom().saturating_sub(u16::try_from(foot.len()).unwrap_or(0) + 1);
    let list = Rect { x: inside.x + 1, y, width: inside.width - 1, height: bottom.saturating_sub(y) };
    draw_list(model, setup, list, frame);
    for (at, (line, style)) in (bottom..).zip(&foot) {
        put_line(frame, inside.x + 1, at, &Line::styled(line.as_str(), *style), inside.width - 1);
    }
    let keys = fit_to_columns(step_keys(setup), text).into_owned();
    put_line(
        frame,
        inside.x + 1,
        inside.bottom() - 1,
        &Line::styled(keys, theme.bold_style()),
        inside.width - 1,
    );
    cursor
}

/// What the step asks.
fn step_question(setup: &SetupDialog) -> String {
    let place = setup.chosen_server.clone().unwrap_or_default();
    let name = if place.provider.is_empty() { place.base_url.clone() } else { place.provider.clone() };
    match setup.step {
        SetupStep::Place => "Choose a provider, or type the URL of a server.".to_owned(),
        SetupStep::Key => match &place.key_source {
            Some(from) => format!("The key for {name}. One is set already ({from}): Enter keeps it."),
            None if place.needs_key => format!("The key for {name}. It is not shown."),
            None => format!("The key for {name}, if it wants one. It is not shown."),
        },
        SetupStep::Model => format!("Which model of {name}? Choose one, or type its name."),
        SetupStep::Smart => "Which model for the smart level, for hard work?".to_owned(),
        SetupStep::Fast => "Which model for the fast level, for small work?".to_owned(),
        SetupStep::Trial => {
            let own = |model: &Option<String>| model.clone().unwrap_or_else(|| "as base".to_owned());
            let mut text = format!("{name}\n{}: {}", setup.level, setup.model);
            if setup.level == "base" {
                text.push_str(&format!(
                    "\nsmart: {}\nfast: {}",
                    own(&setup.smart_model),
                    own(&setup.fast_model)
                ));
            }
            text
        }
    }
}

/// What is typed; never a key. `None`: nothing is typed here.
fn step_entry(setup: &SetupDialog) -> Option<String> {
    match setup.step {
        SetupStep::Trial => None,
        SetupStep::Key | SetupStep::Place | SetupStep::Model | SetupStep::Smart | SetupStep::Fast => {
            Some(shown_text(setup, &setup.typed_text))
        }
    }
}

/// A text that is typed, as it may be seen.
fn shown_text(setup: &SetupDialog, text: &str) -> String {
    match setup.step {
        SetupStep::Key => "•".repeat(text.chars().count().min(DOTS)),
        _ => terminal_safe::escape_name(text).into_owned(),
    }
}

fn draw_list(model: &UiModel, setup: &SetupDialog, area: Rect, frame: &mut Frame<'_>) {
    let choices = setup.choices();
    let fits = usize::from(area.height);
    if fits == 0 || setup.waiting_for.is_some() {
        return;
    }
    let hides_some = choices.len() > fits && fits > 1;
    let fits = fits - usize::from(hides_some);
    let first = (setup.selected + 1).saturating_sub(fits).min(choices.len().saturating_sub(fits));
    if hides_some {
        let hidden = format!("  ↑↓ {} more", choices.len() - fits);
        put_line(
            frame,
            area.x,
            area.bottom() - 1,
            &Line::styled(hidden, model.theme.dim_style()),
            area.width,
        );
    }
    let rows: Vec<(String, String)> = choices.iter().map(|choice| choice_text(setup, choice)).collect();
    let wide =
        rows.iter().map(|(name, _)| display_width(name)).max().unwrap_or(0).min(usize::from(area.width) / 2);
    for (y, (at, (name, note))) in (area.y..).zip(rows.iter().enumerate().skip(first).take(fits)) {
        let here = at == setup.selected;
        let name = fit_to_columns(name, if note.is_empty() { usize::from(area.width) - 3 } else { wide })
            .into_owned();
        let pad = " ".repeat(wide.saturating_sub(display_width(&name)) + 2);
        let room = usize::from(area.width).saturating_sub(wide + 5);
        let note = fit_to_columns(note, room).into_owned();
        let spans = vec![
            Span::raw(if here { "▸ " } else { "  " }),
            Span::raw(name),
            Span::raw(pad),
            Span::styled(note, model.theme.dim_style()),
        ];
        put_line(frame, area.x, y, &Line::from(spans), area.width);
        if here {
            select_row(frame, Rect { y, height: 1, ..area }, model.theme.selected_style());
        }
    }
}

fn choice_text(setup: &SetupDialog, choice: &SetupChoice) -> (String, String) {
    let typed = || terminal_safe::escape_name(setup.typed_text.trim()).into_owned();
    match choice {
        SetupChoice::Discover => {
            ("look for a server on this machine".to_owned(), "Ollama, LM Studio, llama.cpp, vLLM".to_owned())
        }
        SetupChoice::Place(at) => setup.servers.get(*at).map_or_else(Default::default, |place| {
            let name = if place.provider.is_empty() { &place.base_url } else { &place.provider };
            (
                terminal_safe::escape_name(name).into_owned(),
                terminal_safe::escape_name(&place.note).into_owned(),
            )
        }),
        SetupChoice::Address => {
            (format!("use {}", terminal_safe::escape_name(&setup.typed_address())), String::new())
        }
        SetupChoice::Typed => (format!("use `{}`", typed()), String::new()),
        SetupChoice::Model(at) => setup.models.get(*at).map_or_else(Default::default, |model| {
            (
                terminal_safe::escape_name(&model.name).into_owned(),
                terminal_safe::escape_name(&model.note).into_owned(),
            )
        }),
        SetupChoice::AsBase => ("as base".to_owned(), terminal_safe::escape_name(&setup.model).into_owned()),
    }
}

/// The activity in progress, or what went wrong.
fn footer_lines(model: &UiModel, setup: &SetupDialog, columns: usize) -> Vec<(String, Style)> {
    let theme = model.theme;
    let (text, style) = match (&setup.waiting_for, &setup.problem, &setup.outcome) {
        (Some(waiting), ..) => (model.with_wait_time(waiting), theme.dim_style()),
        (None, Some(problem), _) => (format!("✗ {problem}"), theme.bad_style()),
        (None, None, Some(Ok(text))) => (format!("✓ {text}"), theme.good_style()),
        (None, None, Some(Err(text))) => (format!("✗ {text}"), theme.bad_style()),
        (None, None, None) => match &setup.assumption {
            Some(assumed) => (assumed.clone(), theme.dim_style()),
            None => return Vec::new(),
        },
    };
    wrap_text(&text, columns).into_iter().take(6).map(|line| (line, style)).collect()
}

fn step_keys(setup: &SetupDialog) -> &'static str {
    // with a text the arrow moves in it
    let is_typed = !setup.typed_text.is_empty();
    match (setup.step, &setup.outcome) {
        _ if setup.waiting_for.is_some() => "Esc cancels",
        (SetupStep::Place, _) => "↑↓ or type · Enter takes it · Esc cancels",
        (SetupStep::Key, _) if is_typed => "Enter goes on · Shift+Tab back · Esc cancels",
        (SetupStep::Key, _) => "Enter goes on · ← back · Esc cancels",
        (SetupStep::Model | SetupStep::Smart | SetupStep::Fast, _) if is_typed => {
            "↑↓ or type · Enter takes it · Shift+Tab back · Esc cancels"
        }
        (SetupStep::Model | SetupStep::Smart | SetupStep::Fast, _) => {
            "↑↓ or type · Enter takes it · ← back · Esc cancels"
        }
        (SetupStep::Trial, Some(Ok(_))) => "Enter saves it · ← back · Esc cancels",
        (SetupStep::Trial, _) => "t tries again · s saves it anyway · ← back · Esc cancels",
    }
}

fn wrap_text(text: &str, columns: usize) -> Vec<String> {
    let clean = terminal_safe::escape_controls(text);
    let lines = clean.lines();
    lines.flat_map(|line| wrap_line(line, columns).into_iter().map(|row| line[row].to_owned())).collect()
}
