//! `common_data` as a tree: what changed last is marked, long values are cut until they are opened.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use serde_json::{Map, Value};

use super::PaneSet;
use super::body::{PaneRow, PaneRowCopy, paragraph_rows};
use crate::json_text::value_text;
use crate::run_view::common_data::{DataChangeAge, RunCommonData, child_pointer};
use crate::text::{clean_text, display_width, fit_to_columns, format_count, one_line};
use crate::theme::ColorTheme;

/// Rows of the whole tree.
const ROWS: usize = 20_000;
/// Children of one value that are shown.
const CHILDREN: usize = 1_000;
/// With more children, or deeper, a value is closed at first.
const FEW: usize = 12;
const SHALLOW: usize = 3;

/// The value behind a row, for the clipboard.
pub fn value_at<'d>(data: &'d RunCommonData, scope: &str, pointer: &str) -> Option<&'d Value> {
    let (_, map) = data.scope_data().find(|(name, _)| *name == scope)?;
    let first = pointer.get(1..)?.split('/').next()?;
    let name = first.replace("~1", "/").replace("~0", "~");
    map.get(&name)?.pointer(&pointer[first.len() + 1..])
}

pub fn data_rows(data: &RunCommonData, panes: &PaneSet, columns: usize, theme: ColorTheme) -> Vec<PaneRow> {
    let mut tree = DataTreeRows { data, panes, columns, theme, scope: String::new(), rows: Vec::new() };
    for (scope, map) in data.scope_data() {
        if !scope.is_empty() {
            if !tree.rows.is_empty() {
                tree.rows.push(PaneRow::default());
            }
            let text = format!("{}: what it changed", one_line(scope.trim_end_matches('/')));
            tree.rows.push(PaneRow::new(Line::styled(
                fit_to_columns(&text, columns).into_owned(),
                theme.dim_style(),
            )));
        }
        scope.clone_into(&mut tree.scope);
        tree.push_children(map.iter().map(|(key, value)| (key.clone(), value)), map.len(), "", 0);
    }
    if tree.rows.len() >= ROWS {
        tree.rows.push(PaneRow::new(Line::styled("… more is not shown: close something", theme.dim_style())));
    }
    tree.rows
}

struct DataTreeRows<'d> {
    data: &'d RunCommonData,
    panes: &'d PaneSet,
    columns: usize,
    theme: ColorTheme,
    scope: String,
    rows: Vec<PaneRow>,
}

impl DataTreeRows<'_> {
    fn push_children<'v>(
        &mut self,
        children: impl Iterator<Item = (String, &'v Value)>,
        count: usize,
        pointer: &str,
        depth: usize,
    ) {
        for (name, value) in children.take(CHILDREN) {
            if self.rows.len() >= ROWS {
                return;
            }
            self.push_value(&name, value, &child_pointer(pointer, &name), depth);
        }
        if count > CHILDREN {
            let text = format!("{}… {} more", "  ".repeat(depth + 1), count - CHILDREN);
            self.rows.push(PaneRow::new(Line::styled(text, self.theme.dim_style())));
        }
    }

    fn push_value(&mut self, name: &str, value: &Value, pointer: &str, depth: usize) {
        match value {
            Value::Object(map) if !map.is_empty() => {
                let what = format!("{{{}}}", format_count(map.len() as u64, "key"));
                if self.push_branch(name, &what, map.len(), pointer, depth) {
                    self.push_object(map, pointer, depth + 1);
                }
            }
            Value::Array(items) if !items.is_empty() => {
                let what = format!("[{}]", format_count(items.len() as u64, "item"));
                if self.push_branch(name, &what, items.len(), pointer, depth) {
                    let children = items.iter().enumerate().map(|(at, item)| (at.to_string(), item));
                    self.push_children(children, items.len(), pointer, depth + 1);
                }
            }
            _ => self.push_leaf(name, value, pointer, depth),
        }
    }

    fn push_object(&mut self, map: &Map<String, Value>, pointer: &str, depth: usize) {
        self.push_children(map.iter().map(|(key, value)| (key.clone(), value)), map.len(), pointer, depth);
    }

    /// The row of an object or list; returns whether it is open.
    fn push_branch(&mut self, name: &str, what: &str, count: usize, pointer: &str, depth: usize) -> bool {
        let key = self.row_key(pointer);
        let at_first = count <= FEW && depth < SHALLOW;
        let open = at_first != self.panes.toggled_rows.contains(&key);
        let (mark, style) = self.change_mark(pointer);
        let lead = format!("{mark}{}{} ", "  ".repeat(depth), if open { '▾' } else { '▸' });
        let room = self.columns.saturating_sub(display_width(&lead) + what.len() + 1);
        let line = Line::from(vec![
            Span::styled(lead, style),
            Span::styled(fit_to_columns(&one_line(name), room).into_owned(), style),
            Span::styled(format!(" {what}"), self.theme.dim_style()),
        ]);
        self.push(line, pointer, key);
        open
    }

    fn push_leaf(&mut self, name: &str, value: &Value, pointer: &str, depth: usize) {
        let key = self.row_key(pointer);
        let (mark, style) = self.change_mark(pointer);
        let lead = format!("{mark}{}  {}: ", "  ".repeat(depth), one_line(name));
        let lead = fit_to_columns(&lead, (self.columns * 2 / 3).max(8)).into_owned();
        let whole = match value {
            Value::String(text) => clean_text(text).into_owned(),
            Value::Null => "null".to_owned(),
            other => other.to_string(),
        };
        let room = self.columns.saturating_sub(display_width(&lead));
        let short = one_line(&whole);
        let long = display_width(&short) > room || whole.trim().contains('\n');
        let open = long && self.panes.toggled_rows.contains(&key);
        let shown = if open {
            format_count(whole.chars().count() as u64, "character")
        } else {
            fit_to_columns(&short, room).into_owned()
        };
        let text = if open { self.theme.dim_style() } else { style };
        self.push(
            Line::from(vec![Span::styled(lead, style), Span::styled(shown, text)]),
            pointer,
            key.clone(),
        );
        if open {
            let below = paragraph_rows(&whole, 2 * depth + 5, self.columns, style).into_iter();
            self.rows.extend(below.map(|row| PaneRow { key: Some(key.clone()), ..row }));
        }
    }

    fn push(&mut self, line: Line<'static>, pointer: &str, key: String) {
        let copied = Some(PaneRowCopy::Data(self.scope.clone(), pointer.to_owned()));
        self.rows.push(PaneRow { copied, ..PaneRow::new(line).key(key) });
    }

    fn change_mark(&self, pointer: &str) -> (&'static str, Style) {
        match self.data.change_age(&self.scope, pointer) {
            DataChangeAge::New => ("● ", self.theme.warning_style()),
            DataChangeAge::Recent => ("· ", self.theme.accent_style()),
            DataChangeAge::Old => ("  ", self.theme.text()),
        }
    }

    fn row_key(&self, pointer: &str) -> String {
        format!("data {}{pointer}", self.scope)
    }
}

/// What is copied of a value.
pub fn copy_text(value: &Value) -> String {
    value_text(value)
}
