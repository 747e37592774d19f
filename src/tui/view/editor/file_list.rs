//! Files to choose from, and what a new one begins with.

use ratatui::Frame;
use ratatui::layout::{Position, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use super::super::draw_helpers::{pad_to_columns, put_keys, put_line, select_row};
use crate::editor::EditFileList;
use crate::editor::new_file::{NewFileNaming, NewFilePicker};
use crate::model::UiModel;
use crate::text::{display_width, fit_to_columns, one_line, wrap_line};
use synthdev_domain::source_location::ConfigLayer;
use synthdev_domain::terminal_safe;
use synthdev_service::session::{EditFileKind, NewFileTemplate};

/// A name, its description, and its style.
type FileListRow = (String, String, Style);

/// Rows to choose from, and what is typed to find one.
struct FileListView<'a> {
    title: &'a str,
    keys: &'a str,
    typed: &'a str,
    selected: usize,
    rows: &'a [FileListRow],
}

pub fn draw_files(
    model: &UiModel,
    listing: &EditFileList,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    let theme = model.theme;
    let rows: Vec<FileListRow> = listing
        .matching_files()
        .into_iter()
        .map(|file| {
            let (about, style) = match &file.problem {
                Some(problem) => (format!("✗ {}", one_line(problem)), theme.bad_style()),
                None => (
                    terminal_safe::escape_name(&file.definition_names.join(", ")).into_owned(),
                    theme.dim_style(),
                ),
            };
            (file.name.clone(), about, style)
        })
        .collect();
    let title = " Edit which file? Shipped ones are saved as a copy of your own.";
    let keys = "↑↓ or type · Enter opens it · Ctrl+N a new one · Esc leaves";
    let shown =
        FileListView { title, keys, typed: &listing.typed_filter, selected: listing.selected, rows: &rows };
    draw_file_list(model, shown, area, frame)
}

pub fn draw_fresh(
    model: &UiModel,
    fresh: &NewFilePicker,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    if let Some(naming) = &fresh.naming_step {
        return draw_naming(model, fresh, naming, area, frame);
    }
    let about = |pattern: &NewFileTemplate| {
        let kind = match (pattern.file_kind, &pattern.copied_from) {
            (_, None) => String::new(),
            (EditFileKind::Workflow, Some(_)) => "copy of the workflow: ".to_owned(),
            (EditFileKind::Role, Some(_)) => "copy of the role: ".to_owned(),
        };
        terminal_safe::escape_name(&one_line(&format!("{kind}{}", pattern.description))).into_owned()
    };
    let fitting = fresh.matching_templates().into_iter();
    let rows: Vec<FileListRow> =
        fitting.map(|pattern| (pattern.name.clone(), about(pattern), model.theme.dim_style())).collect();
    let title = " A new workflow or role: what does it begin with?";
    let keys = "↑↓, or letters of one · Enter takes it, then asks for a name · Esc leaves";
    let shown =
        FileListView { title, keys, typed: &fresh.typed_filter, selected: fresh.selected, rows: &rows };
    draw_file_list(model, shown, area, frame)
}

fn draw_naming(
    model: &UiModel,
    fresh: &NewFilePicker,
    naming: &NewFileNaming,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    let theme = model.theme;
    let title =
        format!(" A new file from {}: what is its name?", terminal_safe::escape_name(&naming.pattern.name));
    put_line(
        frame,
        area.x,
        area.y,
        &Line::styled(pad_to_columns(&title, area.width), theme.selected_style()),
        area.width,
    );
    let typed = format!("❯ {}", terminal_safe::escape_name(&naming.name));
    let other =
        if fresh.selected_layer() == ConfigLayer::Project { "for all projects" } else { "for this project" };
    let place = fresh.file().filter(|_| !naming.name.is_empty()).unwrap_or_default();
    let columns = usize::from(area.width);
    let problem =
        naming.problem.as_ref().map(|problem| format!("✗ {}", one_line(&problem.replace('\n', " — "))));
    let problem = problem.unwrap_or_default();
    let mut rows = vec![
        (typed.clone(), theme.text()),
        (format!("  {}", terminal_safe::escape_name(&place)), theme.dim_style()),
    ];
    rows.extend(
        wrap_line(&problem, columns)
            .into_iter()
            .map(|row| (problem[row].trim_end().to_owned(), theme.bad_style())),
    );
    let keys = format!("Enter opens it unsaved · Tab {other} · Ctrl+U clears · Esc back");
    for (y, (text, style)) in (area.y + 1..area.bottom()).zip(rows) {
        let text = fit_to_columns(&text, columns).into_owned();
        put_line(frame, area.x, y, &Line::styled(text, style), area.width);
    }
    if area.height > 3 {
        put_keys(model, &[&keys], Rect { y: area.bottom() - 1, height: 1, ..area }, frame);
    }
    cursor_behind(&typed, area)
}

fn cursor_behind(typed: &str, area: Rect) -> Option<Position> {
    let x = u16::try_from(display_width(typed)).unwrap_or(0).min(area.width.saturating_sub(1));
    (area.height > 1).then_some(Position { x: area.x + x, y: area.y + 1 })
}

fn draw_file_list(
    model: &UiModel,
    shown: FileListView<'_>,
    area: Rect,
    frame: &mut Frame<'_>,
) -> Option<Position> {
    let FileListView { title, keys, typed, selected, rows } = shown;
    let theme = model.theme;
    put_line(
        frame,
        area.x,
        area.y,
        &Line::styled(pad_to_columns(title, area.width), theme.selected_style()),
        area.width,
    );
    let typed = format!("❯ {}", terminal_safe::escape_name(typed));
    if area.height > 1 {
        put_line(frame, area.x, area.y + 1, &Line::raw(typed.as_str()), area.width);
    }
    let fits = usize::from(area.height.saturating_sub(3));
    if rows.is_empty() && fits > 0 {
        put_line(
            frame,
            area.x,
            area.y + 2,
            &Line::styled("  nothing fits: these letters narrow the list", theme.dim_style()),
            area.width,
        );
    }
    let first = (selected + 1).saturating_sub(fits);
    let wide =
        rows.iter().map(|(name, ..)| display_width(name)).max().unwrap_or(0).min(usize::from(area.width) / 2);
    for (y, (at, (name, about, style))) in (area.y + 2..).zip(rows.iter().enumerate().skip(first).take(fits))
    {
        let here = at == selected;
        let name = fit_to_columns(&terminal_safe::escape_name(name), wide).into_owned();
        let gap = " ".repeat(wide.saturating_sub(display_width(&name)) + 2);
        let room = usize::from(area.width).saturating_sub(wide + 5);
        let spans = vec![
            Span::raw(if here { "▸ " } else { "  " }),
            Span::raw(name),
            Span::raw(gap),
            Span::styled(fit_to_columns(about, room).into_owned(), *style),
        ];
        put_line(frame, area.x, y, &Line::from(spans), area.width);
        if here {
            select_row(frame, Rect { y, height: 1, ..area }, theme.selected_style());
        }
    }
    if area.height > 3 {
        put_keys(model, &[keys], Rect { y: area.bottom() - 1, height: 1, ..area }, frame);
    }
    cursor_behind(&typed, area)
}
