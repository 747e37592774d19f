//! The keys of what is focused, in a list over everything else.

/// What is shown.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct KeyHelp {
    pub title: String,
    /// Keys, and what they do.
    pub rows: Vec<(String, String)>,
    /// The first row on screen.
    pub top_row: usize,
    /// Rows that are not on screen, as it was drawn last.
    pub hidden_rows: usize,
}

impl KeyHelp {
    pub fn new(title: String, rows: Vec<(String, String)>) -> Self {
        Self { title, rows, top_row: 0, hidden_rows: 0 }
    }

    pub fn scroll_by(&mut self, rows: usize, down: bool) {
        let to = if down { self.top_row + rows } else { self.top_row.saturating_sub(rows) };
        self.top_row = to.min(self.hidden_rows);
    }
}
