//! The text of a question as rows: each row of what others wrote has the mark on its left; diffs and Markdown look as in
//! the conversation.

use ratatui::text::{Line, Span};

use crate::dialog::QuestionDialog;
use crate::text::{display_width, wrap_line};
use crate::theme::ColorTheme;
use crate::transcript::line_wrap::{TextLayoutOptions, WIDEST_PROSE};
use crate::transcript::{diff, markdown};
use synthdev_domain::question_text::{MARK, QuestionLine};

/// Every row of the text, at this width.
pub(super) fn layout_body(dialog: &QuestionDialog, columns: usize, theme: ColorTheme) -> Vec<Line<'static>> {
    let mut layout = BodyLayout {
        columns,
        inside: columns.saturating_sub(display_width(MARK)).max(1),
        theme,
        diff_state: diff::DiffLayoutState::default(),
        rows: Vec::new(),
    };
    let mut rest = dialog.body.as_slice();
    while let Some(first) = rest.first() {
        let alike = rest.iter().take_while(|line| is_same_part(first, line)).count().max(1);
        let (part, others) = rest.split_at(alike);
        match first {
            QuestionLine::Quoted(_) if dialog.is_markdown() => layout.push_markdown(part),
            QuestionLine::Changed(_) => layout.push_changes(part),
            _ => part.iter().for_each(|line| layout.push_line(line)),
        }
        rest = others;
    }
    layout.rows
}

/// Both are of one text of others.
fn is_same_part(first: &QuestionLine, line: &QuestionLine) -> bool {
    matches!(
        (first, line),
        (QuestionLine::Quoted(_), QuestionLine::Quoted(_) | QuestionLine::Blank { .. })
            | (QuestionLine::Changed(_), QuestionLine::Changed(_))
    )
}

struct BodyLayout {
    columns: usize,
    /// Beside the mark.
    inside: usize,
    theme: ColorTheme,
    diff_state: diff::DiffLayoutState,
    rows: Vec<Line<'static>>,
}

impl BodyLayout {
    fn push_line(&mut self, line: &QuestionLine) {
        let theme = self.theme;
        match line {
            QuestionLine::Own(text) => self.rows.extend(plain_rows(text, self.columns.min(WIDEST_PROSE))),
            QuestionLine::Warning(_) | QuestionLine::Danger(_) => {
                let danger = matches!(line, QuestionLine::Danger(_));
                let style = if danger { theme.bad_style() } else { theme.warning_style() };
                let rows = plain_rows(&line.text(), self.columns.min(WIDEST_PROSE));
                self.rows.extend(rows.into_iter().map(|row| row.style(style)));
            }
            QuestionLine::Quoted(text) => {
                let rows = plain_rows(text, self.inside);
                self.push_marked(rows);
            }
            QuestionLine::Changed(_) => self.push_changes(std::slice::from_ref(line)),
            QuestionLine::Blank { count, line_sign } => {
                for sign in line_sign.iter().cycle().take(*count) {
                    let mut unseen = Vec::new();
                    self.diff_state.layout_line(sign.encode_utf8(&mut [0; 4]), &[], self.page(), &mut unseen);
                }
                self.rows.push(Line::styled(line.text(), theme.dim_style()));
            }
        }
    }

    /// Lines of a diff; what changed within a line is emphasized.
    fn push_changes(&mut self, lines: &[QuestionLine]) {
        let texts: Vec<String> = lines.iter().map(QuestionLine::text).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let mut rows = Vec::new();
        for (line, changed) in texts.iter().zip(diff::changed_words(&texts)) {
            self.diff_state.layout_line(line, &changed, self.page(), &mut rows);
        }
        self.push_marked(rows);
    }

    fn push_markdown(&mut self, lines: &[QuestionLine]) {
        let text = lines.iter().map(QuestionLine::text).collect::<Vec<_>>().join("\n");
        let page = TextLayoutOptions { columns: self.inside.min(WIDEST_PROSE), ..self.page() };
        let mut rows = Vec::new();
        markdown::layout_markdown(&text, page, &mut rows);
        self.push_marked(rows);
    }

    fn page(&self) -> TextLayoutOptions {
        TextLayoutOptions { columns: self.inside, indent: 0, base: self.theme.text(), theme: self.theme }
    }

    fn push_marked(&mut self, rows: Vec<Line<'static>>) {
        let mark = Span::styled(MARK, self.theme.accent_style());
        self.rows.extend(rows.into_iter().map(|mut row| {
            row.spans.insert(0, mark.clone());
            row
        }));
    }
}

fn plain_rows(text: &str, columns: usize) -> Vec<Line<'static>> {
    wrap_line(text, columns).into_iter().map(|row| Line::raw(text[row].to_owned())).collect()
}
